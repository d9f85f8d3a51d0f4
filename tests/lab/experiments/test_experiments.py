"""The papers' experiments, at sizes that take a moment."""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from folders import EXAMPLES
from rich.console import Console
from typer.testing import CliRunner
from workloads import example

from lab.benchmarks.charts import Line, Panel, draw_panels
from lab.benchmarks.covering import CoveringSizes
from lab.benchmarks.covering.plots import search_panels
from lab.benchmarks.results import GrowthPoint
from lab.cli.commands import app
from lab.experiments import (
    EXPERIMENTS,
    Experiment,
    Outcome,
    Setting,
    Sheet,
    destination_skipping,
    factorization_size,
    levels,
    processing_time,
    routing_table_size,
    xsearch_time,
)

COMMAND = sys.modules["lab.cli.experiment"]

NAMES = [
    "xsearch-time",
    "factorization-size",
    "routing-table-size",
    "processing-time",
    "publication-routing",
    "network-traffic",
    "false-positives",
    "notification-delay",
    "destination-skipping",
    "levels",
]


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Setting:
    """Tiny sizes, whichever experiment is run."""
    tiny = replace(xsearch_time._QUICK, patterns=(50, 1_000), queries=20, sampled=5, looped=5)
    monkeypatch.setattr(xsearch_time, "_QUICK", tiny)
    monkeypatch.setattr(factorization_size, "_QUICK", (1_000, 2_000))
    monkeypatch.setattr(routing_table_size, "_QUICK", (50, 100))
    monkeypatch.setattr(processing_time, "_QUICK_EXPRESSIONS", 50)
    monkeypatch.setattr(processing_time, "_SEEN", 500)
    return Setting(example("news.dtd"), example("protein.dtd"), rounds=2)


def test_each_experiment_has_its_name() -> None:
    assert list(EXPERIMENTS) == NAMES
    for name, one in EXPERIMENTS.items():
        assert one.name == name
        assert one.summary
        papers = ("Chand and Felber", "Li, Hou and Jacobsen", "NaradaBrokering")
        assert any(paper in one.source for paper in papers)


def sheet(outcome: Outcome, name: str) -> list[dict[str, Any]]:
    (chosen,) = [one for one in outcome.sheets if one.name == name]
    rows: Any = chosen.as_json()["rows"]
    return list(rows)


def test_search_times_stand_beside_the_papers(setting: Setting) -> None:
    outcome = EXPERIMENTS["xsearch-time"].run(setting)
    small, large = sheet(outcome, "xsearch-covered-by")
    assert (small["patterns"], small["paper, ms"]) == (50, None)
    assert (large["patterns"], large["paper, ms"]) == (1_000, 0.23)
    assert sheet(outcome, "xsearch-covering")[1]["paper, ms"] == 0.28
    assert large["loop, ms"] > large["ours, ms"] > 0
    assert [panel.title.split(":")[0] for panel in outcome.panels] == ["covered_by", "covering"]


def test_table_plot_and_ratios_of_a_search_agree(setting: Setting) -> None:
    outcome = EXPERIMENTS["xsearch-time"].run(setting)
    names = ("ours, ms", "XSEARCH, ms", "Linear, ms", "loop, ms")
    for name, panel in zip(("covered-by", "covering"), outcome.panels, strict=True):
        rows = sheet(outcome, f"xsearch-{name}")
        for column, line in zip(names, panel.lines, strict=False):
            assert line.points == [(row["patterns"], row[column]) for row in rows]
        for row in rows:
            assert row["XSEARCH ÷ ours"] == row["XSEARCH, ms"] / row["ours, ms"]
            assert row["loop ÷ ours"] == row["loop, ms"] / row["ours, ms"]
    assert "the same 5 queries" in outcome.remarks[0]
    assert "all 20 queries" in outcome.remarks[0]


@pytest.mark.parametrize("sizes", [xsearch_time._FULL, xsearch_time._QUICK], ids=["full", "quick"])
def test_all_methods_of_search_get_the_same_queries(sizes: CoveringSizes) -> None:
    assert sizes.sampled == sizes.looped


def test_what_the_paper_has_far_beyond_a_run_does_not_stretch_its_axis() -> None:
    def drawn(largest: int) -> set[float]:
        points = [GrowthPoint("twigcast, covering", n, 1e-3, 0, 1, 1) for n in (1_000, largest)]
        return {
            x for panel in search_panels(points) for line in panel.lines for x, _ in line.points
        }

    assert max(drawn(10_000)) == 10_000
    assert max(drawn(100_000)) == 100_000


def test_tree_sizes_stand_beside_the_papers(setting: Setting) -> None:
    outcome = EXPERIMENTS["factorization-size"].run(setting)
    small, large = sheet(outcome, "factorization-size")
    assert (small["paper Σ|s|"], small["paper |T(R)|"]) == (7_600, 1_900)
    assert small["ours share"] == small["ours |T(R)|"] / small["ours Σ|s|"]
    assert 0 < large["ours share"] < small["ours share"] < 1
    assert large["rebuilt Σ|s|"] > large["ours Σ|s|"]


