"""Two published searches of a set for coverings, to compare ours with.

:class:`LinearSearch` compares with one pattern after the other, as XNET did before XSEARCH.
:class:`PublishedSearch` is XSEARCH as Chand and Felber printed it, with the negation that one text
of their paper drops.  Both offer what :class:`~twigcast.covering.PatternSearch` offers.
"""

from __future__ import annotations

from lab.published._published import PublishedKernel
from twigcast.covering import Prepared
from twigcast.language import Pattern, Step


class LinearSearch:
    """``covers`` with each pattern of the set."""

    def __init__(self) -> None:
        self._set: dict[Pattern, Prepared] = {}

    def add(self, pattern: Pattern) -> None:
        """Put a pattern in; it must not be there."""
        self._set[pattern] = Prepared(pattern)

    def remove(self, pattern: Pattern) -> None:
        """Take a pattern out; it must be there."""
        del self._set[pattern]

    def covered_by(self, pattern: Pattern) -> list[Pattern]:
        """The patterns of the set that the given one covers."""
        asking = Prepared(pattern)
        return [other for other, prepared in self._set.items() if asking.covers(prepared)]

    def covering(self, pattern: Pattern) -> list[Pattern]:
        """The patterns of the set that cover the given one."""
        giving = Prepared(pattern)
        return [other for other, prepared in self._set.items() if prepared.covers(giving)]


class PublishedSearch:
    """The published algorithm, for patterns without ``or``, ``|``, ``not()`` and the like.

    What it reports is true; it misses some coverings, since it orders ``*`` below ``//``.
    """

    def __init__(self) -> None:
        self._kernel = PublishedKernel()
        self._numbers: dict[Pattern, int] = {}
        self._patterns: dict[int, Pattern] = {}
        self._count = 0

    @property
    def trie_nodes(self) -> int:
        """The nodes of the factorization tree."""
        return self._kernel.trie_nodes

    def add(self, pattern: Pattern) -> None:
        """Put a pattern in; it must not be there."""
        self._kernel.add(self._count, _only_twig(pattern))
        self._numbers[pattern] = self._count
        self._patterns[self._count] = pattern
        self._count += 1

    def remove(self, pattern: Pattern) -> None:
        """Take a pattern out; it must be there."""
        number = self._numbers.pop(pattern)
        del self._patterns[number]
        self._kernel.remove(number)

    def covered_by(self, pattern: Pattern) -> list[Pattern]:
        """The patterns of the set that the given one covers, as far as it finds them."""
        return [self._patterns[number] for number in self._kernel.covered(_only_twig(pattern))]

    def covering(self, pattern: Pattern) -> list[Pattern]:
        """The patterns of the set that cover the given one, as far as it finds them."""
        return [self._patterns[number] for number in self._kernel.covering(_only_twig(pattern))]


def _only_twig(pattern: Pattern) -> Step:
    match Prepared(pattern).twigs:
        case ((Step() as tree,),):
            return tree
        case _:
            raise ValueError(f"the published algorithm takes one tree, not {pattern}")
