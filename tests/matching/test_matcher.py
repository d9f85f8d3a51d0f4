"""A Matcher holds subscriptions under keys, and tells which of them a document matches."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, fields
from itertools import pairwise
from typing import Any

import pytest
from matcher_answers import answer, fill, one_by_one

import twigcast
from twigcast import (
    DocumentLimits,
    DuplicateKeyError,
    Matcher,
    MatcherFileError,
    UnknownKeyError,
)
from twigcast.errors import DocumentError, SubscriptionError, TwigcastError
from twigcast.language import parse

STOCK = "<Stock><Symbol>GHI</Symbol><Price>17</Price></Stock>"


# --- subscriptions come and go ------------------------------------------------------------------


def test_a_new_matcher_is_empty() -> None:
    matcher = Matcher()
    assert len(matcher) == 0
    assert list(matcher) == []
    assert "a" not in matcher
    assert matcher.match("<a/>") == []


@pytest.mark.parametrize("limits", [0, 3, {"depth": 3}, DocumentLimits])
def test_limits_are_limits(limits: Any) -> None:
    with pytest.raises(TypeError, match="limits are DocumentLimits, not"):
        Matcher(limits=limits)
    with pytest.raises(TypeError, match="limits are DocumentLimits, not"):
        parse("//a").matches("<a/>", limits)


@pytest.mark.parametrize("key", ["\ud83d", "x\udc00y"])
def test_half_a_surrogate_pair_is_no_key(key: str) -> None:
    """Neither Arrow nor Spark nor a network could hand it on."""
    matcher = Matcher({"one": "//a"})
    with pytest.raises(ValueError, match="half a character"):
        matcher.add(key, "//a")
    with pytest.raises(ValueError, match="half a character"):
        matcher.update({key: "//a"})
    assert key not in matcher
    with pytest.raises(UnknownKeyError):
        matcher.replace(key, "//a")
    assert matcher.match("<a/>") == ["one"]


def test_the_keys_of_what_matches_are_the_answer() -> None:
    matcher = Matcher()
    matcher.add("alice", "//Stock[Price>15]")
    matcher.add("bob", "//Stock[Price>20]")
    matcher.add("carol", "/Stock/Symbol[.='GHI']")
    assert answer(matcher, STOCK) == {"alice", "carol"}
    matcher.remove("alice")
    assert answer(matcher, STOCK) == {"carol"}
    matcher.add("alice", "//Stock[Price>16]")
    assert answer(matcher, STOCK) == {"alice", "carol"}


def test_an_answer_is_a_list_of_its_own() -> None:
    matcher = fill(Matcher(), {"k": "//Stock"})
    first = matcher.match(STOCK)
    assert type(first) is list
    first.append("spoilt")
    assert matcher.match(STOCK) == ["k"]


def test_documents_come_in_every_form() -> None:
    matcher = fill(Matcher(), {"k": "//Symbol[.='GHI']"})
    data = STOCK.encode()
    every_other = memoryview(bytes(byte for one in data for byte in (one, 0)))[::2]
    for form in (STOCK, data, bytearray(data), memoryview(data), every_other):
        assert matcher.match(form) == ["k"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "iso-8859-1", "windows-1252"])
def test_documents_come_in_every_encoding(encoding: str) -> None:
    text = f"<?xml version='1.0' encoding='{encoding}'?><a é='ü'>ß</a>"
    matcher = fill(Matcher(), {"k": "/a[@é='ü'][.='ß']", "other": "/a[.='s']"})
    assert matcher.match(text.encode(encoding)) == ["k"]


@pytest.mark.parametrize("expressions", [[], ["//b"], ["//@x"], ["//b[.='A']"], ["//text()"]])
def test_references_in_documents_with_a_type_are_read_whoever_asks(expressions: list[str]) -> None:
    """Where nobody asks for text, its events are not wanted; that must change nothing else."""
    matcher = fill(Matcher(), {expression: expression for expression in expressions})
    declared = "<!DOCTYPE a [<!ENTITY e 'A'>]>"
    for text in (
        "&e;",
        "&#65;",
        "&#x41;",
        "&amp;",
        "&lt;",
        "&quot;",
        "<![CDATA[&e;]]>",
        "<!--&-->",
    ):
        for head in ("", "<!DOCTYPE a>", declared) if text != "&e;" else (declared,):
            document = f"{head}<a><b x='{text if '<' not in text else ''}'>{text}</b></a>"
            expected = one_by_one({one: parse(one) for one in expressions}, document)
            assert answer(matcher, document) == expected, document
    for bad in ("<!DOCTYPE a><a>&f;</a>", f"{declared}<a>&f;</a>", f"{declared}<a x='&f;'/>"):
        with pytest.raises(DocumentError):
            matcher.match(bad)


def test_keys_can_be_asked_for() -> None:
    matcher = fill(Matcher(), {"one": "//a[@x=1]", "two": "b/c"})
    assert len(matcher) == 2
    assert sorted(matcher) == ["one", "two"]
    assert "one" in matcher
    assert "three" not in matcher
    assert matcher["one"] == parse("//a[@x=1]")
    assert matcher["two"] == parse("//b/c")
    matcher.remove("one")
    assert list(matcher) == ["two"]
    assert "one" not in matcher


def test_a_matcher_without_subscriptions_is_a_matcher_all_the_same() -> None:
    matcher = fill(Matcher(), {"k": "//a"})
    matcher.remove("k")
    assert len(matcher) == 0
    assert matcher.match("<a/>") == []
    matcher.add("k", "//b")
    assert matcher.match("<b/>") == ["k"]


def test_patterns_are_taken_as_well_as_expressions() -> None:
    pattern = parse("//p:a[@x]", {"p": "urn:p"})
    matcher = fill(Matcher(), {"parsed": pattern})
    matcher.add("written", "//q:a[@x]", {"q": "urn:p"})
    assert answer(matcher, "<a x='' xmlns='urn:p'/>") == {"parsed", "written"}
    assert matcher["parsed"] == matcher["written"] == pattern
    assert matcher.stats().patterns == 1


def test_prefixes_are_bound_for_one_subscription_only() -> None:
    matcher = Matcher()
    matcher.add("one", "//p:a", {"p": "urn:one"})
    matcher.add("two", "//p:a", {"p": "urn:two"})
    assert matcher.match("<a xmlns='urn:one'/>") == ["one"]
    assert matcher.match("<a xmlns='urn:two'/>") == ["two"]
    with pytest.raises(SubscriptionError, match="p"):
        matcher.add("three", "//p:a")


# --- keys ---------------------------------------------------------------------------------------

KEYS = {
    "empty": "",
    "blank": " \t\n",
    "nul": "a\0b",
    "nul alone": "\0",
    "beyond the basic plane": "\U0001f600",
    "combining": "e\u0301",
    "composed": "é",
    "long": "k" * 1_000_000,
    "long and not Latin": "日" * 100_000,
    "like a tag": "<a/>",
}


def test_any_string_is_a_key() -> None:
    matcher = fill(Matcher(), dict.fromkeys(KEYS.values(), "//a"))
    assert answer(matcher, "<a/>") == set(KEYS.values())
    assert set(matcher) == set(KEYS.values())
    for key in KEYS.values():
        assert key in matcher
        assert matcher[key] == parse("//a")
        matcher.remove(key)
        assert key not in matcher
    assert matcher.match("<a/>") == []


@pytest.mark.parametrize("name", KEYS)
def test_each_kind_of_key_alone(name: str) -> None:
    key = KEYS[name]
    matcher = fill(Matcher(), {key: "/a"})
    assert matcher.match("<a/>") == [key]
    assert list(matcher.match_batch([b"<a/>", b"<b/>"])) == [[key], []]
    with pytest.raises(DuplicateKeyError):
        matcher.add(key, "/b")


def test_a_key_that_is_equal_is_the_same_key() -> None:
    matcher = fill(Matcher(), {"key": "//a"})
    built = "".join(["k", "e", "y"])
    assert built in matcher
    matcher.remove(built)
    assert len(matcher) == 0


# --- equal patterns are one ---------------------------------------------------------------------


def test_equivalent_spellings_are_one_distinct_pattern() -> None:
    spellings = ("a/b", "//a/b", "//a/./b", "//a[1=position()]/b", "  //a / b ")
    matcher = fill(Matcher(), {"0": spellings[0]})
    alone = matcher.stats()
    fill(matcher, {str(number): spelling for number, spelling in enumerate(spellings) if number})
    # The position makes another pattern of the fourth spelling; the others are one.
    assert parse(spellings[3]) != parse(spellings[0])
    assert matcher.stats().patterns == 2
    assert matcher.stats().subscriptions == len(matcher) == 5
    matcher.remove("3")
    assert matcher.stats().patterns == alone.patterns == 1
    assert answer(matcher, "<x><a><b/></a></x>") == {"0", "1", "2", "4"}


def test_the_last_of_equal_subscriptions_takes_the_pattern_along() -> None:
    matcher = fill(Matcher(), {"one": "//a", "two": "a", "other": "//b"})
    assert matcher.stats().patterns == 2
    matcher.remove("one")
    assert matcher.stats().patterns == 2
    assert matcher.match("<a/>") == ["two"]
    matcher.remove("two")
    assert matcher.stats().patterns == 1
    assert matcher.match("<a/>") == []
    matcher.add("one", "//a")
    assert matcher.stats().patterns == 2
    assert matcher.match("<a/>") == ["one"]


def test_many_subscribers_of_one_pattern() -> None:
    keys = {f"subscriber {number}" for number in range(5_000)}
    matcher = fill(Matcher(), dict.fromkeys(keys, "//a[b>3]"))
    assert matcher.stats().patterns == 1
    assert answer(matcher, "<a><b>4</b></a>") == keys
    gone = {key for key in keys if key.endswith("7")}
    for key in gone:
        matcher.remove(key)
    assert answer(matcher, "<a><b>4</b></a>") == keys - gone
    assert matcher.match("<a><b>3</b></a>") == []


def test_a_union_is_reported_once_however_many_alternatives_match() -> None:
    matcher = fill(Matcher(), {"union": "//a | /r/b | //c[@x] | //@y", "part": "//c[@x]"})
    assert matcher.stats().patterns == 2
    assert answer(matcher, "<r><a/><b/><c x='' y=''/></r>") == {"union", "part"}
    for document in ("<a/>", "<r><b/></r>", "<x y=''/>"):
        assert matcher.match(document) == ["union"]
    assert matcher.match("<b/>") == []
    matcher.remove("part")
    assert matcher.match("<c x=''/>") == ["union"]
    matcher.remove("union")
    assert matcher.match("<r><a/></r>") == []


def test_what_can_never_match_is_held_like_any_other() -> None:
    matcher = fill(Matcher(), {"never": "/a[position()<1]", "also": "/b[.<'x']", "a": "/a"})
    assert not parse("/a[position()<1]").alternatives
    assert len(matcher) == 3
    assert matcher.match("<a/>") == ["a"]
    assert matcher.match("<b>1</b>") == []
    assert matcher["never"] == parse("/a[position()<1]")
    matcher.remove("never")
    matcher.remove("also")
    assert list(matcher) == ["a"]


# --- errors -------------------------------------------------------------------------------------


def test_a_key_that_is_there_is_refused() -> None:
    matcher = fill(Matcher(), {"key-1": "//a"})
    with pytest.raises(DuplicateKeyError, match="key-1") as caught:
        matcher.add("key-1", "//b")
    assert isinstance(caught.value, TwigcastError)
    assert isinstance(caught.value, ValueError)
    assert matcher["key-1"] == parse("//a")
    assert matcher.match("<b/>") == []
    assert matcher.stats().patterns == 1
    with pytest.raises(DuplicateKeyError):
        matcher.add("key-1", "//a")
    matcher.remove("key-1")
    assert matcher.match("<a/>") == []


def test_a_key_that_is_not_there_cannot_be_removed_or_read() -> None:
    matcher = fill(Matcher(), {"there": "//a"})
    for use in (matcher.remove, matcher.__getitem__):
        with pytest.raises(UnknownKeyError, match="key-2") as caught:
            use("key-2")
        assert isinstance(caught.value, TwigcastError)
        assert isinstance(caught.value, KeyError)
        # KeyError shows the repr of its message, which would put a sentence between quotes.
        assert not str(caught.value).startswith(("'", '"'))
    matcher.remove("there")
    with pytest.raises(UnknownKeyError):
        matcher.remove("there")


def test_a_bad_expression_changes_nothing() -> None:
    matcher = fill(Matcher(), {"a": "//a"})
    for bad in ("//a[", "", "//a/parents::b", "//p:a", "amount(//a)"):
        with pytest.raises(SubscriptionError) as caught:
            matcher.add("bad", bad)
        assert caught.value.text == bad
    assert list(matcher) == ["a"]
    assert matcher.stats().patterns == 1
    matcher.add("bad", "//b")
    assert answer(matcher, "<a><b/></a>") == {"a", "bad"}


def test_a_bad_document_changes_nothing() -> None:
    matcher = fill(Matcher(), {"a": "//a", "b": "//b"})
    for bad in (b"", b"<a>", b"<a/><b/>", b"<a>\xff</a>", "<a>\ud83d</a>", b"<a>&e;</a>", b"\0"):
        with pytest.raises(DocumentError) as caught:
            matcher.match(bad)
        with pytest.raises(DocumentError) as expected:
            parse("//a").matches(bad)
        assert caught.value.args == expected.value.args
        assert matcher.match("<a/>") == ["a"]


def test_a_bad_document_is_told_even_where_nothing_could_match() -> None:
    with pytest.raises(DocumentError):
        Matcher().match("<a>")
    matcher = fill(Matcher(), {"k": "/a"})
    with pytest.raises(DocumentError):
        matcher.match("<b>")
    with pytest.raises(DocumentError):
        matcher.match("<a><b/></a><c>")


@pytest.mark.parametrize("key", [None, 5, b"key", ("key",)])
def test_keys_are_strings(key: object) -> None:
    matcher = Matcher()
    with pytest.raises(TypeError):
        matcher.add(key, "//a")  # type: ignore[arg-type]
    assert len(matcher) == 0


@pytest.mark.parametrize("subscription", [None, 5, b"//a", ["//a"]])
def test_subscriptions_are_expressions_or_patterns(subscription: object) -> None:
    matcher = Matcher()
    with pytest.raises(TypeError):
        matcher.add("key", subscription)  # type: ignore[arg-type]
    assert len(matcher) == 0
    assert "key" not in matcher


@pytest.mark.parametrize("document", [None, 5, ["<a/>"]])
def test_documents_are_bytes_or_text(document: object) -> None:
    with pytest.raises(TypeError, match="a document is bytes or str"):
        fill(Matcher(), {"k": "//a"}).match(document)  # type: ignore[arg-type]


def test_errors_survive_pickling() -> None:
    matcher = fill(Matcher(), {"key": "//a"})
    with pytest.raises(DuplicateKeyError) as duplicate:
        matcher.add("key", "//a")
    with pytest.raises(UnknownKeyError) as unknown:
        matcher.remove("other")
    for error in (duplicate.value, unknown.value):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)


# --- settings -----------------------------------------------------------------------------------


def test_limits_are_kept() -> None:
    matcher = fill(Matcher(limits=DocumentLimits(depth=2, size=100)), {"k": "//b"})
    assert matcher.match("<a><b/></a>") == ["k"]
    with pytest.raises(DocumentError, match=r"DocumentLimits\.depth"):
        matcher.match("<a><b><c/></b></a>")
    with pytest.raises(DocumentError, match=r"DocumentLimits\.size"):
        matcher.match(f"<a>{'x' * 100}</a>")
    deep = fill(Matcher(limits=DocumentLimits(depth=2_000)), {"k": "//b"})
    assert deep.match("<a>" * 1_999 + "<b/>" + "</a>" * 1_999) == ["k"]


def test_a_cache_cannot_be_smaller_than_nothing() -> None:
    with pytest.raises(ValueError, match="cache_bytes"):
        Matcher(cache_bytes=-1)


@pytest.mark.parametrize("cache_bytes", [0, 1, 100, 2_000, 2**20, 2**40])
def test_the_answer_does_not_depend_on_the_cache(cache_bytes: int) -> None:
    matcher = fill(
        Matcher(cache_bytes=cache_bytes),
        {"child": "/a/b", "below": "//b//c", "value": "//c[.='1']", "any": "//*[@x]"},
    )
    for _ in range(3):
        assert answer(matcher, "<a><b/></a>") == {"child"}
        assert answer(matcher, "<a><b><d><c>1</c></d></b></a>") == {"child", "below", "value"}
        assert answer(matcher, "<c x=''>1</c>") == {"value", "any"}
        assert answer(matcher, "<d/>") == set()
        assert matcher.stats().cached_bytes <= cache_bytes


def test_a_full_cache_forgets_what_was_not_met_for_long() -> None:
    numbers, most = range(400), 150_000
    matcher = fill(
        Matcher(cache_bytes=most),
        {str(number): f"//a[b{number} > {number}]//c" for number in numbers},
    )
    common = "<a><b0>1</b0><b1>2</b1><c/><d><c/></d></a>"
    kept = []
    for number in numbers[2:]:
        nested = "".join(f"<b{at}>" for at in range(10)) + "".join(
            f"</b{9 - at}>" for at in range(10)
        )
        unique = f"<a><b{number}>{number + 1}{nested}</b{number}><e><c/></e></a>"
        assert answer(matcher, unique) == {str(number)}
        before = matcher.stats().cached_paths
        assert answer(matcher, common) == {"0", "1"}
        if number > 2:
            assert matcher.stats().cached_paths <= before, "a path met every time was forgotten"
        kept.append(matcher.stats().cached_paths)
        assert matcher.stats().cached_bytes <= most
    drops = [index for index, (one, two) in enumerate(pairwise(kept)) if two < one]
    assert drops, "the cache was never full"
    assert min(kept[drops[0] :]) > max(kept) / 8


# --- what it tells about itself -----------------------------------------------------------------


def test_stats() -> None:
    matcher = Matcher()
    empty = matcher.stats()
    assert (empty.subscriptions, empty.patterns) == (0, 0)
    assert [field.name for field in fields(empty)] == [
        "subscriptions",
        "patterns",
        "states",
        "bytes",
        "cached_paths",
        "cached_bytes",
    ]
    with pytest.raises(FrozenInstanceError):
        empty.patterns = 5  # type: ignore[misc]
    for number in range(1_000):
        matcher.add(str(number), f"//a/b{number}[@x='{number}']")
    full = matcher.stats()
    assert (full.subscriptions, full.patterns) == (1_000, 1_000)
    assert full.bytes > empty.bytes
    assert 10_000 < full.bytes < 100_000_000
    assert (empty.subscriptions, empty.patterns) == (0, 0)  # of its moment


def test_stats_see_the_cache_fill() -> None:
    matcher = fill(Matcher(), {str(number): f"//a/b{number}" for number in range(100)})
    for number in range(100):
        assert matcher.match(f"<a><b{number}/></a>") == [str(number)]
    kept = matcher.stats()
    assert kept.cached_paths > 0
    assert 0 < kept.cached_bytes <= 256 * 2**20
    for number in range(100):
        matcher.match(f"<a><b{number}/></a>")
    assert matcher.stats().cached_paths == kept.cached_paths


def test_without_a_cache_nothing_is_kept() -> None:
    matcher = fill(Matcher(cache_bytes=0), {str(number): f"//a/b{number}" for number in range(100)})
    for number in range(100):
        assert matcher.match(f"<a><b{number}/></a>") == [str(number)]
        assert matcher.stats().cached_bytes == 0


def test_repr_tells_how_many() -> None:
    matcher = Matcher()
    assert "Matcher" in repr(matcher)
    assert "0" in repr(matcher)
    fill(matcher, {str(number): "//a" for number in range(37)})
    assert "37" in repr(matcher)
    assert len(repr(matcher)) < 200


def test_the_names_are_public() -> None:
    names = {"Matcher", "DuplicateKeyError", "UnknownKeyError", "MatcherFileError"}
    assert names <= set(twigcast.__all__)
    assert issubclass(MatcherFileError, TwigcastError)
    assert issubclass(MatcherFileError, ValueError)
