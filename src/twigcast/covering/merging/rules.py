"""The rules by which linear patterns are merged into one that covers them all.

Those of Li, Hou and Jacobsen (section 4.3), for groups of any size:

===================== =============================== ===================
rule                  members                         merger
===================== =============================== ===================
``ELEMENT``           ``/a/b/c``, ``/a/d/c``          ``/a/*/c``
``ELEMENT_AND_EDGE``  ``/a/b/c/d``, ``/a/e/c//d``     ``/a/*/c//d``
``MIDDLE``            ``/a/b/c/d``, ``/a/e/d``        ``/a//d``
===================== =============================== ===================

The second allows one element and one edge to differ.  (The paper prints ``/`` for the merged edge;
its example and the sense ask for ``//``.)  The third keeps a head and a tail of a step each or
more, which together are half of every member or more; the middle of a member may be anything, also
nothing, so the tail hangs on ``//`` whatever its edge was.

Groups come from buckets, not from pairs: for each step, patterns that are equal but for the name
there; for each length of head, the patterns with that head by their tails.  A bucket is always
taken whole, as the degree of a merger can only fall with more members.  A head or tail that all
members would share even if it were longer is left to the bucket with the longer one.

Cost: patterns × steps² operations on small tuples and integers.  :func:`proposed` takes them in
small steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import chain
from typing import NamedTuple

from twigcast.language import Axis, NodeTest, Pattern, Step, require_pattern, restore_pattern


class Rule(Enum):
    """By which difference patterns were merged."""

    ELEMENT = "one element differs"
    ELEMENT_AND_EDGE = "one element and one edge differ"
    MIDDLE = "the middle differs"


class Candidate(NamedTuple):
    """Patterns that could be merged, and what would come out."""

    pattern: Pattern
    members: tuple[Pattern, ...]
    rule: Rule


def candidates(
    patterns: Iterable[Pattern], fresh: frozenset[Pattern] | None = None
) -> list[Candidate]:
    """All groups that the rules find among linear patterns; others are passed over.

    One candidate for each merger, with all the members that any of the rules gives it.  With
    ``fresh``, only of groups that one of these belongs to.
    """
    return [each for each in proposed(patterns, fresh) if each is not None]


def proposed(
    patterns: Iterable[Pattern], fresh: frozenset[Pattern] | None = None
) -> Iterator[Candidate | None]:
    """What :func:`candidates` gives, in small steps: None is a step without a candidate."""
    paths = []
    for number, pattern in enumerate(dict.fromkeys(patterns)):
        require_pattern(pattern)
        steps = pattern.linear_steps
        if steps is not None:
            paths.append(_Path(pattern, steps, fresh is None or pattern in fresh))
        if number % _AT_ONCE == 0:
            yield None
    groups: dict[str, tuple[dict[Pattern, None], Rule]] = {}
    for found in chain(_same_but_for_one_element(paths), _same_at_both_ends(paths)):
        yield None
        if found is not None:
            text, members, rule = found
            known, _ = groups.setdefault(text, ({}, rule))
            known.update((path.pattern, None) for path in members)
    merged: dict[Pattern, Candidate] = {}
    for text, (group, rule) in groups.items():
        yield None
        pattern = restore_pattern(text)
        if pattern in merged:  # two spellings have one normal form
            group = dict.fromkeys((*merged[pattern].members, *group))
            rule = merged[pattern].rule
        merged[pattern] = Candidate(pattern, tuple(group), rule)
    yield from merged.values()


class _Path:
    """A linear pattern, taken apart: the test of each step, and the set of steps behind ``//``."""

    __slots__ = ("edges", "fresh", "pattern", "tests")

    def __init__(self, pattern: Pattern, steps: Sequence[Step], fresh: bool) -> None:
        self.pattern = pattern
        self.fresh = fresh
        self.tests: tuple[NodeTest, ...] = tuple(step.test for step in steps)
        self.edges = sum(
            1 << index for index, step in enumerate(steps) if step.axis is Axis.DESCENDANT
        )


_Group = tuple[str, Sequence[_Path], Rule]
_Groups = Iterator[_Group | None]
"""Groups, in small steps: None is one without a group."""
_AT_ONCE = 200
"""How many paths are looked at in a step."""


def _worthwhile(members: Sequence[_Path]) -> bool:
    return len(members) > 1 and any(path.fresh for path in members)


def spelled(tests: Sequence[str], edges: int) -> str:
    """The text of a linear pattern; bit n of ``edges`` is set where step n stands behind ``//``."""
    return "".join(("//" if edges >> index & 1 else "/") + test for index, test in enumerate(tests))


