"""The searches over patterns that are kept as text: for sets that are built once, large and brief.

A :class:`~twigcast.covering.search.PatternSearch` keeps the trees of its patterns beside the
factorization tree.  Here only their canonical texts stay, and a pattern is read again in the seldom
case that the compiled comparison leaves open.  The answers are the same.

Cost: about a kilobyte for a pattern of ten steps, a third of what the other takes.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from twigcast.covering._cover import SearchKernel
from twigcast.covering.pairwise import Prepared
from twigcast.covering.twigs import split
from twigcast.language import Pattern, Step, linear_normal_form, restore_pattern

_SPARE_TERMS = 100_000

Item = TypeVar("Item")


class TextSearch(Generic[Item]):
    """Patterns in a factorization tree, each with an item that searches return for it."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._kernel = SearchKernel()
        self._own_terms = 0

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, pattern: Pattern, item: Item) -> None:
        """Put a pattern in with its item; it must not be there."""
        number = self._kernel.add(_twigs(pattern), item)
        assert number == len(self._texts)  # nothing is ever removed
        self._texts.append(str(pattern))
        self._own_terms = self._kernel.terms_known

    def covering(self, pattern: Pattern) -> list[Item]:
        """The items of the patterns that cover the given one."""
        kernel = self._ready()
        found: list[Item]
        found, possible = kernel.covering(_twigs(pattern))
        if possible:
            giving = Prepared(pattern)
            for number in possible:
                if Prepared(restore_pattern(self._texts[number])).covers(giving):
                    found.append(kernel.item(number))
        return found

    def covered_by(self, pattern: Pattern) -> list[Item]:
        """The items of the patterns that the given one covers."""
        kernel = self._ready()
        found: list[Item]
        found, possible = kernel.covered(_twigs(pattern))
        if possible:
            asking = Prepared(pattern)
            for number in possible:
                if asking.covers(Prepared(restore_pattern(self._texts[number]))):
                    found.append(kernel.item(number))
        return found

    def _ready(self) -> SearchKernel:
        """The kernel, built anew once most of the names and comparisons in it were only asked."""
        before = self._kernel
        if before.terms_known > 2 * self._own_terms + _SPARE_TERMS:
            kernel = SearchKernel()
            for number, text in enumerate(self._texts):
                kernel.add(_twigs(restore_pattern(text)), before.item(number))
            self._kernel = kernel
            self._own_terms = kernel.terms_known
        return self._kernel


def _twigs(pattern: Pattern) -> tuple[Step, ...] | str:
    return linear_normal_form(str(pattern)) or split(pattern)
