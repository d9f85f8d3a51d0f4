"""Paths to a value: what they select, their normal form, and what is refused."""

from __future__ import annotations

import pytest

from twigcast.documents import parse_value_path, read_document

ORDER = """<order customer="c1" xmlns:p="urn:p">
  <party role="seller"><id>s7</id></party>
  <party role="buyer" key="b"><id>b9</id><p:vat>AT1</p:vat></party>
  <deep><deep><mark at="2"/></deep></deep>
</order>"""


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/order/@customer", "c1"),
        ("//@customer", "c1"),
        ("//id", "s7"),
        ("/order/party/id", "s7"),
        ("//party[@role='buyer']/id", "b9"),
        ('//party[id="b9"]/@key', "b"),
        ("//party[@key]/id", "b9"),
        ("/*/*/id", "s7"),
        ("//deep//@at", "2"),
        ("/order//mark/@at", "2"),
        ("//p:vat", "AT1"),
        ("//Q{urn:p}vat", "AT1"),
        ("/party/id", None),
        ("/order/@none", None),
        ("//deep/@at", None),
        ("//vat", None),
    ],
)
def test_a_path_selects_the_first_value(path: str, value: str | None) -> None:
    parsed = parse_value_path(path, {"p": "urn:p"})
    assert parsed.read(read_document(ORDER)) == value
    assert parse_value_path(str(parsed)) == parsed, "the normal form needs no prefixes"


def test_an_empty_prefix_is_for_elements_only() -> None:
    document = read_document('<a xmlns="urn:a" k="1"><b k="2"/></a>')
    assert parse_value_path("/a/b/@k", {"": "urn:a"}).read(document) == "2"
    assert parse_value_path("/a/b/@k").read(document) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "character 1"),
        ("order/@customer", "character 1"),
        ("/order/@a/b", "character 7"),
        ("/order[2]", "character 7"),
        ("/order/count(b)", "character 13"),
        ("//@*", "character 1"),
        ("/q:order", "'q' is not bound"),
        ("/a" * 300, "at most 500"),
    ],
)
def test_what_is_no_path_is_refused_with_the_position(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_value_path(text)
