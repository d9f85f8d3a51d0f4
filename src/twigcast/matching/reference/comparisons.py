"""Comparisons of sequences, of single values, and of values of one type.

    a = b      general: some item on the left and some on the right compare as asked
    a eq b     value: one item each; nothing if one side is empty

In XPath 1.0 a boolean makes the other side a boolean, a number makes it a number, and ``<`` and its
like always compare numbers.  In XPath 2.0 only untyped text takes the type of what it meets.

Pairs are compared from the left, and the first that fulfils the comparison decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final

from twigcast.matching.reference.casting import cast, untyped_as
from twigcast.matching.reference.conversions import (
    as_float,
    atomize,
    effective_boolean,
    to_double,
    to_text,
)
from twigcast.matching.reference.items import (
    Atomic,
    DynamicError,
    Sequence,
    is_numeric,
    is_text,
    is_untyped,
    primitive,
)
from twigcast.matching.reference.moments import Duration, Moment

_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "eq": eq,
    "ne": ne,
    "lt": lt,
    "le": le,
    "gt": gt,
    "ge": ge,
}
_VALUE_NAMES: Final = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def general_comparison(
    operator: str, left: Sequence, right: Sequence, *, is_version_2: bool
) -> bool:
    """``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``."""
    name = _VALUE_NAMES[operator]
    if not is_version_2:
        for side in (left, right):
            if _is_boolean(side):
                return _with_boolean(name, left, right)
    compares = _pair_2 if is_version_2 else _pair_1
    rights = atomize(right)
    return any(compares(name, one, other) for one in atomize(left) for other in rights)


def _is_boolean(side: Sequence) -> bool:
    return len(side) == 1 and isinstance(side[0], Atomic) and side[0].type == "xs:boolean"


def _with_boolean(name: str, left: Sequence, right: Sequence) -> bool:
    """XPath 1.0: nodes become a boolean; for ``<``, a single value becomes a number."""
    sides = (left, right)
    are_values = all(len(side) == 1 and isinstance(side[0], Atomic) for side in sides)
    if name not in ("eq", "ne") and are_values:
        return _pair_1(name, atomize(left)[0], atomize(right)[0])
    return _OPERATORS[name](effective_boolean(left), effective_boolean(right))


def _pair_1(name: str, left: Atomic, right: Atomic) -> bool:
    if name not in ("eq", "ne") or is_numeric(left) or is_numeric(right):
        numbers = (to_double(each, is_version_2=False) for each in (left, right))
        return _OPERATORS[name](*numbers)
    if is_text(left) or is_text(right) or (is_untyped(left) and is_untyped(right)):
        texts = (to_text(each, is_version_2=False) for each in (left, right))
        return _OPERATORS[name](*texts)
    return _pair_2(name, left, right)


def _pair_2(name: str, left: Atomic, right: Atomic) -> bool:
    if is_untyped(left) and not is_untyped(right):
        left = untyped_as(left, right)
    elif is_untyped(right) and not is_untyped(left):
        right = untyped_as(right, left)
    return compare_values(name, left, right)


def value_comparison(name: str, left: Sequence, right: Sequence) -> bool | None:
    """``eq``, ``ne``, ``lt``, ``le``, ``gt``, ``ge``; untyped text is a string here."""
    if not are_single(name, left, right):
        return None
    return compare_values(name, atomize(left)[0], atomize(right)[0])


def are_single(name: str, left: Sequence, right: Sequence) -> bool:
    """Whether each side has one item; several are an error, unless nothing is to their left."""
    for side in (left, right):
        if len(side) > 1:
            raise DynamicError(f"{name} compares single items, not a sequence of several")
        if not side:
            return False
    return True


def compare_values(name: str, left: Atomic, right: Atomic) -> bool:
    """Whether two values of one type, or of types that meet, compare as asked."""
    keys = _comparable(left, right, is_ordered=name not in ("eq", "ne"))
    if keys is None:
        raise DynamicError(f"{left.type} and {right.type} cannot be compared by {name}")
    return _OPERATORS[name](*keys)


def are_equal(left: Atomic, right: Atomic) -> bool:
    """Whether two values are the same for ``distinct-values`` and its like: NaN is itself."""
    keys = _comparable(left, right, is_ordered=False)
    if keys is None:
        return False
    one, other = keys
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)


def _comparable(left: Atomic, right: Atomic, *, is_ordered: bool) -> tuple[Any, Any] | None:
    """What Python compares instead of two values; None if their types do not meet."""
    one, other = left.value, right.value
    if is_numeric(left) and is_numeric(right):
        return promoted(left, right)
    if isinstance(one, str) and isinstance(other, str):
        return one, other
    if isinstance(one, bool) and isinstance(other, bool):
        return one, other
    if isinstance(one, Moment) and isinstance(other, Moment) and one.type == other.type:
        return one.instant(), other.instant()
    if isinstance(one, Duration) and isinstance(other, Duration):
        if not is_ordered:
            return (one.months, one.seconds), (other.months, other.seconds)
        if one.type == other.type == "xs:dayTimeDuration":
            return one.seconds, other.seconds
        if one.type == other.type == "xs:yearMonthDuration":
            return one.months, other.months
    return None


def promoted(left: Atomic, right: Atomic) -> tuple[Any, Any]:
    """Two numbers in the wider of their types."""
    kinds = {primitive(left.type), primitive(right.type)}
    one, other = left.value, right.value
    assert isinstance(one, int | Decimal | float)
    assert isinstance(other, int | Decimal | float)
    if "xs:double" in kinds:
        return as_float(one), as_float(other)
    if "xs:float" in kinds:
        return cast(left, "xs:float").value, cast(right, "xs:float").value
    return one, other


def compare_texts(left: str, right: str) -> int:
    """-1, 0 or 1 by code points."""
    return (left > right) - (left < right)
