"""A Matcher is a mapping from keys to patterns."""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from twigcast import (
    Matcher,
    Pattern,
    SubscriptionError,
    SubscriptionWarning,
    UnknownKeyError,
    parse,
    read_subscriptions,
)

STOCK = "<Stock><Symbol>GHI</Symbol><Price>17</Price></Stock>"
CONTENT = {"alice": "//Stock[Price>15]", "bob": "/Stock/Symbol", "carol": "//Bond"}


def test_contents_in_the_constructor() -> None:
    as_mapping, as_pairs = Matcher(CONTENT), Matcher(iter(CONTENT.items()))
    as_patterns = Matcher({key: parse(text) for key, text in CONTENT.items()})
    for matcher in (as_mapping, as_pairs, as_patterns, Matcher(as_mapping)):
        assert dict(matcher) == {key: parse(text) for key, text in CONTENT.items()}
        assert sorted(matcher.match(STOCK)) == ["alice", "bob"]


def test_it_reads_like_a_mapping() -> None:
    matcher = Matcher(CONTENT)
    assert isinstance(matcher, Mapping)
    assert matcher.get("alice") == parse("//Stock[Price>15]")
    assert matcher.get("nobody") is None
    assert set(matcher.keys()) == set(CONTENT)
    assert set(matcher.values()) == set(map(parse, CONTENT.values()))
    assert ("bob", parse("/Stock/Symbol")) in matcher.items()
    assert len(matcher.items()) == 3
    assert "alice" in matcher


def test_a_matcher_is_equal_to_itself_alone() -> None:
    first, second = Matcher(CONTENT), Matcher(CONTENT)
    assert first != second
    assert len({first, second, first}) == 2


def test_items_leave_out_what_is_removed_meanwhile() -> None:
    matcher = Matcher(CONTENT)
    items = iter(matcher.items())
    first, _ = next(items)
    for other in CONTENT.keys() - {first}:
        matcher.discard(other)
    assert list(items) == []


def test_discard_is_content_with_nothing() -> None:
    matcher = Matcher(CONTENT)
    matcher.discard("alice")
    matcher.discard("alice")
    assert set(matcher) == {"bob", "carol"}


def test_replace_gives_a_key_another_pattern() -> None:
    matcher = Matcher(CONTENT)
    matcher.replace("carol", "//Symbol")
    assert sorted(matcher.match(STOCK)) == ["alice", "bob", "carol"]
    with pytest.raises(UnknownKeyError, match="nobody"):
        matcher.replace("nobody", "//Symbol")
    with pytest.raises(SubscriptionError):
        matcher.replace("carol", "//Symbol[")
    assert matcher["carol"] == parse("//Symbol")


def test_update_adds_and_replaces() -> None:
    matcher = Matcher(CONTENT)
    matcher.update([("carol", "//Symbol"), ("dave", parse("//Price"))])
    assert sorted(matcher.match(STOCK)) == ["alice", "bob", "carol", "dave"]
    assert len(matcher) == 4


def test_an_update_with_an_error_changes_nothing() -> None:
    matcher = Matcher(CONTENT)
    with pytest.raises(SubscriptionError):
        matcher.update({"carol": "//Symbol", "dave": "//Price["})
    assert dict(matcher) == dict(Matcher(CONTENT))


def test_namespaces_of_the_matcher_serve_every_expression() -> None:
    matcher = Matcher({"a": "//p:a"}, namespaces={"p": "urn:p"})
    matcher.update([("b", "//p:b")])
    matcher.replace("a", "//p:c")
    matcher.add("q", "//p:a/q:d", namespaces={"q": "urn:q"})
    assert matcher["q"] == parse("//Q{urn:p}a/Q{urn:q}d")
    copy = pickle.loads(pickle.dumps(matcher))
    copy.add("c", "//p:c")
    assert copy["c"] == copy["a"] == parse("//Q{urn:p}c")


@pytest.mark.parametrize("asked", ["bob", "/Stock/Symbol", parse("/Stock/Symbol")])
def test_explain_takes_a_key_an_expression_or_a_pattern(asked: str | Pattern) -> None:
    explanation = Matcher(CONTENT).explain(STOCK, asked)
    assert explanation.matches
    assert explanation.pattern == "/Stock/Symbol"


