"""The workloads of the matching benchmark are what its rows say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from lxml import etree
from workloads import example

from lab.benchmarks.matching import FULL_SIZES, QUICK_SIZES, MatchingBench, Sizes
from lab.benchmarks.matching.bench import fill, mean_matches
from lab.benchmarks.matching.paths import share_out
from lab.benchmarks.matching.real import label_paths, loosen, read_documents
from lab.benchmarks.matching.scale import absent_paths
from lab.benchmarks.matching.values import (
    beginnings,
    equal_strings,
    parts,
    ranges,
    thresholds,
)
from twigcast import Schema, parse

SMALL = Sizes(documents=10)


def bench(schema: Schema | None = None) -> MatchingBench:
    return MatchingBench(schema or example("news.dtd"), SMALL, seed=1, rounds=2)


def test_the_goals_are_about_the_sizes_of_a_full_run() -> None:
    assert (FULL_SIZES.paths, FULL_SIZES.cold, FULL_SIZES.trees) == (100_000, 150_000, 100_000)
    assert (FULL_SIZES.few, FULL_SIZES.many, FULL_SIZES.peers) == (10_000, 1_000_000, 10_000)
    assert (FULL_SIZES.subscribers, FULL_SIZES.delivered) == (500_000, 170_000)
    assert QUICK_SIZES.name != FULL_SIZES.name


def test_a_smaller_set_is_the_beginning_of_a_larger_one() -> None:
    one = bench()
    small = one.paths(100)
    large = one.paths(400)
    assert large[:100] == small
    assert len(set(large)) == 400
    assert one.documents is one.documents
    assert not set(one.documents) & set(one.more_documents(10))


def test_a_schema_that_has_fewer_paths_gives_those() -> None:
    schema = Schema.from_dtd("<!ELEMENT a (b, c)><!ELEMENT b EMPTY><!ELEMENT c EMPTY>", root="a")
    one = bench(schema)
    some = one.paths(1_000)
    assert "/a/b" in some
    assert len(set(some)) == len(some) < 20
    assert one.paths(1_000) == some


def test_half_of_the_trees_have_a_value() -> None:
    trees = [parse(text) for text in bench().trees(2_000)]
    assert len(set(trees)) == 2_000
    values = sum(any(sign in str(tree) for sign in "<>=") for tree in trees)
    assert values == 1_000


def test_popular_expressions_have_more_subscribers() -> None:
    shares = [1.0] * 10 + [0.1] * 90 + [0.0] * 900
    exponent, counts = share_out(shares, 50_000, 20_000)
    assert sum(counts) == 50_000
    assert min(counts) >= 1
    assert counts[0] > counts[50] > counts[999]
    assert sum(map(float.__mul__, map(float, counts), shares)) == pytest.approx(20_000, rel=0.01)
    assert 0 < exponent < 3
    # More than all expressions together can give, and less than an even share does.
    assert sum(share_out([1.0, 0.0], 10, 100)[1]) == 10
    assert all(99 <= count <= 101 for count in share_out([1.0] * 5, 500, 1)[1])


def matches_by_lxml(texts: list[str], document: bytes) -> set[str]:
    tree = etree.fromstring(document).getroottree()
    return {f"s{number}" for number, text in enumerate(texts) if etree.XPath(text)(tree)}


@pytest.mark.parametrize("make", [ranges, thresholds, equal_strings, beginnings, parts])
def test_values_on_one_path_match_a_few(
    make: Callable[[Random, int, int], tuple[list[str], list[bytes]]],
) -> None:
    texts, documents = make(Random(1), 2_000, 4)
    assert len(set(texts)) == 2_000
    paths = {text[: text.index("[")] for text in texts}
    assert len(paths) == 1
    matcher = fill(texts)
    for document in documents:
        assert 3_000 < len(document) < 5_000
        matches = set(matcher.match(document))
        assert matches == matches_by_lxml(texts, document)
        assert 1 <= len(matches) <= 120
    assert 5 < mean_matches(matcher, documents) <= 100


def test_absent_paths_begin_like_others_and_match_nothing() -> None:
    one = bench()
    texts = one.paths(50)
    added = absent_paths(texts, 3_000, seed=1)
    assert len(set(added)) == 3_000
    assert mean_matches(fill(added), one.documents) == 0
    for text in added[:100]:
        beginning = text[: text.rindex("/")]
        assert any(path.startswith(beginning) for path in texts)


def test_absent_paths_keep_names_in_namespaces_whole() -> None:
    added = absent_paths(["/Q{http://a/b}c//Q{http://a/b}d"], 10, seed=1)
    beginnings_seen = {text[: text.rindex("/")] for text in added}
    assert beginnings_seen == {"/Q{http://a/b}c", "/Q{http://a/b}c//Q{http://a/b}d"}


def test_subscriptions_from_real_documents_match_them(tmp_path: Path) -> None:
    files = [
        b'<a xmlns="urn:a"><b><c/><d/></b><e:f xmlns:e="urn:e"/></a>',
        b"<a><b><c/></b></a>",
        b"<a><b></a>",
    ]
    for number, data in enumerate(files):
        (tmp_path / f"{number}.xml").write_bytes(data)
    documents = read_documents(tmp_path)
    assert documents == files[:2]
    paths = label_paths(documents)
    assert (("urn:a", "a"), ("urn:e", "f")) in paths
    assert (("", "a"), ("", "b"), ("", "c")) in paths
    assert len(paths) == 5 + 3
    texts = loosen(paths, 20, seed=1)
    assert len({parse(text) for text in texts}) == len(texts) == 20
    assert texts[0] == "/Q{urn:a}a"
    assert any("*" in text for text in texts)
    assert any("//" in text for text in texts)
    for text in texts:
        assert any(parse(text).matches(document) for document in documents)
    assert len(loosen(paths, 3, seed=1)) == 3
    assert len(loosen([(("", "a"),)], 1_000, seed=1)) == 1


def test_a_matcher_is_filled_in_order() -> None:
    matcher = fill(["/a", "/b", "/a"])
    assert sorted(matcher.match("<a/>")) == ["s0", "s2"]
