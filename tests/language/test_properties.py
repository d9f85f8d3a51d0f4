"""Random subscriptions on random documents: every reading of them agrees with libxml2."""

from __future__ import annotations

import itertools
import pickle

from hypothesis import given
from oracle import anchored, parse_tree, to_xpath_1, xpath_matches
from strategies import NAMESPACES, documents, expressions, linear_expressions

from twigcast.documents import read_document
from twigcast.language import parse
from twigcast.matching import reference_matches


@given(expressions(), documents())
def test_all_matchers_agree(expression: str, document: str) -> None:
    tree = parse_tree(document)
    expected = xpath_matches(tree, anchored(to_xpath_1(expression, NAMESPACES)), NAMESPACES)
    pattern = parse(expression, NAMESPACES)
    assert xpath_matches(tree, *pattern.to_xpath()) is expected, str(pattern)
    assert reference_matches(pattern, read_document(document)) is expected, str(pattern)
    assert pattern.matches(document) is expected, str(pattern)


@given(expressions())
def test_printing_and_parsing_are_inverse(expression: str) -> None:
    pattern = parse(expression, NAMESPACES)
    again = parse(str(pattern))
    assert again == pattern
    assert str(again) == str(pattern)
    assert hash(again) == hash(pattern)
    assert pickle.loads(pickle.dumps(pattern)) == pattern


LABELS = ("a", "b", "c", "z")


def chains(longest: int) -> list[str]:
    """Documents that are one path each; ``z`` stands for names that no expression uses."""
    return [
        "".join(f"<{label}>" for label in labels)
        + "".join(f"</{label}>" for label in reversed(labels))
        for length in range(1, longest + 1)
        for labels in itertools.product(LABELS, repeat=length)
    ]


TREES = [parse_tree(chain) for chain in chains(5)]


def selected(expression: str) -> frozenset[int]:
    return frozenset(index for index, tree in enumerate(TREES) if xpath_matches(tree, expression))


@given(linear_expressions(), linear_expressions())
def test_linear_normal_forms_are_equal_exactly_when_equivalent(one: str, other: str) -> None:
    # With up to three steps each, chains of five labels tell any two expressions apart.
    one, other = ("".join(_steps(text)[:3]) for text in (one, other))
    equal = parse(one) == parse(other)
    assert equal is (selected(one) == selected(other))


def _steps(text: str) -> list[str]:
    """The steps of a linear expression with names of one letter."""
    steps: list[str] = []
    position = 0
    while position < len(text):
        slash = "//" if text.startswith("//", position) else "/"
        steps.append(slash + text[position + len(slash)])
        position += len(slash) + 1
    return steps
