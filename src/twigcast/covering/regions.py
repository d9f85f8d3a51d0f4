"""One text for each outcome that a set of comparisons can have.

The constants cut the texts into regions, in each of which every comparison has one answer::

    . > 5   . < 9   . = "x"        "x" │ below 5 │ 5 │ between │ 9 │ above 9 │ no number

With ``=``, ``!=``, ``<``, ``<=``, ``>`` and ``>=`` the regions are finite and each is represented,
so what holds of the representatives holds of all texts.  String functions cut out more than that;
for them there are texts worth trying.

Cost: linear in the comparisons, but for the sorting of their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf, isfinite, nextafter
from typing import assert_never

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
    texts = dict.fromkeys(sorted(constants))
    for number in _points(numbers):
        texts[_other_spelling(_spell(number), " ", constants)] = None
    unknown = _other_spelling(UNKNOWN, UNKNOWN, constants)
    texts.update(dict.fromkeys(_with_parts(tests, unknown)))
    texts[unknown] = None
    return [text for text in texts if _SPELLABLE.fullmatch(text)]


def _points(numbers: Sequence[float]) -> Iterator[float]:
    """The numbers, one below, one above and one between each two, where there is any."""
    for index, number in enumerate(numbers):
        if index == 0:
            yield number - 1 if number - 1 < number else nextafter(number, -inf)
        yield number
        if index + 1 == len(numbers):
            yield number + 1 if number + 1 > number else nextafter(number, inf)
            continue
        above = numbers[index + 1]
        middle = number + (above - number) / 2
        if not number < middle < above:
            middle = nextafter(number, above)
        if middle < above:
            yield middle


def _spell(number: float) -> str:
    if isfinite(number):
        return number_text(number)
    return "1e999" if number > 0 else "-1e999"  # how a document spells infinity


def _other_spelling(text: str, more: str, constants: set[str]) -> str:
    while text in constants:
        text += more
    return text


def _with_parts(tests: Sequence[ValueTest], unknown: str) -> Iterator[str]:
    """Texts that have, or just miss, what string functions ask for."""
    start = end = ""
    parts: list[str] = []
    for test in tests:
        anchor = test.comparison.anchor
        if anchor == "":
            continue
        part = str(test.operand)
        yield part
        yield part + unknown
        yield unknown + part
        match anchor:
            case "anywhere":
                parts.append(part)
            case "start":
                start = max(start, part, key=len)
            case "end":
                end = max(end, part, key=len)
            case _:
                assert_never(anchor)
    if start or parts or end:
        yield start + "".join(parts) + end
