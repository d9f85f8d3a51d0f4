"""The root of a document: found early, and refused where the reader refuses."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable
from typing import Any
from xml.parsers.expat import ParserCreate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import documents

from twigcast.documents import DocumentLimits, read_document, roots
from twigcast.documents.roots import root_of
from twigcast.errors import DocumentError

LEVELS = "".join(f"<!ENTITY e{n} '&e{n - 1};&e{n - 1};'>" for n in range(1, 31))
BOMB = f"<!DOCTYPE a [<!ENTITY e0 'xxxxxxxxxx'>{LEVELS}]><a b='&e30;'/>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<a/>", ("", "a")),
        ("<?xml version='1.0'?>\n<!-- <b/> --><?p <c/>?><a x='1'><d/></a>", ("", "a")),
        ("<alert xmlns='urn:x'>", ("urn:x", "alert")),
        ("<p:alert xmlns:p='urn:x' xmlns='urn:y'>", ("urn:x", "alert")),
        ("<!DOCTYPE b SYSTEM 'b.dtd'><a/>", ("", "a")),
        ("<!DOCTYPE a [<!ATTLIST a xmlns CDATA 'urn:default'>]><a/>", ("urn:default", "a")),
        ("<!DOCTYPE a [<!ENTITY u 'urn:entity'>]><a xmlns='&u;'/>", ("urn:entity", "a")),
        ("<é>", ("", "é")),
        ("<a></b>", ("", "a")),
        ("<a/><a/>", ("", "a")),
        ("<a>\0", ("", "a")),
    ],
)
def test_the_root_is_what_the_first_start_tag_says(text: str, expected: tuple[str, str]) -> None:
    assert root_of(text) == expected
    assert root_of(text.encode()) == expected
    assert root_of(text.encode("utf-16")) == expected


def test_the_root_is_read_behind_a_mark_and_in_its_encoding() -> None:
    assert root_of("\ufeff<a>".encode()) == ("", "a")
    assert root_of("<?xml version='1.0' encoding='koi8-r'?><ю>".encode("koi8-r")) == ("", "ю")
    with pytest.raises(DocumentError, match="'nonsense' is not known"):
        root_of(b"<?xml version='1.0' encoding='nonsense'?><a/>")


@pytest.mark.parametrize("before", [0, 1, 500, 1023, 1024, 1025, 3071, 3072, 100_000])
def test_the_root_is_found_wherever_the_pieces_end(before: int) -> None:
    text = f"<!--{'é' * before}--><p:root xmlns:p='urn:{'n' * 3000}' q='{'v' * before}'><"
    assert root_of(text) == (f"urn:{'n' * 3000}", "root")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "text",
        "<",
        "<a",
        "<a b=",
        "<a b='1' b='2'>",
        "<p:a/>",
        "<!-- only this -->",
        "<!--" + "x" * 5000,
        "<!--" + "x" * 5000 + "--><a b=<",
        "<!DOCTYPE a [",
        "<!DOCTYPE a><p:a/>",
        "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>",
        BOMB,
    ],
)
def test_what_the_reader_refuses_up_to_the_root_is_refused_in_its_words(text: str) -> None:
    for content in (text, text.encode()):
        with pytest.raises(DocumentError) as by_reader:
            read_document(content)
        with pytest.raises(DocumentError) as by_root:
            root_of(content)
        assert str(by_root.value) == str(by_reader.value)


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (DocumentLimits(size=10), "<a>" + "x" * 20 + "</a>"),
        (DocumentLimits(attributes=2), "<a b='' c='' d=''/>"),
        (DocumentLimits(name_length=5), "<abcdef/>"),
        (DocumentLimits(name_length=5), "<a xmlns='urn:x'/>"),
        (DocumentLimits(name_length=5), "<a abcdef=''/>"),
        (
            DocumentLimits(attributes=50),
            "<a " + " ".join(f"x{n}='123456'" for n in range(900)) + "/>",
        ),
    ],
)
def test_limits_are_those_of_the_reader(limits: DocumentLimits, text: str) -> None:
    assert root_of(text)
    with pytest.raises(DocumentError) as by_reader:
        read_document(text, limits)
    with pytest.raises(DocumentError) as by_root:
        root_of(text, limits)
    assert str(by_root.value) == str(by_reader.value)


@given(documents())
def test_the_root_is_that_of_the_tree(text: str) -> None:
    assert root_of(text) == read_document(text).root.name


def verdict(read: Callable[[str], tuple[str, str]], text: str) -> tuple[str, str] | str:
    try:
        return read(text)
    except DocumentError as error:
        return str(error)


@given(st.text("<>/?!-a: ='\"[]xmlns&;\n", max_size=40) | st.text(max_size=20))
def test_any_text_has_the_root_that_the_reader_gives_it_or_its_error(text: str) -> None:
    expected = verdict(lambda text: read_document(text).root.name, text)
    found = verdict(root_of, text)
    # Where the reader refuses, the fault may come after the first tag.
    assert found == expected or (isinstance(expected, str) and isinstance(found, tuple))


def test_the_rest_of_a_document_costs_next_to_nothing() -> None:
    large = b"<a>" + b"<b>text</b>" * 1_000_000 + b"</a>"
    start = time.process_time()
    assert root_of(large) == ("", "a")
    assert time.process_time() - start < 0.1  # reading it takes seconds


def test_a_tag_that_does_not_end_is_read_in_linear_time() -> None:
    start = time.process_time()
    with pytest.raises(DocumentError):
        root_of(b"<a b='" + b"x" * 16_000_000)
    assert time.process_time() - start < 2.0


def test_no_parser_waits_for_the_cyclic_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[object]] = []

    class Watched:
        pass

    def create(encoding: str | None, separator: str) -> object:
        parser = ParserCreate(encoding, separator)
        watched = Watched()
        names: Any = parser.intern  # which lives as long as the parser
        names["watched"] = watched
        made.append(weakref.ref(watched))
        return parser

    monkeypatch.setattr(roots, "ParserCreate", create)
    gc.disable()
    try:
        root_of("<a/>")
        with pytest.raises(DocumentError):
            root_of("<a")
        assert [reference() for reference in made] == [None, None]
    finally:
        gc.enable()
