"""``+``, ``-``, ``*``, ``div``, ``idiv``, ``mod`` and the unary minus.

XPath 1.0 computes with doubles alone: an operand is turned into a number, of nodes the first, and
nothing is NaN.  XPath 2.0 keeps integers and decimals exact, and nothing stays nothing.  Both add
durations to moments.
"""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, Context, Decimal, Inexact, InvalidOperation
from typing import Final

from twigcast.matching.reference.casting import MOST_DIGITS, cast
from twigcast.matching.reference.comparisons import promoted
from twigcast.matching.reference.conversions import atomize, to_double, to_single
from twigcast.matching.reference.items import (
    Atomic,
    DynamicError,
    Plain,
    Sequence,
    atomic,
    is_numeric,
    is_untyped,
)
from twigcast.matching.reference.moments import Duration, Moment, convert_moment, shift

_EXACT: Final = Context(prec=MOST_DIGITS, traps=[Inexact])
_ROUNDED: Final = Context(prec=MOST_DIGITS)
_QUOTIENT: Final = Context(prec=60, rounding=ROUND_DOWN)
_SMALLEST: Final = Decimal("1e-9")
_DIGITS: Final = 18
"""How many digits behind the point a decimal quotient has at least."""


def operand(items: Sequence, *, is_version_2: bool) -> Atomic | None:
    """One operand as a value that can be computed with; None if there is nothing."""
    if not is_version_2:
        first = atomize(items[:1])
        if not first:
            return atomic(math.nan)
        if isinstance(first[0].value, Moment | Duration):
            return first[0]
        return atomic(to_double(first[0], is_version_2=False))
    if len(items) > 1:
        raise DynamicError("arithmetic takes single values, not a sequence of several")
    for value in atomize(items):
        return cast(value, "xs:double") if is_untyped(value) else value
    return None


def negate(value: Atomic) -> Atomic:
    """The unary minus."""
    if not is_numeric(value):
        raise DynamicError(f"a value of type {value.type} has no negative")
    number = value.value
    assert isinstance(number, int | Decimal | float)
    if isinstance(number, Decimal):
        return atomic(number.copy_negate() if number else number)
    return Atomic("xs:float" if value.type == "xs:float" else atomic(number).type, -number)


def compute(operator: str, left: Atomic, right: Atomic) -> Atomic:
    """The value of an operator with two operands."""
    if is_numeric(left) and is_numeric(right):
        one, other = promoted(left, right)
        if not isinstance(one, float):
            return _exact(operator, one, other)
        result = _floating(operator, one, other)
        if "xs:double" not in (left.type, right.type) and isinstance(result, float):
            return Atomic("xs:float", to_single(result))
        return atomic(result)
    moment = _with_moments(operator, left.value, right.value)
    if moment is None or "xs:boolean" in (left.type, right.type):
        raise DynamicError(f"{operator} is not defined for {left.type} and {right.type}")
    return atomic(moment)


def _floating(operator: str, left: float, right: float) -> float | int:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "div":
            return divide(left, right)
        case "mod":
            return remainder(left, right)
        case _:
            return _whole_quotient(left, right)


def divide(left: float, right: float) -> float:
    """IEEE 754's division, which never fails."""
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def remainder(left: float, right: float) -> float:
    """The remainder has the sign of the dividend."""
    if math.isinf(left) or right == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.fmod(left, right)


def _whole_quotient(left: float, right: float) -> int:
    if right == 0:
        raise DynamicError("division by zero")
    if math.isnan(left) or math.isnan(right) or math.isinf(left):
        raise DynamicError("idiv of NaN, or of infinity, has no value")
    if math.isinf(right):
        return 0
    return int(divide(left, right))


def _exact(operator: str, left: int | Decimal, right: int | Decimal) -> Atomic:
    """Integers stay integers but for ``div``; decimals are computed without rounding."""
    is_whole = isinstance(left, int) and isinstance(right, int)
    one, other = Decimal(left), Decimal(right)
    if operator in ("div", "idiv", "mod") and other == 0:
        raise DynamicError("division by zero")
    try:
        return _exact_result(operator, one, other, is_whole=is_whole)
    except (Inexact, InvalidOperation):
        raise DynamicError(f"a number has more than {MOST_DIGITS:,} digits") from None


