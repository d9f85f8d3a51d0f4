"""How many paths of a schema a set of linear patterns matches, and how imperfect a merger is.

A path leads from the root to an element that may be a leaf; those of at most ``depth`` elements are
counted, with exact integers, and none is enumerated.  What patterns still ask for below an element
is a set of *suffixes*, and a path is followed by replacing each suffix by what is left of it::

    {/a/b//c, /a/d}  ─a─►  {/b//c, /d}  ─b─►  {//c}  ─e─►  {//c}  ─c─►  matched

A set of suffixes is a state (:class:`_State`); as soon as one of its patterns has matched,
everything below counts at once.  What a state matches below an element depends on the suffixes
alone, not on how they came about, so it is remembered for all patterns to come: those that merging
compares differ in few steps and share nearly all of their states.

Elements with equal sets of children are alike for what lies below them: they form a *class*.  A
state without ``//`` looks at the children it names, for one class and number of levels at a time.
One with ``//`` soon needs all of them and works for all classes at once, level by level.

Invariant: of two suffixes in a state none is the other behind a ``//``, which would make it idle;
so ``//a//b`` needs one state for each segment, not for each pair of positions.

Cost: a state without ``//`` some microseconds; one with ``//`` as many sums as there are classes
and levels: 0.2 ms for a DTD of 120 elements.  Many patterns with ``//`` that have little in common
may need a number of states that grows exponentially, so every count has a budget of new states.
What is remembered is bounded (``MOST_NUMBERS``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from twigcast.covering.merging.observed_paths import ObservedPaths, Path
from twigcast.covering.pairwise import require_budget
from twigcast.errors import CountingBudgetError
from twigcast.language import Axis, NodeTest, Pattern, Step, require_pattern
from twigcast.schema import PathAutomaton, Schema, bits

DEFAULT_BUDGET = 5_000
MOST_NUMBERS = 500_000
_DEEPEST = 200
"""Paths are followed by recursion."""
_MOST_PATTERNS = 200_000


class _TooManyStates(Exception):  # noqa: N818 - never leaves this module
    pass


class _TooCostly(NamedTuple):
    """Stands for a count that this budget did not suffice for."""

    budget: int


_Counts: TypeAlias = tuple[int, ...]
"""Numbers of paths by class.  There are millions, and Python's collector passes over tuples."""


class _State:
    """A set of suffixes, and where the next element leads: ``moves`` by position, else ``rest``.

    ``named`` is the set of positions in ``moves``.  ``persists`` says that a suffix starts with
    ``//``; then ``levels[n]`` holds, for each class, the number of paths with at most n further
    elements that are matched, otherwise ``known`` holds it for each class and number asked for.
    """

    __slots__ = ("known", "levels", "moves", "named", "persists", "rest", "suffixes")

    moves: dict[int, _State]
    rest: _State

    def __init__(self, suffixes: frozenset[int]) -> None:
        self.suffixes = suffixes
        self.named = -1  # until the moves are made
        self.persists = False
        self.levels: list[_Counts] = []
        self.known: dict[int, int] = {}


_LOST = _State(frozenset())
_MATCHED = _State(frozenset((-1,)))
_NOTHING_LEFT = -1