def test_each_strategy_leaves_no_more_than_the_one_before(setting: Setting) -> None:
    outcome = EXPERIMENTS["routing-table-size"].run(setting)
    for name in ("table-size-set-a", "table-size-set-b"):
        for row in sheet(outcome, name):
            sizes = list(row.values())[1:]
            assert sizes[0] >= sizes[1] >= sizes[2] >= sizes[-1] > 0
    summary = {row["what"]: row["paper"] for row in sheet(outcome, "table-size")}
    assert summary["Set A: perfect merging leaves, of what covering leaves"] == "87 %"
    assert summary["Set A: merging, D ≤ 0.1 leaves, of what covering leaves"] == "67 %"
    assert summary["proteins: covering leaves, of all"] == "6 %"


def test_processing_times_are_reported_by_batch(setting: Setting) -> None:
    outcome = EXPERIMENTS["processing-time"].run(setting)
    rows = sheet(outcome, "processing-time")
    assert len(rows) == 2 * 10
    assert [row["up to expression"] for row in rows[:10]] == list(range(5, 51, 5))
    for row in rows:
        assert 0 <= row["covered, %"] <= 100
        for method in ("one by one", "automaton"):
            assert row[f"{method}, ms"] > 0
            assert row[f"{method}, ratio"] == pytest.approx(
                row[f"{method}, covering, ms"] / row[f"{method}, ms"]
            )
    assert outcome.sheets[0].name == "processing-time-summary"
    summary = sheet(outcome, "processing-time-summary")
    assert summary[0]["paper"] == "49.2 % shorter"
    assert all("-" not in row["twigcast"] for row in summary)
    assert "advertisements" in outcome.remarks[0]


def test_a_time_is_shorter_or_longer() -> None:
    assert processing_time.change(0.25) == "75.0 % shorter"
    assert processing_time.change(1.62) == "62.0 % longer"


def test_the_degrees_of_the_paper_are_drawn(setting: Setting) -> None:
    outcome = EXPERIMENTS["routing-table-size"].run(setting)
    for panel in outcome.panels[:2]:
        labels = [line.label for line in panel.lines]
        assert labels == ["no covering", "covering", "perfect merging", "merging, D ≤ 0.1"]
    assert any("less is left than in the paper" in remark for remark in outcome.remarks)


