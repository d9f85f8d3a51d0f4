"""The table of docs/documents.md that says where Twigcast differs from libxml2, executed."""

from __future__ import annotations

import re

import pytest
from folders import DOCS
from lxml import etree

from twigcast.errors import DocumentError
from twigcast.language import parse

PAGE = (DOCS / "documents.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## Where Twigcast differs from libxml2\n")[2]
ROWS = re.findall(
    r"^\| `(.+?)` \| `(.+?)` \| (yes|no|error) \| (yes|no|error) \|", SECTION, re.MULTILINE
)


def by_libxml2(subscription: str, document: str) -> str:
    parser = etree.XMLParser(resolve_entities=True, no_network=True)
    try:
        tree = etree.fromstring(document.encode(), parser).getroottree()
        answer = tree.xpath(f"boolean({subscription})")
    except etree.Error:
        return "error"
    return "yes" if answer else "no"


def by_twigcast(subscription: str, document: str) -> str:
    try:
        answer = parse(subscription).matches(document.encode())
    except DocumentError:
        return "error"
    return "yes" if answer else "no"


@pytest.mark.parametrize(("subscription", "document", "libxml2", "twigcast"), ROWS)
def test_rows(subscription: str, document: str, libxml2: str, twigcast: str) -> None:
    assert by_libxml2(subscription, document) == libxml2
    assert by_twigcast(subscription, document) == twigcast
    assert libxml2 != twigcast


def test_every_row_is_executed() -> None:
    lines = [line for line in SECTION.splitlines() if line.startswith("|")]
    assert len(ROWS) == len(lines) - 2


@pytest.mark.parametrize(
    ("encoding", "data", "libxml2", "twigcast"),
    [("shift_jis", b"\x5c", "¥", "\\"), ("gb18030", b"\xa8\xbc", "\u1e3f", "\ue7c7")],
)
def test_tables_of_encodings(encoding: str, data: bytes, libxml2: str, twigcast: str) -> None:
    document = f"<?xml version='1.0' encoding='{encoding}'?><a>".encode() + data + b"</a>"
    assert etree.fromstring(document).text == libxml2
    assert parse(f"/a[. = '{twigcast}']").matches(document)


@pytest.mark.parametrize(
    ("encoding", "libxml2", "twigcast"),
    [("cp437", "error", "yes"), ("utf-7", "yes", "error"), ("viscii", "yes", "error")],
)
def test_encodings_that_one_of_them_knows(encoding: str, libxml2: str, twigcast: str) -> None:
    document = f"<?xml version='1.0' encoding='{encoding}'?><a/>"
    assert by_libxml2("/a", document) == libxml2
    assert by_twigcast("/a", document) == twigcast
