"""The record of a release: what is kept, and what a later run says of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from folders import EXAMPLES
from typer.testing import CliRunner
from workloads import example

from lab.benchmarks.record import (
    Figure,
    Record,
    compare,
    expat_time,
    read_record,
    write_record,
)
from lab.benchmarks.record.comparison import more_is_better
from lab.benchmarks.record.figures import FOLDER
from lab.benchmarks.results import Goal, Result
from lab.cli.commands import app

COMMAND = sys.modules["lab.cli.bench"]
WORKLOAD: dict[str, str | int] = {"dtd": "news.dtd", "root": "news", "seed": 1}
MACHINE: dict[str, str | int | float] = {"processor": "some", "cores": 2, "load": 0.5}


def record(*results: Result, expat: float = 30.0) -> Record:
    return Record.of(results, WORKLOAD, MACHINE, expat)


def row(name: str, value: float, unit: str = "× expat", spread: float = 0.0) -> Result:
    return Result(name, f"work of {name}", value, unit, spread)


def verdicts(before: list[Result], now: list[Result], expat: float = 30.0) -> dict[str, str]:
    changes = compare(now, record(*before), expat)
    return {change.name: change.verdict for change in changes}


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    kept = record(row("b", 1.23456), row("a", 123_456.7, "a second", 0.054321))
    path = write_record("matching", kept, tmp_path)
    assert read_record("matching", tmp_path) == kept
    assert read_record("covering", tmp_path) is None
    stored = json.loads(path.read_text())
    assert list(stored) == sorted(stored)
    assert list(stored["figures"]) == ["a", "b"]
    assert stored["figures"]["a"] == {"spread": 0.05432, "unit": "a second", "value": 123_500.0}
    assert stored["machine"] == {"cores": 2, "processor": "some"}
    before = path.read_bytes()
    write_record("matching", kept, tmp_path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_the_records_of_the_last_release_are_as_they_are_written(
    path: Path, tmp_path: Path
) -> None:
    kept = read_record(path.stem)
    assert kept is not None
    assert kept.workload == {"dtd": "nitf-2-5.dtd", "root": "nitf", "seed": 1}
    assert kept.figures
    assert write_record(path.stem, kept, tmp_path).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("before", "now", "verdict"),
    [
        (1.0, 1.0, "alike"),
        (1.0, 1.09, "alike"),
        (1.0, 1.11, "worse"),
        (1.0, 0.92, "alike"),
        (1.0, 0.9, "better"),
        (0.0, 0.0, "alike"),
        (0.0, 1.0, "worse"),
        (1.0, 0.0, "better"),
    ],
)
def test_a_tenth_is_noise(before: float, now: float, verdict: str) -> None:
    assert verdicts([row("x", before)], [row("x", now)]) == {"x": verdict}


def test_what_both_runs_vary_is_noise_as_well() -> None:
    calm, wild = row("x", 1.0, spread=0.02), row("x", 1.0, spread=0.3)
    slower = row("x", 1.2, spread=0.02)
    assert verdicts([calm], [slower]) == {"x": "worse"}
    assert verdicts([wild], [slower]) == {"x": "alike"}
    (change,) = compare([slower], record(calm), 30.0)
    assert change.noise == pytest.approx(0.12)
    assert change.times_worse == pytest.approx(1.2)
    assert str(change) == "worse: x, 1.00 → 1.20 × expat (noise 12%)"


@pytest.mark.parametrize("unit", ["×", "× ours", "× the job", "a second", "documents a second"])
def test_of_speed_more_is_better(unit: str) -> None:
    assert more_is_better(unit)
    assert verdicts([row("x", 100, unit)], [row("x", 150, unit)]) == {"x": "better"}
    assert verdicts([row("x", 100, unit)], [row("x", 50, unit)]) == {"x": "worse"}


@pytest.mark.parametrize("unit", ["× expat", "× lxml parsing", "× the few", "× warm", "s", "bytes"])
def test_of_cost_less_is_better(unit: str) -> None:
    assert not more_is_better(unit)


def test_times_and_rates_are_those_of_this_machine() -> None:
    before = [row("time", 1.0, "s"), row("rate", 100, "a second"), row("size", 8, "MB")]
    now = [row("time", 2.0, "s"), row("rate", 50, "a second"), row("size", 8, "MB")]
    # Expat takes twice as long as on the machine of the record, and so may we.
    assert set(verdicts(before, now, expat=60.0).values()) == {"alike"}
    assert verdicts(before, now) == {"time": "worse", "rate": "worse", "size": "alike"}
    assert verdicts(before, before, expat=60.0) == {
        "time": "better",
        "rate": "better",
        "size": "alike",
    }


def test_rows_that_came_and_went_are_named() -> None:
    before = [row("kept", 1), row("gone", 1), row("unit", 1, "s")]
    now = [row("kept", 1), row("unit", 1, "µs"), row("come", 2)]
    assert verdicts(before, now) == {
        "kept": "alike",
        "unit": "new",
        "come": "new",
        "gone": "missing",
    }
    assert str(compare([], record(row("gone", 1)), 30.0)[0]) == "missing: gone"


def test_the_yardstick_is_a_time() -> None:
    assert 1 < expat_time(example("news.dtd"), seed=1) < 10_000


# The command


ARGUMENTS = ["bench", "covering", "--dtd", str(EXAMPLES / "news.dtd")]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[list[Result]], None]:
    """Sets what the command measures, instead of measuring; records are in a folder of the test."""
    monkeypatch.setattr(COMMAND, "read_record", partial(read_record, folder=tmp_path))
    monkeypatch.setattr(COMMAND, "write_record", partial(write_record, folder=tmp_path))
    monkeypatch.setattr(COMMAND, "expat_time", lambda schema, seed: 30.0)

    def measure(rows: list[Result]) -> None:
        monkeypatch.setattr(COMMAND, "covering_speed", lambda run: (rows, []))

    return measure


def test_a_run_is_recorded_and_the_next_is_compared_with_it(
    measured: Callable[[list[Result]], None], tmp_path: Path
) -> None:
    measured([row("a", 1.0), row("b", 1.0), row("c", 1.0)])
    first = CliRunner().invoke(app, [*ARGUMENTS, "--record"])
    assert first.exit_code == 0, first.output
    assert "not compared with the last release: there is no record" in first.stdout
    assert "covering is recorded in covering.json" in first.stdout
    kept = read_record("covering", tmp_path)
    assert kept is not None
    assert kept.figures["a"] == Figure(1.0, 0.0, "× expat")
    assert kept.workload == WORKLOAD

    measured([row("a", 1.5), row("b", 1.0), row("d", 1.0)])
    second = CliRunner().invoke(app, ARGUMENTS)
    assert second.exit_code == 0
    told = "covering since the last release: 1 worse, 0 better, 1 alike, 1 new, 1 missing"
    assert told in second.stdout
    assert "worse: a, 1.00 → 1.50 × expat (noise 10%)" in second.stdout

    third = CliRunner().invoke(app, [*ARGUMENTS, "--json"])
    lines = [json.loads(line) for line in third.stdout.splitlines()]
    compared = [line for line in lines if line["benchmark"] == "comparison"]
    assert {line["name"]: line["verdict"] for line in compared} == {
        **{"a": "worse", "b": "alike"},
        **{"d": "new", "c": "missing"},
    }
    assert {line["subject"] for line in compared} == {"covering"}


def test_another_workload_is_not_compared(measured: Callable[[list[Result]], None]) -> None:
    measured([Result("a", "work", 1.0, "ms", goal=Goal(2))])
    assert CliRunner().invoke(app, [*ARGUMENTS, "--record"]).exit_code == 0
    shown = CliRunner().invoke(app, [*ARGUMENTS, "--seed", "2"]).stdout
    assert "the record is of another workload" in shown
    assert "since" not in shown
    quick = CliRunner().invoke(app, [*ARGUMENTS, "--quick"]).stdout
    assert "release" not in quick


def test_a_quick_run_cannot_be_recorded() -> None:
    result = CliRunner().invoke(app, [*ARGUMENTS, "--quick", "--record"])
    assert result.exit_code == 2
    assert "--record is for full runs" in result.stderr
