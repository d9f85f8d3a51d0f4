"""Constants among expressions, and what a comparison with one says about counts."""

from __future__ import annotations

from decimal import Decimal
from math import inf
from typing import assert_never

from twigcast.language.expressions import (
    Constant,
    Expression,
    Operation,
)
from twigcast.language.operators import (
    NUMBER_OPERATORS,
)
from twigcast.language.upward import (
    CannotLowerError,
)


def constants_in(expression: Expression) -> list[str | float] | None:
    """The constants that an expression is, numbers as floats; None for any other."""
    match expression:
        case Constant(value=str(value)):
            return [value]
        case Constant(value=int() | Decimal() | float() as value):
            return [_double(value)]
        case Operation(
            operator="-", operands=(Constant(value=int() | Decimal() | float() as value),)
        ):
            return [-_double(value)]
        case Operation(operator=",", operands=operands) if operands:
            members = [constants_in(each) for each in operands]
            if all(each is not None and len(each) == 1 for each in members):
                return [constant for each in members if each is not None for constant in each]
    return None


def _double(value: Decimal | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf


def at_none(operator: str, constant: str | float) -> tuple[bool, bool]:
    """Whether a count of 0 passes, and whether all others do; an error where they differ."""
    if isinstance(constant, str):
        raise CannotLowerError
    row = NUMBER_OPERATORS[operator]
    one = row.passes(1.0, constant)
    match row.bounds:
        case "above":
            is_uniform = one
        case "below":
            is_uniform = not one
        case "":
            is_uniform = constant < 1 or constant % 1 != 0
        case _:
            assert_never(row.bounds)
    if not is_uniform:
        raise CannotLowerError
    return row.passes(0.0, constant), one
