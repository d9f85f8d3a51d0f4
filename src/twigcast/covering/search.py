"""XSEARCH over a set of patterns, without keys: what everything that aggregates stands on."""

from __future__ import annotations

from typing import Protocol

from twigcast.covering._cover import SearchKernel
from twigcast.covering.pairwise import Prepared
from twigcast.covering.twigs import split
from twigcast.language import Pattern, require_pattern

_SPARE_TERMS = 10_000


class Search(Protocol):
    """A set of distinct patterns and the two searches over it."""

    def add(self, pattern: Pattern) -> None:
        """Put a pattern in; it must not be there."""

    def remove(self, pattern: Pattern) -> None:
        """Take a pattern out; it must be there."""

    def covered_by(self, pattern: Pattern) -> list[Pattern]:
        """The patterns of the set that the given one covers."""

    def covering(self, pattern: Pattern) -> list[Pattern]:
        """The patterns of the set that cover the given one."""


class PatternSearch:
    """The set in a factorization tree; coverings are those that ``covers`` finds pair by pair.

    With ``linear`` the compiled comparison runs over the whole set instead, for measurement.
    """

    def __init__(self, *, linear: bool = False) -> None:
        self._linear = linear
        self._numbers: dict[Pattern, int] = {}
        self._patterns: dict[int, Pattern] = {}
        self._build()

    def _build(self) -> None:
        self._kernel = SearchKernel()
        for pattern in self._numbers:
            self._numbers[pattern] = self._kernel.add(split(pattern))
        self._patterns = {number: pattern for pattern, number in self._numbers.items()}
        self._most_terms = 2 * self._kernel.terms_known + _SPARE_TERMS

    @property
    def places(self) -> int:
        """The nodes of the factorization tree."""
        return self._kernel.places

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, pattern: object) -> bool:
        return pattern in self._numbers

    def add(self, pattern: Pattern) -> None:
        """Put a pattern in; it must not be there."""
        require_pattern(pattern)
        number = self._ready().add(split(pattern))
        self._numbers[pattern] = number
        self._patterns[number] = pattern

    def remove(self, pattern: Pattern) -> None:
        """Take a pattern out; it must be there."""
        number = self._numbers.pop(pattern)
        del self._patterns[number]
        self._kernel.remove(number)

    def covered_by(self, pattern: Pattern) -> list[Pattern]:
        """The patterns of the set that the given one covers."""
        require_pattern(pattern)
        certain, possible = self._ready().covered(split(pattern), self._linear)
        found = [self._patterns[number] for number in certain]
        if possible:
            asking = Prepared(pattern)
            others = map(self._patterns.__getitem__, possible)
            found += [other for other in others if asking.covers(Prepared(other))]
        return found

    def covering(self, pattern: Pattern) -> list[Pattern]:
        """The patterns of the set that cover the given one."""
        require_pattern(pattern)
        certain, possible = self._ready().covering(split(pattern), self._linear)
        found = [self._patterns[number] for number in certain]
        if possible:
            giving = Prepared(pattern)
            others = map(self._patterns.__getitem__, possible)
            found += [other for other in others if Prepared(other).covers(giving)]
        return found

    def _ready(self) -> SearchKernel:
        """The kernel, built anew once most of the names and comparisons it keeps are nobody's.

        Patterns that were removed, or only searched for, leave theirs behind.
        """
        if self._kernel.terms_known > self._most_terms:
            self._build()
        return self._kernel
