"""When a comparison of a string-value with a constant implies another one.

Sound, not complete: True is always right, False means "not shown".  Cost: constant, but for the
length of texts.
"""

from __future__ import annotations

import re
from math import inf, nextafter

from twigcast.language.nodes import ValueTest
from twigcast.language.numbers import to_number
from twigcast.language.operators import Operator

# What may stand within a number: every piece of one is some of these in this order.  What was taken
# is not given back (``*+``): otherwise a long run of digits would be shared out in every manner.
_PART_OF_NUMBER = re.compile(r"[ \t\r\n]*+-?+[0-9]*+\.?+[0-9]*+[eE]?+[+-]?+[0-9]*+[ \t\r\n]*+")


def value_implies(given: ValueTest, asked: ValueTest) -> bool:
    """Whether every string-value that passes ``given`` passes ``asked``."""
    if given == asked:
        return True
    if given.operator == "=" and isinstance(given.operand, str):
        return passes(given.operand, asked)
    if isinstance(given.operand, str):
        if isinstance(asked.operand, str):
            return _string_implies(given, asked, given.operand)
        return given.is_function and asked.operator == "!=" and not _in_number(given.operand)
    if isinstance(asked.operand, str):
        return _excludes(given, asked)
    return number_implies(given.comparison, given.operand, asked.comparison, asked.operand)


def passes(value: str, test: ValueTest) -> bool:
    """Whether a node with that string-value passes the test: XPath 1.0's comparison."""
    row = test.comparison
    return row.passes(value if row.operand is str else to_number(value), test.operand)


def _string_implies(given: ValueTest, asked: ValueTest, known: str) -> bool:
    """What a text that passes ``given``, and is not known otherwise, passes as well."""
    if asked.operator == "!=":
        return given.operator != "!=" and not passes(str(asked.operand), given)
    return asked.operator in given.comparison.implies and passes(known, asked)


def _in_number(part: str) -> bool:
    """Whether the part may stand within the text of a number; if not, that text is NaN."""
    return _PART_OF_NUMBER.fullmatch(part) is not None


def _excludes(given: ValueTest, asked: ValueTest) -> bool:
    """A numeric test implies ``. != "text"`` where that text would not pass it."""
    return asked.operator == "!=" and not passes(str(asked.operand), given)


def number_implies(given: Operator, known: float, asked: Operator, wanted: float) -> bool:
    """Whether every number that passes the one comparison passes the other."""
    if given.spelling == "=":
        return asked.passes(known, wanted)
    if given.spelling == "!=" or asked.spelling == "=":
        return False
    if asked.spelling == "!=":
        return not given.passes(wanted, known)
    if given.bounds != asked.bounds:
        return False
    # The outermost number that passes.  Between a double and the next there is none: `.<5` is `.<=`
    # the one before 5.
    inwards = -inf if given.bounds == "below" else inf
    outermost = known if given.passes(known, known) else nextafter(known, inwards)
    return asked.passes(outermost, wanted)
