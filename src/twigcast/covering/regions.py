"""One text for each way in which a set of comparisons can turn out.

The constants cut the texts into regions, in each of which every comparison has one answer::

    . > 5   . < 9   . = "x"        "x" │ below 5 │ 5 │ between │ 9 │ above 9 │ no number

With ``=``, ``!=``, ``<``, ``<=``, ``>`` and ``>=`` the regions are finite and each is represented,
so what holds of the representatives holds of all texts.  ``contains`` and ``starts-with`` cut out
more than that; for them there are texts worth trying.

Cost: linear in the comparisons, but for the sorting of their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf, isfinite, nextafter

from twigcast.language import ValueTest, number_text

UNKNOWN = "~"
"""A text that is no number, unless a constant is spelled so: then there are more of them."""

_SPELLABLE = re.compile("[\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")


def representatives(tests: Sequence[ValueTest]) -> list[str]:
    """A text of every region, those first that a pattern names; only what XML can spell."""
    constants = {
        test.operand for test in tests if isinstance(test.operand, str) and not test.is_function
    }
    numbers = sorted({test.operand for test in tests if isinstance(test.operand, float)})
    found = dict.fromkeys(sorted(constants))
    for number in _points(numbers):
        found[_other_spelling(_spell(number), " ", constants)] = None
    unknown = _other_spelling(UNKNOWN, UNKNOWN, constants)
    found.update(dict.fromkeys(_with_parts(tests, unknown)))
    found[unknown] = None
    return [text for text in found if _SPELLABLE.fullmatch(text)]


def _points(numbers: Sequence[float]) -> Iterator[float]:
    """The numbers, one below, one above and one between each two, where there is any."""
    for place, number in enumerate(numbers):
        if place == 0:
            yield number - 1 if number - 1 < number else nextafter(number, -inf)
        yield number
        if place + 1 == len(numbers):
            yield number + 1 if number + 1 > number else nextafter(number, inf)
            continue
        above = numbers[place + 1]
        middle = number + (above - number) / 2
        if not number < middle < above:
            middle = nextafter(number, above)
        if middle < above:
            yield middle


def _spell(number: float) -> str:
    if isfinite(number):
        return number_text(number)
    return "1e999" if number > 0 else "-1e999"  # the way to spell infinity in a document


def _other_spelling(text: str, more: str, constants: set[str]) -> str:
    while text in constants:
        text += more
    return text


def _with_parts(tests: Sequence[ValueTest], unknown: str) -> Iterator[str]:
    """Texts that have, or just miss, what ``contains`` and ``starts-with`` ask for."""
    start = ""
    parts: list[str] = []
    for test in tests:
        if not test.is_function:
            continue
        part = str(test.operand)
        yield part
        yield part + unknown
        yield unknown + part
        if test.operator == "contains":
            parts.append(part)
        elif len(part) > len(start):
            start = part
    if start or parts:
        yield start + "".join(parts)
