"""What the comparisons of one node say together.

Two comparisons may say more than each alone: ``[. >= 5][. <= 5]`` is ``. = 5``, and
``[. = 1][. = 2]`` never holds.  :func:`with_consequences` puts in what follows, so that afterwards
it is enough to look at one at a time (:func:`twigcast.language.value_implication.value_implies`)::

    [.>=5][.<=9][.!=5][.!=7][.!="x"]     ──►     .>5   .<=9   .!=7   .!="x"

Among comparisons with ``=``, ``!=``, ``<``, ``<=``, ``>`` and ``>=`` this is complete: what all of
them imply, one of those returned implies, and None comes back exactly where no text passes them
all.  Numbers are IEEE doubles, as in XPath 1.0, so every bound can be read as one that is included,
and nothing lies between a double and the next.  With string functions it is sound:
what is called impossible is so.

Cost: linear in the tests, and in the holes that lie side by side at a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, nextafter

from twigcast.language.nodes import ValueTest
from twigcast.language.value_implication import passes, value_implies

_NOT_ZERO = ValueTest("!=", 0.0)


def with_consequences(tests: Sequence[ValueTest]) -> tuple[ValueTest, ...] | None:
    """The tests of one node and what follows from them together; None where they never hold."""
    if len(tests) < 2:
        return tuple(tests)
    for test in tests:
        if test.operator == "=" and isinstance(test.operand, str):
            return (test,) if all(passes(test.operand, each) for each in tests) else None
    numbers = [test for test in tests if isinstance(test.operand, float)]
    texts = tuple(test for test in tests if not isinstance(test.operand, float))
    if all(test.operator == "!=" for test in numbers):
        return tuple(tests) if _ends_agree(texts) else None
    if not _ends_agree(texts) or not all(map(_may_hold_of_a_number, texts)):
        return None
    interval = _interval(numbers)
    return None if interval is None else (*interval, *texts)


def _interval(tests: Sequence[ValueTest]) -> tuple[ValueTest, ...] | None:
    """Numeric tests as a lower bound, an upper bound and the holes between; or as one number."""
    low, high = -inf, inf
    lower: ValueTest | None = None
    upper: ValueTest | None = None
    holes: set[float] = set()
    for test in tests:
        row, bound = test.comparison, test.operand
        assert isinstance(bound, float)
        if test.operator == "!=":
            holes.add(bound)
            continue
        is_included = row.passes(bound, bound)
        if row.bounds != "below":
            first = bound if is_included else nextafter(bound, inf)
            if first > low:
                low, lower = first, test
        if row.bounds != "above":
            last = bound if is_included else nextafter(bound, -inf)
            if last < high:
                high, upper = last, test
    while low in holes:
        lower = ValueTest(">", low)
        low = nextafter(low, inf)
    while high in holes:
        upper = ValueTest("<", high)
        high = nextafter(high, -inf)
    if low > high:
        return None
    if low == high and isfinite(low):
        return (ValueTest("=", low),)
    between = tuple(ValueTest("!=", hole) for hole in sorted(holes) if low < hole < high)
    return (*(bound for bound in (lower, upper) if bound is not None), *between)


def _ends_agree(tests: Sequence[ValueTest]) -> bool:
    """Whether one text can start with all that it is asked to start with, and so on.

    What must stand at one end of a text must stand at that end of the longest that must.
    """
    longest: dict[str, ValueTest] = {}
    for test in tests:
        if test.comparison.anchor not in ("", "anywhere"):
            other = longest.setdefault(test.operator, test)
            short, long = sorted((test, other), key=lambda each: len(str(each.operand)))
            if not passes(str(long.operand), short):
                return False
            longest[test.operator] = long
    return True


def _may_hold_of_a_number(test: ValueTest) -> bool:
    # Of texts with given parts, only those that are no numbers are all known to differ from one.
    return not test.is_function or not value_implies(test, _NOT_ZERO)
