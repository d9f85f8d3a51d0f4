"""Functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Final

from twigcast.matching.reference.arithmetic import compute, negate
from twigcast.matching.reference.casting import cast
from twigcast.matching.reference.conversions import atomize, to_double
from twigcast.matching.reference.definitions import define
from twigcast.matching.reference.items import Atomic, DynamicError, Sequence, atomic, is_untyped
from twigcast.matching.reference.moments import Duration
from twigcast.matching.reference.nodes import Node
from twigcast.matching.reference.setting import Setting

_EXACT: Final = Context(prec=1000)
_MOST_DIGITS: Final = 400
"""Precision beyond which rounding changes no number."""


@define("number", "items", needs_setting=True)
def number(setting: Setting, items: Sequence) -> float:
    """The number of the first item in XPath 1.0, of the only one in XPath 2.0."""
    setting.charge(items[:1])
    if len(items) > 1 and setting.is_version_2:
        raise DynamicError("number() takes a single item, not a sequence of several")
    return to_double(items[0], is_version_2=setting.is_version_2) if items else math.nan


@define("floor", "number?")
def floor(value: Atomic | None) -> Atomic | None:
    return _rounded(value, math.floor, ROUND_FLOOR)


@define("ceiling", "number?")
def ceiling(value: Atomic | None) -> Atomic | None:
    return _rounded(value, math.ceil, ROUND_CEILING)


def _rounded(value: Atomic | None, rounds: Callable[[float], int], rounding: str) -> Atomic | None:
    """The number as a whole one of its type; zero keeps the sign of a double."""
    if value is None or isinstance(value.value, int):
        return value
    if isinstance(value.value, Decimal):
        return atomic(value.value.to_integral_value(rounding))
    given = value.value
    assert isinstance(given, float)
    if not math.isfinite(given):
        return value
    return Atomic(value.type, math.copysign(float(rounds(given)), given))


def round_half_up(value: float) -> float:
    """The nearest whole number, of two the greater; zero keeps the sign."""
    if not math.isfinite(value):
        return value
    below = math.floor(value)
    return math.copysign(float(below + (value - below >= 0.5)), value)


@define("round", "number?", "integer")
def round_(value: Atomic | None, precision: int = 0) -> Atomic | None:
    """Of two numbers as near, the greater."""
    if value is not None and isinstance(value.value, float) and precision == 0:
        return Atomic(value.type, round_half_up(value.value))
    return _to_precision(value, precision, _half_up)


@define("round-half-to-even", "number?", "integer")
def round_half_to_even(value: Atomic | None, precision: int = 0) -> Atomic | None:
    """Of two numbers as near, the even one."""
    return _to_precision(value, precision, _half_even)


def _half_up(value: Decimal) -> Decimal:
    return (value + Decimal("0.5")).to_integral_value(ROUND_FLOOR, _EXACT)


def _half_even(value: Decimal) -> Decimal:
    return value.to_integral_value(ROUND_HALF_EVEN, _EXACT)


def _to_precision(
    value: Atomic | None, precision: int, rounds: Callable[[Decimal], Decimal]
) -> Atomic | None:
    """The number rounded to so many digits behind the point, or before it if negative."""
    if value is None:
        return None
    given = value.value
    assert isinstance(given, int | Decimal | float)
    if isinstance(given, float) and not math.isfinite(given):
        return value
    places = max(-_MOST_DIGITS, min(precision, _MOST_DIGITS))
    exact = Decimal(given)
    rounded = rounds(exact.scaleb(places, _EXACT)).scaleb(-places, _EXACT)
    if isinstance(given, float):
        return Atomic(value.type, math.copysign(float(rounded), given))
    return atomic(int(rounded) if isinstance(given, int) else rounded)


@define("abs", "number?")
def abs_(value: Atomic | None) -> Atomic | None:
    if value is None:
        return None
    number = value.value
    assert isinstance(number, int | Decimal | float)
    return negate(value) if number < 0 else Atomic(value.type, number + 0)


@define("sum", "items", needs_setting=True)
def sum_(setting: Setting, items: Sequence) -> Atomic:
    """The sum of numbers or of durations, zero for nothing; in XPath 1.0, any node is a number."""
    setting.charge(items)
    if not setting.is_version_2:
        items = [
            atomic(to_double(item, is_version_2=False)) if isinstance(item, Node) else item
            for item in items
        ]
    return _total(_summands(setting, atomize(items))) if items else atomic(0)


@define("avg", "values")
def avg(values: list[Atomic]) -> Atomic | None:
    if not values:
        return None
    numbers = [cast(value, "xs:double") if is_untyped(value) else value for value in values]
    return compute("div", _total(numbers), atomic(len(values)))


def _summands(setting: Setting, values: list[Atomic]) -> list[Atomic]:
    """Untyped text as doubles; in XPath 1.0 it may be NaN, in XPath 2.0 it must be a number."""
    if setting.is_version_2:
        return [cast(value, "xs:double") if is_untyped(value) else value for value in values]
    return [
        atomic(to_double(value, is_version_2=False)) if is_untyped(value) else value
        for value in values
    ]


def _total(values: list[Atomic]) -> Atomic:
    first, *rest = values
    if not isinstance(first.value, Duration):
        first = compute("+", first, atomic(0))
    for value in rest:
        first = compute("+", first, value)
    return first
