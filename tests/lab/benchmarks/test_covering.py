"""The covering benchmark: its sets are what they say, and wrong answers are not timed."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from folders import EXAMPLES
from typer.testing import CliRunner
from workloads import example

from lab.benchmarks.covering import (
    FULL_COVERING,
    QUICK_COVERING,
    CoveringBench,
    CoveringSizes,
    covering_speed,
    draw_search_times,
)
from lab.benchmarks.covering import bench as shared
from lab.benchmarks.covering.bench import spread_evenly
from lab.benchmarks.covering.search import search_figures
from lab.benchmarks.covering.speed import count_nodes, exponent
from lab.benchmarks.generated import Generated
from lab.benchmarks.results import GrowthPoint, Result
from lab.cli.commands import app
from lab.published import PublishedSearch
from lab.published.expression_sets import SET_A, SET_B
from twigcast.covering import covers
from twigcast.language import Pattern, parse
from twigcast.schema import Schema

COMMAND = sys.modules["lab.cli.bench"]

TINY = CoveringSizes(
    name="tiny",
    patterns=(20, 60, 200),
    queries=30,
    sampled=10,
    looped=3,
    updates=400,
    expressions=300,
)

ROWS = {
    **{
        f"search-{mode}-{count}": bound
        for mode in ("covered_by", "covering")
        for count, bound in ((20, 0.05), (60, 0.3), (200, 3.0))
    },
    **{
        f"search-{mode}-{count}-median": None
        for mode in ("covered_by", "covering")
        for count in (20, 60, 200)
    },
    **{
        f"{name}-{mode}": bound
        for mode in ("covered_by", "covering")
        for name, bound in (
            ("growth", 1),
            ("loop", 1_000),
            ("compiled", None),
            ("published", 5),
            ("missed", None),
        )
    },
    "tree-size": 11.3,
    "tree-size-published": None,
    "covering-updates": 10_000,
    "table-set-a": 5_000,
    "table-set-b": 5_000,
}


def bench(schema: Schema | None = None, sizes: CoveringSizes = TINY) -> CoveringBench:
    return CoveringBench(schema or example("news.dtd"), sizes, seed=1, rounds=2)


def parsed(*texts: str) -> list[Pattern]:
    return [parse(text) for text in texts]


# Workloads


def test_the_goals_are_about_the_sizes_of_a_full_run() -> None:
    assert FULL_COVERING.patterns == (1_000, 10_000, 100_000)
    assert (FULL_COVERING.queries, FULL_COVERING.expressions) == (1_000, 100_000)
    assert QUICK_COVERING.name != FULL_COVERING.name
    assert (SET_A.count, SET_B.count) == (100_000, 100_000)


def test_a_goal_applies_at_its_full_size_only() -> None:
    run = bench(sizes=replace(TINY, expressions=FULL_COVERING.expressions))
    assert run.goal(5, "expressions").applies
    assert not run.goal(5, "patterns").applies
    goal = run.goal(5, "patterns", least=True)
    assert (goal.bound, goal.least) == (5, True)


def test_queries_are_none_of_the_patterns() -> None:
    run = bench()
    assert run.counts == [20, 60, 200]
    patterns, queries = run.patterns(200), run.queries()
    assert (len(set(patterns)), len(set(queries))) == (200, 30)
    assert not set(patterns) & set(queries)
    assert run.patterns(20) == patterns[:20]


def test_a_schema_with_fewer_patterns_gives_those_it_has() -> None:
    schema = Schema.from_dtd("<!ELEMENT a (b, c)><!ELEMENT b EMPTY><!ELEMENT c EMPTY>", root="a")
    run = bench(schema)
    assert run.counts[-1] < 60
    assert run.counts == sorted(set(run.counts))
    assert run.queries()
    assert not set(run.patterns(run.counts[-1])) & set(run.queries())


def test_sampled_queries_are_spread_evenly() -> None:
    queries = parsed(*(f"/a{number}" for number in range(10)))
    assert list(map(str, spread_evenly(queries, 3))) == ["/a0", "/a3", "/a6"]
    assert spread_evenly(queries, 50) == queries


def test_what_was_generated_is_kept() -> None:
    made = Generated("numbers", iter(range(5)))
    assert made.take(3) == [0, 1, 2]
    assert made.take(2) == [0, 1]
    assert made.take(9) == [0, 1, 2, 3, 4]


def test_nodes_are_counted() -> None:
    assert count_nodes(parsed("/a/b", "//a[.//b]/c")) == (5, 2)


def test_the_exponent_of_a_power_is_computed() -> None:
    points = [(count, 3 * count**0.7) for count in (10.0, 100.0, 1_000.0)]
    assert exponent(points) == pytest.approx(0.7)


# Answers


def test_coverings_are_counted() -> None:
    run = bench()
    patterns, queries = run.patterns(60), spread_evenly(run.queries(), TINY.sampled)
    expected = {
        "covered_by": sum(covers(query, one) for query in queries for one in patterns),
        "covering": sum(covers(one, query) for query in queries for one in patterns),
    }
    figures = search_figures(run, 60)
    assert {one.mode: one.coverings for one in figures} == expected
    assert expected["covering"] > 0
    for one in figures:
        assert set(one.times) == set(shared.METHODS)
        assert one.times[shared.OURS].ratio == 1
        assert 0 <= one.missed < 1


@pytest.mark.parametrize("method", [shared.OURS, shared.COMPILED, shared.PUBLISHED, shared.LOOP])
def test_a_wrong_answer_ends_the_benchmark(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(PublishedSearch):
        def covering(self, pattern: Pattern) -> list[Pattern]:
            return parsed("/never/added")

        covered_by = covering

    monkeypatch.setitem(shared._MAKERS, method, Wrong)
    with pytest.raises(RuntimeError, match="contradict"):
        search_figures(bench(), 20)


# Rows


@pytest.fixture(scope="module")
def measured() -> tuple[dict[str, Result], list[GrowthPoint]]:
    results, points = covering_speed(bench())
    assert len({result.name for result in results}) == len(results)
    return {result.name: result for result in results}, points


def test_each_row_is_there_with_its_goal(
    measured: tuple[dict[str, Result], list[GrowthPoint]],
) -> None:
    results, _ = measured
    assert {name: one.goal and one.goal.bound for name, one in results.items()} == ROWS
    # Goals are about the full sizes: at others nothing is judged.
    assert {one.outcome for one in results.values()} == {""}
    for name, one in results.items():
        assert one.value > 0 or name.startswith(("missed", "growth")), name
        json.dumps(one.as_json())


def test_slow_methods_report_how_many_queries_they_had(
    measured: tuple[dict[str, Result], list[GrowthPoint]],
) -> None:
    results, _ = measured
    assert results["loop-covering"].details["queries"] == 3
    assert "(3 queries)" in results["loop-covering"].work
    assert "Linear, covers in a loop" in results["loop-covering"].work
    assert "Linear, compiled" in results["compiled-covering"].work
    assert results["published-covering"].details["queries"] == 10
    assert results["search-covering-200"].details["queries"] == 30


def test_there_is_a_point_for_each_method_mode_and_size(
    measured: tuple[dict[str, Result], list[GrowthPoint]], tmp_path: Path
) -> None:
    _, points = measured
    assert {(point.method, point.subscriptions) for point in points} == {
        (f"{method}, {mode}", count)
        for method in shared.METHODS
        for mode in shared.MODES
        for count in (20, 60, 200)
    }
    drawn = draw_search_times(points, tmp_path, "a note")
    assert [path.name for path in drawn] == ["covering-growth.png", "covering-growth.svg"]
    text = drawn[1].read_text()
    assert "Chand and Felber, Table 1" in text
    assert "XSEARCH as published" in text


# The command


def test_the_command_prints_and_stores(
    measured: tuple[dict[str, Result], list[GrowthPoint]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    results, points = measured

    def speed(run: CoveringBench) -> tuple[list[Result], list[GrowthPoint]]:
        assert (run.sizes, run.seed, run.rounds) == (TINY, 2, 3)
        return list(results.values()), points

    monkeypatch.setattr(COMMAND, "QUICK_COVERING", TINY)
    monkeypatch.setattr(COMMAND, "covering_speed", speed)
    arguments = ["bench", "covering", "--quick", "--rounds", "3", "--seed", "2"]
    arguments += ["--dtd", str(EXAMPLES / "news.dtd")]
    shown = CliRunner().invoke(app, [*arguments, "--output", str(tmp_path)]).stdout
    assert "quick run: smaller sizes than those that the goals are about" in shown
    judged = sum(bound is not None for bound in ROWS.values())
    assert f"0 goals met, 0 missed, {judged} not judged" in " ".join(shown.split())
    assert "coverings" in shown
    names = {f"covering-{what}.{kind}" for what in ("goals", "growth") for kind in ("png", "svg")}
    assert {path.name for path in tmp_path.iterdir()} == names | {"results.json"}
    stored = json.loads((tmp_path / "results.json").read_text())
    assert stored["workload"]["covering sizes"]["patterns"] == [20, 60, 200]
    assert {row["name"] for row in stored["covering"]} == set(ROWS)
    lines = CliRunner().invoke(app, [*arguments, "--json"]).stdout.splitlines()
    reported = [json.loads(line) for line in lines]
    assert {line["benchmark"] for line in reported} == {"covering", "covering-growth"}