def _same_but_for_one_element(paths: Sequence[_Path]) -> _Groups:
    by_length: dict[int, list[tuple[tuple[int, ...], _Path]]] = {}
    numbers: dict[NodeTest, int] = {}
    for number, path in enumerate(paths):
        names = tuple(numbers.setdefault(test, len(numbers)) for test in path.tests)
        by_length.setdefault(len(names), []).append((names, path))
        if number % _AT_ONCE == 0:
            yield None
    for length, alike in by_length.items():
        for index in range(length):
            buckets: dict[tuple[int, ...], list[_Path]] = {}
            for number, (names, path) in enumerate(alike):
                buckets.setdefault(names[:index] + names[index + 1 :], []).append(path)
                if number % _AT_ONCE == 0:
                    yield None
            for number, members in enumerate(buckets.values()):
                if number % _AT_ONCE == 0:
                    yield None
                if _worthwhile(members):
                    yield from _by_edges(members, index)


def _by_edges(members: Sequence[_Path], index: int) -> Iterator[_Group]:
    """The groups of a bucket whose members also agree in their edges, but for one perhaps."""
    tests = [test.text for test in members[0].tests]
    tests[index] = "*"
    by_edges: dict[int, list[_Path]] = {}
    for path in members:
        by_edges.setdefault(path.edges, []).append(path)
    for edges, same in by_edges.items():
        if _worthwhile(same):
            yield spelled(tests, edges), same, Rule.ELEMENT
        if len(by_edges) > 1:
            for at in range(len(tests)):
                if edges >> at & 1 and edges ^ 1 << at in by_edges:
                    both = [*same, *by_edges[edges ^ 1 << at]]
                    if _worthwhile(both):
                        yield spelled(tests, edges), both, Rule.ELEMENT_AND_EDGE


class _Ends:
    """A path whose heads and tails have numbers, equal where they are equal.

    ``heads[n]`` is that of the first n steps, ``tails[n]`` that of the last n without the edge in
    front of them.
    """

    __slots__ = ("heads", "path", "tails")

    def __init__(self, path: _Path, numbers: dict[tuple[object, ...], int]) -> None:
        self.path = path
        length = len(path.tests)
        steps = [(path.edges >> index & 1, test) for index, test in enumerate(path.tests)]
        self.heads = [0]
        for step in steps:
            self.heads.append(numbers.setdefault((self.heads[-1], *step), len(numbers)))
        self.tails = [-1]
        rest = -1
        for index in range(length - 1, -1, -1):
            tail = numbers.setdefault((rest, path.tests[index]), len(numbers))
            self.tails.append(tail)
            rest = numbers.setdefault((tail, steps[index][0], None), len(numbers))

    def tails_behind(self, head: int) -> list[int]:
        """The tails that go with a head of that many steps, so that half of all steps is kept."""
        length = len(self.path.tests)
        return self.tails[max(1, (length + 1) // 2 - head) : length - head + 1]


def _same_at_both_ends(paths: Sequence[_Path]) -> _Groups:
    numbers: dict[tuple[object, ...], int] = {(): 0}
    ends = []
    for number, path in enumerate(paths):
        if len(path.tests) > 1:
            ends.append(_Ends(path, numbers))
        if number % _AT_ONCE == 0:
            yield None
    head = 1
    while len(ends) > 1:
        by_head: dict[int, list[_Ends]] = {}
        for each in ends:
            by_head.setdefault(each.heads[head], []).append(each)
        yield None
        ends = []
        for same_head in by_head.values():
            if len(same_head) > 1 and any(each.path.fresh for each in same_head):
                yield from _by_tails(same_head, head)
                ends += [each for each in same_head if len(each.path.tests) > head + 1]
        head += 1


def _by_tails(same_head: Sequence[_Ends], head: int) -> _Groups:
    by_tail: dict[int, list[_Ends]] = {}
    for at, each in enumerate(same_head):
        if each.path.fresh:
            for tail in each.tails_behind(head):
                by_tail.setdefault(tail, []).append(each)
        if at % _AT_ONCE == 0:
            yield None
    for at, each in enumerate(same_head):
        if not each.path.fresh:
            for tail in each.tails_behind(head):
                if tail in by_tail:
                    by_tail[tail].append(each)
        if at % _AT_ONCE == 0:
            yield None
    for at, (number, members) in enumerate(by_tail.items()):
        if at % _AT_ONCE == 0:
            yield None
        paths = [each.path for each in members]
        if not _worthwhile(paths):
            continue
        first = members[0]
        tail = first.tails.index(number)
        if all(len(path.tests) > head + tail for path in paths) and (
            all(each.heads[head + 1] == first.heads[head + 1] for each in members)
            or all(each.tails[tail + 1] == first.tails[tail + 1] for each in members)
        ):
            continue
        tests, edges = first.path.tests, first.path.edges
        cut = len(tests) - tail
        names = [test.text for test in (*tests[:head], *tests[cut:])]
        kept = edges & (1 << head) - 1 | (edges >> cut | 1) << head
        yield spelled(names, kept), paths, Rule.MIDDLE
