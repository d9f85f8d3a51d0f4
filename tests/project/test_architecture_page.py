"""ARCHITECTURE.md leads to what is there: every path, and every function named beside one."""

from __future__ import annotations

import re

import pytest
from folders import ROOT

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:src|lab|tests|tools|docs)/[\w./-]*)`", PAGE)))
NAMED = sorted(
    (path, name)
    for path, names in re.findall(r"`(src/[\w./-]+)`:((?:[\s,]|and|`\w+(?:\(\))?`)+)", PAGE)
    for name in re.findall(r"`(\w+)", names)
)
"""A path, a colon, and the functions and classes of that file."""


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_there(path: str) -> None:
    assert (ROOT / path).is_dir() if path.endswith("/") else (ROOT / path).is_file()


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_a_file_has_what_the_page_says_of_it(path: str, name: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"\b(?:c?def|class)\b[^\n(]*\b{name}\b", text), f"{path} has no {name}"


def test_the_four_walks_and_the_table_are_there() -> None:
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert [heading.split()[0] for heading in headings] == ["The", "A", "A", "A", "A", "Where"]
    assert len(PATHS) > 40
    assert len(NAMED) > 25
