"""The names that patterns need and offer, and what they tell about coverings."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from strategies import NAMESPACES, expressions
from tangled_patterns import CHAIN, CIRCLE, draw_tangle

from twigcast.covering import covers, needed_names
from twigcast.covering.pairwise import Prepared
from twigcast.errors import SubscriptionError
from twigcast.language import Pattern, parse

EXAMPLES = settings().max_examples


@pytest.mark.parametrize(
    ("expression", "needs", "offers"),
    [
        ("/a/*//b", "a b", "a b"),
        ("//a[b][.//c/@x]/text()", "a b c @x text()", "a b c @x text()"),
        ("/a[b or c]/d", "a d", "a d"),
        ("//a/b | //b/c", "b", "b"),
        ("/a[not(b)]", "a", "a"),
        ("/a[contains(b, 'x')]", "a", "a b"),
        ("/p:a/*:b/p:*", "a b", "a b"),
        ("//@*", "", ""),
        ("/*", "", ""),
    ],
)
def test_names_that_are_needed_and_offered(expression: str, needs: str, offers: str) -> None:
    names = needed_names(parse(expression, {"p": "urn:p"}))
    assert names.needs == frozenset(needs.split())
    assert names.offers == frozenset(offers.split())
    assert names.possible


@pytest.mark.parametrize("expression", ["/a[. = 1][. = 2]", "/a[2]", "/a[b][not(b)]", "/@x"])
def test_patterns_that_nothing_matches_are_known(expression: str) -> None:
    assert not needed_names(parse(expression)).possible


@pytest.mark.parametrize(
    ("expression", "firm", "plain"),
    [
        ("/a/*//b", True, True),
        ("//a[b][*/c]", True, True),
        ("//*[b][c]", False, True),
        ("//a[. > 1]", False, True),
        ("//a[b[2]]", False, True),
        ("//a[not(b)]", False, True),
        ("//a[contains(b, 'x')]", False, False),
        ("//a | //b", False, False),
    ],
)
def test_firm_and_plain_patterns(expression: str, firm: bool, plain: bool) -> None:
    names = needed_names(parse(expression))
    assert (names.firm, names.plain) == (firm, plain)


@settings(max_examples=max(EXAMPLES // 3, 1))
@given(expressions(), expressions())
def test_what_covers_needs_only_what_is_offered(first: str, second: str) -> None:
    try:
        p, q = parse(first, NAMESPACES), parse(second, NAMESPACES)
    except SubscriptionError:
        return
    for above, below in ((p, q), (q, p)):
        _check_pair(above, below)


def _check_pair(above: Pattern, below: Pattern) -> None:
    offering = needed_names(below)
    assert offering.possible == bool(Prepared(below).possible)
    if offering.possible and covers(above, below):
        assert needed_names(above).needs <= offering.offers


def test_nothing_is_hidden_by_what_is_left_out_of_sight() -> None:
    random = Random(1)
    left_out = not_transitive = 0
    for _ in range(400):
        patterns = draw_tangle(random, 14)
        prepared = [Prepared(pattern) for pattern in patterns]
        names = [needed_names(pattern) for pattern in patterns]
        above = [[one.covers(other) for other in prepared] for one in prepared]
        places = range(len(patterns))
        for p in places:
            for q in places:
                if p == q or not above[p][q] or not names[q].possible:
                    continue
                assert names[p].needs <= names[q].offers
                below = [r for r in places if r not in (p, q) and above[q][r]]
                not_transitive += sum(not above[p][r] for r in below)
                if names[q].is_strictly_below(names[p], covers_other=above[q][p]):
                    left_out += 1
                    assert all(above[p][r] and not above[r][p] for r in below)
    assert left_out > 1_000
    assert not_transitive > 50


def test_coverings_that_are_found_in_two_steps_only() -> None:
    widest, middle, narrow = map(parse, CHAIN)
    assert covers(widest, middle)
    assert covers(middle, narrow)
    assert not covers(widest, narrow)
    first, second, third = map(parse, CIRCLE)
    assert covers(first, second)
    assert covers(second, first)
    assert covers(second, third)
    assert covers(third, first)
    assert not covers(first, third)