def test_explain_takes_a_key_before_an_expression() -> None:
    matcher = Matcher({"//Symbol": "//Price"})
    assert matcher.explain(STOCK, "//Symbol").pattern == "//Price"


def test_explain_names_both_readings_of_what_is_neither() -> None:
    with pytest.raises(SubscriptionError, match=r"no key of the matcher, and as an expression: "):
        Matcher().explain(STOCK, "nobody[")


def test_people_see_what_is_in_it() -> None:
    matcher = Matcher({f"k{number}": f"//a{number}" for number in range(12)})
    matcher.add("<key>", "//b[. < 5]")
    assert repr(matcher) == "<Matcher: 13 subscriptions, 13 distinct>"
    page = matcher._repr_html_()
    assert "13 subscriptions" in page
    assert "<td>k0</td><td><code>//a0</code></td>" in page
    assert "and 3 more" in page
    assert "<code>//b[.&lt;5]</code>" in Matcher({"<key>": "//b[. < 5]"})._repr_html_()


def test_people_see_an_explanation() -> None:
    matcher = Matcher(CONTENT)
    good, bad = (matcher.explain(STOCK, key) for key in ("bob", "carol"))
    assert repr(good) == "<Explanation: /Stock/Symbol matches>"
    assert repr(bad) == (
        "<Explanation: //Bond does not match: //Bond fails: no Bond in the document>"
    )
    page = matcher.explain(STOCK, "//Stock[Price < 5][Symbol]")._repr_html_()
    assert page.count("<li") == 3
    assert "Price &lt; 5 fails: 17 at /Stock[1]/Price[1]" in page


def test_it_takes_what_a_file_of_subscriptions_gives(tmp_path: Path) -> None:
    path = tmp_path / "subscriptions.txt"
    path.write_text("alice\t//Stock\nbob\t//Bond\n", encoding="utf-8")
    matcher = Matcher(read_subscriptions(path))
    assert dict(matcher) == {"alice": parse("//Stock"), "bob": parse("//Bond")}


@pytest.mark.parametrize("wrong", ["//a", parse("//a"), ["//a"], [("k", "//a", "x")], [7]])
def test_what_is_no_mapping_is_refused_in_words(wrong: Any) -> None:
    with pytest.raises(TypeError, match="subscriptions are a mapping from keys to expressions"):
        Matcher(wrong)


def test_a_binding_that_none_of_its_subscriptions_uses_is_reported() -> None:
    bound = {"p": "urn:p", "q": "urn:q"}
    with pytest.warns(SubscriptionWarning, match="the prefix q is bound to urn:q and not used"):
        matcher = Matcher({"k": "//p:a"}, namespaces=bound)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        matcher.update({"other": "//b"})


def test_a_key_may_be_replaced_again_and_again() -> None:
    """What the key had before is not walked through: the last replacements cost as the first."""
    matcher = Matcher({f"k{number}": f"/a/b{number}" for number in range(30_000)})
    matcher.add("hot", "/a/x")

    def seconds(expression: str) -> float:
        began = time.process_time()
        for _ in range(250):
            matcher.replace("hot", expression)
            matcher.replace("hot", "/a/x")
        return time.process_time() - began

    taken = [seconds("/a/y") for _ in range(50)]
    assert min(taken[-10:]) < 8 * min(taken[:10])
    assert matcher.match("<a><x/></a>") == ["hot"]


def test_the_same_pattern_again_changes_nothing() -> None:
    matcher = Matcher({"a": "//a[b]", "c": "//c"})
    before = matcher.stats()
    for _ in range(100):
        matcher.replace("a", "//a[b]")
        matcher.update({"a": "//a[b]", "c": "//c"})
    assert matcher.stats() == before
    assert matcher.match("<a><b/></a>") == ["a"]


def test_an_error_of_many_names_the_key() -> None:
    with pytest.raises(SubscriptionError, match="second: an expression was expected"):
        Matcher({"first": "//a", "second": "//b["})
