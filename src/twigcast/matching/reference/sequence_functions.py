"""Functions of sequences, and those that give or ask yes and no."""

from __future__ import annotations

import math

from twigcast.matching.reference.casting import cast
from twigcast.matching.reference.comparisons import are_equal, compare_values
from twigcast.matching.reference.conversions import effective_boolean
from twigcast.matching.reference.definitions import define
from twigcast.matching.reference.items import (
    Atomic,
    DynamicError,
    Sequence,
    atomic,
    is_numeric,
    is_untyped,
)
from twigcast.matching.reference.number_functions import round_half_up
from twigcast.matching.reference.setting import Setting


@define("true")
def true() -> bool:
    return True


@define("false")
def false() -> bool:
    return False


@define("boolean", "items")
def boolean(items: Sequence) -> bool:
    return effective_boolean(items)


@define("not", "items")
def not_(items: Sequence) -> bool:
    return not effective_boolean(items)


@define("count", "items")
def count(items: Sequence) -> int:
    return len(items)


@define("exists", "items")
def exists(items: Sequence) -> bool:
    return bool(items)


@define("empty", "items")
def empty(items: Sequence) -> bool:
    return not items


@define("data", "values")
def data(values: list[Atomic]) -> Sequence:
    return list(values)


@define("reverse", "items")
def reverse(items: Sequence) -> Sequence:
    return items[::-1]


@define("unordered", "items")
def unordered(items: Sequence) -> Sequence:
    return items


@define("head", "items")
def head(items: Sequence) -> Sequence:
    return items[:1]


@define("tail", "items")
def tail(items: Sequence) -> Sequence:
    return items[1:]


@define("zero-or-one", "items")
def zero_or_one(items: Sequence) -> Sequence:
    return _with_size(items, len(items) <= 1, "zero-or-one")


@define("one-or-more", "items")
def one_or_more(items: Sequence) -> Sequence:
    return _with_size(items, len(items) >= 1, "one-or-more")


@define("exactly-one", "items")
def exactly_one(items: Sequence) -> Sequence:
    return _with_size(items, len(items) == 1, "exactly-one")


def _with_size(items: Sequence, fits: bool, name: str) -> Sequence:
    if not fits:
        raise DynamicError(f"{name}() was given {len(items)} items")
    return items


@define("index-of", "values", "value?")
def index_of(values: list[Atomic], wanted: Atomic | None) -> Sequence:
    if wanted is None:
        raise DynamicError("index-of() looks for a single value, and there is nothing")
    return [
        atomic(position)
        for position, value in enumerate(values, start=1)
        if _is_equal_number(value, wanted) and are_equal(value, wanted)
    ]


def _is_equal_number(value: Atomic, wanted: Atomic) -> bool:
    """NaN is not equal to itself here."""
    return not any(isinstance(v.value, float) and math.isnan(v.value) for v in (value, wanted))


@define("distinct-values", "values", needs_setting=True)
def distinct_values(setting: Setting, values: list[Atomic]) -> Sequence:
    distinct: list[Atomic] = []
    for value in values:
        setting.budget.spend(len(distinct))
        if not any(are_equal(value, other) for other in distinct):
            distinct.append(value)
    return list(distinct)


@define("remove", "items", "integer")
def remove(items: Sequence, position: int) -> Sequence:
    return [item for index, item in enumerate(items, start=1) if index != position]


@define("insert-before", "items", "integer", "items")
def insert_before(items: Sequence, position: int, inserted: Sequence) -> Sequence:
    index = min(max(position, 1), len(items) + 1) - 1
    return [*items[:index], *inserted, *items[index:]]


@define("subsequence", "items", "double", "double")
def subsequence(items: Sequence, start: float, length: float | None = None) -> Sequence:
    """The items whose positions are at least the start and less than start + length, rounded."""
    first = round_half_up(start)
    end = math.inf if length is None else first + round_half_up(length)
    return [item for position, item in enumerate(items, start=1) if first <= position < end]


@define("max", "values")
def max_(values: list[Atomic]) -> Atomic | None:
    return _extreme(values, "gt")


@define("min", "values")
def min_(values: list[Atomic]) -> Atomic | None:
    return _extreme(values, "lt")


def _extreme(values: list[Atomic], comparison: str) -> Atomic | None:
    """The value that no other surpasses; NaN if there is one among numbers."""
    typed = [cast(value, "xs:double") if is_untyped(value) else value for value in values]
    if not typed:
        return None
    widened = _widened(typed)
    for value in widened:
        if isinstance(value.value, float) and math.isnan(value.value):
            return value
    best, *rest = widened
    if not rest:
        compare_values(comparison, best, best)  # a type without an order is an error
    for value in rest:
        if compare_values(comparison, value, best):
            best = value
    return best


def _widened(values: list[Atomic]) -> list[Atomic]:
    """Numbers in the widest of their types."""
    if not all(map(is_numeric, values)):
        return values
    for wide in ("xs:double", "xs:float"):
        if any(value.type == wide for value in values):
            return [cast(value, wide) for value in values]
    return values
