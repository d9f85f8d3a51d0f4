"""The benchmarks: what they measure is what they say, and a missed goal is reported as missed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from folders import EXAMPLES
from typer.testing import CliRunner
from workloads import example

from lab.benchmarks.matching import (
    QUICK_SIZES,
    MatchingBench,
    Sizes,
    draw_growth,
    matching_growth,
    matching_speed,
    reading,
)
from lab.benchmarks.matching.rules import real_rules
from lab.benchmarks.measure import measure, spread
from lab.benchmarks.plots import draw_goals
from lab.benchmarks.record.comparison import more_is_better
from lab.benchmarks.results import Goal, GrowthPoint, Result, readable
from lab.cli.commands import app

COMMAND = sys.modules["lab.cli.bench"]


TINY = Sizes(
    name="tiny",
    documents=10,
    warming=5,
    fresh=2,
    paths=200,
    cold=200,
    cold_matchers=2,
    subscribers=400,
    expressions=40,
    delivered=100,
    trees=50,
    values=100,
    few=20,
    many=300,
    peers=30,
    peer_documents=2,
    updates=100,
    builds=2,
    real=40,
    growing_paths=(10, 100, 1_000),
    growing_trees=(10, 20),
    peer_patience=60.0,
)

ROWS = {
    "read-news-reader": 0.2,
    "read-news-kernel": None,
    "read-news-lxml": None,
    "read-documents-reader": 0.2,
    "read-documents-kernel": None,
    "read-documents-lxml": None,
    "paths-warm": 0.35,
    "paths-warm-lxml": 0.3,
    "paths-fresh": 1.3,
    "paths-cold": 3.5,
    "subscribers": 2,
    "subscribers-destinations": 0.4,
    "subscribers-expanded": 1.5,
    "trees-warm": 2,
    "trees-cache": 25,
    "trees-fresh": 5,
    "trees-small": 3,
    "trees-all-sizes": 3,
    "trees-all-sizes-cache": 64,
    "values-ranges": 1,
    "values-thresholds": 1,
    "values-equal-strings": 1,
    "values-starts-with": 1,
    "values-contains": 1.5,
    "paths-many": 1.1,
    "peer-lxml": 500,
    "peer-lxml-best": None,
    "peer-kernel": None,
    "threads": 1.7,
    "real-documents": None,
    "build-paths": 3,
    "build-trees": None,
    "compile-tree": 20,
    "save": None,
    "load": 0.1,
    "file-size": None,
    "routing-table": None,
    "frozen-network": None,
    "updates": 20_000,
    "after-update": 10,
    "after-update-95": 10,
    "memory-reported": 300,
    "memory-resident": 300,
}


def bench(sizes: Sizes = TINY) -> MatchingBench:
    return MatchingBench(example("news.dtd"), sizes, seed=1, rounds=2)


# Measuring


def fake_clock(readings: list[float]) -> Callable[[], float]:
    remaining: Iterator[float] = iter(readings)
    return lambda: next(remaining)


def test_methods_take_turns_and_the_first_round_does_not_count() -> None:
    calls: list[str] = []
    methods = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    # Each call reads the clock twice.  The machine is twice as slow in the last round.
    lasting = [9.0, 9.0, 1.0, 3.0, 2.0, 6.0]
    readings = [reading for seconds in lasting for reading in (0.0, seconds)]
    first, second = measure(
        "w", methods, units={"a": 1, "b": 2}, rounds=2, clock=fake_clock(readings)
    )
    assert calls == ["a", "b"] * 3
    assert (first.seconds, first.ratio) == (1.5, 1.0)
    assert (second.seconds, second.ratio) == (2.25, 1.5)
    assert first.spread > 0
    assert second.ratio_spread == 0


def test_spread_is_a_share_of_the_median() -> None:
    assert spread([7.0]) == 0
    assert spread([10.0, 10.0, 10.0]) == 0
    assert spread([1.0, 2.0, 3.0]) == pytest.approx(1.0)


# Goals


@pytest.mark.parametrize(
    ("goal", "value", "verdict", "share"),
    [
        (Goal(2), 1.0, "met", 0.5),
        (Goal(2), 2.0, "met", 1.0),
        (Goal(2), 2.01, "missed", 1.005),
        (Goal(500, least=True), 1000.0, "met", 0.5),
        (Goal(500, least=True), 499.0, "missed", 500 / 499),
        (Goal(500, least=True), 0.0, "missed", float("inf")),
    ],
)
def test_a_goal_is_met_or_missed(goal: Goal, value: float, verdict: str, share: float) -> None:
    result = Result("n", "w", value, "×", goal=goal)
    assert result.outcome == verdict
    assert result.as_json()["verdict"] == verdict
    assert goal.share(value) == pytest.approx(share)


def test_a_goal_about_another_size_is_not_judged(tmp_path: Path) -> None:
    result = Result("x", "small work", 99.0, "s", goal=Goal(1, applies=False))
    assert (result.outcome, result.as_json()["verdict"], result.as_json()["goal"]) == (
        "",
        None,
        "≤ 1",
    )
    draw_goals([result], tmp_path)
    assert "99.0 s; goal ≤ 1 at full size (bar cut)" in (tmp_path / "goals.svg").read_text()


def test_rows_of_full_size_are_judged_in_a_quick_run_too() -> None:
    run = bench(QUICK_SIZES)
    assert run.goal(500, "peers").applies
    assert not run.goal(2, "paths").applies


def test_without_a_goal_there_is_no_verdict() -> None:
    result = Result("n", "w", 1.0, "×")
    assert (result.outcome, result.as_json()["verdict"], result.as_json()["goal"]) == (
        "",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567.8, "1,234,568"), (12.34, "12.3"), (1.256, "1.26"), (0.0123, "0.012"), (0.0, "0.000")],
)
def test_figures_can_be_read(value: float, text: str) -> None:
    assert readable(value) == text


# Whole runs


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    with pytest.MonkeyPatch.context() as patch:
        # Rows depend on whether it is installed; its own tests are in test_reading.
        patch.setattr(reading, "load_pugixml", lambda: None)
        rows = list(matching_speed(bench(), [EXAMPLES / "documents"]))
    assert len({result.name for result in rows}) == len(rows)
    return {result.name: result for result in rows}


@pytest.fixture(scope="module")
def points() -> list[GrowthPoint]:
    return list(matching_growth(bench()))


def test_each_row_is_there_with_its_goal(results: dict[str, Result]) -> None:
    bounds = {name: result.goal and result.goal.bound for name, result in results.items()}
    assert bounds == ROWS


def test_each_figure_is_something(results: dict[str, Result]) -> None:
    for name, result in results.items():
        assert result.value > 0, name
        assert result.spread >= 0, name
        assert result.unit, name
        json.dumps(result.as_json())


def test_rows_about_documents_report_their_matches(results: dict[str, Result]) -> None:
    silent = {name for name, result in results.items() if result.matches is None}
    assert {name for name in silent if not name.startswith("read-")} == {
        *("build-paths", "build-trees", "compile-tree", "save", "load", "file-size"),
        *("trees-cache", "trees-all-sizes-cache"),
        *("updates", "memory-reported", "memory-resident"),
    }
    assert all((result.matches or 1) > 0 for result in results.values())
    assert results["subscribers"].matches == pytest.approx(TINY.delivered, rel=0.2)


def test_rows_report_the_sizes_they_had(results: dict[str, Result]) -> None:
    assert results["paths-warm"].work == "200 paths, documents seen before"
    assert results["paths-many"].work == "300 paths against 20"
    assert results["trees-all-sizes"].work == "50 trees, 10 documents of all sizes"
    assert results["updates"].work == "updates of 196 paths"
    details = results["paths-many"].details
    assert details["generated"] + details["with_absent_names"] == 280  # type: ignore[operator]


def test_of_figures_with_a_lower_bound_more_is_better(results: dict[str, Result]) -> None:
    for result in results.values():
        if result.goal is not None:
            assert more_is_better(result.unit) == result.goal.least, result.name


def test_growth_has_a_point_for_each_size_and_method(points: list[GrowthPoint]) -> None:
    sizes: dict[str, list[int]] = {}
    for point in points:
        sizes.setdefault(point.method, []).append(point.subscriptions)
    assert sizes == {
        "expat alone": [10, 100, 1_000],
        "twigcast, paths": [10, 100, 1_000],
        "lxml, one by one, paths": [10, 100, 1_000],
        "twigcast, trees": [10, 20],
    }
    ours, theirs = (
        {point.subscriptions: point for point in points if point.method == method}
        for method in ("twigcast, paths", "lxml, one by one, paths")
    )
    assert ours[1_000].matches > ours[10].matches > 0
    assert theirs[1_000].seconds > ours[1_000].seconds


def test_a_peer_that_takes_too_long_is_not_asked_again() -> None:
    impatient = Sizes(
        documents=5, growing_paths=(10, 1_000), growing_trees=(10,), peer_patience=0.0
    )
    measured = [
        point for point in matching_growth(bench(impatient)) if point.method.startswith("lxml")
    ]
    assert [point.subscriptions for point in measured] == [10]


# Plots


def test_plots_are_drawn(
    results: dict[str, Result], points: list[GrowthPoint], tmp_path: Path
) -> None:
    missed = Result("x", "impossible work", 99.0, "× expat", goal=Goal(1))
    drawn = [
        *draw_goals([*results.values(), missed], tmp_path, "a note"),
        *draw_growth(points, tmp_path, "a note"),
    ]
    names = ["goals.png", "goals.svg", "growth.png", "growth.svg"]
    assert sorted(path.name for path in drawn) == names
    for path in drawn:
        assert path.stat().st_size > 5_000
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
    # Texts are drawn as outlines, and stand beside them as comments.
    goals = (tmp_path / "goals.svg").read_text()
    assert "impossible work" in goals
    assert "99.0 × expat, goal ≤ 1: missed" in goals
    assert "microseconds a document" in (tmp_path / "growth.svg").read_text()


def test_the_same_figures_give_the_same_svg(points: list[GrowthPoint], tmp_path: Path) -> None:
    texts = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        draw_growth(points, tmp_path / name)
        texts.append((tmp_path / name / "growth.svg").read_text())
    assert texts[0] == texts[1]


# The command


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(COMMAND, "QUICK_SIZES", TINY)


ARGUMENTS = (
    *("bench", "matching", "--quick", "--rounds", "2"),
    *("--dtd", str(EXAMPLES / "news.dtd"), "--documents", str(EXAMPLES / "documents")),
)


@pytest.mark.usefixtures("tiny")
def test_the_command_prints_json_and_stores_results(
    results: dict[str, Result],
    points: list[GrowthPoint],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def speed(run: MatchingBench, folders: list[Path], rules: Path | None) -> list[Result]:
        assert (run.sizes, run.seed, run.rounds) == (TINY, 1, 2)
        assert (folders, rules) == ([EXAMPLES / "documents"], None)
        return list(results.values())

    monkeypatch.setattr(COMMAND, "matching_speed", speed)
    monkeypatch.setattr(COMMAND, "matching_growth", lambda run: points)
    folder = tmp_path / "new" / "folder"
    result = CliRunner().invoke(app, [*ARGUMENTS, "--json", "--output", str(folder)])
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert {line["sizes"] for line in lines} == {"tiny"}
    matching = [line for line in lines if line["benchmark"] == "matching"]
    assert [line["name"] for line in matching] == list(ROWS)
    assert {line["verdict"] for line in matching} <= {"met", "missed", None}
    assert any(line["benchmark"] == "growth" for line in lines)
    names = ["goals.png", "goals.svg", "growth.png", "growth.svg", "results.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    stored = json.loads((folder / "results.json").read_text())
    parts = {"foundation", "matching", "growth", "covering", "covering-growth"}
    assert set(stored) == {"workload", "machine"} | parts
    assert {"processor", "cores", "python", "expat"} <= set(stored["machine"])
    assert stored["workload"]["sizes"]["paths"] == 200
    assert stored["workload"]["dtd"] == "news.dtd"
    assert [row["name"] for row in stored["matching"]] == list(ROWS)
    assert all("spread" in row for row in stored["matching"])


@pytest.mark.usefixtures("tiny")
def test_the_table_says_what_is_missed_and_that_it_was_quick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [
        Result("a", "good work", 1.25, "× expat", 0.1, Goal(1.3), 1378.4),
        Result("b", "poor work", 3.0, "× expat", 0.0, Goal(2), 10.0),
        Result("c", "other work", 0.5, "s"),
        Result("d", "small work", 0.5, "s", goal=Goal(2, applies=False)),
    ]
    point = GrowthPoint("twigcast, paths", 1_000, 42e-6, 0.0, 1.2, 99.0)
    monkeypatch.setattr(COMMAND, "matching_speed", lambda run, folders, rules: rows)
    monkeypatch.setattr(COMMAND, "matching_growth", lambda run: [point])
    shown = CliRunner().invoke(app, ARGUMENTS, env={"COLUMNS": "60"}).stdout
    cells = {
        row.split("│")[1].strip(): row.split("│")[2:-1] for row in shown.splitlines() if "│" in row
    }
    assert [cell.strip() for cell in cells["good work"]] == [
        *("1.25 × expat", "±5%", "≤ 1.3", "met", "1,378"),
    ]
    assert [cell.strip() for cell in cells["poor work"]] == [
        "3.00 × expat",
        "",
        "≤ 2",
        "missed",
        "10.0",
    ]
    assert [cell.strip() for cell in cells["other work"]] == ["0.50 s", "", "", "", ""]
    assert [cell.strip() for cell in cells["1,000"]] == [
        "twigcast, paths",
        "42.0 µs",
        "1.20",
        "99.0",
    ]
    assert [cell.strip() for cell in cells["small work"]] == ["0.50 s", "", "≤ 2", "", ""]
    assert "1 goals met, 1 missed, 1 not judged" in shown
    assert "quick run: smaller sizes than those that the goals are about" in shown
    assert "news.dtd, seed 1" in shown


def test_without_a_name_all_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def note(what: str, *arguments: object, **options: object) -> list[object]:
        done.append(what)
        return []

    def covering(run: object) -> tuple[list[object], list[object]]:
        return note("covering_speed"), []

    for what in ("foundation_speed", "matching_speed", "matching_growth"):
        monkeypatch.setattr(COMMAND, what, partial(note, what))
    monkeypatch.setattr(COMMAND, "covering_speed", covering)
    news = ["--dtd", str(EXAMPLES / "news.dtd")]
    for names, expected in (
        ([], ["foundation_speed", "matching_speed", "matching_growth", "covering_speed"]),
        (["foundation"], ["foundation_speed"]),
        (["matching"], ["matching_speed", "matching_growth"]),
        (["covering"], ["covering_speed"]),
    ):
        done.clear()
        assert CliRunner().invoke(app, ["bench", *names, *news]).exit_code == 0
        assert done == expected


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [*ARGUMENTS, "--documents", str(tmp_path)])
    assert result.exit_code == 2
    assert "no .xml file in" in result.stderr


def test_rules_are_matched_beside_expat_and_lxml(tmp_path: Path) -> None:
    rules = tmp_path / "rules.tsv"
    rules.write_text("//*[count(*) > 1]\t{}\n//p:a[unknown()]\t{}\n//*[not(text())]\t{}\n")
    rows = list(real_rules(bench(), rules, [EXAMPLES / "documents"]))
    assert [row.name for row in rows] == ["rules-documents", "rules-documents-lxml"]
    assert (rows[0].details or {})["refused"] == 1
    assert all(row.value > 0 for row in rows)
    assert list(real_rules(bench(), None, [EXAMPLES / "documents"])) == []
