"""Reading alone: every reader reads every document, and whatever is not here is told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from folders import EXAMPLES
from workloads import example

from lab.benchmarks.matching import MatchingBench, Sizes, pugixml, reading
from lab.benchmarks.matching.pugixml import load_pugixml
from lab.benchmarks.matching.reading import reading as read_rows


def bench() -> MatchingBench:
    return MatchingBench(example("news.dtd"), Sizes(documents=5), seed=1, rounds=2)


def test_pugixml_reads_all_documents_and_says_how_many_it_refuses() -> None:
    reader = load_pugixml()
    if reader is None:
        pytest.skip(pugixml.REMEDY)
    documents = [b"<a>&amp;<b c='d'/></a>", b"<a><b></a>", b"<!-- nothing -->"]
    before = list(documents)
    for fastest in (False, True):
        assert reader(documents, fastest)() == 2
        assert reader([], fastest)() == 0
    assert documents == before


def test_without_pugixml_a_note_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    run = bench()
    rows = list(read_rows(run, [EXAMPLES / "documents"]))
    assert [row.name for row in rows] == [
        *("read-news-reader", "read-news-kernel", "read-news-lxml"),
        *("read-documents-reader", "read-documents-kernel", "read-documents-lxml"),
    ]
    assert run.notes == ["pugixml is not installed: apt install libpugixml-dev g++"]


def test_a_compiler_without_the_library_is_not_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    failing = tmp_path / "c++"
    failing.write_text("#!/bin/sh\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert load_pugixml() is None


def test_all_readers_are_beside_expat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "load_pugixml", lambda: lambda documents, fastest: documents.copy)
    run = bench()
    rows = {row.name: row for row in read_rows(run, [])}
    assert list(rows) == [
        f"read-news-{name}" for name in ("reader", "kernel", "lxml", "pugixml", "pugixml-fastest")
    ]
    assert {row.unit for row in rows.values()} == {"× expat"}
    assert rows["read-news-pugixml"].value < rows["read-news-kernel"].value
    assert run.notes == ["no real documents: name folders of them with --documents"]
