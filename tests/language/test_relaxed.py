"""What is relaxed holds in the skeleton of every document that matches the pattern."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies import NAMESPACES, documents, expressions

from twigcast.language import Pattern, decided_by_paths, parse, relaxed
from twigcast.matching import matches, skeletons_of


def skeleton(document: str) -> bytes:
    text = skeletons_of([document]).skeletons[0].text
    assert text is not None
    return text


@pytest.mark.parametrize(
    ("pattern", "weaker"),
    [
        ("//Stock[Symbol='GHI'][Price>15]", "//Stock[Symbol][Price]"),
        ("/a/b[2]/c[position() > 1]", "/a/b/c"),
        ("//a[not(b)]", "//a"),
        ("//a[. != '']", "//a"),
        ("/a/b/text()", "/a/b"),
        ("//text()", "/*"),
        ("/text()", "/*"),
        ("//a[.//text() = 'x']", "//a"),
        ("//a[b = 1 or c]", "//a[b or c]"),
        ("//a[b or not(c)]", "//a"),
        ("//a[b or . = 1]", "//a"),
        ("//a[b > 1 and c/d[. = 2] or e]", "//a[b and c/d or e]"),
        ("//a[contains(b, 'x')]", "//a[b]"),
        ("//a[contains(b, '')]", "//a"),
        ("//a[starts-with(b//c[@x = 1], 'x')]", "//a[b//c/@x]"),
        ("//a[@x = 1]//@y", "//a[@x]//@y"),
        ("//a[b = 1] | /c[not(d = 1)]", "//a/b | /c"),
        ("//a[. < 'x']", "//a[. < 'x']"),
        ("//a | //b/text()", "//a | //b"),
        ("//a[b] | //text()", "/*"),
        # At the root a negation can be decided.
        ("/a[not(b)]", "/a[not(b)]"),
        ("/a[not(b = 1)]", "/a"),
        ("/a[not(b[c][d])]", "/a"),
        ("/a[not(b) or c[. = 1]]", "/a[not(b) or c]"),
        ("/*[not(@x)]//b[1]", "/*[not(@x)]//b"),
        ("/a/b[not(c)]", "/a/b"),
    ],
)
def test_what_is_left(pattern: str, weaker: str) -> None:
    assert relaxed(parse(pattern)) == parse(weaker)


@pytest.mark.parametrize(
    ("pattern", "decided"),
    [
        ("/a/b//c", True),
        ("//a/@x", True),
        ("//*", True),
        ("//a | /b/@*", True),
        ("//a[b or c/d]", True),
        ("/a[b][c/d][not(.//e) or @x]", True),
        ("/*[b]", True),
        ("//a[. < 'x']", True),  # never
        ("//a[b][c]", False),
        ("/a/b[c][d]", False),
        ("/a[b[c][d]]", False),
        ("/a/b[not(c)]", False),
        ("//a[not(b)]", False),
        ("//a[1]", False),
        ("//a/text()", False),
        ("//a[b = 1]", False),
        ("//a[contains(b, 'x')]", False),
        ("//a | //b[. = 1]", False),
    ],
)
def test_what_paths_decide(pattern: str, decided: bool) -> None:
    assert decided_by_paths(parse(pattern)) is decided


def test_two_conditions_need_not_hold_at_one_node() -> None:
    pattern = parse("//a[b][c]")
    apart = "<r><a><b/></a><a><c/></a></r>"
    assert not matches(pattern, apart)
    assert matches(relaxed(pattern), skeleton(apart))


@given(expressions(), documents())
def test_what_matches_a_document_matches_its_skeleton_relaxed(xpath: str, document: str) -> None:
    pattern = parse(xpath, NAMESPACES)
    weaker = relaxed(pattern)
    found = matches(pattern, document)
    likely = matches(weaker, skeleton(document))
    assert likely or not found
    if decided_by_paths(pattern):
        assert likely == found
        assert weaker == pattern
    assert relaxed(weaker) == weaker


@given(expressions(depth=1), documents(depth=2))
def test_the_same_with_small_ones(xpath: str, document: str) -> None:
    pattern = parse(xpath, NAMESPACES)
    found, likely = matches(pattern, document), matches(relaxed(pattern), skeleton(document))
    assert likely == found if decided_by_paths(pattern) else likely or not found


def test_a_pattern_that_never_matches_stays_so() -> None:
    never = parse("/a[. < 'x']")
    assert relaxed(never) == never == Pattern(())