class PathCounter:
    """Counts the paths of a schema that patterns match, or of any automaton of paths.

    With ``weights``, how often each path was seen (those of :func:`twigcast.decompose`, say), the
    degree of a merger is measured over these paths, whatever their length.  Counting writes to
    what is remembered, so a counter belongs to one thread.
    """

    def __init__(
        self,
        schema: Schema | PathAutomaton,
        depth: int = 10,
        weights: Mapping[Path, int] | None = None,
    ) -> None:
        if not isinstance(schema, Schema | PathAutomaton):
            raise TypeError(
                f"a Schema is needed here, not {type(schema).__name__}; make one with "
                "twigcast.Schema.of()"
            )
        if isinstance(depth, bool) or not isinstance(depth, int):
            raise TypeError(f"a depth is an int, not {type(depth).__name__}")
        if not 1 <= depth <= _DEEPEST:
            raise ValueError(f"paths of 1 to {_DEEPEST} elements are counted: depth is {depth}")
        self.depth = depth
        self._of = schema.root if isinstance(schema, Schema) else "advertisements"
        self._observed = None if weights is None else ObservedPaths(weights)
        automaton = schema.automaton if isinstance(schema, Schema) else schema
        self._automaton = automaton
        # Classes with several children come first, those without any last.
        self._children = sorted(
            {automaton.first, *automaton.follow},
            key=lambda children: (-children.bit_count(), children),
        )
        number = {children: kind for kind, children in enumerate(self._children)}
        self._top = number[automaton.first]
        self._class_of = [number[children] for children in automaton.follow]
        self._totals = self._all_paths()
        self._class_totals: list[_Counts] = [
            tuple(sum(row[position] for position in bits(children)) for children in self._children)
            for row in self._totals
        ]
        self._several = [
            itemgetter(*bits(children)) for children in self._children if children.bit_count() > 1
        ]
        self._single = [
            children.bit_length() - 1 for children in self._children if children.bit_count() == 1
        ]
        self._no_children = [0] * self._children.count(0)
        self._masks: dict[tuple[NodeTest, bool], int] = {}
        self._counts: dict[tuple[Pattern, bool], int | _TooCostly] = {}
        self._left = 0  # of the budget of the present count
        self._states: dict[frozenset[int], _State] = {}
        self._forget()

    def __repr__(self) -> str:
        ending = "" if self.depth == 1 else "s"
        seen = "" if self._observed is None else f", {len(self._observed):,} observed paths"
        return f"<PathCounter: {self._of}, paths of up to {self.depth} element{ending}{seen}>"

    @property
    def size(self) -> int:
        """How many patterns and states are remembered."""
        return len(self._whole) + len(self._states)

    def count(self, patterns: Iterable[Pattern], *, budget: int = DEFAULT_BUDGET) -> int:
        """How many paths of the schema one of the linear patterns, or more, may match.

        Raises :class:`~twigcast.errors.CountingBudgetError` where that takes more than ``budget``
        new states.
        """
        require_budget(budget)
        return self._count(listed(patterns), surely=False, budget=budget)

    def degree(
        self, merger: Pattern, members: Iterable[Pattern], *, budget: int = DEFAULT_BUDGET
    ) -> Fraction:
        """The share of the paths that a merger matches and none of its members does.

        |P(s) − ∪P(si)| / |P(s)|, in the letters of Li, Hou and Jacobsen, for a merger that covers
        its members; 0 exactly where it is perfect, as far as paths of at most ``depth`` elements
        show: where elements nest without end, a deeper path may match the merger and no member.  A
        merger that no path of the schema matches causes no false positives: its degree is 0; one
        that only longer paths match is not known, and its degree is 1.  With weights, only what was
        observed counts; a merger that no observed path matches is judged by the schema.

        Where the DTD leaves the namespace of an element open, a merger counts as matching and a
        member that asks for one namespace as not matching: what is called perfect is so, up to that
        depth, in every namespace.

        Raises :class:`~twigcast.errors.CountingBudgetError` where that takes more than ``budget``
        new states.
        """
        require_pattern(merger)
        members = listed(members)
        require_budget(budget)
        observed = self._observed
        if observed is not None:
            matched = observed.weight(observed.matched(_linear_steps(merger)))
            if matched:
                by_members = observed.matched_by_any(map(_linear_steps, members))
                return 1 - Fraction(observed.weight(by_members), matched)
        matched = self._count_one(merger, surely=False, budget=budget)
        if not matched:
            return Fraction(int(self._automaton.overlaps_linear(_linear_steps(merger))))
        return 1 - Fraction(self._count(members, surely=True, budget=budget), matched)

    def exceeds(
        self,
        merger: Pattern,
        members: Iterable[Pattern],
        threshold: Fraction,
        *,
        budget: int = DEFAULT_BUDGET,
    ) -> bool:
        """Whether it is plain that the degree is above the threshold, from members one by one.

        Much quicker than the degree, as the count of a member serves all its mergers.  Nothing is
        plain where one of them cannot be counted within the budget.
        """
        require_pattern(merger)
        require_budget(budget)
        if not isinstance(threshold, Fraction):
            raise TypeError(f"a threshold is a Fraction here, not {type(threshold).__name__}")
        if self._observed is not None:
            return False
        try:
            matched = self._count_one(merger, surely=False, budget=budget)
            most_missed = matched * threshold.numerator // threshold.denominator
            wanted = matched - most_missed
            for member in members:
                if wanted <= 0:
                    break
                wanted -= self._count_one(member, surely=True, budget=budget)
        except CountingBudgetError:
            return False
        return wanted > 0

    def _count_one(self, pattern: Pattern, *, surely: bool, budget: int) -> int:
        count = self._counts.get((pattern, surely))
        if count is None:
            if len(self._counts) >= _MOST_PATTERNS:
                self._counts.clear()
            try:
                count = self._count((pattern,), surely=surely, budget=budget)
            except CountingBudgetError:
                self._counts[pattern, surely] = _TooCostly(budget)
                raise
            self._counts[pattern, surely] = count
        elif not isinstance(count, int):
            if budget <= count.budget:
                raise CountingBudgetError((str(pattern),), budget)
            del self._counts[pattern, surely]
            return self._count_one(pattern, surely=surely, budget=budget)
        return count

    def _count(self, patterns: Sequence[Pattern], *, surely: bool, budget: int) -> int:
        if self._numbers > MOST_NUMBERS:
            self._forget()
        suffixes = {self._suffix_of(pattern, surely) for pattern in patterns}
        start = self._state({suffix for suffix in suffixes if suffix is not None})
        self._left = budget
        try:
            return self._below(start, self._top, self.depth)
        except _TooManyStates:
            raise CountingBudgetError(tuple(map(str, patterns)), budget) from None

    # Paths, counted from an element downwards.

    def _all_paths(self) -> list[list[int]]:
        """For each number of levels and position, the paths from there of at most so many names."""
        automaton = self._automaton
        children = [list(bits(following)) for following in automaton.follow]
        rows = [[0] * len(children)]
        for _ in range(self.depth):
            above = rows[-1]
            rows.append(
                [
                    (automaton.last >> position & 1) + sum(above[child] for child in below)
                    for position, below in enumerate(children)
                ]
            )
        return rows

    def _below(self, state: _State, kind: int, levels: int) -> int:
        """The paths through the children of a class that a state matches within some levels."""
        if state is _MATCHED:
            return self._class_totals[levels][kind]
        if state is _LOST or not levels:
            return 0
        if state.named < 0:
            self._make_moves(state)
        if state.persists:
            return self._level(state, levels)[kind]
        key = kind * (self.depth + 1) + levels
        count = state.known.get(key)
        if count is None:
            count = state.known[key] = self._through_children(state, kind, levels)
            self._numbers += 1
        return count

    def _through_children(self, state: _State, kind: int, levels: int) -> int:
        children = self._children[kind]
        count = 0
        for position in bits(children & state.named):
            count += self._at(state.moves[position], position, levels)
        if state.rest is not _LOST:
            for position in bits(children & ~state.named):
                count += self._at(state.rest, position, levels)
        return count

    def _at(self, state: _State, position: int, levels: int) -> int:
        """The paths that begin at a position, which has led to that state."""
        if state is _MATCHED:
            return self._totals[levels][position]
        return self._below(state, self._class_of[position], levels - 1)

    def _level(self, state: _State, levels: int) -> _Counts:
        """For each class, the paths with that many further names that a state with // matches."""
        if state is _MATCHED:
            return self._class_totals[levels]
        if state.named < 0:
            self._make_moves(state)
        known = state.levels
        for level in range(len(known), levels + 1):
            if not level:
                known.append((0,) * len(self._children))
            elif state.rest is _MATCHED:
                known.append(self._class_totals[level])
            else:
                rest = self._level(state.rest, level - 1)
                at = [rest[kind] for kind in self._class_of]
                for position, below in state.moves.items():
                    if below is _MATCHED:
                        at[position] = self._totals[level][position]
                    else:
                        at[position] = self._level(below, level - 1)[self._class_of[position]]
                known.append(
                    (
                        *[sum(pick(at)) for pick in self._several],
                        *[at[position] for position in self._single],
                        *self._no_children,
                    )
                )
            self._numbers += len(self._children)
        return known[levels]

    # States and suffixes.

    def _make_moves(self, state: _State) -> None:
        if not self._left:
            raise _TooManyStates
        self._left -= 1
        always: set[int] = set()
        at: dict[int, list[int]] = {}
        everywhere = self._automaton.everywhere
        for suffix in state.suffixes:
            descendant, mask, following = self._suffixes[suffix]
            if descendant:
                state.persists = True
                always.add(suffix)
            if mask == everywhere:
                always.add(following)
            else:
                for position in bits(mask):
                    at.setdefault(position, []).append(following)
        state.rest = self._state(always)
        state.moves = {position: self._state(always.union(more)) for position, more in at.items()}
        state.named = sum(1 << position for position in at)
        self._numbers += len(at) + len(state.suffixes)

    def _state(self, suffixes: set[int]) -> _State:
        if _NOTHING_LEFT in suffixes:
            return _MATCHED
        if not suffixes:
            return _LOST
        if len(suffixes) > 1:
            idle = {suffix for suffix in suffixes if not self._behind[suffix].isdisjoint(suffixes)}
            suffixes -= idle
        key = frozenset(suffixes)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _State(key)
        return state

    def _suffix_of(self, pattern: Pattern, surely: bool) -> int | None:
        """The whole pattern as a suffix; None where it asks for names that no path has."""
        try:
            return self._whole[pattern, surely]
        except KeyError:
            pass
        suffix: int | None = _NOTHING_LEFT
        for step in reversed(_linear_steps(pattern)):
            mask = self._mask(step.test, surely)
            if not mask:
                suffix = None
                break
            assert suffix is not None
            suffix = self._intern(step.axis is Axis.DESCENDANT, mask, suffix)
        self._whole[pattern, surely] = suffix
        self._numbers += 1
        return suffix

    def _intern(self, descendant: bool, mask: int, following: int) -> int:
        key = (descendant, mask, following)
        suffix = self._suffix_numbers.get(key)
        if suffix is None:
            # What makes this one idle: itself behind // instead of /, and all that is left of it
            # further on and starts with //.
            behind = frozenset[int]()
            if following != _NOTHING_LEFT:
                behind = self._behind[following]
                if self._suffixes[following][0]:
                    behind |= {following}
            if not descendant:
                behind |= {self._intern(True, mask, following)}
            suffix = self._suffix_numbers[key] = len(self._suffixes)
            self._suffixes.append(key)
            self._behind.append(behind)
            self._numbers += 1 + len(behind)
        return suffix

    def _mask(self, test: NodeTest, surely: bool) -> int:
        """The positions whose elements may, or surely do, pass a test."""
        mask = self._masks.get((test, surely))
        if mask is None:
            mask = self._automaton.positions(test.namespace, test.local)
            if surely:
                labels = self._automaton.labels
                mask = sum(1 << each for each in bits(mask) if test.covers(labels[each]))
            if len(self._masks) >= _MOST_PATTERNS:
                self._masks.clear()
            self._masks[test, surely] = mask
        return mask

    def _forget(self) -> None:
        """Begin anew with what is remembered of suffixes."""
        for state in self._states.values():  # states lead to themselves; so nothing keeps them
            state.moves, state.rest = {}, _LOST
        self._numbers = 0
        self._states = {}
        self._suffixes: list[tuple[bool, int, int]] = []
        self._suffix_numbers: dict[tuple[bool, int, int], int] = {}
        self._behind: list[frozenset[int]] = []
        self._whole: dict[tuple[Pattern, bool], int | None] = {}


def listed(patterns: Iterable[Pattern]) -> list[Pattern]:
    """Several patterns in a list; refuses a single one, and what is none."""
    if isinstance(patterns, Pattern | str) or not isinstance(patterns, Iterable):
        kind = type(patterns).__name__
        raise TypeError(f"several patterns are needed here, not one {kind}; put it into a list")
    several = list(patterns)
    for pattern in several:
        require_pattern(pattern)
    return several


def _linear_steps(pattern: Pattern) -> tuple[Step, ...]:
    steps = pattern.linear_steps
    if steps is None:
        raise ValueError(f"only paths of names and * are counted: {pattern}")
    return steps
