"""CoveringTable: the maximal patterns are forwarded at any time, and what is told adds up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from covering_oracle import (
    documents_of,
    matched,
    random_expression,
    random_path,
    random_tree,
    weakened,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import NAMESPACES, linear_expressions
from workloads import example, real

from lab.published import LinearSearch
from twigcast.covering import Change, CoveringTable, PatternSearch, covers
from twigcast.covering.pairwise import Prepared
from twigcast.errors import DuplicateKeyError, SubscriptionError, UnknownKeyError
from twigcast.language import Pattern, parse
from twigcast.schema import Schema
from twigcast.workload import TreeParameters, ValueParameters, generate_subscriptions


class Neighbour:
    """A table, and beside it what it has told."""

    def __init__(self, table: CoveringTable | None = None) -> None:
        self.table = CoveringTable() if table is None else table
        self.told: dict[Pattern, None] = {}

    def add(self, key: str, pattern: Pattern) -> None:
        self._hear(self.table.add(key, pattern))

    def remove(self, key: str) -> None:
        self._hear(self.table.remove(key))

    def _hear(self, change: Change) -> None:
        assert bool(change) is bool(change.forward or change.withdraw)
        assert len({*change.forward, *change.withdraw}) == len(change.forward + change.withdraw)
        # First what is new, then what goes: nothing that is wanted is ever missing.
        assert not self.told.keys() & set(change.forward)
        self.told |= dict.fromkeys(change.forward)
        assert self.told.keys() >= set(change.withdraw)
        for pattern in change.withdraw:
            del self.told[pattern]
        assert self.told.keys() == set(self.table.forwarded)


def assert_maximal(table: CoveringTable) -> None:
    """The forwarded patterns, compared with all pairs."""
    prepared = {pattern: Prepared(pattern) for pattern in table.patterns}
    forwarded = set(table.forwarded)
    assert forwarded <= set(table.patterns)
    for pattern, known in prepared.items():
        covering = {one for one in forwarded if prepared[one].covers(known)}
        witness = table.witness(pattern)
        if pattern in forwarded:
            assert covering == {pattern}
            assert witness is None
        else:
            assert covering, pattern
            assert witness is not None
            assert prepared[witness].covers(known)
            assert pattern in table.below(witness)


def assert_empty(table: CoveringTable) -> None:
    assert len(table) == 0
    assert table.forwarded == table.patterns == tuple(table) == ()
    assert not table._witness
    assert not table._below
    assert not table._forwarded
    assert not table._subscribers._patterns
    assert not table._subscribers._keys
    assert isinstance(table._search, PatternSearch)
    assert table._search.trie_nodes == len(table._search) == 0


def live(rng: Random, pool: Sequence[Pattern], turns: int, check_each: int) -> None:
    """Keys come and go, several for a pattern; then all go."""
    neighbour = Neighbour()
    keys: list[str] = []
    for turn in range(turns):
        if keys and rng.random() < 0.45:
            neighbour.remove(keys.pop(rng.randrange(len(keys))))
        else:
            keys.append(f"k{turn}")
            neighbour.add(keys[-1], rng.choice(pool))
        if turn % check_each == 0:
            assert_maximal(neighbour.table)
    assert len(neighbour.table) == len(keys)
    rng.shuffle(keys)
    while keys:
        neighbour.remove(keys.pop())
        if len(keys) % check_each == 0:
            assert_maximal(neighbour.table)
    assert_empty(neighbour.table)
    assert not neighbour.told


def transitive(patterns: Iterable[Pattern]) -> list[Pattern]:
    """Those of the patterns on which ``covers``, which may miss some of trees, is an order."""
    kept: list[Prepared] = []
    for pattern in sorted(set(patterns), key=str):
        kept.append(Prepared(pattern))
        covered = [{at for at, q in enumerate(kept) if p.covers(q)} for p in kept]
        if any(not covered[other] <= below for below in covered for other in below):
            kept.pop()
    return [one.pattern for one in kept]


# --- random histories --------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.lists(linear_expressions(), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_paths_come_and_go(drawn: list[str], rng: Random) -> None:
    live(rng, [parse(text) for text in drawn], 30, 1)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: random_path(rng, ("a", "b", "*", "*"), 7),
        lambda rng: random_tree(rng, ("a", "b", "*"), rng.randint(1, 6)),
        random_expression,
    ],
    ids=["paths", "trees", "anything"],
)
def test_random_histories(draw: Callable[[Random], str]) -> None:
    rng = Random(5)
    for _ in range(2):
        drawn = [parse(draw(rng), NAMESPACES) for _ in range(14)]
        drawn += [weakened(rng, pattern) for pattern in drawn]
        live(rng, transitive(drawn), 150, 3)


def grown(patterns: Sequence[Pattern], rng: Random, checks: int) -> None:
    """All are added and removed in random order, compared with all pairs now and then."""
    neighbour = Neighbour()
    order = rng.sample(range(len(patterns)), len(patterns))
    often = len(patterns) // checks
    for turn, number in enumerate(order, start=1):
        neighbour.add(str(number), patterns[number])
        if turn % often == 0:
            assert_maximal(neighbour.table)
    assert 50 < len(neighbour.told) < len(patterns) / 4
    rng.shuffle(order)
    for turn, number in enumerate(order, start=1):
        neighbour.remove(str(number))
        if turn % often == 0:
            assert_maximal(neighbour.table)
    assert_empty(neighbour.table)


def generated(schema: Schema, most: int) -> list[Pattern]:
    parameters = TreeParameters(8, wildcard=0.1, descendant=0.1)
    values = ValueParameters()
    return list(islice(generate_subscriptions(schema, parameters, seed=3, values=values), most))


def test_a_workload() -> None:
    grown(generated(example("news.dtd"), 600), Random(2), 2)


@pytest.mark.slow
def test_a_large_workload(shared_data: Path) -> None:
    grown(generated(real(shared_data, "nitf-2-5.dtd"), 3_000), Random(2), 5)


@pytest.mark.parametrize("linear", [True, False])
def test_other_searches_serve_as_well(linear: bool) -> None:
    rng = Random(9)
    pool = [parse(random_path(rng, ("a", "b", "*"), 5)) for _ in range(30)]
    search = LinearSearch() if linear else PatternSearch(linear=True)
    neighbours = Neighbour(), Neighbour(CoveringTable(search))
    for number, pattern in enumerate(pool):
        for neighbour in neighbours:
            neighbour.add(str(number), pattern)
    for number in range(0, 30, 2):
        for neighbour in neighbours:
            neighbour.remove(str(number))
    for neighbour in neighbours:
        assert_maximal(neighbour.table)
    assert len(neighbours[0].told) == len(neighbours[1].told)


def test_documents_of_a_pattern_match_what_stands_for_it() -> None:
    """Even where coverings of trees are missed, so that ``covers`` is no order."""
    rng = Random(31)
    pool = [parse(random_expression(rng), NAMESPACES) for _ in range(60)]
    pool += [weakened(rng, pattern, 0.5) for pattern in pool]
    neighbour = Neighbour()
    keys: list[str] = []
    for turn in range(250):
        if keys and rng.random() < 0.4:
            neighbour.remove(keys.pop(rng.randrange(len(keys))))
        else:
            keys.append(str(turn))
            neighbour.add(keys[-1], rng.choice(pool))
    table = neighbour.table
    compared = 0
    for pattern in table.patterns:
        top = pattern
        while (witness := table.witness(top)) is not None:
            assert pattern in table.below(witness) or top != pattern
            top = witness
        assert top in neighbour.told
        if top != pattern:
            written = documents_of(rng, pattern, top, 3)
            of_pattern, of_top = matched([pattern, top], written)
            assert of_pattern & ~of_top == 0
            compared += of_pattern.bit_count()
    assert compared > 100


# --- what is told ------------------------------------------------------------------------------


def change(table: CoveringTable, key: str, text: str) -> tuple[list[str], list[str]]:
    told = table.add(key, text)
    return list(map(str, told.forward)), sorted(map(str, told.withdraw))


def test_what_is_told_of_additions_and_removals() -> None:
    table = CoveringTable()
    assert change(table, "1", "/a/b") == (["/a/b"], [])
    assert change(table, "2", "/a/b/c") == ([], [])
    assert change(table, "3", "/a/d") == (["/a/d"], [])
    assert change(table, "4", "/a") == (["/a"], ["/a/b", "/a/d"])
    assert table.witness(parse("/a/b/c")) == parse("/a/b")
    assert set(table.below(parse("/a"))) == {parse("/a/b"), parse("/a/d")}
    assert table.remove("1") == Change()
    assert table.witness(parse("/a/b/c")) == parse("/a")
    told = table.remove("4")
    assert sorted(map(str, told.forward)) == ["/a/b/c", "/a/d"]
    assert told.withdraw == (parse("/a"),)
    assert not table.remove("2").forward


def test_those_that_return_may_cover_each_other() -> None:
    neighbour = Neighbour()
    for key, text in enumerate(("/a", "/a/b/c/d", "/a//d", "/a/b[c]/c/d", "/a/*")):
        neighbour.add(str(key), parse(text))
    neighbour.remove("0")
    assert set(map(str, neighbour.told)) == {"/a/*"}
    neighbour.remove("4")
    assert set(map(str, neighbour.told)) == {"/a//d"}


def test_equivalent_patterns_are_forwarded_once() -> None:
    """Each covers the other, in whatever order they come and go."""
    patterns = list(map(parse, ("/a/b[.>=5][.<=5]", "/a/b[.=5]")))
    for first, second in ((0, 1), (1, 0)):
        neighbour = Neighbour()
        neighbour.add("first", patterns[first])
        neighbour.add("second", patterns[second])
        assert list(neighbour.told) == [patterns[first]]
        neighbour.remove("first")
        assert list(neighbour.told) == [patterns[second]]
        neighbour.add("first", patterns[first])
        assert list(neighbour.told) == [patterns[second]]


def test_many_keys_stand_behind_one_pattern() -> None:
    table = CoveringTable()
    assert table.add("0", "/a[b][c]")
    for key in range(1, 50):
        assert not table.add(str(key), "/a[c]/b")
    assert table.keys_of(parse("/a[b]/c")) == [str(key) for key in range(50)]
    assert len(table) == 50
    assert len(table.patterns) == 1
    for key in range(49):
        assert not table.remove(str(key))
    assert table.remove("49") == Change((), (parse("/a[b][c]"),))
    assert table.keys_of(parse("/a[b]/c")) == []
    assert_empty(table)


def test_what_never_matches_is_forwarded_only_alone() -> None:
    neighbour = Neighbour()
    neighbour.add("never", parse("/*[not(.)]"))
    assert len(neighbour.told) == 1
    neighbour.add("a", parse("/a"))
    assert list(neighbour.told) == [parse("/a")]
    neighbour.add("other", parse("/a/b[.=1][.=2]"))
    neighbour.remove("a")
    assert len(neighbour.told) == 1


def test_what_is_told_adds_up_where_a_covering_is_missed() -> None:
    """The first covers the second, that the third, and the first, unnoticed, the third.

    So the third is forwarded beside the first, and withdrawn when the second returns.
    """
    texts = ("/*[*][.//text()]", "/*//c//text()", "//*[.//b/@x][.//c//text()]")
    first, second, third = map(parse, texts)
    assert covers(first, second)
    assert covers(second, third)
    neighbour = Neighbour()
    for key, pattern in enumerate((first, second, third)):
        neighbour.add(str(key), pattern)
    neighbour.remove("0")
    assert list(neighbour.told) == [second]
    neighbour.remove("1")
    assert list(neighbour.told) == [third]


# --- keys and errors ---------------------------------------------------------------------------


def test_keys() -> None:
    table = CoveringTable()
    table.add("\ud800", "/a")
    table.add("", "/b", {"p": "urn:p"})
    with pytest.raises(DuplicateKeyError):
        table.add("", "/c")
    with pytest.raises(UnknownKeyError):
        table.remove("other")
    with pytest.raises(SubscriptionError):
        table.add("new", "/p:a")
    for wrong in (7, None, b"k"):
        with pytest.raises(TypeError):
            table.add(wrong, "/a")  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            table.add("new", wrong)  # type: ignore[arg-type]
    assert list(table) == ["\ud800", ""]
    assert "" in table
    assert "new" not in table
    assert table["\ud800"] == parse("/a")
    with pytest.raises(UnknownKeyError):
        table["new"]
    with pytest.raises(KeyError):
        table.witness(parse("/c"))
    assert table.below(parse("/c")) == ()
    assert repr(table) == "<CoveringTable of 2 subscriptions, 2 patterns, 2 of them forwarded>"
