"""When one expression is known to be true wherever another one is.

    count(b) > 3                   count(b) > 2              the same number, compared with another
    following::b[c][d]             following::b[c]           a subset of the nodes
    preceding::b[c] > 5            preceding::b > 3          both
    a/b[last()]/c                  a/b[last()]               more steps
    (//a)[2][b]                    (//a)[2]                  one more predicate

Expressions are compared part by part.  Parts that differ must be of XPath 1.0 and follow its rules:
such an expression always has a value, so a larger set of nodes does no harm.  Sound, not complete:
True is always right, False means "not shown".

Cost: each pair of parts is looked at once, so the product of the sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from twigcast.language.analysis import is_position_free, static_type
from twigcast.language.expressions import (
    GENERAL_COMPARISONS,
    Along,
    Call,
    Constant,
    Expression,
    Filter,
    Operation,
    Path,
)
from twigcast.language.nodes import Kind, NodeTest, Residual, ValueTest
from twigcast.language.operators import FUNCTIONS, MIRRORED, NUMBER_OPERATORS, TEXT_OPERATORS
from twigcast.language.value_implication import value_implies


def residual_implies(given: Residual, asked: Residual) -> bool:
    """Whether one residual holds at a node wherever another one does."""
    if given == asked:
        return True
    return given.never_fails and asked.never_fails and _implies(given.expression, asked.expression)


def _implies(given: Expression, asked: Expression) -> bool:
    """Whether the effective boolean value of ``asked`` is true wherever that of ``given`` is."""
    if given.text == asked.text:
        return True
    match given, asked:
        case Call(name="boolean", arguments=(inner,)), _:
            return _implies(inner, asked)
        case _, Call(name="boolean", arguments=(inner,)):
            return _implies(given, inner)
        case Operation(operator="or", operands=members), _:
            return all(_implies(member, asked) for member in members)
        case _, Operation(operator="and", operands=members):
            return all(_implies(given, member) for member in members)
        case _, Operation(operator="or", operands=members) if any(
            _implies(given, member) for member in members
        ):
            return True
        case Operation(operator="and", operands=members), _:
            return any(_implies(member, asked) for member in members)
        case Call(name="not", arguments=(denied,)), Call(name="not", arguments=(wanted,)):
            return _implies(wanted, denied)
    if static_type(given) == static_type(asked) == "nodes":
        steps, asked_steps = _steps(given), _steps(asked)
        if _steps_within(steps[: len(asked_steps)], asked_steps):
            return True
        return isinstance(given, Filter) and _implies(given.base, asked)
    return _comparison_implies(given, asked)


def _comparison_implies(given: Expression, asked: Expression) -> bool:
    known, wanted = _as_test(given), _as_test(asked)
    if known is not None and wanted is not None:
        subject, test = known
        other, other_test = wanted
        if not value_implies(test, other_test):
            return False
        if static_type(subject) == static_type(other) == "nodes":
            if isinstance(given, Call) or isinstance(asked, Call):  # functions ask the first node
                return isinstance(given, type(asked)) and subject.text == other.text
            return _within(subject, other)  # one node that passes is enough
        match subject, other:  # the more nodes, the greater the count
            case Call(name="count", arguments=(nodes,)), Call(name="count", arguments=(more,)) if (
                other_test.comparison.bounds == "above"
            ):
                return _within(nodes, more)
        return subject.text == other.text
    match given, asked:
        case Operation(operator=one, operands=pair), Operation(operator=two, operands=others) if (
            one == two and one in GENERAL_COMPARISONS
        ):
            sides = (*pair, *others)
            return all(static_type(each) == "nodes" for each in sides) and all(
                map(_within, pair, others)
            )
    return False


def _as_test(expression: Expression) -> tuple[Expression, ValueTest] | None:
    """What is compared with a constant, and how; None for any other expression."""
    match expression:
        case Call(name=name, arguments=(subject, Constant(value=str(text)))) if name in FUNCTIONS:
            return subject, ValueTest(name, text)
        case Operation(operator=operator, operands=(subject, Constant(value=value))) if (
            operator in GENERAL_COMPARISONS
        ):
            pass
        case Operation(operator=operator, operands=(Constant(value=value), subject)) if (
            operator in GENERAL_COMPARISONS
        ):
            operator = MIRRORED[operator]
        case _:
            return None
    kind = static_type(subject)
    if isinstance(value, str):
        is_text = operator in TEXT_OPERATORS and kind in ("string", "nodes")
        return (subject, ValueTest(operator, value)) if is_text else None
    number = float(value)
    is_number = operator in NUMBER_OPERATORS and kind in ("number", "string", "nodes")
    return (subject, ValueTest(operator, number)) if is_number and isfinite(number) else None


def _within(given: Expression, asked: Expression) -> bool:
    """Whether every node that the one expression selects, the other one selects, too."""
    if given.text == asked.text:
        return True
    if isinstance(given, Operation) and given.operator == "|":
        return all(_within(member, asked) for member in given.operands)
    if isinstance(asked, Operation) and asked.operator == "|":
        return any(_within(given, member) for member in asked.operands)
    if isinstance(given, Filter) and not isinstance(asked, Filter):
        return _within(given.base, asked)
    return _steps_within(_steps(given), _steps(asked))


def _steps(expression: Expression) -> tuple[Expression, ...]:
    return expression.steps if isinstance(expression, Path) else (expression,)


def _steps_within(steps: Sequence[Expression], wanted: Sequence[Expression]) -> bool:
    """Positions count from the node before, so fewer nodes lead to fewer nodes."""
    return len(steps) == len(wanted) and all(map(_step_within, steps, wanted))


def _step_within(given: Expression, asked: Expression) -> bool:
    if given.text == asked.text:
        return True
    match given, asked:
        case Along(axis=one, test=test), Along(axis=two, test=wider) if one == two:
            return _covers(wider, test) and _predicates_within(
                given.predicates, asked.predicates, is_same_base=test == wider
            )
        case Filter(base=base), Filter(base=other):
            return _within(base, other) and _predicates_within(
                given.predicates, asked.predicates, is_same_base=base.text == other.text
            )
        case _:
            return False


def _covers(wider: NodeTest, test: NodeTest) -> bool:
    return wider.kind is Kind.NODE or wider.covers(test)


def _predicates_within(
    given: Sequence[Expression], asked: Sequence[Expression], *, is_same_base: bool
) -> bool:
    """Whether what passes the predicates given passes those asked for.

    What comes behind the same predicates only takes nodes away.  Otherwise each predicate must be
    implied, and none may ask for a position, which counts what passed before it.
    """
    shared = [each.text for each in given[: len(asked)]]
    if is_same_base and shared == [each.text for each in asked]:
        return True
    free = [each for each in given if is_position_free(each)]
    return all(
        is_position_free(wanted) and any(_implies(known, wanted) for known in free)
        for wanted in asked
    )
