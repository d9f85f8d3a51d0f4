"""A widened pattern covers the one it stands for, and matches no other path of the schema."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from schema_oracle import NAMES, SmallDtd, selects, small_dtds

from twigcast import Schema, covers, parse
from twigcast.covering import PathCounter, widened
from twigcast.language import Pattern

DEPTH = 6
LIBRARY = Schema.from_dtd(
    "<!ELEMENT library (book*)> <!ELEMENT book (title, author, chapter*)>"
    "<!ELEMENT author (name)> <!ELEMENT chapter (title, section*)> <!ELEMENT section (title?)>"
    "<!ELEMENT title (#PCDATA)> <!ELEMENT name (#PCDATA)>"
)


@pytest.mark.parametrize(
    ("pattern", "wide"),
    [
        ("/library/book/author/name", "//name"),
        ("/library/*/author/*", "//author/*"),
        ("/library/book/title", "//book/title"),  # others have a title, too
        ("/library/book//title", "//title"),
        ("/library/book/chapter//title", "//chapter//title"),
        ("/library/*/*/*/title", "//library/*/*/*/title"),  # steps are left out, not written anew
        ("//author", "//author"),
        ("/library", "//library"),
        ("/library/book[title='Ulysses']", "/library/book[title='Ulysses']"),
    ],
)
def test_as_many_first_steps_are_left_out_as_the_schema_implies(pattern: str, wide: str) -> None:
    assert widened(parse(pattern), PathCounter(LIBRARY)) == parse(wide)


def linear() -> st.SearchStrategy[Pattern]:
    steps = st.tuples(st.sampled_from(("/", "/", "//")), st.sampled_from((*NAMES, "*")))
    return st.lists(steps, min_size=1, max_size=5).map(
        lambda found: parse("".join(axis + name for axis, name in found))
    )


@given(small_dtds(), linear())
def test_it_covers_the_pattern_and_matches_the_same_paths(dtd: SmallDtd, pattern: Pattern) -> None:
    assume(dtd.is_satisfiable)
    wide = widened(pattern, PathCounter(Schema.from_dtd(dtd.text, root="a"), DEPTH))
    assert covers(wide, pattern)
    for path in dtd.paths(DEPTH):
        assert selects(str(wide), path) == selects(str(pattern), path)


@given(small_dtds(), linear())
def test_it_cannot_be_widened_further(dtd: SmallDtd, pattern: Pattern) -> None:
    assume(dtd.is_satisfiable)
    counter = PathCounter(Schema.from_dtd(dtd.text, root="a"), DEPTH)
    wide = widened(pattern, counter)
    assert widened(wide, counter) == wide
