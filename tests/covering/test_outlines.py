"""What a glance at two patterns rules out: it saves comparisons and changes no answer."""

from __future__ import annotations

from itertools import islice, product

import pytest
from hypothesis import given
from strategies import NAMESPACES, expressions
from workloads import example

from twigcast.covering.outlines import Outline
from twigcast.covering.pairwise import Prepared
from twigcast.covering.subscription_tree import SubscriptionTree
from twigcast.language import Pattern, parse
from twigcast.workload import PathParameters, TreeParameters, generate_subscriptions


def generated(parameters: PathParameters | TreeParameters, count: int) -> list[Pattern]:
    return list(islice(generate_subscriptions(example("news.dtd"), parameters, seed=5), count))


def filled(patterns: list[Pattern]) -> SubscriptionTree:
    tree = SubscriptionTree()
    for pattern in patterns:
        tree.add(str(pattern), pattern)
    return tree


@pytest.mark.parametrize(
    "parameters",
    [
        PathParameters(shortest=1, wildcard=0.1, descendant=0.1),
        PathParameters(shortest=1),
        TreeParameters(),
    ],
)
def test_most_comparisons_are_saved(parameters: PathParameters | TreeParameters) -> None:
    patterns = generated(parameters, 400)
    tree = filled(patterns)
    assert tree.comparisons < 0.06 * len(patterns) ** 2
    before = tree.comparisons
    assert all(str(pattern) in tree.covering(pattern) for pattern in patterns[:20])
    assert tree.comparisons - before < 0.1 * 20 * len(patterns)


def test_absolute_paths_of_names_are_compared_along_one_branch_only() -> None:
    names = ["/".join(each) for each in product("abcde", repeat=3)]
    tree = filled([parse(f"/r/{text}") for text in names])
    tree.add("deep", parse("/r/a/b"))
    before = tree.comparisons
    tree.add("deeper", parse("/r/a/b/c/d"))
    assert tree.comparisons - before <= 4
    assert tree.covering(parse("/r/a/b/c/d")) == ["deep", "/r/a/b/c", "deeper"]


@pytest.mark.parametrize("parameters", [PathParameters(shortest=1, wildcard=0.2), TreeParameters()])
def test_shortcuts_change_the_cost_and_not_the_tree(
    parameters: PathParameters | TreeParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    patterns = generated(parameters, 120)
    quick = filled(patterns)
    monkeypatch.setattr(Outline, "may_cover", lambda self, other: True)
    monkeypatch.setattr(Outline, "contradicts", lambda self, other, levels: False)
    slow = filled(patterns)
    assert list(quick.walk()) == list(slow.walk())
    for pattern in patterns:
        assert quick.super_pointers(pattern) == slow.super_pointers(pattern)
    assert quick.comparisons < slow.comparisons / 3


@given(expressions(), expressions())
def test_a_glance_rules_out_nothing_that_is_so(one: str, other: str) -> None:
    p, q = (Prepared(parse(text, NAMESPACES)) for text in (one, other))
    nothing = Prepared(parse("//nothing"))
    first, second = (Outline(each, impossible=nothing.covers(each)) for each in (p, q))
    if p.covers(q):
        assert first.may_cover(second)
        assert not first.contradicts(second, second.levels)
