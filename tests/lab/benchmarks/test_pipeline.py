"""The pipeline benchmark: its counts agree whoever counts, and it leaves nothing behind."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lxml import etree
from workloads import example

from lab.benchmarks.matching.bench import fill
from lab.benchmarks.pipeline import (
    FULL_PIPELINE,
    QUICK_PIPELINE,
    PipelineBench,
    PipelineSizes,
    pipeline_speed,
)
from lab.benchmarks.pipeline.bench import ARCHIVED, Readings, take_turns
from lab.benchmarks.pipeline.memory import MemoryWatch
from lab.benchmarks.plots import draw_goals
from lab.benchmarks.results import Result
from twigcast.errors import PipelineError, WorkloadError
from twigcast.language import parse
from twigcast.workload import DocumentParameters, PathParameters, TreeParameters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


TINY = PipelineSizes(
    name="tiny",
    files=2,
    subscriptions=300,
    documents=120,
    dense_documents=40,
    few_documents=40,
    fewest_documents=16,
    peers=20,
    roots=3,
    templates=60,
    variants=6,
    candidates=30,
    queries=2,
    expressions=200,
    disk_gigabytes=0.001,
)

ROWS = {
    "route": 1.5,
    "route-dense": None,
    "route-compile": None,
    "route-worker-memory": 300,
    "pair-lxml": 5_000,
    "pair-lxml-best": None,
    "pair-xpath-boolean": 50_000,
    "archive": None,
    "query-evaluated": 5,
    "query-speed": 5,
    "cover-cores": 1.5,
    "cover-pace": None,
    "cover-memory": 8,
}


def bench(session: SparkSession | None = None, sizes: PipelineSizes = TINY) -> PipelineBench:
    schemas = [example("news.dtd"), example("protein.dtd")]
    return PipelineBench(schemas, sizes, seed=1, rounds=1, session=session)


def numbers(*groups: list[int]) -> Iterator[Any]:
    return (pa.RecordBatch.from_pydict({"id": pa.array(group, pa.int64())}) for group in groups)


# Sizes, goals, turns


def test_the_goals_are_about_the_sizes_of_a_full_run() -> None:
    assert (FULL_PIPELINE.subscriptions, FULL_PIPELINE.documents) == (100_000, 200_000)
    assert FULL_PIPELINE.templates * FULL_PIPELINE.variants == 1_000_000
    assert (FULL_PIPELINE.peers, FULL_PIPELINE.expressions) == (1_000, 1_000_000)
    for size in fields(PipelineSizes):
        if size.name != "name":
            assert getattr(QUICK_PIPELINE, size.name) < getattr(FULL_PIPELINE, size.name)


def test_a_goal_applies_where_all_its_sizes_are_full() -> None:
    run = bench(sizes=replace(TINY, documents=FULL_PIPELINE.documents))
    assert run.goal(5, "documents").applies
    assert not run.goal(5, "documents", "subscriptions").applies
    goal = run.goal(5, "documents", least=True)
    assert (goal.bound, goal.least) == (5, True)


def test_methods_take_turns_and_ratios_are_taken_by_round() -> None:
    done: list[str] = []
    seconds = {"a": iter([1.0, 2.0, 4.0]), "b": iter([3.0, 4.0, 16.0])}

    def run(method: str) -> float:
        done.append(method)
        return next(seconds[method])

    readings = take_turns({"a": lambda: run("a"), "b": lambda: run("b")}, 3)
    assert done == ["a", "b"] * 3
    assert readings.median("b") == 4.0
    assert readings.ratios("b", "a") == [3.0, 2.0, 4.0]
    assert readings.ratio("b", "a")[0] == 3.0
    assert Readings({"a": [2.0], "b": [2.0]}).ratio("a", "b") == (1.0, 0.0)


def test_a_full_disk_is_reported_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2e9))
    run = bench(sizes=replace(TINY, disk_gigabytes=5))
    with (
        pytest.raises(PipelineError, match=r"has 2\.0 GB free, .* needs 5; .*TMPDIR"),
        run.scratch(),
    ):
        pass


def test_folders_go_at_the_end() -> None:
    run = bench()
    with run.scratch():
        with run.folder() as folder:
            (folder / "some").mkdir()
        assert not folder.exists()
        assert folder.parent.is_dir()
    assert not folder.parent.exists()


# Memory


def test_memory_of_a_tree_is_that_of_all_its_processes() -> None:
    hold = "import sys; kept = b'x' * {size}; print('ready', flush=True); sys.stdin.read()"
    inner = [sys.executable, "-c", hold.format(size=60_000_000)]
    outer = f"import subprocess; subprocess.run({inner!r})"
    with subprocess.Popen(
        [sys.executable, "-c", outer], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        # Every look but the last comes too late for this test.
        with MemoryWatch(process.pid, 600, whole_tree=True) as watch:
            pass
        process.communicate()
    if not Path("/proc/self/smaps_rollup").exists():
        pytest.skip("this system does not report the memory of processes")
    assert watch.largest_tree is not None
    assert 60_000_000 < watch.largest_tree < 200_000_000
    assert watch.workers == set()
    assert watch.largest_worker is None


# Workloads, without Spark


def draw_documents(*groups: list[int]) -> dict[str, bytes]:
    from lab.benchmarks.pipeline.generate import DrawDocuments

    parameters = tuple(DocumentParameters(levels=10, size=size) for size in (1_000, 6_000))
    draw = DrawDocuments(example("news.dtd"), parameters, 1)
    rows = [row for batch in draw(numbers(*groups)) for row in batch.to_pylist()]
    return {row["id"]: row["content"] for row in rows}


def test_documents_do_not_depend_on_how_their_numbers_are_cut() -> None:
    whole = draw_documents(list(range(12)))
    assert list(whole) == [f"d{number}" for number in range(12)]
    assert whole == draw_documents([0, 1, 2], [3]) | draw_documents(list(range(4, 12)))
    assert len(set(whole.values())) == 12


def test_sizes_of_documents_take_turns() -> None:
    sizes = [len(content) for content in draw_documents(list(range(40))).values()]
    small, large = sizes[::2], sizes[1::2]
    assert 700 < sum(small) / 20 < 1_500
    assert 5_000 < sum(large) / 20 < 7_500


def test_variants_say_something_else_in_the_same_shape() -> None:
    from lab.benchmarks.pipeline.generate import VaryDocuments
    from twigcast.matching import skeletons_of

    schemas = (example("news.dtd"), example("protein.dtd"))
    vary = VaryDocuments(schemas, DocumentParameters(levels=10, size=2_000), 8, 1)
    rows = [row for batch in vary(numbers([0, 1], [2])) for row in batch.to_pylist()]
    assert [row["id"] for row in rows] == [f"t{t}-{v}" for t in range(3) for v in range(8)]
    templates = list(vary.templates(range(3)))
    for template in range(3):
        contents = [row["content"] for row in rows[8 * template : 8 * template + 8]]
        assert contents[0] == templates[template] + b"<!-- t%d-0 -->" % template
        assert len(set(contents)) == 8
        assert len(skeletons_of(contents).skeletons) == 1
        tags = {tuple(each.tag for each in etree.fromstring(one).iter()) for one in contents}
        assert len(tags) == 1
    assert [etree.fromstring(one).tag for one in templates] == ["news", "proteins", "news"]


def test_expressions_take_turns_and_have_keys() -> None:
    from lab.benchmarks.pipeline.generate import DrawExpressions

    kinds = (PathParameters(wildcard=0.1, descendant=0.1), TreeParameters(branching=0.2))
    draw = DrawExpressions(example("news.dtd"), kinds, 1)
    rows = [row for batch in draw(numbers(list(range(60)))) for row in batch.to_pylist()]
    assert [row["key"] for row in rows] == [f"s{number}" for number in range(60)]
    assert not any("[" in row["xpath"] for row in rows[::2])
    assert any("[" in row["xpath"] for row in rows[1::2])
    assert all(str(parse(row["xpath"])) == row["xpath"] for row in rows)
    assert rows[30:] == [
        row for batch in draw(numbers(list(range(30, 60)))) for row in batch.to_pylist()
    ]


def test_the_archive_has_documents_of_several_kinds() -> None:
    roots = [schema.root for schema in bench().kinds]
    assert (roots[0], roots[3]) == ("news", "proteins")
    assert len(set(roots)) == len(roots) == 6
    alone = bench(sizes=replace(TINY, roots=1)).kinds
    assert [schema.root for schema in alone] == ["news", "proteins"]


def test_candidates_are_paths_of_templates_with_what_they_say() -> None:
    from lab.benchmarks.pipeline.generate import VaryDocuments
    from lab.benchmarks.pipeline.query import find_candidates

    run = bench()
    candidates = find_candidates(run)
    assert candidates == find_candidates(bench())
    assert len(set(candidates)) == TINY.candidates
    vary = VaryDocuments(run.kinds, ARCHIVED, TINY.variants, run.seed)
    templates = list(vary.templates(range(TINY.templates)))
    matched = fill(candidates).match_batch(templates)
    assert {key for keys in matched for key in keys} == {f"s{n}" for n in range(TINY.candidates)}


def test_queries_are_the_first_that_find_something_but_little() -> None:
    from lab.benchmarks.pipeline.query import choose_rare

    counts = {"/a": 0, "/b": 10, "/c": 9, "/d": 500, "/e": 1, "/f": 2}
    assert choose_rare(counts, 1_000, 2) == ["/c", "/e"]
    with pytest.raises(WorkloadError, match=r"only 3 of 6 .* less than 1% of 1,000 documents"):
        choose_rare(counts, 1_000, 4)


# Whole runs


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> dict[str, Result]:
    rows = list(pipeline_speed(bench(spark)))
    assert len({result.name for result in rows}) == len(rows)
    return {result.name: result for result in rows}


def test_each_row_is_there_with_its_goal(results: dict[str, Result]) -> None:
    bounds = {name: result.goal and result.goal.bound for name, result in results.items()}
    assert bounds == ROWS
    for name, result in results.items():
        assert result.value > 0, name
        assert result.unit, name
        assert result.outcome == "", name
        json.dumps(result.as_json())


def test_the_session_of_the_caller_goes_on(results: dict[str, Result], spark: SparkSession) -> None:
    assert results
    assert spark.range(3).count() == 3


def test_rows_report_what_was_done(results: dict[str, Result]) -> None:
    work = {name: result.work for name, result in results.items()}
    assert work["route"].startswith("300 paths anchored anywhere, 120 documents: ")
    assert work["route-dense"].startswith("300 paths with * and //, 40 documents: ")
    assert work["pair-lxml"] == "a document and one of 20 subscriptions: lxml ÷ the job"
    documents = [results[name].details["documents"] for name in ("pair-lxml", "pair-xpath-boolean")]
    assert documents == [40, 16]
    assert work["archive"].startswith("archiving 360 documents of ")
    assert "planning, s" in results["pair-xpath-boolean"].details
    assert re.fullmatch(r"covering \d+ expressions: local\[2\] ÷ local\[1\]", work["cover-cores"])
    assert 2 <= int(results["cover-cores"].details["distinct"]) <= 800
    dense, selective = results["route-dense"], results["route"]
    assert dense.matches is not None
    assert selective.matches is not None
    assert dense.matches > selective.matches > 0
    assert selective.details["deliveries"] == round(selective.matches * 120)
    assert 2_000 < float(selective.details["bytes a document"]) < 10_000


def test_queries_select_little_and_look_at_little(results: dict[str, Result]) -> None:
    asked = results["query-evaluated"]
    documents = TINY.templates * TINY.variants
    assert asked.matches is not None
    assert 1 <= asked.matches < 0.01 * documents
    assert asked.matches / documents * 100 <= asked.value < 100
    assert len(asked.details) == 2 * TINY.queries
    matches, evaluated = list(asked.details.values())[::2], list(asked.details.values())[1::2]
    for name, matched, looked_at in zip(list(asked.details)[::2], matches, evaluated, strict=True):
        assert '[. = "' in name
        assert 0 < float(matched) <= float(looked_at)


def test_goals_of_the_pipeline_are_drawn(results: dict[str, Result], tmp_path: Path) -> None:
    # A plot whose texts leave no room for it would be a warning, and so an error.
    full = [replace(one, work=one.work.replace("360", "1,000,000")) for one in results.values()]
    draw_goals(full, tmp_path, "a note", "pipeline-goals")
    assert "local[2] ÷ local[1]" in (tmp_path / "pipeline-goals.svg").read_text()


def test_peers_find_what_we_find(spark: SparkSession, tmp_path: Path) -> None:
    from lab.benchmarks.pipeline.peers import count_with_lxml, count_with_spark, spark_query

    documents = list(draw_documents(list(range(20))).values())
    texts = ("/news//item", "/news/*/*", "/news/story/*/bullet-list", "/nothing", "//city")
    pq.write_table(
        pa.table({"content": pa.array(documents, pa.binary())}), tmp_path / "few.parquet"
    )
    frame = spark.read.parquet(str(tmp_path / "few.parquet"))
    expected = sum(map(len, fill(texts).match_batch(documents)))
    assert expected > 20
    assert count_with_lxml(frame, texts) == expected
    assert count_with_lxml(frame, texts, at_best=True) == expected
    query = spark_query(frame, texts)
    assert count_with_spark(query) == expected
    # What is timed is the second run of the same plan, which must do all the work again.
    assert "Exchange" not in query._jdf.queryExecution().executedPlan().toString()
    assert count_with_spark(query) == expected


def test_a_peer_that_disagrees_ends_the_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lab.benchmarks.pipeline import peers
    from lab.benchmarks.pipeline.route import RoutedFolders

    documents = pa.array(list(draw_documents([0, 1]).values()), pa.binary())
    pq.write_table(pa.table({"content": documents}), tmp_path / "few.parquet")
    name = str(tmp_path / "few.parquet")
    folders = RoutedFolders(name, name, name, name)
    monkeypatch.setattr(peers, "count_with_lxml", lambda *some, **others: -1)
    with pytest.raises(AssertionError, match="lxml finds -1 matches, and twigcast"):
        peers.peer_figures(bench(spark), folders)


@pytest.mark.slow
def test_covering_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    from lab.benchmarks.pipeline.cover import run_apart

    file = tmp_path / "few.parquet"
    texts = ["/a", "/a/b", "/c[d]", "/c[d]", "/c[d][e]"]
    pq.write_table(pa.table({"key": [str(number) for number in range(5)], "xpath": texts}), file)
    figures = run_apart(file, "local[1]")
    assert (figures.run.expressions, figures.run.distinct, figures.run.forwarded) == (5, 4, 2)
    assert figures.run.seconds > 0
    # Python and Java take more than this whatever they do.
    assert figures.bytes is None or figures.bytes > 100_000_000
