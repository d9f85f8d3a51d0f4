"""XSEARCH as published: what it reports is true, and what it misses is known."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from random import Random

import pytest
from covering_oracle import random_path, random_tree, weakened
from workloads import example

from lab.published import PublishedSearch
from twigcast.covering import PatternSearch, covers
from twigcast.language import Pattern, parse
from twigcast.workload import TreeParameters, ValueParameters, generate_subscriptions


def texts(patterns: Iterable[Pattern]) -> list[str]:
    return sorted(map(str, patterns))


def holding(*patterns: str) -> PublishedSearch:
    search = PublishedSearch()
    for pattern in patterns:
        search.add(parse(pattern))
    return search


def test_the_runs_of_figure_3() -> None:
    """The names follow from the two traces, and the numbers of the nodes: ten, t1 to t10."""
    named = {
        "s1": "//c",  # t1, t2
        "s2": "/a/c",  # t3, t4
        "s3": "/a/b/d",  # t5, t7
        "s4": "/a[b/c][b/d]",  # t5, t8 and, since it is at t5 already, t9, t10
        "s6": "/a/b[b][d]",  # t5, t6, t7
        "s7": "/a/b",  # t5
    }
    search = holding(*named.values())
    assert search.trie_nodes == 10

    def covered_by(text: str) -> list[str]:
        covered = set(map(str, search.covered_by(parse(text))))
        return [name for name, pattern in named.items() if pattern in covered]

    # Each line of a trace: first the paths of u, then u itself.
    assert covered_by("/a/*/d") == ["s3", "s4", "s6"]
    assert covered_by("/a/b/b") == ["s6"]
    assert covered_by("/a[*/d][b/b]") == ["s6"]
    assert covered_by("/a//b") == ["s3", "s4", "s6", "s7"]


def test_erratum_1_a_pattern_with_another_name_does_not_cover() -> None:
    """Without the negation in line 5 of the cover mode, what has no node to map to would cover."""
    search = holding("/a/b", "/a", "/b", "/a[b][c]", "//b", "/*/*")
    assert texts(search.covering(parse("/a/b/c"))) == ["/*/*", "//b", "/a", "/a/b"]
    assert texts(search.covering(parse("/c"))) == []


@pytest.mark.parametrize(
    ("p", "q"), [("/a/*", "/a//b"), ("/a/*/*", "/a//b/c"), ("/*/*", "//a/b"), ("/*", "//a")]
)
def test_erratum_6_a_star_on_a_descendant_edge_is_missed(p: str, q: str) -> None:
    assert covers(parse(p), parse(q))
    assert holding(p).covering(parse(q)) == []
    assert holding(q).covered_by(parse(p)) == []
    search = PatternSearch()
    search.add(parse(p))
    assert search.covering(parse(q)) == [parse(p)]


def assert_true_and_no_more_than_ours(patterns: list[Pattern]) -> tuple[int, int]:
    """How many coverings of another pattern the published search finds, and how many there are."""
    published, ours = PublishedSearch(), PatternSearch()
    for pattern in patterns:
        published.add(pattern)
        ours.add(pattern)
    reported = known = 0
    for pattern in patterns:
        covered, covering = published.covered_by(pattern), published.covering(pattern)
        assert len(set(covered)) == len(covered)
        assert len(set(covering)) == len(covering)
        assert set(covered) <= set(ours.covered_by(pattern))
        assert set(covering) <= set(ours.covering(pattern))
        assert pattern in covered
        assert pattern in covering
        reported += len(covered) + len(covering) - 2
        known += len(ours.covered_by(pattern)) + len(ours.covering(pattern)) - 2
    return reported, known


@pytest.mark.parametrize("seed", range(3))
def test_what_is_reported_is_true(seed: int) -> None:
    """Ours are those of ``covers``, which documents are asked about elsewhere."""
    rng = Random(seed)
    drawn = [parse(random_path(rng, ("a", "b", "*"), 6)) for _ in range(60)]
    drawn += [parse(random_tree(rng, ("a", "b", "c", "*"), rng.randint(2, 6))) for _ in range(60)]
    drawn += [weakened(rng, pattern) for pattern in drawn[::2]]
    reported, known = assert_true_and_no_more_than_ours(sorted(set(drawn), key=str))
    assert known / 2 < reported < known


def test_workloads() -> None:
    stream = generate_subscriptions(
        example("news.dtd"), TreeParameters(6), seed=3, values=ValueParameters()
    )
    reported, known = assert_true_and_no_more_than_ours(list(islice(stream, 600)))
    assert 0 < reported <= known


def test_patterns_come_and_go() -> None:
    rng = Random(12)
    drawn = {parse(random_tree(rng, ("a", "b", "*"), rng.randint(1, 6))) for _ in range(80)}
    pool = sorted(drawn, key=str)
    search = PublishedSearch()
    present: set[Pattern] = set()
    for turn in range(500):
        pattern = rng.choice(pool)
        if pattern in present:
            search.remove(pattern)
        else:
            search.add(pattern)
        present ^= {pattern}
        if turn % 20 == 0:
            anew = PublishedSearch()
            for one in sorted(present, key=str):
                anew.add(one)
            asked = rng.choice(pool)
            assert texts(search.covered_by(asked)) == texts(anew.covered_by(asked))
            assert texts(search.covering(asked)) == texts(anew.covering(asked))
    for pattern in present:
        search.remove(pattern)
    assert search.trie_nodes == 0
    assert search.covering(parse("/a")) == search.covered_by(parse("//*")) == []


@pytest.mark.parametrize(
    "refused",
    [
        *("/a | /b", "/a[b or c]", "/a[not(b)]", "/a[contains(b, 'x')]", "/a/b[not(.<1)]"),
        *("/*[not(.)]", "/a/b[.=1][.=2]", "/a/b[c/d[.='x'][.='y']]/e"),
    ],
)
def test_what_the_algorithm_has_no_word_for_is_refused(refused: str) -> None:
    """What would be left out of such a pattern is what keeps it from covering."""
    search = holding("/a/b")
    for asked in (search.add, search.covered_by, search.covering):
        with pytest.raises(ValueError, match="the published algorithm takes"):
            asked(parse(refused))
    assert texts(search.covering(parse("/a/b/c"))) == ["/a/b"]
