"""Documents that a broker has not released yet, and what it takes over from others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from twigcast.delivery.writes import KeepDocument, Kept, Parcel, is_of
from twigcast.routing import Copy, DocumentId, Recipients


class Taken(NamedTuple):
    """What a home of ours was owed by another broker and takes over."""

    home: str
    custody: DocumentId
    """What the other broker calls it."""
    line: DocumentId | None
    """None if the other broker, a gateway of the same group, has taken it over itself."""
    settled: int | None
    is_part: bool = False
    """Whether it comes again, for queues here that have no room for it now."""
    own: tuple[str, ...] = ()
    """Other homes of this broker that take it over at once."""


@dataclass(slots=True, eq=False)
class Held:
    """A document that is not released yet, or not answered."""

    tickets: list[int]
    link: str
    parcel: Parcel
    copies: list[Copy]
    recipients: Recipients
    """The ephemeral subscriptions that want it."""
    keep: KeepDocument | None = None
    kept: Kept | None = None
    failure: str = ""
    homes: set[str] = field(default_factory=set)
    """Without a store: those that have not confirmed it."""
    until: float = 0.0
    """Without a store: when it is given up."""
    taken: Taken | None = None
    """For a document that this broker takes over: from whom."""
    custody: DocumentId | None = None
    """What this broker calls it then."""
    own: tuple[str, ...] = ()
    """The homes of this broker that have taken it over at once."""
    goes_along: bool = True
    """Whether it goes on along trees, and may do so by other gateways, too."""

    @property
    def is_settled(self) -> bool:
        """Whether it is safe, need not be, or cannot be."""
        return self.keep is None or self.kept is not None or bool(self.failure)

    @property
    def is_ours(self) -> bool:
        """Whether this broker answers for it: it was not refused, and did not come before."""
        if self.failure:
            return False
        kept = self.kept
        if kept is None or not kept.known:
            return True
        return not kept.is_other and not is_of(kept.known, self.parcel.id.origin)
