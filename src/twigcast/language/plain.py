"""The short cut for plain patterns: the text of a normal form, read back without the grammar.

    /orders/order[customer="C7"][total>5]//item[@id]

Brokers send each other patterns as texts in normal form, a hundred thousand when a link comes up.
Most of them are plain: steps down to names and attributes, and comparisons with constants.  The
grammar and the lowering of such a text find nothing to decide, so one pass builds the tree here.

Invariant: where :func:`plain_branch` answers, the tree is what the parser would give.  Two things
ensure it: the tree is built by :mod:`~twigcast.language.normal`, and its text, which is injective,
is compared with the text that was read.  Every other text is left to the parser.
Cost: a quarter of the parser's.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from twigcast.language import normal
from twigcast.language.nodes import (
    ATTRIBUTE,
    CHILD,
    DESCENDANT,
    ELEMENT,
    NEVER,
    Axis,
    Condition,
    NodeTest,
    Step,
    element_test,
    node_test,
)
from twigcast.language.tokens import NAME

_LONGEST: Final = 1_000
_MOST_STEPS: Final = 50
"""Texts beyond are left to the parser, which knows the limits."""

_STEP: Final = re.compile(rf"(//?)(@?)(?:Q\{{([^{{}}]+)\}})?({NAME}|\*)(?![(:{{])")
_FIRST: Final = re.compile(rf"(\.//)?(@?)(?:Q\{{([^{{}}]+)\}})?({NAME}|\*)(?![(:{{])")
_COMPARED: Final = re.compile(r"""(!?=|[<>]=?)(?:"([^"]*)"|'([^']*)'|(-?\d+(?:\.\d+)?))\]""")

_Read: TypeAlias = list[tuple[Axis, NodeTest, list[Condition]]]


class _NotPlainError(Exception):
    """The text says something that is not read here."""


def plain_branch(text: str) -> Step | None:
    """The tree of a plain pattern from the text of its normal form; None for any other text."""
    if len(text) > _LONGEST or text.count("/") + text.count("[") > _MOST_STEPS:
        return None
    try:
        steps, end = _read_steps(text, 0, [])
        branch = _built(steps, None)
    except _NotPlainError:
        return None
    is_whole = end == len(text) and isinstance(branch, Step) and branch.text == text
    if not is_whole or (steps[0][0] is CHILD and steps[0][1].kind is ATTRIBUTE):
        return None
    assert isinstance(branch, Step)
    return branch


def _read_steps(text: str, at: int, steps: _Read) -> tuple[_Read, int]:
    """The steps from a position on, behind those that are there, and where they end."""
    while (found := _STEP.match(text, at)) is not None:
        if steps and steps[-1][1].kind is ATTRIBUTE:
            raise _NotPlainError  # nothing lies below an attribute
        test = _test(found)
        predicates, at = _read_predicates(text, found.end(), test)
        steps.append((CHILD if found[1] == "/" else DESCENDANT, test, predicates))
    if not steps:
        raise _NotPlainError
    return steps, at


def _test(step: re.Match[str]) -> NodeTest:
    _, mark, namespace, name = step.groups()
    if name == "*":
        if namespace is not None:
            return node_test(ATTRIBUTE if mark else ELEMENT, namespace, None)
        return node_test(ATTRIBUTE if mark else ELEMENT)
    if mark or namespace is not None:
        return node_test(ATTRIBUTE if mark else ELEMENT, namespace or "", name)
    return element_test(name)


def _read_predicates(text: str, at: int, test: NodeTest) -> tuple[list[Condition], int]:
    predicates: list[Condition] = []
    while text.startswith("[", at):
        predicate, at = _read_predicate(text, at + 1, test)
        predicates.append(predicate)
    return predicates, at


def _read_predicate(text: str, at: int, test: NodeTest) -> tuple[Condition, int]:
    """The condition in brackets, from behind the first, and where the last ends."""
    compared = _COMPARED.match(text, at + 1) if text.startswith(".", at) else None
    if compared is not None:
        return _value_test(compared), compared.end()
    found = _FIRST.match(text, at)
    if found is None or test.kind is ATTRIBUTE:
        raise _NotPlainError
    first = _test(found)
    predicates, at = _read_predicates(text, found.end(), first)
    axis = CHILD if found[1] is None else DESCENDANT
    steps, at = _read_steps(text, at, [(axis, first, predicates)])
    if text.startswith("]", at):
        return _built(steps, None), at + 1
    compared = _COMPARED.match(text, at)
    if compared is None:
        raise _NotPlainError
    return _built(steps, _value_test(compared)), compared.end()


def _value_test(compared: re.Match[str]) -> Condition:
    operator, double, single, number = compared.groups()
    if number is not None:
        return normal.value_test(operator, float(number))
    return normal.value_test(operator, single if double is None else double)


def _built(steps: _Read, condition: Condition | None) -> Condition:
    """The branch of these steps, with a condition at its end."""
    for axis, test, predicates in reversed(steps):
        if condition is not None:
            predicates.append(condition)
        condition = normal.branch(axis, test, None, predicates)
        if condition is NEVER:
            raise _NotPlainError
    assert condition is not None, "there is a step"
    return condition
