"""Merging: the rules, the choice among their mergers, and sets that are kept merged."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations, islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_oracle import NAMES, SmallDtd, selects, small_dtds

from twigcast import Pattern, Schema, parse
from twigcast.covering.merging.counting import PathCounter
from twigcast.covering.merging.merged_set import MergedSet, merge
from twigcast.covering.merging.rules import Rule, candidates
from twigcast.covering.pairwise import covers
from twigcast.covering.table import Change
from twigcast.workload import PathParameters, generate_subscriptions


def expressions(longest: int) -> st.SearchStrategy[Pattern]:
    steps = st.tuples(st.sampled_from(("/", "/", "/", "//")), st.sampled_from((*NAMES, "*")))
    return st.lists(steps, min_size=1, max_size=longest).map(
        lambda found: parse("".join(axis + name for axis, name in found))
    )


def parsed(texts: Iterable[str]) -> list[Pattern]:
    return [parse(text) for text in texts]


def texts(patterns: Iterable[Pattern]) -> set[str]:
    return {str(pattern) for pattern in patterns}


def told(change: Change) -> tuple[set[str], set[str]]:
    return texts(change.forward), texts(change.withdraw)


# The rules.


@pytest.mark.parametrize(
    ("members", "merger", "rule"),
    [
        (["/a/b/c", "/a/d/c"], "/a/*/c", Rule.ELEMENT),
        (["/a/*/c/d", "/a/*/c/e"], "/a/*/c/*", Rule.ELEMENT),
        (["/a/b", "/a/c", "/a/d", "/a/e"], "/a/*", Rule.ELEMENT),
        (["//b/c", "//d/c"], "/*//c", Rule.ELEMENT),
        (["/a//b/c", "/a//d/c"], "/a/*//c", Rule.ELEMENT),
        (["/a/c/*/*", "/a//c/*/c"], "/a//c/*/*", Rule.ELEMENT_AND_EDGE),
        (["/a/b/c/d", "/a/e/c//d"], "/a/*/c//d", Rule.ELEMENT_AND_EDGE),
        (["/a/b/c/d", "/a/e/c/d", "/a/f/c//d"], "/a/*/c//d", Rule.ELEMENT_AND_EDGE),
        (["/a/b/c/d", "/a/e/d"], "/a//d", Rule.MIDDLE),
        (["/a/d", "/a/e/d"], "/a//d", Rule.MIDDLE),
        (["/a/b//c/d", "/a/b/x//c/d", "/a/b/c/y/c/d"], "/a/b//c/d", Rule.MIDDLE),
        (["//a/b/x/c/d", "//a/b/y//z/c/d"], "//a/b//c/d", Rule.MIDDLE),
    ],
)
def test_a_group_has_this_merger(members: list[str], merger: str, rule: Rule) -> None:
    found = {str(each.pattern): each for each in candidates(parsed(members))}
    assert merger in found
    assert texts(found[merger].members) == texts(parsed(members))
    assert found[merger].rule is rule


@pytest.mark.parametrize(
    "members",
    [
        ["/a/b", "/c/d"],
        ["/a/b/c", "//x/y/c"],  # no common head: //c is not proposed
        ["/a/b/c", "/a/x/y"],  # no common tail
        ["/a/b/c/d/e/f", "/a/u/v/w/x/f"],  # less than half would be left
        ["/a[x][y]/b", "/a[x][y]/c"],
        ["/a/@x", "/a/@y"],
        ["/a/b[1]", "/a/c[1]"],
    ],
)
def test_a_group_has_no_merger(members: list[str]) -> None:
    assert candidates(parsed(members)) == []


def test_names_in_namespaces_are_merged() -> None:
    namespaces = {"n": "urn:x/y//z"}
    members = [parse(f"/n:a/n:{name}/n:d", namespaces) for name in "bc"]
    found = candidates(members)
    assert parse("/n:a/*/n:d", namespaces) in {each.pattern for each in found}


@given(st.lists(expressions(5), max_size=8))
def test_a_candidate_covers_its_members_on_every_path(patterns: list[Pattern]) -> None:
    chance = random.Random(1)
    paths = [tuple(chance.choices("abcd", k=chance.randint(1, 7))) for _ in range(200)]
    for merger, members, _ in candidates(patterns):
        assert len(members) > 1
        for member in members:
            assert covers(merger, member)
            for path in paths:
                assert selects(str(merger), path) or not selects(str(member), path)


@given(st.lists(expressions(5), max_size=6), st.randoms(use_true_random=False))
def test_fresh_patterns_find_the_groups_they_belong_to(
    patterns: list[Pattern], chance: random.Random
) -> None:
    fresh = frozenset(pattern for pattern in patterns if chance.random() < 0.4)
    full = {each.pattern: set(each.members) for each in candidates(patterns)}
    found = {each.pattern: set(each.members) for each in candidates(patterns, fresh)}
    for merger, members in found.items():
        assert members & fresh
        assert members <= full[merger]
    for merger, members in full.items():
        assert not members <= fresh or merger in found


Steps = list[tuple[str, str]]


def taken_apart(pattern: Pattern) -> Steps:
    assert pattern.linear_steps is not None
    return [(step.axis.value, step.test.text) for step in pattern.linear_steps]


def put_together(steps: Steps) -> Pattern:
    return parse("".join(axis + name for axis, name in steps))


def mergers_of_two(one: Steps, two: Steps) -> Iterable[Pattern]:
    """What the rules make of two patterns, looked at side by side."""
    if len(one) == len(two):
        names = [place for place, (p, q) in enumerate(zip(one, two, strict=True)) if p[1] != q[1]]
        edges = [place for place, (p, q) in enumerate(zip(one, two, strict=True)) if p[0] != q[0]]
        if len(names) == 1 and len(edges) <= 1:
            yield put_together(
                [
                    ("//" if place in edges else axis, "*" if place in names else name)
                    for place, (axis, name) in enumerate(one)
                ]
            )
    for head in range(1, min(len(one), len(two))):
        for tail in range(1, min(len(one), len(two)) - head + 1):
            end = [("//", one[-tail][1]), *one[len(one) - tail + 1 :]]
            same_end = [("//", two[-tail][1]), *two[len(two) - tail + 1 :]] == end
            kept = 2 * (head + tail) >= max(len(one), len(two))
            if one[:head] == two[:head] and same_end and kept:
                yield put_together([*one[:head], *end])


@given(st.lists(expressions(6), min_size=2, max_size=6, unique=True))
def test_no_pair_that_the_rules_merge_is_missed(patterns: list[Pattern]) -> None:
    found = candidates(patterns)
    for one, two in combinations(patterns, 2):
        for merger in mergers_of_two(taken_apart(one), taken_apart(two)):
            # A wider merger than necessary is left out for the narrower one.
            assert any(
                {one, two} <= set(each.members) and covers(merger, each.pattern) for each in found
            ), (one, two, merger)


# Choosing.

CHILDREN = Schema.from_dtd(
    """<!ELEMENT r (a | b | c | s)*> <!ELEMENT s (a | b | c | d)*>
    <!ELEMENT a EMPTY> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY> <!ELEMENT d EMPTY>"""
)


def test_a_group_is_perfect_only_as_a_whole() -> None:
    counter = PathCounter(CHILDREN)
    group = parsed(["/r/s/a", "/r/s/b", "/r/s/c", "/r/s/d"])
    (merger,) = merge(group, counter)
    assert (str(merger.pattern), merger.members) == ("/r/s/*", frozenset(group))
    assert merger.degree == 0
    assert merger.rule is Rule.ELEMENT
    assert merge(group[:3], counter) == []


def test_imperfect_mergers_are_those_within_the_threshold() -> None:
    counter = PathCounter(CHILDREN)
    group = parsed(["/r/s/a", "/r/s/b", "/r/s/c"])
    assert merge(group, counter, 0.24) == []
    (merger,) = merge(group, counter, 0.25)
    assert merger.degree == Fraction(1, 4)


def test_a_threshold_is_the_decimal_number_it_looks_like() -> None:
    ten = "<!ELEMENT r (" + "|".join(f"e{number}" for number in range(10)) + ")><!ELEMENT e0 EMPTY>"
    counter = PathCounter(Schema.from_dtd(ten, root="r"))
    seven = parsed(f"/r/e{number}" for number in range(7))
    (merger,) = merge(seven, counter, 0.3)  # as a binary number, 0.3 is less than three tenths
    assert merger.degree == Fraction(3, 10)
    for wrong in (-0.1, 1.1, 2, Fraction(-1, 2), float("nan"), float("inf")):
        with pytest.raises(ValueError, match="from 0 to 1"):
            MergedSet(counter, wrong)
        with pytest.raises(ValueError, match="from 0 to 1"):
            merge(seven, counter, wrong)
    for kind in ("0.3", None, True):
        with pytest.raises(TypeError, match=f"from 0 to 1, not {type(kind).__name__}"):
            MergedSet(counter, kind)  # type: ignore[arg-type]


def test_weights_tell_which_mergers_are_perfect_in_practice() -> None:
    group = parsed(["/r/s/a", "/r/s/b"])
    seen = {("r", "s", "a"): 5, ("r", "s", "b"): 3, ("r", "a"): 9}
    counter = PathCounter(CHILDREN, weights=seen)
    (merger,) = merge(group, counter)
    assert merger.pattern == parse("/r/s/*")
    assert merge(group, PathCounter(CHILDREN, weights={**seen, ("r", "s", "c"): 2}), 0.19) == []
    assert merge(group, PathCounter(CHILDREN)) == []


def test_the_perfect_merger_is_chosen_first() -> None:
    group = parsed(["/r/s/a", "/r/s/b", "/r/s/c", "/r/s/d", "/r/a"])
    found = {str(each.pattern) for each in merge(group, PathCounter(CHILDREN), 0.5)}
    assert "/r/s/*" in found


def test_mergers_are_merged_again_and_measured_by_the_patterns_behind_them() -> None:
    nested = Schema.from_dtd(
        """<!ELEMENT r (p | q)> <!ELEMENT p (a | b)> <!ELEMENT q (a | b)>
        <!ELEMENT a EMPTY> <!ELEMENT b EMPTY>"""
    )
    group = parsed(["/r/p/a", "/r/p/b", "/r/q/a", "/r/q/b"])
    (merger,) = merge(group, PathCounter(nested))
    assert merger.members == frozenset(group)
    assert merger.pattern == parse("/r/*/*")
    assert merge(group[:3], PathCounter(nested), 0.2) != merge(group, PathCounter(nested), 0.2)


def test_other_patterns_are_left_alone_unless_a_merger_covers_them() -> None:
    trees = parsed(["/r/s/d[@x]", "/r/a[@x]", "/r/s[a][b]"])
    group = parsed(["/r/s/a", "/r/s/b", "/r/s/c", "/r/s/d"])
    merged = MergedSet(PathCounter(CHILDREN))
    merged.update([*trees, *group], ())
    merged.merge()
    assert texts(merged.forwarded) == {"/r/s/*", "/r/a/@x"}
    (merger,) = merged.mergers()
    assert merger.members == {*group, trees[0], trees[2]}


# Sets kept merged.


def test_removing_a_member_takes_the_merger_apart() -> None:
    group = parsed(["/r/s/a", "/r/s/b", "/r/s/c", "/r/s/d"])
    merged = MergedSet(PathCounter(CHILDREN))
    assert told(merged.update(group, ())) == (texts(group), set())
    assert told(merged.merge()) == ({"/r/s/*"}, texts(group))
    assert told(merged.update((), [group[0]])) == (texts(group[1:]), {"/r/s/*"})
    assert told(merged.update([group[0]], ())) == ({"/r/s/a"}, set())
    assert told(merged.merge()) == ({"/r/s/*"}, texts(group))


def test_a_merger_stands_as_long_as_it_is_within_the_threshold_and_saves_something() -> None:
    group = parsed(["/r/s/a", "/r/s/b", "/r/s/c", "/r/s/d"])
    merged = MergedSet(PathCounter(CHILDREN), 0.5)
    merged.update(group, ())
    merged.merge()
    assert not merged.update((), group[:2])
    assert [merger.degree for merger in merged.mergers()] == [Fraction(1, 2)]
    assert told(merged.update((), [group[2]])) == ({"/r/s/d"}, {"/r/s/*"})
    assert told(merged.update((), [group[3]])) == (set(), {"/r/s/d"})


def test_a_new_pattern_that_a_merger_covers_is_not_forwarded() -> None:
    group = parsed(["/r/s/a", "/r/s/b", "/r/s/c", "/r/s/d"])
    merged = MergedSet(PathCounter(CHILDREN))
    merged.update(group, ())
    merged.merge()
    late = parse("/r/s/c[@k = 1]")
    assert not merged.update([late], ())
    assert late in merged
    assert len(merged) == 5
    assert told(merged.update((), group)) == ({str(late)}, {"/r/s/*"})


def test_the_covering_pattern_and_those_it_covers_change_in_one_update() -> None:
    group = parsed(["/r/s/a", "/r/s/b", "/r/s/c", "/r/s/d"])
    merged = MergedSet(PathCounter(CHILDREN))
    merged.update(group, ())
    merged.merge()
    assert told(merged.update([parse("/r/s")], group)) == ({"/r/s"}, {"/r/s/*"})


def test_a_wrong_update_changes_nothing() -> None:
    one, two = parsed(["/r/a", "/r/b"])
    merged = MergedSet(PathCounter(CHILDREN))
    merged.update([one], ())
    for forward, withdraw, message in (
        ([two, one], [], "/r/a cannot be forwarded: it is there already"),
        ([two, two], [], "/r/b is to be forwarded twice"),
        ([two], [one, one], "/r/a is to be withdrawn twice"),
        ([], [two], "/r/b cannot be withdrawn: it is not there"),
    ):
        with pytest.raises(ValueError, match=message):
            merged.update(forward, withdraw)
    for wrong in (["/r/b"], [two, None], [[two]]):
        with pytest.raises(TypeError, match="a Pattern is needed"):
            merged.update(wrong, [])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a Pattern is needed"):
            merged.update([], wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a Pattern is needed"):
            merge(wrong, PathCounter(CHILDREN))  # type: ignore[arg-type]
    for single in (two, "/r/b", None):
        with pytest.raises(TypeError, match="put it into a list"):
            merged.update(single, [])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="put it into a list"):
            merge(single, PathCounter(CHILDREN))  # type: ignore[arg-type]
    assert merged.forwarded == (one,)
    assert len(merged) == 1


def test_a_merged_set_is_made_of_a_counter() -> None:
    with pytest.raises(TypeError, match="a PathCounter is needed here, not Schema"):
        MergedSet(CHILDREN)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a Pattern is needed here, not str"):
        candidates(["/r/a", "/r/b"])  # type: ignore[list-item]


def test_what_is_forwarded_keeps_the_order_in_which_it_came() -> None:
    first, second, third = parsed(["/r/s/c", "/r/a", "/r/s/b"])
    merged = MergedSet(PathCounter(CHILDREN))
    merged.update([first, second], ())
    merged.update([third], [first])
    assert list(merged.forwarded) == [second, third]
    merged.update([first], ())
    assert list(merged.forwarded) == [second, third, first]


def test_perfect_is_counted_up_to_a_depth() -> None:
    nested = Schema.from_dtd("<!ELEMENT a (a | b)?> <!ELEMENT b EMPTY>", root="a")
    group = parsed(["/a/b", "/a/a/b"])
    (merger,) = merge(group, PathCounter(nested, 3))
    assert (str(merger.pattern), merger.degree) == ("/a//b", Fraction(0))
    deeper = ("a", "a", "a", "b")
    assert selects("/a//b", deeper)
    assert not any(selects(str(member), deeper) for member in group)
    assert merge(group, PathCounter(nested, 4)) == []


class Upstream:
    """What a neighbour knows by the answers it was sent, and what must hold of it."""

    def __init__(self, dtd: SmallDtd, threshold: Fraction, depth: int = 4) -> None:
        self.paths = list(dtd.leaf_paths(depth))
        self.threshold = threshold
        schema = Schema.from_dtd(dtd.text, root="a")
        self.merged = MergedSet(PathCounter(schema, depth), threshold)
        self.present: set[Pattern] = set()
        self.known: set[Pattern] = set()

    def take(self, change: Change) -> None:
        forward, withdraw = change.forward, change.withdraw
        assert len({*forward, *withdraw}) == len(forward) + len(withdraw)
        assert self.known.isdisjoint(forward)
        assert self.known.issuperset(withdraw)
        self.known.update(forward)
        self.known.difference_update(withdraw)
        self.check()

    def check(self) -> None:
        assert self.known == set(self.merged.forwarded)
        assert len(self.known) == len(self.merged.forwarded)
        for pattern in self.present:
            assert any(covers(known, pattern) for known in self.known)
        behind: dict[Pattern, int] = {}
        for merger in self.merged.mergers():
            wide = self.matched([merger.pattern])
            missed = wide - self.matched(merger.members)
            assert merger.members == {each for each in self.present if covers(merger.pattern, each)}
            exact = Fraction(len(missed), len(wide)) if wide else 0
            assert exact <= merger.degree <= self.threshold
            for member in merger.members:
                behind[member] = behind.get(member, 0) + 1
        for merger in self.merged.mergers():
            assert sum(behind[member] == 1 for member in merger.members) > 1
        if not self.threshold:
            assert self.matched(self.known) == self.matched(self.present)

    def matched(self, patterns: Iterable[Pattern]) -> set[tuple[str, ...]]:
        spelled = texts(patterns)
        return {path for path in self.paths if any(selects(each, path) for each in spelled)}


@settings(max_examples=100)
@given(
    small_dtds(),
    st.lists(expressions(4), min_size=2, max_size=14, unique=True),
    st.sampled_from((Fraction(0), Fraction(0), Fraction(1, 4), Fraction(1))),
    st.randoms(use_true_random=False),
)
def test_whatever_comes_and_goes_the_invariants_hold(
    dtd: SmallDtd, patterns: list[Pattern], threshold: Fraction, chance: random.Random
) -> None:
    upstream = Upstream(dtd, threshold)
    merged = upstream.merged
    merging: Iterator[Change] = iter(())
    for _ in range(12):
        absent = [each for each in patterns if each not in upstream.present]
        there = [each for each in patterns if each in upstream.present]
        coming = chance.sample(absent, chance.randint(0, len(absent)))
        going = chance.sample(there, chance.randint(0, min(3, len(there))))
        upstream.present.update(coming)
        upstream.present.difference_update(going)
        upstream.take(merged.update(coming, going))
        if chance.random() < 0.3:
            upstream.take(merged.merge())
        elif chance.random() < 0.5:
            merging = merged.merging()
        for change in islice(merging, chance.choice((0, 3, 20, 100))):
            upstream.take(change)
    rest = list(upstream.present)
    upstream.present.clear()
    upstream.take(merged.update((), rest))
    assert not upstream.known
    assert not len(merged)


def test_merging_twice_changes_nothing_more(shared_data: Path) -> None:
    schema = Schema.from_dtd(shared_data / "dtd" / "nitf-2-5.dtd", root="nitf")
    parameters = PathParameters(length=10)
    patterns = list(islice(generate_subscriptions(schema, parameters, seed=1), 1000))
    merged = MergedSet(PathCounter(schema), 0.1)
    merged.update(patterns, ())
    reports: list[tuple[int, int]] = []
    merged.merge(lambda done, total: reports.append((done, total)))
    assert len(merged.forwarded) < 0.95 * len(patterns)
    assert all(done <= total for done, total in reports)
    assert reports[-1][0] == reports[-1][1]
    assert not merged.merge()
    for merger in merged.mergers():
        assert merger.degree <= merged.threshold
        assert all(covers(merger.pattern, member) for member in merger.members)
    merged.update((), patterns)
    assert not merged.forwarded


def test_patterns_that_cannot_be_counted_are_left_as_they_are() -> None:
    schema = Schema.from_dtd("<!ELEMENT a ANY><!ELEMENT b ANY>", root="a")
    merged = MergedSet(PathCounter(schema, 20), 0.9)
    costly = parsed(["//a/*/*/*/*/*/*/*/*/b", "//a/*/*/*/*/*/*/*/*/c", "//a/*/*/*/*/*/*/*/a/b"])
    merged.update(costly, ())
    assert not merged.merge()
    assert merged.forwarded == tuple(costly)


def test_merging_that_was_broken_off_is_taken_up_again() -> None:
    class EnoughError(Exception):
        pass

    def give_up(done: int, total: int) -> None:
        raise EnoughError

    group = parsed(["/r/s/a", "/r/s/b", "/r/s/c", "/r/s/d"])
    merged = MergedSet(PathCounter(CHILDREN))
    merged.update(group, ())
    with pytest.raises(EnoughError):
        merged.merge(give_up)
    assert merged.forwarded == tuple(group)
    assert told(merged.merge()) == ({"/r/s/*"}, texts(group))
    assert repr(merged) == "<MergedSet of 4 patterns, 1 forwarded, 1 of them mergers>"
