"""``twigcast-lab bench broker`` and ``pipeline``: what the command asks for, prints and stores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from folders import EXAMPLES
from typer.testing import CliRunner

from lab.benchmarks.broker.bench import QUICK_BROKER
from lab.benchmarks.pipeline.bench import QUICK_PIPELINE
from lab.benchmarks.results import Goal, Result
from lab.cli.commands import app

COMMAND = sys.modules["lab.cli.bench"]
RESULTS = [
    Result("good", "good work", 6_000.0, "documents a second", 0.1, Goal(5_000, least=True), 20.4),
    Result("poor", "poor work", 9.0, "ms", goal=Goal(8)),
]
OPTIONS = ("--quick", "--dtd", str(EXAMPLES / "news.dtd"))


class Subject(NamedTuple):
    """A benchmark that runs only when it is named."""

    name: str
    sizes: Any
    library: str
    """What it needs, and the machine's description names with its version."""


SUBJECTS = [
    pytest.param(Subject("broker", QUICK_BROKER, "gRPC"), id="broker"),
    pytest.param(Subject("pipeline", QUICK_PIPELINE, "Spark"), id="pipeline"),
]


@pytest.fixture(params=SUBJECTS)
def subject(request: pytest.FixtureRequest) -> Subject:
    chosen: Subject = request.param
    return chosen


@pytest.fixture
def runs(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The runs that the command asked for, instead of running them."""
    made: list[Any] = []

    def speed(run: Any) -> list[Result]:
        made.append(run)
        return RESULTS

    monkeypatch.setattr(COMMAND, f"{subject.name}_speed", speed)
    monkeypatch.chdir(EXAMPLES.parent)
    return made


def test_json_is_printed_and_results_are_stored(
    subject: Subject, runs: list[Any], tmp_path: Path
) -> None:
    arguments = ["bench", subject.name, *OPTIONS, "--json", "--output", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    (run,) = runs
    assert (run.sizes, run.seed, run.rounds) == (subject.sizes, 1, 3)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["benchmark"], line["sizes"]) for line in lines] == [(subject.name, "quick")] * 2
    assert [(line["name"], line["verdict"]) for line in lines] == [
        ("good", "met"),
        ("poor", "missed"),
    ]
    names = [f"{subject.name}-goals.png", f"{subject.name}-goals.svg", "results.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    stored = json.loads((tmp_path / "results.json").read_text())
    assert [row["name"] for row in stored[subject.name]] == ["good", "poor"]
    sizes = stored["workload"][f"{subject.name} sizes"]
    assert sizes["documents"] == subject.sizes.documents
    assert stored["machine"][subject.library.lower()].count(".") == 2


@pytest.mark.parametrize("subject", SUBJECTS[1:], indirect=True)
def test_the_pipeline_has_the_schemas_beside_the_named_one(runs: list[Any], tmp_path: Path) -> None:
    arguments = ["bench", "pipeline", *OPTIONS, "--output", str(tmp_path)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    (run,) = runs
    assert run.session is None
    assert [schema.root for schema in run.schemas] == ["news", "proteins"]
    workload = json.loads((tmp_path / "results.json").read_text())["workload"]
    assert workload["roots in the archive"] == ["news", "proteins"]


def test_a_table_is_printed(subject: Subject, runs: list[Any]) -> None:
    result = CliRunner().invoke(app, ["bench", subject.name, *OPTIONS, "--rounds", "2"])
    assert runs[0].rounds == 2
    assert "1 goals met, 1 missed" in result.stdout
    assert "quick run: smaller sizes" in result.stdout
    assert f", {subject.library} " in result.stdout


def test_it_is_not_run_without_its_name(runs: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for what in ("foundation_speed", "matching_speed", "matching_growth"):
        monkeypatch.setattr(COMMAND, what, lambda *some, **others: [])
    monkeypatch.setattr(COMMAND, "covering_speed", lambda run: ([], []))
    assert CliRunner().invoke(app, ["bench", *OPTIONS]).exit_code == 0
    assert not runs


def test_the_command_is_imported_without_grpc_and_spark() -> None:
    script = (
        "import sys, lab.cli.bench; "
        "sys.exit(any(name in sys.modules "
        "for name in ('grpc', 'pyspark', 'pyarrow', 'twigcast.pipeline')))"
    )
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    assert subprocess.run([sys.executable, "-c", script], env=environment).returncode == 0
