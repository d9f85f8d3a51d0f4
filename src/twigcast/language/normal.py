"""The normal form: the functions that build pattern trees, so that equivalent spellings meet.

The parser, the workload generator and everything else that makes a pattern calls these instead of
the classes of :mod:`twigcast.language.nodes`.  What they do, and nothing else:

* Conditions are a set: sorted, without duplicates, and without those that another one implies
  (:mod:`twigcast.language.implication`): ``[a][a]``, ``[a][a/b]``, ``[. > 5][. > 3]``.
* ``not`` moves inward to the single conditions; ``not(. = x)`` is ``. != x``.  There it stops:
  ``not(. < 5)`` is not ``. >= 5``, since a text that is no number passes the one only.
* What can never hold (``[. < "x"]``, ``[position() < 1]``, ``[. = "x"][. = "y"]``) is NEVER, and
  takes with it all that depends on it; what always holds is dropped.
* A run of bare ``*`` has its descendant edge, if any, at its lower end: ``a//*/b`` and ``a/*//b``
  mean the same and become the latter; at a leaf, ``a//*`` and ``a/*`` mean the same too.

On expressions made of names, ``*``, ``/`` and ``//`` alone, two are equivalent exactly when their
normal forms are equal.  With predicates, equal normal forms are equivalent; the converse need not
hold, since deciding it is what covering is for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import assert_never

from twigcast.language.expressions import Expression
from twigcast.language.implication import implies
from twigcast.language.nodes import (
    ALWAYS,
    ATTRIBUTE,
    CHILD,
    DESCENDANT,
    NEVER,
    Axis,
    Both,
    Condition,
    Either,
    FirstNode,
    Negation,
    NodeTest,
    Position,
    Residual,
    Step,
    ValueTest,
    may_fail,
)
from twigcast.language.numbers import to_number
from twigcast.language.operators import NUMBER_OPERATORS, TEXT_OPERATORS, operator_of
from twigcast.language.value_consequences import with_consequences

_TEXT = attrgetter("text")


def branch(
    axis: Axis, test: NodeTest, position: Position | None, conditions: Iterable[Condition]
) -> Condition:
    """The condition that such a node is there: a Step, or NEVER."""
    kept = conjunction(conditions)
    if kept is None:
        return NEVER
    if axis is DESCENDANT and position is None and test.is_wildcard:
        return descend(Step(CHILD, test, None, kept))
    return Step(axis, test, position, kept)


def descend(step: Step) -> Step:
    """The branch with its first edge turned into a descendant edge."""
    if step.is_wildcard:
        if not step.conditions:
            return step
        below = step.only_branch
        if below is not None:
            return Step(CHILD, step.test, None, (descend(below),))
    return Step(DESCENDANT, step.test, step.position, step.conditions)


def conjunction(conditions: Iterable[Condition]) -> tuple[Condition, ...] | None:
    """The conditions that must all hold, without superfluous ones; None where they never do."""
    conditions = tuple(conditions)
    if not conditions or (len(conditions) == 1 and isinstance(conditions[0], Step)):
        return conditions
    flat: dict[Condition, None] = {}
    for condition in conditions:
        for member in condition.members if isinstance(condition, Both) else (condition,):
            if member is NEVER:
                return None
            flat[member] = None
    if len(flat) < 2:
        return tuple(flat)
    if _never_hold_together(flat):
        return None
    return _without_implied(flat, implies)


def both(conditions: Iterable[Condition]) -> Condition:
    """All of the conditions as one."""
    kept = conjunction(conditions)
    if kept is None:
        return NEVER
    return kept[0] if len(kept) == 1 else Both(kept) if kept else ALWAYS


def either(conditions: Iterable[Condition]) -> Condition:
    """At least one of the conditions."""
    flat: dict[Condition, None] = {}
    for condition in conditions:
        if condition is ALWAYS:
            return ALWAYS
        for member in condition.members if isinstance(condition, Either) else (condition,):
            flat[member] = None
    if len(flat) < 2:
        return next(iter(flat), NEVER)
    kept = _without_implied(flat, lambda kept, dropped: implies(dropped, kept))
    return kept[0] if len(kept) == 1 else Either(kept)


def negation(condition: Condition) -> Condition:
    """The condition does not hold."""
    if isinstance(condition, Negation):
        return condition.condition
    if isinstance(condition, Either):
        return both(map(negation, condition.members))
    if isinstance(condition, Both):
        return either(map(negation, condition.members))
    if isinstance(condition, ValueTest) and condition.comparison.negated:
        return ValueTest(condition.comparison.negated, condition.operand)
    return Negation(condition)


def value_test(operator: str, operand: str | float) -> Condition:
    """A comparison of the node's own string-value.

    Raises ValueError where the operand is no finite number and the comparison needs one, and where
    the language has no such operator.
    """
    if isinstance(operand, str) and operator in NUMBER_OPERATORS and operator not in TEXT_OPERATORS:
        operand = to_number(operand)
        if math.isnan(operand):
            return NEVER
    row = operator_of(operator, operand)
    if isinstance(operand, float | int):
        return ValueTest(operator, operand + 0.0)  # a negative zero becomes zero
    return ALWAYS if operand == "" and row.is_function else ValueTest(operator, operand)


def residual(expression: Expression, is_version_2: bool) -> Condition:
    """What no pattern says; NEVER where what it needs can never be there."""
    condition = Residual(expression, is_version_2)
    return NEVER if condition.never_fails and condition.implied is NEVER else condition


def first_node(path: Sequence[Step], operator: str, operand: str | float) -> Condition:
    """A test of the first node of a path: ``contains(path, operand)`` and its like."""
    test = value_test(operator, operand)
    if not isinstance(test, ValueTest) or not path:
        return test
    if select_at_most_one(path):
        condition: Condition = test
        for step in reversed(path):
            condition = branch(step.axis, step.test, step.position, (*step.conditions, condition))
        return condition
    return FirstNode(tuple(path), test)


def test_of_nothing(operator: str, operand: str | float) -> Condition:
    """What :func:`first_node` comes to for a path that selects nothing.

    XPath 1.0 takes an empty string for the missing node; every function passes on an empty operand.
    """
    return ALWAYS if value_test(operator, operand) is ALWAYS else NEVER


def finite_number(constant: str | float) -> float | None:
    """The number that a constant stands for, where a value test can hold it."""
    number = to_number(constant) if isinstance(constant, str) else constant
    return number if math.isfinite(number) else None


def position(operator: str, value: float) -> Position | bool:
    """The position predicate; True where every sibling passes, False where none does."""
    row = NUMBER_OPERATORS[operator]
    includes_value = row.passes(value, value)
    match row.bounds:
        case "below":
            highest = math.floor(value)
            if highest == value and not includes_value:
                highest -= 1
            if highest < 1:
                return False
            return Position("=", 1) if highest == 1 else Position("<=", highest)
        case "above":
            lowest = math.ceil(value)
            if lowest == value and not includes_value:
                lowest += 1
            return True if lowest <= 1 else Position(">=", lowest)
        case "":
            if math.floor(value) != value or value < 1:
                return not includes_value
            if value == 1 and not includes_value:
                return Position(">=", 2)
            return Position(operator, math.floor(value))
        case _:
            assert_never(row.bounds)


def select_at_most_one(path: Iterable[Step]) -> bool:
    """Whether a path of these steps selects one node at the most."""
    return all(map(_selects_at_most_one, path))


def _selects_at_most_one(step: Step) -> bool:
    if step.axis is not CHILD:
        return False
    if step.test.kind is ATTRIBUTE:
        return step.test.namespace is not None and step.test.local is not None
    return step.position is not None and step.position.operator == "="


def _never_hold_together(conditions: Mapping[Condition, None]) -> bool:
    """Whether it is plain that one condition is false where another is true."""
    tests = [each for each in conditions if isinstance(each, ValueTest)]
    return with_consequences(tests) is None or any(
        isinstance(each, Negation) and each.condition in conditions and not may_fail(each.condition)
        for each in conditions
    )


def _without_implied(
    conditions: Iterable[Condition], redundant: Callable[[Condition, Condition], bool]
) -> tuple[Condition, ...]:
    """The conditions in order, less those that are redundant beside another one.

    Of two that are redundant beside each other the first in order stays.
    """
    kept: list[Condition] = []
    for candidate in sorted(conditions, key=_TEXT):
        for other in kept:
            if redundant(other, candidate):
                break
        else:
            kept = [other for other in kept if not redundant(candidate, other)]
            kept.append(candidate)
    return tuple(kept)
