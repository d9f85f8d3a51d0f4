"""The bits of the members of a unit, as brokers use them to name homes to each other.

    sender    homes b1 b7 b9 ──► the book's digest, Members(1, 7, 9) ──► receiver: b1 b7 b9

Bits may be given anew, so with a set of bits travels a digest of the book that gives them.  A book
is spread with link states, and these go before documents on each link.  So as a rule the receiver
knows the book, or knew it before.  If not, it knows none of the homes; what is owed to them is owed
by a custodian, who sends it again, by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Final, NamedTuple

from twigcast.hierarchy.addresses import Book, keeper_of
from twigcast.routing import Router, View

DIGEST: Final = 8
"""Bytes of the digest of a book."""
_REMEMBERED: Final = 4
"""How many books of a unit a broker remembers."""


class Numbering(NamedTuple):
    """The bits of the members of a unit, and what they are called by."""

    digest: bytes
    bits: Book
    members: Mapping[int, str]


NO_NUMBERING: Final = Numbering(b"", {}, {})


def numbering_of(book: Book) -> Numbering:
    """The numbering that a book gives."""
    text = "\n".join(f"{member} {bit}" for member, bit in sorted(book.items()))
    digest = blake2b(text.encode(), digest_size=DIGEST).digest()
    return Numbering(digest, book, {bit: member for member, bit in book.items()})


class Numberings:
    """The numberings of the units in which a broker takes part, by the depth of the unit."""

    def __init__(self, router: Router) -> None:
        self._levels = {level.depth: _Level(level) for level in router.levels}

    def now(self, depth: int) -> Numbering:
        """The numbering that holds in a unit; without members while none is known."""
        level = self._levels.get(depth)
        return NO_NUMBERING if level is None else level.now()

    def known(self, depth: int, digest: bytes) -> Numbering | None:
        """The numbering of that digest, which holds or held before; None if it is not known."""
        level = self._levels.get(depth)
        if level is None:
            return None
        level.now()
        return level.remembered.get(digest)


class _Level:
    def __init__(self, router: Router) -> None:
        self._router = router
        self._view: View | None = None
        self._keeper = ""
        self._book: tuple[tuple[str, int], ...] = ()
        self._now = NO_NUMBERING
        self.remembered: dict[bytes, Numbering] = {}

    def now(self) -> Numbering:
        view = self._router.documents.view
        if view is not self._view:
            self._view = view
            self._keeper = keeper_of(self._router)
        if not self._keeper:  # flat networks come no further
            return NO_NUMBERING
        states = self._router.link_states
        book = next(each.book for each in states if each.broker == self._keeper)
        if book != self._book:
            self._book = book
            self._now = numbering_of(dict(book)) if book else NO_NUMBERING
            self.remembered.pop(self._now.digest, None)
            self.remembered[self._now.digest] = self._now
            if len(self.remembered) > _REMEMBERED:
                del self.remembered[next(iter(self.remembered))]
        return self._now
