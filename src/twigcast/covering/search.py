"""XSEARCH over a set of patterns, without keys: what everything that aggregates stands on."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from twigcast.covering._cover import SearchKernel
from twigcast.covering.pairwise import Prepared
from twigcast.covering.twigs import split
from twigcast.language import Pattern, Step, linear_normal_form, require_pattern

_SPARE_TERMS = 10_000

Item = TypeVar("Item")


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


class ItemSearch(Generic[Item]):
    """Patterns in a factorization tree, each with an item that searches return for it.

    Coverings are those that ``covers`` finds pair by pair.  With ``linear`` the compiled comparison
    runs over the whole set instead, for measurement.
    """

    def __init__(self, *, linear: bool = False) -> None:
        self._linear = linear
        self._numbers: dict[Pattern, int] = {}
        self._patterns: dict[int, Pattern] = {}
        self._kernel = SearchKernel()
        self._most_terms = _SPARE_TERMS

    @property
    def trie_nodes(self) -> int:
        """The nodes of the factorization tree."""
        return self._kernel.trie_nodes

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, pattern: object) -> bool:
        return pattern in self._numbers

    def put(self, pattern: Pattern, item: Item) -> None:
        """Put a pattern in with its item; it must not be there."""
        number = self._ready().add(_twigs(pattern), item)
        self._numbers[pattern] = number
        self._patterns[number] = pattern

    def replace(self, pattern: Pattern, item: Item) -> None:
        """Give a pattern that is there another item."""
        self._kernel.replace(self._numbers[pattern], item)

    def remove(self, pattern: Pattern) -> None:
        """Take a pattern out; it must be there."""
        number = self._numbers.pop(pattern)
        del self._patterns[number]
        self._kernel.remove(number)

    def covered_by(self, pattern: Pattern) -> list[Item]:
        """The items of the patterns that the given one covers."""
        kernel = self._ready()
        found, possible = kernel.covered(_twigs(pattern), self._linear)
        if possible:
            asking = Prepared(pattern)
            for number in possible:
                if asking.covers(Prepared(self._patterns[number])):
                    found.append(kernel.item(number))
        return found

    def covering(self, pattern: Pattern) -> list[Item]:
        """The items of the patterns that cover the given one."""
        kernel = self._ready()
        found, possible = kernel.covering(_twigs(pattern), self._linear)
        if possible:
            giving = Prepared(pattern)
            for number in possible:
                if Prepared(self._patterns[number]).covers(giving):
                    found.append(kernel.item(number))
        return found

    def _ready(self) -> SearchKernel:
        """The kernel, built anew where memory ran out in the middle of a change to it.

        So it is once most of the names and comparisons that it keeps are nobody's: patterns that
        were removed, or only searched for, leave theirs behind.
        """
        before = self._kernel
        if before.is_spoilt or before.terms_known > self._most_terms:
            kernel = SearchKernel()
            numbers = {
                pattern: kernel.add(_twigs(pattern), before.item(number))
                for pattern, number in self._numbers.items()
            }
            self._patterns = {number: pattern for pattern, number in numbers.items()}
            self._numbers = numbers
            self._kernel = kernel
            self._most_terms = 2 * kernel.terms_known + _SPARE_TERMS
        return self._kernel


def _twigs(pattern: Pattern) -> tuple[Step, ...] | str:
    """The twigs of a pattern, or the text of a linear one, which is read much quicker."""
    require_pattern(pattern)
    return linear_normal_form(str(pattern)) or split(pattern)


class PatternSearch(ItemSearch[Pattern]):
    """The same where the patterns themselves are what is searched for."""

    def add(self, pattern: Pattern) -> None:
        """Put a pattern in; it must not be there."""
        self.put(pattern, pattern)
