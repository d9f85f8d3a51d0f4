"""A set of patterns kept merged: what is sent upstream instead of it.

The *present* patterns come and go; *mergers* stand for groups of them.  What is forwarded are the
mergers, and the present patterns that no merger covers::

    present     /a/b/c   /a/d/c   /a/e/c        /x//y    /x/z[@k]
                   └────────┼────────┘             │         │
    forwarded           /a/*/c                  /x//y    /x/z[@k]

Invariants, after every call:

* every merger covers its members, and these are all present patterns it covers;
* its degree, measured with its members, is within the threshold;
* at least two present patterns stand behind it alone, so that it saves something.

So what is forwarded covers everything present, and where the threshold is 0 it matches no path of
the schema that nothing present matches, among those that the counter counts: of at most its
``depth`` elements, or observed.  Deeper paths of a recursive schema may match a merger of degree 0
and nothing present.  A pattern may stand behind several mergers.

Merging is periodic (:meth:`MergedSet.merge`), as in section 4.3 of Li, Hou and Jacobsen: adding a
pattern only looks whether a merger covers it; removing one dissolves the mergers that no longer
keep to the above, and their members are forwarded again by themselves.  A merging of many patterns
takes seconds; :meth:`MergedSet.merging` does it in small steps, with the invariants above after
each, so patterns may come and go in between.  Groups are chosen greedily:
the perfect ones first, larger before smaller, then the others by degree.  Mergers are merged again,
but always measured against the present patterns behind them, so degrees do not add up unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from typing import NamedTuple

from twigcast.covering.merging.counting import PathCounter, listed
from twigcast.covering.merging.rules import Candidate, Rule, proposed
from twigcast.covering.search import PatternSearch
from twigcast.covering.table import Change
from twigcast.errors import CountingBudgetError
from twigcast.language import Pattern

Progress = Callable[[int, int], None]
"""Called with the number of candidates that have been judged and that of all."""

_MOST_ROUNDS = 10
_MOST_STATES = 120
_REPORTED_EVERY = 100


@dataclass(frozen=True, slots=True)
class Merger:
    """A pattern that stands for several: those it covers among the present ones."""

    pattern: Pattern
    members: frozenset[Pattern]
    degree: Fraction
    """The share of its paths that no member matches, or more than that.

    Of the paths that the counter counts: 0 says nothing of those longer than its ``depth``.
    It is measured when the merger is formed and when it loses a member; patterns that come under it
    later can only lower it.  Members that are not linear do not count.
    """
    rule: Rule


def merge(
    patterns: Iterable[Pattern],
    counter: PathCounter,
    threshold: float | Fraction = 0,
    progress: Progress | None = None,
) -> list[Merger]:
    """The mergers of a set of patterns whose degrees are within the threshold."""
    merged = MergedSet(counter, threshold)
    merged.update(dict.fromkeys(listed(patterns)), ())
    merged.merge(progress)
    return list(merged.mergers())


class MergedSet:
    """Present patterns and the mergers that stand for them.

    It stands behind a :class:`~twigcast.covering.table.CoveringTable`, whose changes it takes, and
    answers with those to pass on upstream.
    """

    def __init__(self, counter: PathCounter, threshold: float | Fraction = 0) -> None:
        if not isinstance(counter, PathCounter):
            raise TypeError(
                f"a PathCounter is needed here, not {type(counter).__name__}; make one of a Schema"
            )
        self.threshold = _as_threshold(threshold)
        self._counter = counter
        self._present = PatternSearch()
        self._mergers = PatternSearch()
        self._members: dict[Pattern, dict[Pattern, None]] = {}
        self._judged: dict[Pattern, _Judged] = {}  # by merger, as when it was measured last
        self._linear: set[Pattern] = set()  # those of the present patterns that count in degrees
        self._behind: dict[Pattern, dict[Pattern, None]] = {}  # present pattern -> its mergers
        self._forwarded: dict[Pattern, None] = {}
        self._fresh: set[Pattern] = set()  # forwarded since the last merging
        self._removed = 0  # how many patterns have been, so far
        self._touched: dict[Pattern, None] = {}  # may have to be forwarded or withdrawn
        self._change: dict[Pattern, bool] = {}  # since the last answer: whether to forward

    def __len__(self) -> int:
        """How many patterns are present."""
        return len(self._present)

    def __contains__(self, pattern: object) -> bool:
        return pattern in self._present

    @property
    def forwarded(self) -> tuple[Pattern, ...]:
        """What is forwarded upstream at present, in the order in which that began."""
        return tuple(self._forwarded)

    @property
    def fresh(self) -> int:
        """How many of them came after the last merging."""
        return len(self._fresh)

    def mergers(self) -> Iterator[Merger]:
        """The mergers that stand at present."""
        for pattern, members in self._members.items():
            judged = self._judged[pattern]
            yield Merger(pattern, frozenset(members), judged.degree, judged.rule)

    def update(self, forward: Iterable[Pattern], withdraw: Iterable[Pattern]) -> Change:
        """Take in what a covering table would forward and withdraw; pass on what remains of it.

        Raises ValueError, before anything has changed, for a pattern to forward that is there
        already and for one to withdraw that is not.
        """
        added, removed = listed(forward), listed(withdraw)
        self._check(added, removed)
        for pattern in added:
            self._add(pattern)
        for pattern in removed:
            self._remove(pattern)
        return self._changes()

    def merge(self, progress: Progress | None = None) -> Change:
        """Replace groups by mergers, as far as what was forwarded since the last time allows.

        Some milliseconds for each pattern that is new.  An exception raised by ``progress`` ends
        it; the next call, of whatever method, answers with what was merged until then.
        """
        for _ in self._steps(progress):
            pass
        return self._changes()

    def merging(self) -> Iterator[Change]:
        """What :meth:`merge` does, in small steps; each gives what it changes.

        :meth:`update` may be called between two steps.  What comes then is merged the next time.
        """
        for _ in self._steps(None):
            yield self._changes()

    def __repr__(self) -> str:
        return (
            f"<MergedSet of {len(self):,} patterns, {len(self._forwarded):,} forwarded, "
            f"{len(self._members):,} of them mergers>"
        )

    def _check(self, added: list[Pattern], removed: list[Pattern]) -> None:
        coming: set[Pattern] = set()
        for pattern in added:
            if pattern in coming:
                raise ValueError(f"the pattern {pattern} is to be forwarded twice")
            if pattern in self._present:
                raise ValueError(f"the pattern {pattern} cannot be forwarded: it is there already")
            coming.add(pattern)
        going: set[Pattern] = set()
        for pattern in removed:
            if pattern in going:
                raise ValueError(f"the pattern {pattern} is to be withdrawn twice")
            if not (pattern in self._present or pattern in coming):
                raise ValueError(f"the pattern {pattern} cannot be withdrawn: it is not there")
            going.add(pattern)

    # Choosing mergers.

    def _steps(self, progress: Progress | None) -> Iterator[None]:
        """The steps of a merging."""
        for _ in range(_MOST_ROUNDS):
            fresh = frozenset(self._fresh)
            candidates: list[Candidate] = []
            for candidate in proposed(self._forwarded, fresh):
                if candidate is not None:
                    candidates.append(candidate)
                yield
            within: list[_Judged] = []
            for done, candidate in enumerate(candidates):
                if progress is not None and done % _REPORTED_EVERY == 0:
                    progress(done, len(candidates))
                judged = self._judge(candidate)
                if judged is not None:
                    within.append(judged)
                yield
            if progress is not None:
                progress(len(candidates), len(candidates))
            self._fresh -= fresh  # only now: `progress` may have raised, to put it off
            has_chosen = False
            for is_chosen in self._choose(within):
                has_chosen |= is_chosen
                yield
            if not has_chosen:
                break

    def _judge(self, candidate: Candidate) -> _Judged | None:
        """A candidate with its degree, if that is within the threshold."""
        merger = candidate.pattern
        group: dict[Pattern, None] = {}
        for each in candidate.members:
            judged = self._judged.get(each)
            if judged is not None:
                group.update(dict.fromkeys(judged.group))
            elif each in self._present:  # else it has gone since it was proposed
                group[each] = None
        members = self._present.covered_by(merger)
        degree = self._measure(merger, group, members)
        if degree is None:
            return None
        replaced = tuple(dict.fromkeys((*members, *candidate.members)))
        return _Judged(merger, candidate.rule, degree, tuple(group), replaced, self._removed)

    def _measure(
        self, merger: Pattern, group: Iterable[Pattern], members: Iterable[Pattern]
    ) -> Fraction | None:
        """The degree of a merger; None where it is, or might be, above the threshold.

        The group that the rules propose is alike and quick to count.  Where it does not suffice all
        members are counted, unless they are too many and too different for that.
        """
        counted = [member for member in members if member in self._linear]
        if self._counter.exceeds(merger, counted, self.threshold, budget=_MOST_STATES):
            return None
        least: Fraction | None = None
        for patterns in (list(group), counted):
            try:
                degree = self._counter.degree(merger, patterns, budget=_MOST_STATES)
            except CountingBudgetError:
                continue
            if least is None or degree < least:
                least = degree
            if not least:
                break
        return None if least is None or least > self.threshold else least

    def _choose(self, judged: list[_Judged]) -> Iterator[bool]:
        """Let the best mergers stand, as long as they save something; whether a step did so."""
        waiting: list[tuple[_Rank, int]] = []
        for order, each in enumerate(judged):
            heappush(waiting, (each.rank(self._forwarded), order))
            yield False
        while waiting:
            rank, order = heappop(waiting)
            each = judged[order]
            now = each.rank(self._forwarded)
            if now.saved < 1:
                yield False
            elif each.removed != self._removed:  # a member may be gone
                again = self._judge(Candidate(each.merger, each.replaced, each.rule))
                if again is not None:
                    judged[order] = again
                    heappush(waiting, (again.rank(self._forwarded), order))
                yield False
            elif now != rank:
                heappush(waiting, (now, order))
            else:
                self._stand(each)
                self._settle()
                yield True

    def _stand(self, judged: _Judged) -> None:
        merger = judged.merger
        assert merger not in self._members, "what stands covers nothing that is forwarded"
        members = dict.fromkeys(self._present.covered_by(merger))
        beside: dict[Pattern, None] = {}
        for member in members:
            beside.update(self._behind[member])
            self._behind[member][merger] = None
        self._members[merger] = members
        self._judged[merger] = judged
        self._mergers.add(merger)
        self._touched.update(members)
        self._touched[merger] = None
        for other in beside:  # those that this merger covers are among them
            if not self._saves(other):
                self._dissolve(other)

    # Coming and going.

    def _add(self, pattern: Pattern) -> None:
        mergers = self._mergers.covering(pattern)
        self._present.add(pattern)
        if pattern.linear_steps is not None:
            self._linear.add(pattern)
        self._behind[pattern] = dict.fromkeys(mergers)
        for merger in mergers:
            self._members[merger][pattern] = None
        self._touched[pattern] = None

    def _remove(self, pattern: Pattern) -> None:
        self._removed += 1
        self._present.remove(pattern)
        self._linear.discard(pattern)
        self._touched[pattern] = None
        mergers = self._behind.pop(pattern)
        for merger in mergers:
            del self._members[merger][pattern]
        for merger in mergers:
            if not self._saves(merger) or not self._is_within(merger, without=pattern):
                self._dissolve(merger)

    def _is_within(self, merger: Pattern, without: Pattern) -> bool:
        """Whether a merger is still within the threshold, now that it has lost a member."""
        judged = self._judged[merger]
        group = tuple(member for member in judged.group if member != without)
        degree = self._measure(merger, group, self._members[merger])
        if degree is None:
            return False
        self._judged[merger] = judged._replace(degree=degree, group=group)
        return True

    def _saves(self, merger: Pattern) -> bool:
        """Whether two present patterns, or more, stand behind this merger alone."""
        alone = 0
        for member in self._members[merger]:
            alone += len(self._behind[member]) == 1
            if alone > 1:
                return True
        return False

    def _dissolve(self, merger: Pattern) -> None:
        self._mergers.remove(merger)
        del self._judged[merger]
        members = self._members.pop(merger)
        for member in members:
            del self._behind[member][merger]
        self._touched.update(members)
        self._touched[merger] = None

    # What is forwarded.

    def _settle(self) -> None:
        """Bring what is forwarded up to date where something was touched."""
        for pattern in self._touched:
            wanted = pattern in self._members or self._behind.get(pattern) == {}
            if wanted == (pattern in self._forwarded):
                continue
            if wanted:
                self._forwarded[pattern] = None
                self._fresh.add(pattern)
            else:
                del self._forwarded[pattern]
                self._fresh.discard(pattern)
            if self._change.pop(pattern, None) is None:  # else this undoes the other change
                self._change[pattern] = wanted
        self._touched.clear()

    def _changes(self) -> Change:
        self._settle()
        change = Change(
            tuple(pattern for pattern, wanted in self._change.items() if wanted),
            tuple(pattern for pattern, wanted in self._change.items() if not wanted),
        )
        self._change.clear()
        return change


def _as_threshold(value: float | Fraction) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise TypeError(f"a threshold is a number from 0 to 1, not {type(value).__name__}")
    if not 0 <= value <= 1:  # nor is what is not a number
        raise ValueError(f"the degree of a merger is from 0 to 1, not {value}")
    # Through its text, 0.3 is three tenths and not the binary number just below.
    return Fraction(str(value))


class _Rank(NamedTuple):
    """The order in which mergers are chosen, the first ones first."""

    imperfect: bool
    degree: Fraction
    lost: int

    @property
    def saved(self) -> int:
        return -self.lost


class _Judged(NamedTuple):
    merger: Pattern
    rule: Rule
    degree: Fraction
    group: tuple[Pattern, ...]
    """The present patterns that the rules propose it for."""
    replaced: tuple[Pattern, ...]
    """The patterns, mergers among them, that need not be forwarded beside this one."""
    removed: int
    """After how many removals it was measured."""

    def rank(self, forwarded: Container[Pattern]) -> _Rank:
        saved = sum(pattern in forwarded for pattern in self.replaced) - 1
        return _Rank(self.degree > 0, self.degree, -saved)
