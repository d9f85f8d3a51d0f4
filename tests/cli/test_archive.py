"""``twigcast archive``, ``query`` and ``compact``: the library's answers, told."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from typing import TYPE_CHECKING, Any

import pytest
import typer
from typer.testing import CliRunner, Result

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from archives import answer, shared_archive, shared_documents

from twigcast.cli.archive import archive, compact
from twigcast.cli.query import query
from twigcast.errors import PipelineError
from twigcast.matching import skeletons_of

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

app = typer.Typer()
app.command()(archive)
app.command()(query)
app.command()(compact)


@pytest.fixture(autouse=True)
def _kept_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands stop the session that they find running, which is everybody's."""
    monkeypatch.setattr(type(spark), "stop", lambda self: None)


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(shared_archive(spark, tmp_path_factory))


def call(*arguments: str, status: int = 0) -> Result:
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


def lines(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_files_are_archived_asked_and_compacted(tmp_path: Path) -> None:
    folder, store = tmp_path / "documents", str(tmp_path / "store")
    folder.mkdir()
    contents = {
        "one.xml": b"<Stock><Price>17</Price></Stock>",
        "two.xml": "<Stock><Price>9</Price><Name>é</Name></Stock>".encode("utf-16"),
        "same.xml": b"<Stock><Price>17</Price></Stock>",
        "bad.xml": b"<Stock>",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    told = call("archive", str(folder), "--archive", store, "--json", status=1)
    (report,) = lines(told)
    assert (report["added"], report["repeated"], report["rejected"]) == (2, 1, 1)
    assert "bad.xml, line 1, column 8" in told.stderr
    assert call("compact", store).stdout.startswith("nothing to join")
    table = tmp_path / "table.jsonl"
    rows = [(contents["one.xml"].decode(), ""), ("<a/>", "2026-01-31T10:00:00Z"), ("<b/>", "soon")]
    table.write_text("".join(json.dumps({"xml": xml, "at": at}) + "\n" for xml, at in rows))
    again = call(
        "archive", str(table), "--archive", store, "--column", "xml", "--time-column", "at"
    )
    assert "1  there already" in again.stdout
    assert again.stderr.endswith("the column at, so with that of this run: 1\n")

    found = call("query", "//Stock[Price > 1]", "--archive", store, "--documents", "--json")
    by_source = {row["source"].rpartition("/")[2]: row for row in lines(found)}
    assert by_source.keys() in ({"one.xml", "two.xml"}, {"same.xml", "two.xml"})
    one, two = (row for _, row in sorted(by_source.items()))
    assert (one["content"].encode(), one["encoding"]) == (contents["one.xml"], "utf-8")
    assert (b64decode(two["content"]), two["encoding"]) == (contents["two.xml"], "base64")
    assert found.stderr.endswith("2 of 4 documents match; looked at 2 (50 %), 2 of 4 shapes\n")


def test_a_query_is_shown_in_several_ways(place: str, tmp_path: Path) -> None:
    kept = {one.id: one for one in shared_documents()}
    xpath = "//a[b > 16]"
    expected = answer(kept.values(), xpath)
    assert 1 < len(expected) < 200
    table = call("query", xpath, "--archive", place)
    assert all(identity[:12] in table.stdout for identity in expected)
    ids = call("query", xpath, "--archive", place, "--ids")
    assert sorted(line.split("\t")[0] for line in ids.stdout.splitlines()) == sorted(expected)
    assert ids.stderr.startswith(f"{len(expected)} of 401 documents match; looked at ")

    printed = call("query", xpath, "--archive", place, "--documents").stdout_bytes
    documents = [part.removesuffix(b"\n") for part in printed.split(b"\0") if part]
    assert sorted(documents) == sorted(kept[identity].content for identity in expected)

    folder = tmp_path / "found"
    listed = call("query", xpath, "--archive", place, "--output", str(folder), "--limit", "2")
    assert len(listed.stdout.splitlines()) == 2
    for file in folder.iterdir():
        assert file.stem == hashlib.sha256(file.read_bytes()).hexdigest()
        assert file.stem in expected
    assert "the first 2 matches of 401 documents; looked at" in listed.stderr


def test_prefixes_and_times(place: str) -> None:
    kept = shared_documents()
    rows = lines(call("query", "//n:a", "--namespace", "n=urn:n", "--archive", place, "--json"))
    assert {row["id"] for row in rows} == answer(kept, "//Q{urn:n}a")
    assert {row["root"] for row in rows} <= {"Q{urn:n}r", "Q{urn:n}s"}
    bound = ("--variable", 'name="a"', "--relative-to", "document", "--archive", place, "--json")
    rows = lines(call("query", "*//*[name() = $name]", *bound))
    assert {row["id"] for row in rows} == answer(kept, '/*//*[name()="a"]')
    shapes = len({skeletons_of([one.content]).skeletons[0] for one in kept})
    none = call("query", "/*", "--archive", place, "--until", "2025-01-01")
    assert none.stdout == ""
    assert none.stderr == f"0 of 401 documents match; looked at 0 (0 %), 0 of {shapes} shapes\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["//a", "--ids", "--documents"], "--ids goes with neither"),
        (["//a", "--namespace", "urn:n"], "PREFIX=URI"),
        (["//a", "--limit", "0"], "Invalid value for '--limit'"),
    ],
)
def test_options_that_make_no_sense(arguments: list[str], said: str) -> None:
    assert said in call("query", "--archive", "nowhere", *arguments, status=2).stderr


def test_errors_reach_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="no archive here"):
        call("query", "//a", "--archive", str(tmp_path / "nowhere"))
