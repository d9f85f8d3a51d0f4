"""``twigcast stream`` in the terminal: a line a batch, warnings, errors in a few words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer
from arriving import WANTED, arrive, brute_force, write_wanted
from typer.testing import CliRunner, Result

from twigcast.errors import PipelineError

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from twigcast.cli.stream import stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APP = typer.Typer()
APP.command()(stream)


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # The command stops the session that it finds running, which is everybody's.
    monkeypatch.setattr(type(spark), "stop", lambda self: None)
    (tmp_path / "in").mkdir()
    write_wanted(tmp_path / "wanted.txt")
    return tmp_path


def run(place: Path, *options: str) -> Result:
    arguments = [str(place / "in"), "--output", str(place / "out"), "--once"]
    arguments += ["--conf", "spark.log.level=ERROR", *options]
    return CliRunner().invoke(APP, arguments)


def test_it_prints_a_line_a_batch_and_what_was_done(place: Path) -> None:
    arrive(place / "in", range(12))
    wanted = ["--subscriptions", str(place / "wanted.txt")]
    result = run(place, *wanted, "--max-files", "8")
    assert result.exit_code == 0, result.output
    first, second = result.stdout.splitlines()
    count = brute_force(range(8)).total()
    assert first.startswith(f"batch 0: 8 documents, {count} deliveries, 0 rejected, by 7 subsc")
    assert second.startswith("batch 1: 4 documents, ")
    assert "done: 2 batches, 12 documents, " in result.stderr

    write_wanted(place / "wanted.txt", {"bad": "//order[", **WANTED})
    arrive(place / "in", range(12, 14))
    result = run(place, *wanted, "--skip-bad", "--json")
    told = json.loads(result.stdout)
    assert (told["batch"], told["totals"]["documents"]) == (2, 2)
    assert told["version"]["subscriptions"] == len(WANTED)
    assert "skipped: " in result.stderr

    result = run(place, *wanted, "--skip-bad", "--checkpoint", str(place / "other"))
    assert isinstance(result.exception, PipelineError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "name --subscriptions"),
        (["-s", "x", "--at", "rome"], "go with --network"),
        (["-s", "x", "--trigger", "10s"], "exclude each other"),
        (["-s", "x", "--conf", "memory"], "--conf takes NAME=VALUE"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    tmp_path: Path, options: list[str], message: str
) -> None:
    result = run(tmp_path, *options)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("span", ["soon", "10", "0s", "1.5s", "10 parsecs"])
def test_a_trigger_is_a_span_of_time(span: str) -> None:
    result = CliRunner().invoke(APP, ["in", "-o", "out", "-s", "x", "--trigger", span])
    assert result.exit_code == 2
    assert "--trigger takes a span" in result.stderr
