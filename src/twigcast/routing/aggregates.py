"""The patterns that are forwarded for all that are wanted, by strategy.

An aggregate takes patterns in and out and returns with each what to forward and what to withdraw:
every pattern by itself, the maximal patterns under covering, or mergers of these.  A change may
undo a part of itself.  Of several who want a pattern, ``is_first`` and ``is_last`` mark the first
that comes and the last that goes.  ``set()`` brings a pattern in line with how many want it,
whatever came and went before.  ``merge()`` merges patterns now; ``forwarded`` has each pattern as
often as it is forwarded.
"""

from __future__ import annotations

from typing import TypeAlias

from twigcast.covering import Change, CoveringTable, MergedSet, PathCounter, widened
from twigcast.language import Pattern
from twigcast.routing.promises import Anything, Promise
from twigcast.routing.strategy import Strategy
from twigcast.schema import PathAutomaton

_NOTHING = Change()
_MOST_COUNTERS = 16
_FRESH = 0.2
"""The share of fresh patterns from which on a merging is worth its time."""


class Plain:
    """Every subscription is forwarded by itself, also where another one is equal."""

    def __init__(self) -> None:
        self._counts: dict[Pattern, int] = {}

    def add(self, pattern: Pattern, is_first: bool) -> Change:
        self._counts[pattern] = self._counts.get(pattern, 0) + 1
        return Change((pattern,))

    def remove(self, pattern: Pattern, is_last: bool) -> Change:
        count = self._counts.pop(pattern)
        if count > 1:
            self._counts[pattern] = count - 1
        return Change((), (pattern,))

    def set(self, pattern: Pattern, count: int) -> Change:
        before = self._counts.pop(pattern, 0)
        if count:
            self._counts[pattern] = count
        return Change((pattern,) * (count - before), (pattern,) * (before - count))

    def merge(self) -> Change:
        return _NOTHING

    @property
    def forwarded(self) -> tuple[Pattern, ...]:
        return tuple(pattern for pattern, count in self._counts.items() for _ in range(count))


class Covered:
    """Covered patterns are not forwarded."""

    def __init__(self) -> None:
        self._table = CoveringTable()

    def add(self, pattern: Pattern, is_first: bool) -> Change:
        return self._pass_on(self._table.add(str(pattern), pattern)) if is_first else _NOTHING

    def remove(self, pattern: Pattern, is_last: bool) -> Change:
        return self._pass_on(self._table.remove(str(pattern))) if is_last else _NOTHING

    def set(self, pattern: Pattern, count: int) -> Change:
        if bool(count) == (str(pattern) in self._table):
            return _NOTHING
        return self.add(pattern, True) if count else self.remove(pattern, True)

    def _pass_on(self, change: Change) -> Change:
        return change

    def merge(self) -> Change:
        return _NOTHING

    @property
    def forwarded(self) -> tuple[Pattern, ...]:
        return self._table.forwarded


class Merged(Covered):
    """What covering leaves is merged; what that leaves is widened, and covered once more.

        wanted ──► covering table ──► merged set ──► widened ──► covering table ──► forwarded

    Each of these stages gives as many patterns as it takes, or fewer.  A merging looks at
    everything in the merged set, so it waits until a fifth of that is fresh: then a pattern takes
    some milliseconds, however many there are.
    """

    def __init__(self, counter: PathCounter, degree: float) -> None:
        super().__init__()
        self._counter = counter
        self._merged = MergedSet(counter, degree)
        self._wide = CoveringTable()

    def _pass_on(self, change: Change) -> Change:
        return self._widen(self._merged.update(change.forward, change.withdraw))

    def merge(self) -> Change:
        merged = self._merged
        is_worthwhile = merged.fresh >= _FRESH * len(merged.forwarded)
        return self._widen(merged.merge()) if is_worthwhile else _NOTHING

    def _widen(self, change: Change) -> Change:
        changes = [
            *(self._wide.add(str(each), widened(each, self._counter)) for each in change.forward),
            *(self._wide.remove(str(each)) for each in change.withdraw),
        ]
        return Change(
            tuple(pattern for each in changes for pattern in each.forward),
            tuple(pattern for each in changes for pattern in each.withdraw),
        )

    @property
    def forwarded(self) -> tuple[Pattern, ...]:
        return self._wide.forwarded


Aggregate: TypeAlias = Plain | Covered


class Counters:
    """Counters of paths by what they count; routers in one thread may share them."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._counters: dict[frozenset[Promise], PathCounter] = {}

    def counter(self, promises: frozenset[Promise]) -> PathCounter | None:
        """A counter of the promised paths; None where no end of them is known."""
        schemas = [each for each in promises if not isinstance(each, Anything)]
        if not schemas or len(schemas) < len(promises):
            return None
        counter = self._counters.get(promises)
        if counter is None:
            if len(self._counters) >= _MOST_COUNTERS:
                del self._counters[next(iter(self._counters))]
            automaton = PathAutomaton.joined(each.automaton for each in schemas)
            counter = self._counters[promises] = PathCounter(automaton, self._depth)
        return counter


def make_aggregate(
    strategy: Strategy, promises: frozenset[Promise], counters: Counters
) -> Aggregate:
    """An empty aggregate for patterns that go towards producers with these promises."""
    if not strategy.covering:
        return Plain()
    counter = None if strategy.merging is None else counters.counter(promises)
    if strategy.merging is None or counter is None:
        return Covered()
    return Merged(counter, strategy.merging)