def _exact_result(operator: str, one: Decimal, other: Decimal, *, is_whole: bool) -> Atomic:
    match operator:
        case "+":
            result = _EXACT.add(one, other)
        case "-":
            result = _EXACT.subtract(one, other)
        case "*":
            result = _EXACT.multiply(one, other)
        case "div":
            return atomic(decimal_quotient(one, other))
        case "mod":
            result = _EXACT.remainder(one, other)
        case _:
            return atomic(int(_EXACT.divide_int(one, other)))
    return atomic(int(result) if is_whole else result)


def decimal_quotient(left: Decimal, right: Decimal) -> Decimal:
    """Exact if it ends within 18 digits behind the point; cut there otherwise."""
    quotient = _QUOTIENT.divide(left, right)
    if not _QUOTIENT.flags[Inexact]:
        return quotient
    _QUOTIENT.clear_flags()
    return quotient.quantize(Decimal(1).scaleb(-_DIGITS), ROUND_DOWN, _ROUNDED)


def _with_moments(operator: str, left: Plain, right: Plain) -> Plain | None:
    """Arithmetic of moments and durations; None where there is none."""
    match operator, left, right:
        case "+", Duration(), Moment():
            return _shifted(right, left, 1)
        case (("+" | "-"), Moment(), Duration()):
            return _shifted(left, right, 1 if operator == "+" else -1)
        case "-", Moment(), Moment() if left.type == right.type:
            return Duration("xs:dayTimeDuration", 0, left.instant() - right.instant())
        case (("+" | "-"), Duration(), Duration()) if left.type == right.type != "xs:duration":
            return _sum(left, right, 1 if operator == "+" else -1)
        case (("*" | "div"), Duration(), (int() | Decimal() | float())) if not isinstance(
            right, bool
        ):
            return _scaled(left, right, is_divided=operator == "div")
        case "*", int() | Decimal() | float(), Duration():
            return _scaled(right, left)
        case "div", Duration(), Duration() if left.type == right.type != "xs:duration":
            return _ratio(left, right)
        case _:
            return None


def _shifted(moment: Moment, duration: Duration, sign: int) -> Moment | None:
    if duration.type == "xs:duration":
        return None
    if moment.type == "xs:time" and duration.type == "xs:yearMonthDuration":
        return None
    shifted = shift(moment, _sum(Duration(duration.type, 0, Decimal(0)), duration, sign))
    return convert_moment(shifted, moment.type)


def _sum(left: Duration, right: Duration, sign: int) -> Duration:
    months, seconds = left.months + sign * right.months, left.seconds + sign * right.seconds
    return Duration(left.type, months, seconds)


def _scaled(
    duration: Duration, by: Decimal | float, *, is_divided: bool = False
) -> Duration | None:
    if duration.type == "xs:duration":
        return None
    if math.isnan(by):
        raise DynamicError("a duration cannot be multiplied or divided by NaN")
    exact = Decimal(repr(by)) if isinstance(by, float) else Decimal(by)
    if (is_divided and exact == 0) or (not is_divided and not exact.is_finite()):
        raise DynamicError("a duration cannot be infinite")
    compute = _QUOTIENT.divide if is_divided else _EXACT.multiply
    months = math.floor(compute(Decimal(duration.months), exact) + Decimal("0.5"))
    seconds = compute(duration.seconds, exact)
    return Duration(
        duration.type, months, seconds.quantize(_SMALLEST, context=_ROUNDED).normalize()
    )


def _ratio(left: Duration, right: Duration) -> Decimal:
    one, other = Decimal(left.months) + left.seconds, Decimal(right.months) + right.seconds
    if other == 0:
        raise DynamicError("division by zero")
    return decimal_quotient(one, other)
