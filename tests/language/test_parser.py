"""What the parser takes and what it refuses, with the place and the reason."""

from __future__ import annotations

import time
from typing import Any

import pytest

from twigcast.errors import SubscriptionError
from twigcast.language import LanguageLimits, parse

REFUSED = [
    ("", 0, "an expression was expected"),
    ("   ", 3, "an expression was expected"),
    ("a/along::b", 2, "there is no axis along::"),
    ("a[counts(b) = 2]", 2, "the function counts() is not known"),
    ("a[date(b) = 2]", 2, "did you mean xs:date()?"),
    ("a[b castable as date]", 16, "did you mean xs:date?"),
    ("a[b == 2]", 5, "write ="),
    ("a[b <> 2]", 5, "write !="),
    ("a AND b", 2, "write and"),
    ("a[b like 'x']", 4, "write contains("),
    ("a = \u201cx\u201d", 4, "write ' or"),
    ("a && b", 2, "write and"),
    ("a \u2264 5", 2, "write <="),
    ("a[starts_with(b, 'x')]", 2, "did you mean starts-with()?"),
    ("doc('x')/a", 0, "an expression sees one document and nothing else"),
    ("a[u:slack(b)]", 2, "the function u:slack() is not known"),
    ("a[current()/b]", 2, "current() is a function of stylesheets"),
    ("a[count(b, c)]", 2, "count() takes 1 argument"),
    ("a[last(2)]", 2, "last() takes no arguments"),
    ("a[concat(b)]", 2, "concat() takes at least 2 arguments"),
    ("a[substring(b)]", 2, "substring() takes 2 to 3 arguments"),
    ("a/child::count(b)", 9, "cannot stand behind an axis"),
    ("$x", 0, "the variable $x is not bound; bind it (variables={'x': …}"),
    ("a[b = $x]", 6, "the variable $x is not bound"),
    ("some $x in a satisfies $y", 23, "the variable $y is not bound"),
    ("some $x of a satisfies $x", 8, "in was expected behind the variable"),
    ("some $x in a return $x", 13, "satisfies was expected here"),
    ("if (a) b else c", 7, "then was expected"),
    ("a cast as xs:picture", 10, "the type xs:picture is not known"),
    ("a cast as node()", 10, "the type node() is not known here"),
    ("a[contains(b)]", 2, "contains() takes 2 arguments"),
    ("a[contains(b, 'x']", 17, "']' is not expected behind an argument"),
    ("a[b", 3, "] is missing"),
    ("a[", 2, "an expression was expected here"),
    ("a[]", 2, "']' is not expected here; an expression was"),
    ("a]", 1, "not expected"),
    ("a b", 2, "not expected"),
    ("a[(b]", 4, "not expected"),
    ("a[(b", 4, ") is missing"),
    ("a['x", 2, "not closed"),
    ("a#b", 1, "does not belong"),
    ("a (: b", 2, "this comment is not closed"),
    ("a//", 3, "an expression was expected"),
    ("a/@", 3, "name of an attribute"),
    ("a/", 2, "an expression was expected"),
    ("cap:a", 0, "the prefix cap is not bound"),
    ("Q{urn:x}", 8, "must follow Q{"),
    ("Q{urn:x} a", 9, "must follow Q{"),
    (
        "a" + "".join(f"[@a{i}<'1e300']" for i in range(100)),
        0,
        "in normal form, the expression is longer",
    ),
    ("a | ", 4, "an expression was expected"),
    ("a[b]/", 5, "an expression was expected"),
    ("a = ", 4, "an expression was expected"),
]


@pytest.mark.parametrize(
    ("text", "position", "reason"), REFUSED, ids=[text[:30] for text, _, _ in REFUSED]
)
def test_refused(text: str, position: int, reason: str) -> None:
    with pytest.raises(SubscriptionError) as caught:
        parse(text)
    assert reason in caught.value.reason
    assert caught.value.position == position
    assert caught.value.text == text


def test_the_error_shows_the_place() -> None:
    with pytest.raises(SubscriptionError) as caught:
        parse("//Stock[amount(Price) > 2]")
    assert str(caught.value).splitlines()[1:] == [
        "  //Stock[amount(Price) > 2]",
        "          ^",
    ]


def test_the_place_in_a_long_expression_is_cut_out() -> None:
    text = "a/" * 80 + "..(" + "/a" * 80
    with pytest.raises(SubscriptionError) as caught:
        parse(text)
    excerpt, caret = str(caught.value).splitlines()[1:]
    assert len(excerpt) < 80
    assert excerpt[caret.index("^") :].startswith("(")


