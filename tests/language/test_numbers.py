"""Numbers are read as libxml2 reads them."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from twigcast.language import number_text, to_number

NUMBER = etree.XPath("number($text)")
ELEMENT = etree.fromstring("<a/>")


def by_libxml2(text: str) -> float:
    value = NUMBER(ELEMENT, text=text)
    assert isinstance(value, float)
    return value


def agree(text: str) -> bool:
    ours, theirs = to_number(text), by_libxml2(text)
    if math.isnan(theirs):
        return math.isnan(ours)
    # libxml2 adds up digits, we round correctly: a few units in the last place may differ.
    return ours == theirs or math.isclose(ours, theirs, rel_tol=1e-13, abs_tol=1e-290)


@given(st.text(alphabet="0123456789.-+eE \t\n\rx", max_size=8))
def test_any_text(text: str) -> None:
    assert agree(text)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15))
def test_printing_and_reading_are_inverse(value: float) -> None:
    text = number_text(value)
    assert "e" not in text.lower()
    assert to_number(text) == value
    assert agree(text)


def test_particular_texts() -> None:
    for text in ("", " ", "-", ".", "1.", ".5", "- 5", "+5", "1 2", "NaN", "Infinity", "0x1", "١"):
        assert agree(text), text
    assert to_number("1e3") == 1000
    assert to_number(" -2.50\n") == -2.5
    assert math.isnan(to_number("\u00a05"))
