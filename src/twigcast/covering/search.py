"""XSEARCH over a set of patterns, without keys; everything that aggregates uses it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

from twigcast.covering._cover import SearchKernel
from twigcast.covering.pairwise import Prepared
from twigcast.covering.splitting import Twig, split
from twigcast.language import Pattern, linear_normal_form, require_pattern, restore_pattern

_SPARE_TERMS = 10_000
_TERMS_EACH = 4
"""How many names and comparisons a pattern may have to itself before they count as left behind."""

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


class CompiledSearch(ABC, Generic[Item]):
    """Patterns in a factorization tree, each with an item that searches return for it.

    Coverings are those that ``covers`` finds pair by pair.  A subclass keeps the patterns, for the
    rare pairs that the compiled comparison leaves open.
    """

    _linear = False

    def __init__(self) -> None:
        self._kernel = SearchKernel()
        self._most_terms = _SPARE_TERMS

    def covered_by(self, pattern: Pattern) -> list[Item]:
        """The items of the patterns that the given one covers."""
        kernel = self._ready()
        items: list[Item]
        items, possible = kernel.covered(_twigs(pattern), self._linear)
        if possible:
            asking = Prepared(pattern)
            items += [
                kernel.item(number)
                for number in possible
                if asking.covers(Prepared(self._pattern(number)))
            ]
        return items

    def covering(self, pattern: Pattern) -> list[Item]:
        """The items of the patterns that cover the given one."""
        kernel = self._ready()
        items: list[Item]
        items, possible = kernel.covering(_twigs(pattern), self._linear)
        if possible:
            giving = Prepared(pattern)
            items += [
                kernel.item(number)
                for number in possible
                if Prepared(self._pattern(number)).covers(giving)
            ]
        return items

    def _ready(self) -> SearchKernel:
        """The kernel, built anew where memory ran out in the middle of a change to it.

        It is also built anew once most names and comparisons in it are unused: patterns that were
        removed, or only searched for, leave theirs behind.  A set that only grows is seldom built
        anew: that takes seconds for 100,000 patterns.
        """
        most_terms = max(self._most_terms, _TERMS_EACH * len(self) + _SPARE_TERMS)
        if self._kernel.is_spoilt or self._kernel.terms_known > most_terms:
            kernel = SearchKernel()
            self._fill(kernel)
            self._kernel = kernel
            self._most_terms = 2 * kernel.terms_known + _SPARE_TERMS
        return self._kernel

    @abstractmethod
    def __len__(self) -> int:
        """The number of patterns."""

    @abstractmethod
    def _pattern(self, number: int) -> Pattern:
        """The pattern of a number."""

    @abstractmethod
    def _fill(self, kernel: SearchKernel) -> None:
        """Put all patterns and their items into a new kernel."""


class ItemSearch(CompiledSearch[Item]):
    """A set that changes.

    With ``linear`` the compiled comparison runs over the whole set instead of the tree, for
    measurement.
    """

    def __init__(self, *, linear: bool = False) -> None:
        super().__init__()
        self._linear = linear
        self._numbers: dict[Pattern, int] = {}
        self._patterns: dict[int, Pattern] = {}

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

    def _pattern(self, number: int) -> Pattern:
        return self._patterns[number]

    def _fill(self, kernel: SearchKernel) -> None:
        numbers = {
            pattern: kernel.add(_twigs(pattern), self._kernel.item(number))
            for pattern, number in self._numbers.items()
        }
        self._patterns = {number: pattern for pattern, number in numbers.items()}
        self._numbers = numbers


class PatternSearch(ItemSearch[Pattern]):
    """A set whose items are the patterns themselves."""

    def add(self, pattern: Pattern) -> None:
        """Put a pattern in; it must not be there."""
        self.put(pattern, pattern)


class TextSearch(CompiledSearch[Item]):
    """A set that is built once, large and brief: of its patterns only the canonical texts are kept.

    About a kilobyte for a pattern of ten steps, a third of what the trees take as well.
    """

    def __init__(self) -> None:
        super().__init__()
        self._texts: list[str] = []

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, pattern: Pattern, item: Item) -> None:
        """Put a pattern in with its item; it must not be there."""
        number = self._kernel.add(_twigs(pattern), item)
        assert number == len(self._texts)  # nothing is ever removed
        self._texts.append(str(pattern))
        self._most_terms = 2 * self._kernel.terms_known + _SPARE_TERMS

    def _pattern(self, number: int) -> Pattern:
        return restore_pattern(self._texts[number])

    def _fill(self, kernel: SearchKernel) -> None:
        for number in range(len(self._texts)):
            kernel.add(_twigs(self._pattern(number)), self._kernel.item(number))


@lru_cache(maxsize=16)  # who adds a pattern searches for it first
def _twigs(pattern: Pattern) -> tuple[Twig, ...] | str:
    """The twigs of a pattern, or the text of a linear one, which is read much quicker."""
    require_pattern(pattern)
    return linear_normal_form(str(pattern)) or split(pattern)