@pytest.mark.parametrize(
    ("text", "limits", "reason"),
    [
        ("a/b/c", LanguageLimits(length=4), "longer than 4 characters"),
        ("a/b/c", LanguageLimits(steps=2), "more than 2 steps"),
        ("a[b][c]", LanguageLimits(steps=2), "more than 2 steps"),
        ("a[.>1][.<9]", LanguageLimits(steps=2), "more than 2 steps, comparisons and calls"),
        (
            "a[contains(., 'b')]",
            LanguageLimits(steps=1),
            "more than 1 steps, comparisons and calls",
        ),
        ("a/b/c", LanguageLimits(depth=2), "nested more than 2 deep"),
        ("a[b[c]]", LanguageLimits(depth=4), "nested more than 4 deep"),
        ("a[((((((b))))))]", LanguageLimits(depth=6), "nested more than 6 deep"),
        ("a[not(not(not(b)))]", LanguageLimits(depth=4), "nested more than 4 deep"),
    ],
)
def test_limits(text: str, limits: LanguageLimits, reason: str) -> None:
    parse(text)
    with pytest.raises(SubscriptionError, match=reason):
        parse(text, limits=limits)


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="depth"):
        LanguageLimits(depth=201)
    with pytest.raises(ValueError, match="steps"):
        LanguageLimits(steps=0)


@pytest.mark.parametrize(
    "text",
    [
        "/a" * 200,
        "/a" + "[b" * 66 + "]" * 66,
        "a[" + "(" * 197 + "b" + ")" * 197 + "]",
        "a[" + "not(" * 197 + "b" + ")" * 197 + "]",
        "/*" * 200,
        "//*" * 200,
        "//a" * 200,
    ],
    ids=["path", "brackets", "parentheses", "negations", "wildcards", "descendants", "names"],
)
def test_the_deepest_expressions_work_and_print(text: str) -> None:
    limits = LanguageLimits(depth=200)
    pattern = parse(text, limits=limits)
    assert parse(str(pattern), limits=limits) == pattern
    assert pattern.matches("<z/>") is False


@pytest.mark.parametrize(
    "text",
    [
        "//a[" + "not(" * 97 + " or ".join(f".={i}" for i in range(1000, 1490)) + ")" * 97 + "]",
        "//a[" + "(b and not(c or " * 30 + "d" + "))" * 30 + "]",
        "//a" + "".join(f"[.!={i}]" for i in range(490)),
        "//a" + "".join(f"[b/c[d>{i}]]" for i in range(120)),
        " | ".join(f"//a{i}//b[c>{i}]" for i in range(120)),
        "//a" * 99 + "//b",
    ],
    ids=["negations", "alternations", "values", "branches", "union", "chain"],
)
def test_hostile_expressions_are_read_in_a_moment(text: str) -> None:
    start = time.process_time()
    parse(text)
    assert time.process_time() - start < 3


def test_white_space_and_word_operators() -> None:
    spaced = parse(" / a [ b = 'x' and ( . > 5 or not( c ) ) ] // d ")
    assert spaced == parse("/a[b='x'][.>5 or not(c)]//d")
    assert str(parse("/or[and and or or div]")) == "/or[div or and and or]"
    assert parse("/or[and][or]") == parse("/or[and and or]")
    assert parse("//a[1 = position]") == parse("//a[position = 1]")
    assert parse("//a[b][1 < position/b]") == parse("//a[position/b > 1][b]")


def test_prefixes() -> None:
    namespaces = {"cap": "urn:cap"}
    assert str(parse("cap:alert/cap:*", namespaces)) == "//Q{urn:cap}alert/Q{urn:cap}*"
    assert parse("Q{urn:cap}alert") == parse("cap:alert", namespaces)
    assert parse("Q{}a") == parse("a")
    assert parse("*:*") == parse("*")
    spaced = parse("b:a", {"b": " urn:b "})
    assert parse(str(spaced)) == spaced != parse("Q{urn:b}a")
    assert parse("@xml:lang") == parse("@Q{http://www.w3.org/XML/1998/namespace}lang")
    with pytest.raises(ValueError, match="braces"):
        parse("b:a", {"b": "urn:{x}"})
    with pytest.raises(ValueError, match="belong together"):
        parse("a", {"xml": "urn:x"})


@pytest.mark.parametrize("wrong", [None, b"/a", 5, ["/a"]])
def test_other_types_are_refused_in_words(wrong: Any) -> None:
    with pytest.raises(TypeError, match="a subscription is a str, not"):
        parse(wrong)
    with pytest.raises(TypeError, match="the namespace of c is a str, not"):
        parse("c:a", {"c": wrong})
