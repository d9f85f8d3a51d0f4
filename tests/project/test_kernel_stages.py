"""The stages of the kernel: which may include which, and that each keeps to its namespace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from folders import ROOT

KERNEL = ROOT / "src" / "kernel"

ALLOWED: dict[str, set[str]] = {
    "base": set(),
    "xml": {"base"},
    "program": {"base", "xml"},
    "index": {"base", "xml", "program"},
    "match": {"base", "xml", "program", "index"},
    "cover": {"base"},
}
"""A stage may include the headers of the stages in its row, and its own."""

GENERATED = {
    "base/operators.hpp",
    "base/expression_codes.hpp",
    "base/letter_cases.hpp",
    "base/normal_forms.hpp",
}
"""Headers that the build makes."""

LONGEST_LINE = 100
LONGEST_HEADER = 500


def headers() -> list[Path]:
    return sorted(KERNEL.rglob("*.hpp"))


every_header = pytest.mark.parametrize(
    "path", headers(), ids=lambda path: str(path.relative_to(KERNEL))
)


def test_every_header_belongs_to_a_stage() -> None:
    assert {path.parent.relative_to(KERNEL).as_posix() for path in headers()} == set(ALLOWED)


@every_header
def test_a_stage_includes_only_what_it_stands_on(path: Path) -> None:
    stage = path.parent.name
    for name in re.findall(r'^#include "(.+)"', path.read_text("utf-8"), re.MULTILINE):
        target, slash, header = name.rpartition("/")
        assert slash, f"{name} is included without its stage"
        assert target in ALLOWED[stage] | {stage}, f"{stage} includes {name}"
        assert (KERNEL / target / header).is_file() or name in GENERATED, f"{name} is not there"


@every_header
def test_a_header_declares_only_in_the_namespace_of_its_stage(path: Path) -> None:
    stage = path.parent.name
    text = path.read_text("utf-8")
    assert set(re.findall(r"^namespace (\S+)", text, re.MULTILINE)) == {f"twigcast::{stage}"}
    used = re.findall(r"^using namespace (\w+);", text, re.MULTILINE)
    assert set(used) <= ALLOWED[stage]


@every_header
def test_headers_and_their_lines_are_short(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) <= LONGEST_HEADER
    assert [line for line in lines if len(line) > LONGEST_LINE] == []


def test_the_tour_names_every_header() -> None:
    tour = (KERNEL / "README.md").read_text("utf-8")
    missing = [path.stem for path in headers() if f"`{path.stem}`" not in tour]
    assert missing == []
