"""Which patterns of a whole set stand for all of it, whatever the order of the search.

p *replaces* q when p covers q, and q does not cover p or comes after it.  The minimal set is the
patterns that nothing replaces.  It depends on the set and the order of equivalent patterns alone,
so one machine and many find the same.

A :class:`~twigcast.covering.table.CoveringTable` looks for what covers a pattern among those that
are forwarded.  Where ``covers`` is not transitive (:mod:`~twigcast.covering.needed_names` says
where), one that is not forwarded may cover another that is; the table forwards it, which is right
for a router and one too many here::

    /z/*[.//x][.//y]                  forwarded by both
      └── /z/*//b[x][y]               covered
            └── /z//a//b[x][y]        forwarded by the table, replaced here

In theory a few patterns, all of them equivalent, may replace each other in a circle, each shown to
cover the next only.  Of a circle that nothing outside it replaces the first pattern stays.

Invariant: every pattern that is left out is covered, in steps that are each shown, by one that
stays; on linear expressions the result is the forwarded set of the table.  Cost: that of the table,
and a search for each forwarded pattern among those that hang below a tree with a branching ``*``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from twigcast.covering.needed_names import NeededNames, needed_names
from twigcast.covering.pairwise import Prepared
from twigcast.covering.search import TextSearch
from twigcast.covering.table import CoveringTable
from twigcast.language import Pattern


def replaced_patterns(table: CoveringTable) -> dict[Pattern, Pattern]:
    """For each pattern of a table that is not in the minimal set, one that replaces it.

    The table must not have been removed from.
    """
    patterns = table.patterns
    indexes = {pattern: index for index, pattern in enumerate(patterns)}
    replaced: dict[int, int] = {}
    hidden: TextSearch[int] = TextSearch()
    names = _Names()
    for index, pattern in enumerate(patterns):
        above = table.witness(pattern)
        if above is not None:
            replaced[index] = indexes[above]
            if not names.is_strictly_below(pattern, above):
                hidden.add(pattern, index)
    in_sight = [index for index in range(len(patterns)) if index not in replaced]
    if len(hidden):
        for index in in_sight:
            other = first_replacing(index, patterns[index], hidden)
            if other is not None:
                replaced[index] = other

    def ask(asked: set[int]) -> Iterator[tuple[int, int]]:
        few: TextSearch[int] = TextSearch()
        for index in asked:
            few.add(patterns[index], index)
        for index, pattern in enumerate(patterns):
            for below in replaced_by(index, pattern, few):
                yield below, index

    for index, other in untie_circles(replaced, ask).items():
        if other is None:
            del replaced[index]
        else:
            replaced[index] = other
    return {patterns[below]: patterns[above] for below, above in replaced.items()}


class _Names:
    """The names of patterns; those of witnesses are asked for again and again."""

    def __init__(self) -> None:
        self._known: dict[Pattern, NeededNames] = {}

    def is_strictly_below(self, pattern: Pattern, above: Pattern) -> bool:
        own = needed_names(pattern)
        if not own.plain:
            return False
        other = self._known.get(above)
        if other is None:
            other = self._known[above] = needed_names(above)
        if own.offers != other.offers:
            return own.is_strictly_below(other, covers_other=True)
        covers_other = Prepared(pattern).covers(Prepared(above))
        return own.is_strictly_below(other, covers_other=covers_other)


def first_replacing(index: int, pattern: Pattern, search: TextSearch[int]) -> int | None:
    """The first of the patterns of a search that replaces a pattern, by its index in the order."""
    others = [other for other in search.covering(pattern) if other != index]
    if not others:
        return None
    first = min(others)
    if first < index:
        return first
    mutual = set(search.covered_by(pattern))
    return min((other for other in others if other not in mutual), default=None)


def replaced_by(index: int, pattern: Pattern, search: TextSearch[int]) -> list[int]:
    """The patterns of a search that a pattern replaces."""
    others = [other for other in search.covered_by(pattern) if other != index]
    if all(index < other for other in others):
        return others
    mutual = set(search.covering(pattern))
    return [other for other in others if index < other or other not in mutual]


def untie_circles(
    replaced: Mapping[int, int], ask: Callable[[set[int]], Iterable[tuple[int, int]]]
) -> dict[int, int | None]:
    """For patterns that replace each other in circles what stands for each; None for those to stay.

    ``replaced`` has one that replaces it for each pattern left out; ``ask`` finds all that replace
    some given ones, as pairs.  It is called only where there are circles.
    """
    waiting = set(_on_circles(replaced))
    in_circles = set(waiting)
    above: dict[int, set[int]] = {}
    while waiting:
        above.update((index, set()) for index in waiting)
        for index, other in ask(waiting):
            above[index].add(other)
        others = {other for index in waiting for other in above[index]} - above.keys()
        waiting = {other for other in others if _end(other, replaced, in_circles) in in_circles}
    reached = {index: _reached(index, above) for index in above}
    stay = {
        index
        for index, others in reached.items()
        if index == min(others) and all(index in reached.get(other, ()) for other in others)
    }
    # What is reached and was not asked about ends at a pattern that stays.
    ends = {
        index: (others - reached.keys()) or (others & stay) for index, others in reached.items()
    }
    return {index: None if index in stay else min(ends[index]) for index in reached}


def _on_circles(replaced: Mapping[int, int]) -> Iterator[int]:
    passed: dict[int, int] = {}
    for start in replaced:
        index = start
        while index in replaced and index not in passed:
            passed[index] = start
            index = replaced[index]
        if passed.get(index) == start:
            yield index
            other = replaced[index]
            while other != index:
                yield other
                other = replaced[other]


def _end(index: int, replaced: Mapping[int, int], ends: set[int]) -> int:
    while index in replaced and index not in ends:
        index = replaced[index]
    return index


def _reached(index: int, above: Mapping[int, set[int]]) -> set[int]:
    reached: set[int] = set()
    waiting = [index]
    while waiting:
        for other in above.get(waiting.pop(), ()):
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached
