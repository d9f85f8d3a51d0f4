"""Addresses: each member of a unit has one of 32 bits, and a broker one bit for each unit.

    the whole network     north 0   south 1
    the unit north        north/oslo 0   north/bergen 1
    the unit north/oslo   b1 0   b2 1   b3 2                  north/oslo/b3 has the address 0.0.2

The bits of a unit stand in its *book*.  The book is kept by the first gateway of the unit by name,
as far as gateways can be reached; in the whole network, which has none, by the first broker that
takes part in it.  All that could keep the book have a copy on disk and in their link states, and
follow who keeps it.  So another one goes on where the first fails; and when the parts of a unit
meet again, whoever keeps the book then knows what each has given.

Invariants, while members that can be reached are known: a member keeps its bit; no two have one.
When parts meet, the larger book holds, and of two members with one bit the one of the smaller book
gets another.  A member that is gone keeps its bit until no other is free.

A flat network has no units, so it has neither addresses nor a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from twigcast.errors import OverlayError
from twigcast.hierarchy.observing import gateways_out
from twigcast.hierarchy.units import MOST_MEMBERS, depth_of, named, unit_at
from twigcast.routing import LinkState, Router, Send

Book: TypeAlias = Mapping[str, int]
"""The bits of the members of a unit, by their full names."""
_EMPTY: Final[Book] = {}


def merge(books: Iterable[Book]) -> Book:
    """One book of several that were kept apart: of each member one bit, no bit twice.

    The largest book holds; of several, the first.
    """
    merged: dict[str, int] = {}
    pending: list[str] = []
    for book in sorted(books, key=len, reverse=True):
        for member, bit in sorted(book.items()):
            if member in merged:
                continue
            if bit in merged.values():
                pending.append(member)
            else:
                merged[member] = bit
    return give(merged, [each for each in pending if each not in merged], merged)


def give(book: Book, members: Iterable[str], present: Iterable[str]) -> Book:
    """A book in which members have bits, too; not all of them, if too many are present."""
    given = dict(book)
    present = {*present, *members}
    for member in sorted({*members} - given.keys()):
        free = {*range(MOST_MEMBERS)}.difference(given.values())
        if not free:
            gone = sorted(given.keys() - present)
            if not gone:
                break
            free = {given.pop(gone[0])}
        given[member] = min(free)
    return given


def require_room(level: Router, broker: str) -> None:
    """Raise OverlayError if a broker would be, or bring, a member too many of a unit."""
    members = _members(level)
    new = unit_at(broker, level.depth + 1)
    if len(members) >= MOST_MEMBERS and new not in members and not _is_flat(level, broker):
        unit = unit_at(level.name, level.depth)
        raise OverlayError(
            f"{named(unit)} has {len(members)} members, and {new!r} would be one more than the "
            f"{MOST_MEMBERS} that a unit may have; put some of them into a unit of their own, as "
            f"in {unit + '/' if unit else ''}new/name"
        )


def keeper_of(level: Router) -> str:
    """The broker that keeps the book of a unit; empty where there is none.

    It depends on the view of the unit only.
    """
    return min(_candidates(level), default="")


class News(NamedTuple):
    """What comes of looking at the books."""

    sends: list[Send]
    books: dict[str, Book]
    """Those that have changed and are to be kept, by unit."""


class Addresses:
    """The books of the units in which a broker takes part; ``kept`` are those on its disk."""

    def __init__(self, router: Router, kept: Mapping[str, Book] = {}) -> None:
        self._router = router
        self._books = {unit: dict(book) for unit, book in kept.items()}

    def look(self) -> News:
        """Give bits to new members, follow who keeps the books, and let all brokers know."""
        news = News([], {})
        for level in reversed(self._router.levels):
            unit = unit_at(level.name, level.depth)
            candidates = _candidates(level)
            if level.name not in candidates:
                continue
            before = self._books.get(unit, _EMPTY)
            book = self._next(level, before, candidates)
            if book != before:
                news.books[unit] = book
                self._books[unit] = dict(book)
            said = tuple(sorted(book.items())), self._prefix(unit)
            if said != (level.link_state.book, level.link_state.address):
                news.sends.extend(self._router.set_book(*said, level.depth))
        return news

    def _next(self, level: Router, before: Book, candidates: Mapping[str, LinkState]) -> Book:
        first = min(candidates)
        if first == level.name:
            members = _members(level)
            others = (dict(each.book) for each in candidates.values())
            return give(merge([before, *others]), members, members)
        theirs = dict(candidates[first].book)
        has_all = before.keys() <= theirs.keys() or len(theirs) == MOST_MEMBERS
        return theirs if has_all else before

    def _prefix(self, unit: str) -> tuple[int, ...]:
        """The address of a unit; empty for the whole network, and while it is not known."""
        return self.of(unit) if unit else ()

    def book(self, level: Router) -> Book:
        """The bits of the members of a unit, as whoever keeps them says."""
        candidates = _candidates(level)
        return dict(candidates[min(candidates)].book) if candidates else {}

    def of(self, name: str) -> tuple[int, ...]:
        """The address of a member of a unit in which this broker takes part; empty if unknown."""
        depth = depth_of(name) - 1
        for level in self._router.levels:
            candidates = _candidates(level)
            if level.depth != depth or not candidates:
                continue
            state = candidates[min(candidates)]
            bit = dict(state.book).get(name)
            if bit is not None and len(state.address) == depth:
                return (*state.address, bit)
        return ()


def _candidates(level: Router) -> dict[str, LinkState]:
    """The brokers that may keep the book of a unit, and what they say."""
    if level.depth:
        names = _reached(level).intersection(gateways_out(level))
    else:
        names = set() if _is_flat(level) else _reached(level)
    return {each.broker: each for each in level.link_states if each.broker in names}


def _members(level: Router) -> set[str]:
    """The members of a unit that can be reached."""
    return {unit_at(each, level.depth + 1) for each in _reached(level)}


def _reached(level: Router) -> set[str]:
    """The brokers of the overlay of a unit that can be reached; this one is among them."""
    view = level.documents.view
    return {level.name, *view.tree(level.name).parents}.difference(view.leaves)


def _is_flat(level: Router, *others: str) -> bool:
    """Whether there are no units, as far as is known."""
    return not level.depth and not any("/" in each for each in (*_reached(level), *others))
