"""Casts: a value of one type as a value of another, or a :class:`DynamicError`.

    text ──read──► the value it spells, within the bounds of the type
    number ──► number, text, boolean      moment ──► date, time or both     duration ──► its parts

White space around a text does not count.  A cast never guesses: what a type cannot say is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal
from typing import Final

from twigcast.matching.reference.conversions import (
    as_float,
    read_double,
    to_single,
    to_text,
)
from twigcast.matching.reference.items import (
    MOMENTS,
    Atomic,
    DynamicError,
    Plain,
    derives_from,
    primitive,
)
from twigcast.matching.reference.moments import (
    Duration,
    Moment,
    convert_moment,
    read_duration,
    read_moment,
)

MOST_DIGITS: Final = 1_000
"""Integers and decimals with more digits are an error."""

_SPACE: Final = " \t\r\n"
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")

_BOUNDS: Final[dict[str, tuple[int | None, int | None]]] = {
    "xs:integer": (None, None),
    "xs:long": (-(2**63), 2**63 - 1),
    "xs:int": (-(2**31), 2**31 - 1),
    "xs:short": (-(2**15), 2**15 - 1),
    "xs:byte": (-(2**7), 2**7 - 1),
    "xs:nonNegativeInteger": (0, None),
    "xs:positiveInteger": (1, None),
    "xs:unsignedLong": (0, 2**64 - 1),
    "xs:unsignedInt": (0, 2**32 - 1),
    "xs:unsignedShort": (0, 2**16 - 1),
    "xs:unsignedByte": (0, 2**8 - 1),
    "xs:nonPositiveInteger": (None, 0),
    "xs:negativeInteger": (None, -1),
}


def cast(value: Atomic, target: str) -> Atomic:
    """The value as one of the target type."""
    if value.type == target:
        return value
    if target in _BOUNDS:
        return _in_bounds(value, target)
    return Atomic(target, _CASTS[target](value))


def is_castable(value: Atomic, target: str) -> bool:
    """Whether :func:`cast` gives a value."""
    try:
        cast(value, target)
    except DynamicError:
        return False
    return True


def to_string(value: Atomic) -> str:
    """A cast to text follows XPath 2.0 in both versions."""
    return to_text(value, is_version_2=True)


def to_normalized_string(value: Atomic) -> str:
    return re.sub(r"[\t\r\n]", " ", to_string(value))


def to_token(value: Atomic) -> str:
    return re.sub(r" +", " ", to_normalized_string(value)).strip(" ")


def to_uri(value: Atomic) -> str:
    if not isinstance(value.value, str):
        raise _no_cast(value, "xs:anyURI")
    return to_token(value)


def to_boolean(value: Atomic) -> bool:
    match value.value:
        case bool(given):
            return given
        case int() | Decimal() | float() as number:
            return number != 0 and not math.isnan(number)
        case str(text):
            known = {"true": True, "1": True, "false": False, "0": False}.get(text.strip(_SPACE))
            if known is not None:
                return known
    raise _no_cast(value, "xs:boolean")


def to_decimal(value: Atomic) -> Decimal:
    match value.value:
        case bool() | int() as number:
            return Decimal(number)
        case Decimal() as number:
            return number
        case float() as number if math.isfinite(number):
            return Decimal(number)
        case str(text) if _is_spelled(text, _DECIMAL):
            return Decimal(text.strip(_SPACE))
    raise _no_cast(value, "xs:decimal")


def to_double(value: Atomic) -> float:
    match value.value:
        case bool() | int() | Decimal() | float() as number:
            return as_float(number)
        case str(text):
            read = read_double(text)
            if read is not None:
                return read
    raise _no_cast(value, "xs:double")


def to_float(value: Atomic) -> float:
    return to_single(to_double(value))


def to_integer(value: Atomic) -> int:
    match value.value:
        case bool() | int() as number:
            return int(number)
        case Decimal() as number:
            return int(number.to_integral_value(ROUND_DOWN))
        case float() as number if math.isfinite(number):
            return int(number)
        case str(text) if _is_spelled(text, _INTEGER):
            return int(text)
    raise _no_cast(value, "xs:integer")


def _is_spelled(text: str, number: re.Pattern[str]) -> bool:
    text = text.strip(_SPACE)
    return len(text) <= MOST_DIGITS and number.fullmatch(text) is not None


def _in_bounds(value: Atomic, target: str) -> Atomic:
    number = to_integer(value)
    least, most = _BOUNDS[target]
    if (least is not None and number < least) or (most is not None and number > most):
        raise DynamicError(f"{number} is out of the bounds of {target}")
    return Atomic(target, number)


def _to_moment(target: str) -> Callable[[Atomic], Moment]:
    kind = next(each for each in MOMENTS if each == target)

    def convert(value: Atomic) -> Moment:
        match value.value:
            case str(text):
                moment = read_moment(text.strip(_SPACE), kind)
                if moment is not None:
                    return moment
            case Moment() as moment if kind == moment.type or _converts(moment.type, kind):
                return convert_moment(moment, kind)
        raise _no_cast(value, target)

    return convert


def _converts(given: str, target: str) -> bool:
    """A date and a time say too little for the other."""
    return given == "xs:dateTime" or (given, target) == ("xs:date", "xs:dateTime")


def to_duration(value: Atomic) -> Duration:
    return _duration(value, Duration("xs:duration", 1, Decimal(1)))


def to_day_time_duration(value: Atomic) -> Duration:
    return _duration(value, Duration("xs:dayTimeDuration", 0, Decimal(1)))


def to_year_month_duration(value: Atomic) -> Duration:
    return _duration(value, Duration("xs:yearMonthDuration", 1, Decimal(0)))


def _duration(value: Atomic, kept: Duration) -> Duration:
    """The duration with those parts that the mask has."""
    match value.value:
        case str(text):
            duration = read_duration(text.strip(_SPACE), kept.type)
            if duration is not None:
                return duration
        case Duration() as given:
            return Duration(kept.type, given.months * kept.months, given.seconds * kept.seconds)
    raise _no_cast(value, kept.type)


_CASTS: Final[dict[str, Callable[[Atomic], Plain]]] = {
    "xs:string": to_string,
    "xs:untypedAtomic": to_string,
    "xs:normalizedString": to_normalized_string,
    "xs:token": to_token,
    "xs:anyURI": to_uri,
    "xs:boolean": to_boolean,
    "xs:decimal": to_decimal,
    "xs:double": to_double,
    "xs:float": to_float,
    **{name: _to_moment(name) for name in MOMENTS},
    "xs:duration": to_duration,
    "xs:dayTimeDuration": to_day_time_duration,
    "xs:yearMonthDuration": to_year_month_duration,
}


def untyped_as(value: Atomic, other: Atomic) -> Atomic:
    """Untyped text as what it meets: a number as a double, any other value by its own type."""
    if primitive(other.type) in ("xs:integer", "xs:decimal", "xs:float", "xs:double"):
        return cast(value, "xs:double")
    for duration in ("xs:dayTimeDuration", "xs:yearMonthDuration"):
        if derives_from(other.type, duration):
            return cast(value, duration)
    return cast(value, primitive(other.type))


def _no_cast(value: Atomic, target: str) -> DynamicError:
    shown = to_string(value)
    shown = shown if len(shown) <= 40 else f"{shown[:40]}…"
    return DynamicError(f'"{shown}" ({value.type}) is no {target}')
