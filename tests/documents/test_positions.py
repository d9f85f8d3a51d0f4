from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.documents import read_document
from twigcast.documents.positions import position_of
from twigcast.errors import DocumentError


@given(st.text(st.sampled_from("\r\n\té𝄞x"), max_size=12), st.booleans())
def test_our_places_are_those_that_expat_counts(text: str, marked: bool) -> None:
    before = "\ufeff" * marked + f"<a>{text}"
    with pytest.raises(DocumentError) as caught:
        read_document(f"{before}\0</a>")
    assert position_of(f"{before}\0</a>", len(before)) == (caught.value.line, caught.value.column)


def test_line_ends_count_once() -> None:
    text = "a\r\nb\rc\n\nd"
    assert [position_of(text, text.index(letter)) for letter in "abcd"] == [
        (1, 1),
        (2, 1),
        (3, 1),
        (5, 1),
    ]
    assert position_of("\ufeffab", 2) == (1, 2)
    assert position_of("", 0) == (1, 1)
