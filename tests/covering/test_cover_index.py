"""CoverIndex: subscriptions under keys, and which of them cover or are covered."""

from __future__ import annotations

import pickle
from random import Random

import pytest
from covering_oracle import random_expression
from strategies import NAMESPACES

import twigcast
from twigcast.covering import CoverIndex, covers
from twigcast.errors import DuplicateKeyError, SubscriptionError, UnknownKeyError
from twigcast.language import parse


def filled(**subscriptions: str) -> CoverIndex:
    index = CoverIndex()
    for key, text in subscriptions.items():
        index.add(key, text)
    return index


def test_it_is_a_name_of_the_package() -> None:
    assert twigcast.CoverIndex is CoverIndex


def test_both_searches_answer_with_keys() -> None:
    index = filled(a="/news//p", b="/news/body/p", c="/news/body/p[@lang='de']", d="//table")
    assert sorted(index.covered_by("/news/*")) == ["a", "b", "c"]
    assert sorted(index.covering("/news/body/p[@lang]")) == ["a", "b"]
    assert index.covering("/other") == []
    assert sorted(index.covered_by("//*")) == ["a", "b", "c", "d"]


def test_a_pattern_covers_itself_however_it_is_spelled() -> None:
    index = filled(a="/a[b][c]", b="/a[c]/b", c="/a[b and c]")
    assert sorted(index.covering("/a[c][b]")) == sorted(index.covered_by("/a[b]/c")) == [*"abc"]
    assert index.stats().patterns == 1
    assert index.stats().subscriptions == len(index) == 3
    index.remove("a")
    assert sorted(index.covering("/a[c][b]")) == ["b", "c"]
    for key in "bc":
        index.remove(key)
    assert index.covering("/a[c][b]") == []
    stats = index.stats()
    assert (stats.subscriptions, stats.patterns, stats.trie_nodes) == (0, 0, 0)


def test_keys() -> None:
    index = CoverIndex()
    keys = ["", " ", "a", "\u00e9", "e\u0301", "\ud800", "\U0001f600", "\0", "k" * 100_000]
    for key in keys:
        index.add(key, "/a")
    assert index.covering("/a/b") == keys
    assert list(index) == keys
    assert all(key in index for key in keys)
    assert "b" not in index
    assert 7 not in index
    assert index["\ud800"] == parse("/a")
    with pytest.raises(DuplicateKeyError):
        index.add("\ud800", "/b")
    index.remove("\ud800")
    for missing in ("\ud800", "b"):
        with pytest.raises(UnknownKeyError):
            index.remove(missing)
        with pytest.raises(UnknownKeyError):
            index[missing]


@pytest.mark.parametrize("wrong", [7, None, b"k", ("k",)])
def test_a_key_is_a_text(wrong: object) -> None:
    index = CoverIndex()
    with pytest.raises(TypeError, match="a key is a str"):
        index.add(wrong, "/a")  # type: ignore[arg-type]
    assert len(index) == index.stats().patterns == 0


@pytest.mark.parametrize("wrong", [7, None, b"/a", ["/a"]])
def test_a_subscription_is_a_text_or_a_pattern(wrong: object) -> None:
    index = filled(a="/a")
    with pytest.raises(TypeError):
        index.add("k", wrong)  # type: ignore[arg-type]
    for search in (index.covered_by, index.covering):
        with pytest.raises(TypeError):
            search(wrong)  # type: ignore[arg-type]
    assert list(index) == ["a"]


def test_an_expression_outside_the_language_changes_nothing() -> None:
    index = filled(a="/a")
    for call in (index.covered_by, index.covering, lambda text: index.add("k", text)):
        with pytest.raises(SubscriptionError):
            call("/a[")
    assert list(index) == ["a"]
    index.add("k", "/a/b")
    assert sorted(index.covering("/a/b/c")) == ["a", "k"]


def test_namespaces() -> None:
    index = CoverIndex()
    bound = {"p": "urn:x"}
    index.add("name", "//p:a", bound)
    index.add("anywhere", "//*:a")
    index.add("space", "//Q{urn:x}*")
    index.add("none", "//a")
    assert sorted(index.covering("//q:a", {"q": "urn:x"})) == ["anywhere", "name", "space"]
    assert sorted(index.covered_by("//*:a")) == ["anywhere", "name", "none"]
    assert sorted(index.covered_by("//p:*", bound)) == ["name", "space"]
    assert sorted(index.covering("//*:a")) == ["anywhere"]
    with pytest.raises(SubscriptionError):
        index.covering("//p:a")
    with pytest.raises(TypeError, match="a Pattern has them already"):
        index.add("again", parse("//p:a", bound), bound)
    assert len(index) == 4


def test_a_copy_by_pickle_has_the_same_subscriptions() -> None:
    index = filled(a="/news//p", b="/news/body/p", c="//x")
    copied = pickle.loads(pickle.dumps(index))
    assert list(copied) == list(index)
    assert sorted(copied.covered_by("//p")) == sorted(index.covered_by("//p")) == ["a", "b"]
    copied.remove("a")
    assert "a" in index


def test_random_subscriptions_are_found_pair_by_pair() -> None:
    rng = Random(21)
    index = CoverIndex()
    patterns = {f"k{n}": parse(random_expression(rng), NAMESPACES) for n in range(150)}
    for key, pattern in patterns.items():
        index.add(key, pattern)
    for key in rng.sample(sorted(patterns), 60):
        index.remove(key)
        del patterns[key]
    assert sorted(index) == sorted(patterns)
    for asked in list(patterns.values())[:60]:
        expected = [key for key, pattern in patterns.items() if covers(asked, pattern)]
        assert sorted(index.covered_by(asked)) == sorted(expected)
        expected = [key for key, pattern in patterns.items() if covers(pattern, asked)]
        assert sorted(index.covering(asked)) == sorted(expected)


def test_it_says_how_large_it_is() -> None:
    index = filled(a="/a/b", b="/a/b", c="/a/c")
    assert repr(index) == "<CoverIndex of 3 subscriptions, 2 patterns>"
    assert index.stats().trie_nodes == 3
