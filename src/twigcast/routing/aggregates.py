"""The patterns that are forwarded for all that are wanted, by strategy.

An aggregate takes patterns in and out and returns with each what to forward and what to withdraw:
every pattern by itself, the maximal patterns under covering, or mergers of these.  A change may
undo a part of itself.  Of several who want a pattern, ``is_first`` and ``is_last`` mark the first
that comes and the last that goes.  ``set()`` brings a pattern in line with how many want it,
whatever came and went before.  ``forwarded`` has each pattern as often as it is forwarded.

Merging takes long.  ``begin_merging()`` begins one if that is worth its time, and ``merge_on()``
takes one small step as long as it ``is_merging``.  Whatever comes and goes between two steps, what
is forwarded covers all that is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from twigcast.covering import Change, CoveringTable, MergedSet, PathCounter, widened
from twigcast.language import Pattern
from twigcast.routing.promises import Anything, Promise
from twigcast.routing.strategy import Strategy
from twigcast.schema import PathAutomaton

_NOTHING = Change()
_MOST_COUNTERS = 16
_WIDENED = "\0"
"""Before the keys of patterns that are widened; no expression begins so."""
_FRESH = 0.2
"""The share of fresh patterns from which on a merging is worth its time."""


class _Unmerged:
    """What every aggregate can do that has nothing to merge."""

    @property
    def is_merging(self) -> bool:
        return False

    def begin_merging(self) -> None:
        pass

    def merge_on(self) -> Change:
        return _NOTHING


class Plain(_Unmerged):
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

    @property
    def forwarded(self) -> tuple[Pattern, ...]:
        return tuple(pattern for pattern, count in self._counts.items() for _ in range(count))


class Covered(_Unmerged):
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

    @property
    def forwarded(self) -> tuple[Pattern, ...]:
        return self._table.forwarded


class Merged(Covered):
    """What covering leaves is merged; what that leaves is widened, and covered once more.

        wanted ──► covering table ──► merged set ──► widened ──► covering table ──► forwarded

    Each of these stages gives as many patterns as it takes, or fewer.  A merging looks at
    everything in the merged set, so it waits until a fifth of that is fresh: then a pattern takes
    some milliseconds, however many there are.  Widening takes as long, so that is done in steps of
    its own, for one pattern each; until its turn has come a pattern is forwarded as it is.
    """

    def __init__(self, counter: PathCounter, degree: float) -> None:
        super().__init__()
        self._counter = counter
        self._merged = MergedSet(counter, degree)
        self._wide = CoveringTable()
        self._merging: Iterator[Change] | None = None
        self._narrow: dict[Pattern, None] = {}  # of the merged set, and not yet widened

    def _pass_on(self, change: Change) -> Change:
        return self._cover(self._merged.update(change.forward, change.withdraw))

    def _cover(self, change: Change) -> Change:
        """Pass on what the merged set forwards and withdraws, not widened yet."""
        self._narrow.update(dict.fromkeys(change.forward))
        return _joined(
            *(self._wide.add(str(each), each) for each in change.forward),
            *(self._wide.remove(self._key(each)) for each in change.withdraw),
        )

    def _key(self, pattern: Pattern) -> str:
        """The key of a pattern of the merged set that is about to go."""
        is_narrow = pattern in self._narrow
        self._narrow.pop(pattern, None)
        return str(pattern) if is_narrow else f"{_WIDENED}{pattern}"

    @property
    def is_merging(self) -> bool:
        return self._merging is not None or bool(self._narrow)

    def begin_merging(self) -> None:
        fresh = self._merged.fresh
        if self._merging is None and fresh and fresh >= _FRESH * len(self._merged.forwarded):
            self._merging = self._merged.merging()

    def merge_on(self) -> Change:
        if self._merging is not None:
            change = next(self._merging, None)
            if change is not None:
                return self._cover(change)
            self._merging = None
        if self._narrow:
            return self._widen(next(iter(self._narrow)))
        return _NOTHING

    def _widen(self, pattern: Pattern) -> Change:
        del self._narrow[pattern]
        wide = widened(pattern, self._counter)
        return _joined(
            self._wide.add(f"{_WIDENED}{pattern}", wide), self._wide.remove(str(pattern))
        )

    @property
    def forwarded(self) -> tuple[Pattern, ...]:
        return self._wide.forwarded


def _joined(*changes: Change) -> Change:
    return Change(
        tuple(pattern for each in changes for pattern in each.forward),
        tuple(pattern for each in changes for pattern in each.withdraw),
    )


Aggregate: TypeAlias = Plain | Covered


class Counters:
    """Counters of paths by what they count; routers in one thread may share them."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._counters: dict[frozenset[Promise], PathCounter] = {}

    @property
    def size(self) -> int:
        """How many patterns and states all counters remember."""
        return sum(counter.size for counter in self._counters.values())

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
