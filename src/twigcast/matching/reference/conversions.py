"""Conversions that expressions make by themselves: to text, to a number, to yes or no.

The text of a number differs between the versions.  XPath 1.0 is what libxml2 writes: 15 or 16
significant digits, and from 10⁹ on an exponent where the number is not a C ``int``.  XPath 2.0
writes the shortest text that reads back.  Texts become numbers by
:func:`twigcast.language.to_number` in XPath 1.0, by the rules of XML Schema in XPath 2.0.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Final

from twigcast.language import Kind, to_number
from twigcast.matching.reference.items import (
    Atomic,
    DynamicError,
    Item,
    Sequence,
    is_numeric,
    is_text,
    is_untyped,
)
from twigcast.matching.reference.moments import plain
from twigcast.matching.reference.nodes import Node

_C_INT: Final = range(-(2**31) + 1, 2**31 - 1)
_SPACE: Final = " \t\r\n"
_UNTYPED_KINDS: Final = (Kind.DOCUMENT, Kind.ELEMENT, Kind.ATTRIBUTE, Kind.TEXT)


def atomize(items: Sequence) -> list[Atomic]:
    """The items as values: of nodes, their string-values."""
    return [atomize_item(item) for item in items]


def atomize_item(item: Item) -> Atomic:
    """A node's text, which has no type; of a comment and its like it is a string."""
    if isinstance(item, Atomic):
        return item
    kind = "xs:untypedAtomic" if item.kind in _UNTYPED_KINDS else "xs:string"
    return Atomic(kind, item.string_value())


def effective_boolean(items: Sequence) -> bool:
    """Yes or no, of anything that predicates and ``and`` accept."""
    if not items:
        return False
    first = items[0]
    if isinstance(first, Node):
        return True
    if len(items) > 1:
        raise DynamicError("a sequence of several values is neither true nor false")
    value = first.value
    if first.type == "xs:boolean" or is_text(first) or is_untyped(first):
        return bool(value)
    if is_numeric(first):
        return value != 0 and not (isinstance(value, float) and math.isnan(value))
    raise DynamicError(f"a value of type {first.type} is neither true nor false")


def to_text(item: Item, *, is_version_2: bool) -> str:
    """What ``string()`` gives for one item."""
    if isinstance(item, Node):
        return item.string_value()
    value = item.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if item.type == "xs:float":
            return float_text(value)
        return double_text(value) if is_version_2 else number_text_1(value)
    if isinstance(value, Decimal):
        return plain(value)
    return str(value)


def number_text_1(value: float) -> str:
    """A number as libxml2 writes it."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == int(value) and int(value) in _C_INT:
        return str(int(value))
    size = abs(value)
    if size > 1e9 or size < 1e-5:
        mantissa, _, exponent = f"{value:.14e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{exponent}"
    magnitude = int(math.log10(size))
    digits = 14 - magnitude if magnitude > 0 else 15 - magnitude
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def double_text(value: float) -> str:
    """A double as XPath 2.0 writes it: the shortest digits, an exponent outside of 10⁻⁶ … 10⁶."""
    return _float_text(value, repr(value))


def float_text(value: float) -> str:
    """A float as XPath 2.0 writes it."""
    spellings = (f"{value:.{digits}e}" for digits in range(9))
    return _float_text(value, next((s for s in spellings if to_single(float(s)) == value), ""))


def _float_text(value: float, shortest: str) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    exact = Decimal(shortest)
    if 1e-6 <= abs(value) < 1e6:
        return plain(exact)
    sign, digits, _ = exact.normalize().as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(rest) or '0'}E{exact.adjusted()}"


def to_single(value: float) -> float:
    """The nearest ``xs:float``."""
    try:
        single: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return single


def to_double(item: Item, *, is_version_2: bool) -> float:
    """What ``number()`` gives for one item: NaN for what is no number."""
    value = atomize_item(item)
    if isinstance(value.value, str):
        if not is_version_2:
            return to_number(value.value)
        number = read_double(value.value)
        return math.nan if number is None else number
    if isinstance(value.value, bool | int | Decimal | float):
        return as_float(value.value)
    return math.nan


def as_float(value: Decimal | float) -> float:
    """The nearest double; beyond the largest, infinity."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def read_double(text: str) -> float | None:
    """A double as XML Schema spells it; None for any other text."""
    text = text.strip(_SPACE)
    if text in ("INF", "+INF", "-INF"):
        return -math.inf if text[0] == "-" else math.inf
    if text == "NaN":
        return math.nan
    if not text.isascii() or set(text) - set("+-.0123456789eE"):
        return None
    try:
        return float(text)
    except ValueError:
        return None
