"""What publishers and subscribers of a history were promised."""

from __future__ import annotations

from dataclasses import dataclass, field

from twigcast.delivery import Destination, DurableOptions, Version
from twigcast.hierarchy import unit_of
from twigcast.routing import shared_depth


@dataclass(eq=False)
class Paper:
    """A document that somebody publishes until it is acknowledged."""

    name: str
    kind: str
    publication: str
    """The publisher's id for it; empty if it has none."""
    attempts: int = 0
    must: set[str] | None = None
    """The subscriptions that must get it, once it is acknowledged."""
    is_acknowledged: bool = False
    at: tuple[str, int] = ("", 0)
    """Where it was published last, and in which life of that broker."""
    units: set[str] = field(default_factory=set)
    """Those where it was published."""
    scope: int = 0
    """How deep the unit lies that it does not leave, at a broker that is in such a unit."""
    origins: set[tuple[str, int]] = field(default_factory=set)
    """The brokers where it was published, and its scope there."""
    to: tuple[Destination, ...] = ()
    """The subscriptions that it is addressed to, and others that there never were."""


@dataclass(eq=False)
class Subscription:
    """A durable subscription, from its making to its end."""

    name: str
    home: str
    xpath: str
    at: tuple[str, int] = ("", 0)
    """In which life of its home somebody waits for it to be confirmed."""
    options: DurableOptions = DurableOptions()  # noqa: RUF009 - it is immutable
    wanted: set[str] = field(default_factory=set)
    """All that it ever wanted."""
    expired: set[str] = field(default_factory=set)
    """What retention has dropped from its queue."""
    confirmed: Version | None = None
    was_confirmed: bool = False
    """Whether it is kept at its home."""
    is_over: bool = False
    knowing: set[str] = field(default_factory=set)
    """The brokers that know of it."""
    forgot: set[str] = field(default_factory=set)
    """The brokers that lost what they knew while it was being confirmed."""

    @property
    def scope(self) -> int:
        """How deep the unit lies in which what it gets is published."""
        return self.options.scope

    def may_get(self, origin: str, scope: int) -> bool:
        """Whether no scope is in the way of a document that is published at a broker."""
        return shared_depth(origin, self.home) >= max(scope, self.scope)

    def is_in_unit_of(self, broker: str) -> bool:
        """Whether its home is in the same unit as a broker."""
        return unit_of(broker) == unit_of(self.home)
