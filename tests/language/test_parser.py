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
    ("/", 0, "/* matches every document"),
    ("a/..", 2, "parent axis"),
    ("..", 0, "parent axis"),
    ("a/parent::b", 2, "the axis parent:: is not supported"),
    ("a/following-sibling::b", 2, "following-sibling::"),
    ("child::a", 0, "write the name alone"),
    ("a/attribute::x", 2, "write @name"),
    ("a/descendant::b", 2, "write //name"),
    ("a[count(b) = 2]", 2, "the function count() is not supported"),
    ("a[string-length(.) > 3]", 2, "string-length()"),
    ("a[last()]", 2, "the function last() is not supported"),
    ("a/node()", 2, "the node test node() is not supported"),
    ("a/comment()", 2, "comment()"),
    ("$x", 0, "variables are not supported"),
    ("a[b = $x]", 6, "variables are not supported"),
    ("a[b][2]", 5, "must be the first predicate"),
    ("a[b][position() < 3]", 5, "must be the first predicate"),
    ("a[b or position() = 2]", 7, "brackets of its own"),
    ("a[not(position() = 2)]", 6, "brackets of its own"),
    ("a[2 and b]", 2, "a constant alone"),
    ("a[position() < 3 and b]", 17, "brackets of its own"),
    ("a[position()]", 12, "must be compared with a number"),
    ("a/@x[1]", 4, "attributes have no position"),
    ("a[b + 1]", 4, "arithmetic (+)"),
    ("a[b - 1 = 3]", 4, "arithmetic (-)"),
    ("a[b div 2 = 3]", 4, "arithmetic (div)"),
    ("a[b * 2 = 3]", 4, "arithmetic (*)"),
    ("a[b|c]", 3, "write or"),
    ("(a|b)/c", 0, "parentheses"),
    ("a/(b|c)", 2, "parentheses within a path"),
    ("a[b = +1]", 6, "arithmetic (+)"),
    ("a[position() = last()]", 15, "the function last() is not supported"),
    ("a[b = -count(c)]", 7, "the function count() is not supported"),
    ("a['x']", 2, "a constant alone"),
    ("a[b = c]", 6, "two paths"),
    ("a[1 = 1]", 2, "two constants"),
    ("a[1 = 2 = b]", 2, "two constants"),
    ("a = 5", 2, "belongs into a predicate"),
    ("a[b = 5 = 6]", 8, "between a path and one constant"),
    ("a[/b]", 2, "cannot start at the root"),
    ("a[//b]", 2, "start it with ."),
    ("a/@x/b", 4, "nothing lies below an attribute"),
    ("a/@x[b]", 5, "nothing lies below an attribute"),
    ("a/text()[b]", 9, "nothing lies below a text node"),
    ("a/text()/b", 8, "nothing lies below a text node"),
    ("a//.", 3, "//. at the end"),
    (".", 0, "//. at the end"),
    ("a[.[b]]", 3, ". takes no predicate"),
    ("a[contains(b)]", 12, "a comma behind the path"),
    ("a[contains('x', b)]", 11, "takes a path or . first"),
    ("a[contains(b, 5)]", 14, "a string in quotes"),
    ("a[contains(b, 'x']", 17, ") behind contains("),
    ("a[b", 3, "] is missing"),
    ("a[", 2, "a step"),
    ("a[]", 2, "a step"),
    ("a]", 1, "not expected"),
    ("a b", 2, "not expected"),
    ("a[(b]", 4, "not expected"),
    ("a[(b", 4, ") is missing"),
    ("a['x", 2, "not closed"),
    ("a#b", 1, "does not belong"),
    ("a//", 3, "a step"),
    ("a/@", 3, "name of an attribute"),
    ("a/5", 2, "not a literal"),
    ("cap:a", 0, "the prefix cap is not bound"),
    ("Q{urn:x}", 8, "must follow Q{"),
    ("Q{urn:x} a", 9, "must follow Q{"),
    ("a[. < 1" + "0" * 400 + "]", 6, "too large"),
    ("a[. < '1e999']", 6, "too large"),
    ("a[1" + "0" * 400 + "]", 2, "too large"),
    ("a[position() < 1" + "0" * 400 + "]", 15, "too large"),
    ("//" + "/".join(["a[x]"] * 60), 0, "in normal form, the expression is nested more than 100"),
    (
        "a" + "".join(f"[@a{i}<'1e300']" for i in range(100)),
        0,
        "in normal form, the expression is longer",
    ),
    ("a | ", 4, "an expression was expected"),
    ("a[b]/", 5, "a step"),
    ("1", 0, "not a literal"),
    ("'x'", 0, "not a literal"),
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
        parse("//Stock[count(Price) > 2]")
    assert str(caught.value).splitlines()[1:] == [
        "  //Stock[count(Price) > 2]",
        "          ^",
    ]


def test_the_place_in_a_long_expression_is_cut_out() -> None:
    text = "a/" * 100 + ".." + "/a" * 100
    with pytest.raises(SubscriptionError) as caught:
        parse(text)
    excerpt, caret = str(caught.value).splitlines()[1:]
    assert len(excerpt) < 80
    assert excerpt[caret.index("^") :].startswith("..")


@pytest.mark.parametrize(
    ("text", "limits", "reason"),
    [
        ("a/b/c", LanguageLimits(length=4), "longer than 4 characters"),
        ("a/b/c", LanguageLimits(steps=2), "more than 2 steps"),
        ("a[b][c]", LanguageLimits(steps=2), "more than 2 steps"),
        ("a[.>1][.<9]", LanguageLimits(steps=2), "more than 2 steps and comparisons"),
        ("a[contains(., 'b')]", LanguageLimits(steps=1), "more than 1 steps and comparisons"),
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
