"""Numbers as XPath reads and writes them.

libxml2 is our oracle, so a text is a number where libxml2 says so.  That is XPath 1.0's grammar
(white space, an optional minus, decimal digits) and, beyond it, an exponent: ``1e3`` is 1000,
where XPath 1.0 itself would say NaN.  A plus sign, hexadecimal digits and words are NaN in both.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

_NUMBER = re.compile(
    r"[ \t\r\n]*(-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE]([+-]?[0-9]*))?[ \t\r\n]*"
)


def to_number(text: str) -> float:
    """The number that a string-value stands for, or NaN."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return math.nan
    mantissa, exponent = match.groups()
    if not exponent or exponent in "+-":
        return float(mantissa)
    return float(f"{mantissa}e{exponent}")


def number_text(value: float) -> str:
    """The shortest decimal spelling, without exponent, that reads back as ``value``."""
    if not math.isfinite(value):
        raise ValueError(f"no XPath literal spells {value}")
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return format(Decimal(repr(value)), "f")
