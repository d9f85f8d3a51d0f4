"""The quick way for plain patterns gives the trees of the parser, or none."""

from __future__ import annotations

import pytest
from expression_strategies import expressions_1
from hypothesis import given
from strategies import NAMESPACES, expressions

from twigcast.errors import SubscriptionError
from twigcast.language import Expression, Pattern, parse, read_expression, read_normal_form
from twigcast.language.bindings import NO_BINDINGS
from twigcast.language.limits import DEFAULT_LIMITS
from twigcast.language.parser import read_by_grammar
from twigcast.language.pattern import plain_pattern

PLAIN = (
    '//Stock[Price>15][Symbol="IBM"]',
    "/a[.//d][b/c]",
    '/a[.//b[c<=2.5]][@id="x"]',
    "//@id",
    "//a/@b",
    "/a[b='\"']",
    "/a/*[.//c[d!=-3]][b]",
    '/Q{urn:x}a[@Q{urn:z}c][Q{urn:y}b="1"]',
    '/a/@b[.!="x"][.!="y"]',
    '/a[.="x"][b]',
    "/a/b[.<9][.>5]",
)
"""Texts in normal form that are read without the grammar."""

NOT_PLAIN = (
    *("", "/", "a", "/a[b][b]", "/a[c][b]", "/a[1]", "/a | /b", "/a[b or c]", "/a[not(b)]"),
    *("/a[b]x", "/a[b", "/a]", "/@a", "/a/@b/c", "/a/@b[c]", "//*/a[b]", "/a[b<'x']", "/a[b=1.0]"),
    *("/a[text()]", '/a[b="x""y"]', "/a[ b]", "/a[self::a]", "/a[..]", "/a[*:b]", "/a[p:b]"),
    *("/a[.]", "/a/b[c=d]", "/a[b=1e3]", "/a[Q{}b]", "/a[b='x']", "/a[.//*[b]]", "/a[b][c]" * 40),
    "/" + "a" * 2_000 + "[b]",
)


def by_grammar(text: str) -> Pattern:
    return read_by_grammar(text, NO_BINDINGS, DEFAULT_LIMITS).pattern


def is_same(one: Pattern, other: Pattern) -> bool:
    """Whether all that can be seen of two patterns is equal."""
    steps = [
        [(each.axis, each.test, each.position, each.conditions) for each in pattern.steps()]
        for pattern in (one, other)
    ]
    return (str(one), one.alternatives, steps[0]) == (str(other), other.alternatives, steps[1])


@pytest.mark.parametrize("text", PLAIN)
def test_plain_texts_need_no_grammar(text: str) -> None:
    pattern = plain_pattern(text)
    assert pattern is not None
    assert is_same(pattern, by_grammar(text))


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_other_texts_are_left_to_the_parser(text: str) -> None:
    assert plain_pattern(text) is None
    try:
        expected = read_expression(text).pattern
    except SubscriptionError:
        with pytest.raises(SubscriptionError):
            read_normal_form(text)
    else:
        assert is_same(read_normal_form(text), expected)


@given(expressions().map(lambda text: parse(text, NAMESPACES)))
def test_normal_forms_are_read_as_the_grammar_reads_them(pattern: Pattern) -> None:
    assert is_same(read_normal_form(str(pattern)), by_grammar(str(pattern)))


@given(expressions_1())
def test_whatever_is_written_means_the_same(expression: Expression) -> None:
    text = expression.text
    try:
        expected = read_expression(text).pattern
    except SubscriptionError:
        return
    assert is_same(read_normal_form(text), expected)