def test_advertisements_are_chosen_from_beginning_to_end(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = example("protein.dtd")
    every = list(schema.advertisements())
    assert processing_time.chosen_advertisements(schema, 10_000, setting) == every
    some = processing_time.chosen_advertisements(schema, 10, setting)
    assert len(some) == 10
    assert some[0] == every[0]
    assert some[-1] in every[len(every) // 2 :]


def test_skipping_evaluates_a_few_profiles_however_many_there_are(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(destination_skipping, "_QUICK", (200, 2_000))
    monkeypatch.setattr(destination_skipping, "_DOCUMENTS", 10)
    monkeypatch.setattr(destination_skipping, "_NAMED", 2_000)
    outcome = EXPERIMENTS["destination-skipping"].run(setting)
    rows = sheet(outcome, "destination-skipping")
    assert [row["profiles"] for row in rows] == [200, 2_000]
    assert [row["paper, ms"] for row in rows] == [600, 6_000]
    for row in rows:
        assert row["paper, skipping, ms"] == "120 to 170"
        assert row["matching"] == pytest.approx(0.725 * row["profiles"], rel=0.01)
        assert 32 <= row["evaluated"] < 100
        assert row["looked at"] < 32 * 8
        assert all(row[f"{method}, ms"] > 0 for method in destination_skipping.METHODS)


def test_units_know_and_send_less_and_deliver_the_same(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(levels, "_QUICK", (6,))
    rows = sheet(EXPERIMENTS["levels"].run(setting), "levels")
    flat, *others = rows
    assert flat["links known of"] == flat["brokers"] == 36
    assert len({row["deliveries"] for row in rows}) == 1
    assert all(row["wrong"] == 0 for row in rows)
    for row in others:
        assert row["links known of"] == 6
        assert row["elsewhere"] == 0 < row["messages of a link"] < flat["messages of a link"]
        assert row["crossings"] - row["in vain"] == flat["crossings"]
    assert others[0]["in vain"] == 0
    for column in ("largest table", "control messages"):
        assert others[-1][column] < flat[column]


# Panels


def test_panels_share_a_legend(tmp_path: Path) -> None:
    panels = [
        Panel(title, "x", "y", [Line("ours", [(1, 2), (2, 3)], 0), Line("nothing", [], 1)])
        for title in ("first", "second")
    ]
    drawn = draw_panels(panels, tmp_path, "both", "a note")
    text = drawn[1].read_text()
    assert text.count("<!-- ours -->") == 1
    assert "<!-- nothing -->" not in text
    assert all(f"<!-- {words} -->" in text for words in ("first", "second", "a note"))


# The command


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["experiment", *arguments], env={"COLUMNS": "200"})


DTDS = ("--dtd", str(EXAMPLES / "news.dtd"), "--protein-dtd", str(EXAMPLES / "protein.dtd"))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> list[Setting]:
    """An experiment that needs no time; the settings it was run with."""
    settings: list[Setting] = []

    def work(chosen: Setting) -> Outcome:
        settings.append(chosen)
        chosen.progress("working", 1, 2)
        figures = Sheet("figures", "Table 9", ("what", "paper", "ours"), [["é", None, 1.25]])
        return Outcome([figures], [Panel("t", "x", "y", [Line("l", [(1, 1)], 0)])], ["Well."])

    one = Experiment("fake", "nothing much", "Nobody, Table 9", work)
    monkeypatch.setitem(EXPERIMENTS, "fake", one)
    return settings


def test_without_a_name_they_are_listed() -> None:
    shown = run()
    assert shown.exit_code == 0
    rows = [line for line in shown.stdout.splitlines() if line.startswith("│")]
    assert len(rows) == len(NAMES)
    assert all(name in row for name, row in zip(NAMES, rows, strict=True))
    reported = [json.loads(line) for line in run("--json").stdout.splitlines()]
    assert [one["name"] for one in reported] == NAMES


def test_results_are_shown_and_stored(fake: list[Setting], tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    shown = run("fake", *DTDS, "--output", str(folder))
    assert shown.exit_code == 0, shown.output
    assert "Table 9" in shown.stdout
    assert "1.25" in shown.stdout
    assert "A quick run" in shown.stdout
    assert not fake[0].full
    names = ["fake.png", "fake.svg", "figures.csv", "results.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    with (folder / "figures.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["what", "paper", "ours"], ["é", "", "1.25"]]
    stored = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert stored["sheets"][0]["rows"] == [{"what": "é", "paper": None, "ours": 1.25}]


def test_headers_are_broken_between_words_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    columns = [f"measurement {number}, milliseconds" for number in range(7)]
    wide = Sheet("wide", "Table 8", columns, [[number] * 7 for number in range(6)], every=3)
    outcome = Outcome([wide], [Panel("t", "x", "y", [Line("l", [(1, 1)], 0)])], [])
    one = Experiment("wide", "much", "Nobody", lambda _: outcome)
    monkeypatch.setitem(EXPERIMENTS, "wide", one)
    arguments = ["experiment", "wide", *DTDS, "--output", str(tmp_path)]
    text = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"}).stdout
    assert (text.count("measurement"), text.count("milliseconds")) == (7, 7)
    assert "…" not in text
    rows = [line.split("│")[1].strip() for line in text.splitlines() if line.startswith("│")]
    assert rows == ["2", "5"]
    assert len((tmp_path / "wide.csv").read_text(encoding="utf-8").splitlines()) == 7


def test_json_is_one_object(
    fake: list[Setting], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = run("fake", *DTDS, "--full", "--seed", "5", "--json")
    reported = json.loads(shown.stdout)
    assert (reported["experiment"], reported["sizes"], reported["seed"]) == ("fake", "full", 5)
    assert (fake[0].full, fake[0].seed) == (True, 5)
    assert not any("quick" in remark for remark in reported["remarks"])
    assert (tmp_path / "twigcast-experiments" / "fake" / "results.json").is_file()


def test_what_is_missing_is_reported_with_the_remedy(
    fake: list[Setting], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "choose one of: xsearch-time" in run("nonsense").stderr
    assert "name a DTD with --dtd" in run("fake").stderr
    news = ("--dtd", str(EXAMPLES / "news.dtd"))
    assert "name a DTD with --protein-dtd" in run("processing-time", *news).stderr
    assert not fake
    # Who needs no proteins is not asked for them.
    assert run("fake", *news).exit_code == 0
    assert fake[0].protein is None


def test_a_wide_sheet_is_shown_as_several_tables_and_nothing_is_cut() -> None:
    columns = ("strategy", *(f"figure {number}" for number in range(12)))
    rows: list[list[str | int | float | None]] = [
        [f"advertisements-covering-{row}", *range(1_000_000 * row, 1_000_000 * row + 12)]
        for row in range(1, 3)
    ]
    console = Console(width=70, record=True, file=io.StringIO())
    tables = list(COMMAND._tables(Sheet("wide", "Wide", columns, rows), console.width))
    for table in tables:
        console.print(table)
    text = console.export_text()
    assert len(tables) == 4  # three figures beside the name in each
    assert max(map(len, text.splitlines())) <= 70
    for row in rows:
        assert text.count(str(row[0])) == len(tables)
        for cell in row[1:]:
            assert f"{cell:,}" in text
