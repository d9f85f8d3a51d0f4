"""Scenarios: from Python, from a file, and with options beside the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from folders import EXAMPLES
from simulate_calls import refused, rows, shown, told

from twigcast.errors import ConfigError, ScenarioError
from twigcast.routing import Strategy
from twigcast.simulation import Scenario, ScenarioResult
from twigcast.workload import Shape

PROTEIN = str(EXAMPLES / "protein.dtd")
FILE = EXAMPLES / "scenario.toml"


def figures(result: ScenarioResult) -> dict[str, object]:
    """Everything that repeats."""
    answer = result.as_json()
    for run in answer["strategies"]:
        del run["processor_seconds"]
    return answer


def write(folder: Path, text: str) -> Path:
    path = folder / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_gives_what_the_fields_give() -> None:
    scenario = Scenario.from_file(FILE)
    assert scenario == Scenario(
        dtd=PROTEIN,
        topology="tree:levels=3,fanout=2",
        strategy=("covering", "advertisements-covering"),
        subscriptions=20,
        documents=10,
        latency_ms=5,
        seed=1,
    )
    first, second = scenario.run(), scenario.run()
    assert first.is_right
    assert figures(first) == figures(second)
    assert [run.summary.strategy for run in first.runs] == list(scenario.strategy)


def test_the_command_takes_a_file_and_options_beside_it_win() -> None:
    options = ["--dtd", PROTEIN, "--subscriptions", "20", "--documents", "3", "--latency-ms", "5"]
    by_file = told(FILE, "--documents", "3", "--strategy", "covering", "--seed", "2")
    by_options = told(*options, "--strategy", "covering", "--seed", "2")
    for answer in (by_file, by_options):
        del answer["strategies"][0]["processor_seconds"]
    assert by_file == by_options
    assert by_file["options"]["seed"] == 2
    names = [row[0] for row in rows(shown(FILE))]
    assert names == ["covering", "advertisements-covering"]


def test_documents_named_beside_a_file_are_published_instead_of_made_ones(tmp_path: Path) -> None:
    scenario = Scenario.from_file(FILE)
    assert scenario.documents == 10
    (tmp_path / "a.xml").write_text("<nothing/>")
    assert "no client advertises such documents" in refused(FILE, tmp_path / "a.xml")
    assert Scenario.from_file(FILE, files=("a.xml",)).documents is None


def test_a_network_named_beside_a_file_replaces_what_clients_are_made_from(tmp_path: Path) -> None:
    changed = Scenario.from_file(FILE, network="offices.toml")
    assert (changed.dtd, changed.subscriptions) == (None, Scenario().subscriptions)
    assert changed.latency_ms == 5


def test_files_are_found_from_where_the_scenario_is(tmp_path: Path) -> None:
    text = 'network = "net.toml"\nfiles = ["a.xml", "more"]\n'
    scenario = Scenario.from_file(write(tmp_path, text))
    assert scenario.network == str(tmp_path / "net.toml")
    assert scenario.files == (str(tmp_path / "a.xml"), str(tmp_path / "more"))
    scenario = Scenario.from_file(write(tmp_path, 'topology = "net.toml"\ndtd = "/x/a.dtd"\n'))
    assert (scenario.topology, scenario.dtd) == (str(tmp_path / "net.toml"), "/x/a.dtd")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("subscription = 5", "subscription: this key is not known; did you mean 'subscriptions'?"),
        ('subscriptions = "5"', "subscriptions: this is '5'; write a whole number"),
        ("loss = true", "loss: this is true; write a number"),
        ("loss = 2", "`loss` is 2.0; give a number from 0 to 0.9"),
        ("measured = 1", "measured: this is 1; write true or false"),
        ("strategy = [1]", "strategy, entry 1: this is 1; write a text"),
        ('shape = "bush"', "shape: 'bush' is not known; known: path, tree"),
        ("seed = ", "this is not TOML"),
    ],
)
def test_what_a_file_may_not_say_is_refused_with_the_remedy(
    text: str, reason: str, tmp_path: Path
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        Scenario.from_file(path)
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)
    assert reason in refused(path)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"loss": 1.0}, "`loss` is 1.0; give a number from 0 to 0.9"),
        (
            {"latency_ms": float("inf")},
            "`latency_ms` is inf; give a number of 0 or more, not an infinite one",
        ),
        ({"documents": 0}, "`documents` is 0; give a number of 1 or more"),
        ({"files": ("a.xml",), "documents": 3}, "leave it out, or the files"),
        ({"network": "a.toml", "shape": Shape.TREE}, "`shape` is for clients that are made"),
    ],
)
def test_fields_that_do_not_go_together_are_refused(values: dict[str, object], reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason.replace("(", r"\(")):
        replace(Scenario(), **values)  # type: ignore[arg-type]  # wrong on purpose, in part


def test_a_document_that_is_not_there_is_named() -> None:
    scenario = Scenario(dtd=PROTEIN, files=("nowhere.xml",))
    with pytest.raises(ScenarioError, match=r"nowhere\.xml is not here; name other `files`"):
        scenario.run()


def test_a_second_scenario_is_refused() -> None:
    assert "run one at a time" in refused(FILE, "other.toml")


def test_strategies_are_named_once_and_all_stands_for_those_of_the_paper() -> None:
    scenario = Scenario(dtd=PROTEIN, subscriptions=3, documents=1, strategy=("xnet", "xnet"))
    (run,) = scenario.run().runs
    assert run.summary.strategy == Strategy.named("xnet").name
    with pytest.raises(ScenarioError, match="all stands for the six") as caught:
        replace(scenario, strategy=("merging",)).run()
    assert caught.value.field == "strategy"
