"""``route``: deliveries are what libxml2 says, in whichever way the tables are written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

import pyarrow as pa
import pyarrow.parquet as pq
from oracle import parse_tree
from pipeline_oracle import (
    COLUMNS,
    expected_result,
    frame_of,
    read_result,
    read_rows,
    require_summary,
    totals_of,
)
from real_documents import draft_subscriptions, read_folder
from worker_batches import BAD
from workloads import example

from twigcast import Matcher
from twigcast.errors import DocumentError, PipelineError, SubscriptionFileError
from twigcast.language import Subscription, parse
from twigcast.pipeline.route.job import RouteReport, prepare_route, route
from twigcast.pipeline.route.reading import read_table
from twigcast.workload import (
    DocumentParameters,
    PathParameters,
    TreeParameters,
    ValueParameters,
    generate_documents,
    generate_subscriptions,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WAYS: dict[str, dict[str, Any]] = {
    "by workers": {},
    "as JSON lines": {"format": "jsonl"},
    "by subscriber": {"partition_by_subscriber": True},
    "by subscriber as JSON lines": {"partition_by_subscriber": True, "format": "jsonl"},
    "in shards": {"shard_size": 90},
}


def routed_in_all_ways(
    spark: SparkSession,
    folder: Path,
    documents: DataFrame | str,
    subscriptions: Sequence[Subscription],
) -> dict[str, dict[str, list[Any]]]:
    """The tables of each way of writing them; what summaries and reports say is right."""
    found = {}
    for name, way in WAYS.items():
        out = folder / name
        report = route(spark, documents, subscriptions=subscriptions, output=str(out), **way)
        found[name] = read_result(out)
        require_summary(out)
        assert json.loads(json.dumps(report.totals.as_json())) == totals_of(found[name]), name
        assert report.subscriptions == len(subscriptions)
    assert sorted(path.name for path in folder.iterdir()) == sorted(WAYS)
    return found


def read_back(spark: SparkSession, out: Path, table: str) -> list[Any]:
    """A table as the package itself reads it."""
    rows = read_table(spark, str(out), table).collect()
    return sorted((tuple(row[name] for name in COLUMNS[table]) for row in rows), key=repr)


# --- as libxml2 says ----------------------------------------------------------------------------


def generated() -> tuple[dict[str, bytes], list[Subscription]]:
    """Documents and subscriptions of a DTD; subscribers have several, some have none."""
    schema = example("news.dtd")
    paths = PathParameters(length=6, wildcard=0.1, descendant=0.2)
    trees = TreeParameters(height=6, wildcard=0.1, descendant=0.2, branching=0.3)
    values = ValueParameters(fraction=0.5)
    patterns = [
        *islice(generate_subscriptions(schema, paths, seed=1), 150),
        *islice(generate_subscriptions(schema, trees, seed=2, values=values), 150),
    ]
    random = Random(3)
    wanted = [
        # Names that would be taken for numbers, dates or paths; some are nobody's.
        Subscription(f"{number}", pattern, random.choice((None, "007", "7", "a/b=c %ü", "1e3")))
        for number, pattern in enumerate(patterns)
    ]
    texts = generate_documents(schema, DocumentParameters(size=1_500), seed=4)
    return {f"d{number}": text for number, text in enumerate(islice(texts, 80))}, wanted


def test_all_ways_of_writing_give_what_libxml2_says(spark: SparkSession, tmp_path: Path) -> None:
    documents, wanted = generated()
    expected = expected_result(documents, wanted)
    assert {row[4] for row in expected["documents"]} >= {"delivered"}
    assert 0.01 < len(expected["deliveries"]) / (len(documents) * len(wanted)) < 0.9
    found = routed_in_all_ways(spark, tmp_path, frame_of(spark, documents, 3), wanted)
    for name, tables in found.items():
        assert tables == expected, name


@pytest.mark.parametrize("folder", ["cap", "iso20022", "newsml", "ubl"])
def test_real_documents(
    spark: SparkSession, shared_data: Path, tmp_path: Path, folder: str
) -> None:
    files = read_folder(shared_data, folder)
    good, bad = {}, set()
    place = shared_data / "documents" / folder
    for name, content in files.items():
        try:
            Matcher().match(content)
        except DocumentError:
            bad.add(f"file:{place / name}")
        else:
            good[f"file:{place / name}"] = content
    patterns = draft_subscriptions([parse_tree(content) for content in good.values()], Random(5))
    wanted = [Subscription(key, pattern) for key, pattern in patterns.items()]
    route(spark, str(place), subscriptions=wanted, output=str(tmp_path / "out"))
    found = read_result(tmp_path / "out")
    assert {row[0] for row in found["rejected"]} == bad
    expected = expected_result(good, wanted)
    assert found["deliveries"] == expected["deliveries"]
    assert [row for row in found["documents"] if row[0] not in bad] == expected["documents"]


# --- documents of all kinds ---------------------------------------------------------------------


def test_bad_documents_are_rows_and_all_ways_tell_the_same_of_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    documents: dict[str, bytes | None] = {"good": b"<a/>", "null": None, "other": b"<b/>", **BAD}
    wanted = [Subscription("k", parse("//a")), Subscription("l", parse("//c"))]
    frame = frame_of(spark, documents)
    ways = routed_in_all_ways(spark, tmp_path, frame, wanted)
    found = ways["by workers"]
    for name, tables in ways.items():
        assert tables == found, name
    assert found["deliveries"] == [("good", "k", "k")]
    assert {row[0]: row[4] for row in found["documents"]} == {
        name: {"good": "delivered", "other": "unwanted"}.get(name, "rejected") for name in documents
    }
    told = {row[0]: row[2:] for row in found["rejected"]}
    assert told.keys() == {"null", *BAD}
    assert told["null"][1:] == (None, None)
    for name, content in BAD.items():
        with pytest.raises(DocumentError) as caught:
            Matcher().match(content)
        place = (caught.value.line, caught.value.column) if caught.value.line else (None, None)
        assert told[name] == (caught.value.reason, *place), name


def test_files_that_are_no_documents_are_rows_too(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "a b%20#ü"
    folder.mkdir()
    for number, content in enumerate([b"<a/>", *BAD.values()]):
        (folder / f"{number}.xml").write_bytes(content)
    out = tmp_path / "out"
    route(spark, str(folder), subscriptions=[Subscription("k", parse("//a"))], output=str(out))
    found = read_result(out)
    assert found["deliveries"] == [(f"file:{folder}/0.xml", "k", "k")]
    assert len(found["rejected"]) == len(BAD)


@pytest.mark.parametrize(
    ("documents", "wanted"),
    [
        ({}, []),
        pytest.param(
            {"d": b"<a/>"}, [Subscription("k", parse("//b"), "s")], marks=pytest.mark.slow
        ),
    ],
)
def test_nothing_delivered_is_a_result_too(
    spark: SparkSession, tmp_path: Path, documents: dict[str, bytes], wanted: list[Subscription]
) -> None:
    ways = routed_in_all_ways(spark, tmp_path, frame_of(spark, documents), wanted)
    for name, tables in ways.items():
        assert tables == expected_result(documents, wanted), name
        read = read_table(spark, str(tmp_path / name), "deliveries")
        assert (set(read.columns), read.count()) == ({"document", "key", "subscriber"}, 0), name


def test_a_document_that_matches_200_001_subscriptions(spark: SparkSession, tmp_path: Path) -> None:
    pattern = parse("//a")
    count = 200_001
    wanted = [Subscription(f"k{number}", pattern, f"s{number % 7}") for number in range(count)]
    frame = frame_of(spark, {"all": b"<a/>", "none": b"<b/>", "all too": b"<x><a/></x>"}, 1)
    for name in ("by workers", "as JSON lines"):
        out = tmp_path / name
        route(spark, frame, subscriptions=wanted, output=str(out), **WAYS[name])
        rows = read_rows(out, "deliveries", in_order=False)
        assert len(rows) == len(set(rows)) == 2 * count


def test_the_same_documents_as_a_frame_and_as_files_of_all_formats(
    spark: SparkSession, tmp_path: Path
) -> None:
    documents, wanted = generated()
    texts = {name: documents[name] for name in islice(documents, 30)}
    (tmp_path / "files").mkdir()
    for name, content in texts.items():
        (tmp_path / "files" / f"{name}.xml").write_bytes(content)
    table = pa.table({"name": list(texts), "content": list(texts.values())})
    pq.write_table(table, tmp_path / "table.parquet", row_group_size=7)
    found = []
    for number, given in enumerate(("files", "table.parquet")):
        out = tmp_path / f"out{number}"
        route(spark, str(tmp_path / given), subscriptions=wanted, output=str(out))
        tables = read_result(out)
        name_of = {row[3]: row[0] for row in tables["documents"]}
        assert len(name_of) == len(texts)
        hashes = {document: digest for digest, document in name_of.items()}
        found.append({(hashes[row[0]], *row[1:]) for row in tables["deliveries"]})
    assert found[0] == found[1]
    assert len(found[0]) == len(expected_result(texts, wanted)["deliveries"])


# --- subscriptions of all kinds -----------------------------------------------------------------


def test_odd_keys_and_subscribers_come_through(spark: SparkSession, tmp_path: Path) -> None:
    keys = [
        "tab\tkey", "line\nbreak", "ключ", "漢字 😀", 'quote"\\', " space ", "\u2028", "0", "null",
    ]  # fmt: skip
    rows = [
        {"key": key, "xpath": "//a", "subscriber": subscriber}
        for key, subscriber in zip(keys, [None, "", "s\t1", *keys[3:]], strict=True)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "wanted.parquet")
    expected = sorted(
        [("d", row["key"], row["subscriber"] or row["key"]) for row in rows], key=repr
    )
    frame = frame_of(spark, {"d": b"<a/>"}, 1)
    for name in ("by workers", "as JSON lines", "by subscriber"):
        out = tmp_path / name
        wanted = str(tmp_path / "wanted.parquet")
        route(spark, frame, subscriptions=wanted, output=str(out), **WAYS[name])
        assert read_result(out)["deliveries"] == expected, name
        assert read_back(spark, out, "deliveries") == expected, name


def test_tables_are_read_back_as_they_were_written(spark: SparkSession, tmp_path: Path) -> None:
    documents: dict[str, bytes | None] = {"1": b"<a/>", "2": b"<", "3": None}
    wanted = [
        Subscription("01", parse("//a"), "01"),
        Subscription("1", parse("//a"), "1"),
        Subscription("x", parse("//a"), "2024-01-01"),
    ]
    for name, way in WAYS.items():
        out = tmp_path / f"[{name}] {{x}}"
        route(spark, frame_of(spark, documents), subscriptions=wanted, output=str(out), **way)
        for table, rows in read_result(out).items():
            assert read_back(spark, out, table) == rows, (name, table)


BAD_LINES = "# wanted\ngood\t//a\nbad\t//a[b=]\ngood\t//c\nlast\t//a\n"


def test_a_bad_subscription_is_an_error_before_any_work(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "wanted.txt").write_text(BAD_LINES)
    frame = frame_of(spark, {"d": b"<a/>"})
    wanted = str(tmp_path / "wanted.txt")
    with pytest.raises(SubscriptionFileError) as caught:
        route(spark, frame, subscriptions=wanted, output=str(tmp_path / "out"))
    assert caught.value.line == 3
    told = str(caught.value).splitlines()
    assert "wanted.txt, line 3" in told[0]
    assert told[1].strip() == "//a[b=]"
    assert told[2].index("^") == told[1].index("]")
    assert [path.name for path in tmp_path.iterdir()] == ["wanted.txt"]


def test_bad_subscriptions_can_be_skipped_and_are_told_of(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "wanted.txt").write_text(BAD_LINES)
    report = route(
        spark,
        frame_of(spark, {"d": b"<a/>"}),
        subscriptions=str(tmp_path / "wanted.txt"),
        output=str(tmp_path / "out"),
        skip_bad=True,
    )
    assert [error.line for error in report.skipped] == [3, 4]
    assert "'good'" in str(report.skipped[1])
    assert report.subscriptions == 2
    assert [row[1] for row in read_result(tmp_path / "out")["deliveries"]] == ["good", "last"]
    told = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert told["skipped"] == [str(error) for error in report.skipped]


@pytest.mark.parametrize("shard_size", [10, 1])
def test_a_key_that_stands_twice_is_an_error_also_across_shards(
    spark: SparkSession, tmp_path: Path, shard_size: int
) -> None:
    twice = [Subscription("k", parse("//a")), Subscription("k", parse("//b"))]
    frame = frame_of(spark, {"d": b"<a/>"})
    with pytest.raises(ValueError, match="'k'"):
        route(spark, frame, subscriptions=twice, output=str(tmp_path / "o"), shard_size=shard_size)
    rows = spark.createDataFrame([("k", "//a"), ("k", "//b")], "key string, xpath string")
    with pytest.raises(SubscriptionFileError, match="'k'"):
        route(spark, frame, subscriptions=rows, output=str(tmp_path / "o"), shard_size=shard_size)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "# nothing\n\n"])
def test_an_empty_file_of_subscriptions(spark: SparkSession, tmp_path: Path, text: str) -> None:
    (tmp_path / "wanted.txt").write_text(text)
    wanted, out = str(tmp_path / "wanted.txt"), tmp_path / "out"
    report = route(spark, frame_of(spark, {"d": b"<a/>"}), subscriptions=wanted, output=str(out))
    assert (report.subscriptions, report.totals.unwanted) == (0, 1)


# --- what is asked for --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({}, "nothing to route by"),
        ({"subscriptions": "missing.txt"}, "missing.txt"),
        ({"subscriptions": [], "at": "x"}, "network"),
        ({"subscriptions": [], "format": "csv"}, "csv"),
        ({"subscriptions": [], "shard_size": 0}, "at least one"),
    ],
)
def test_what_makes_no_sense_is_an_error_before_any_work(
    spark: SparkSession, tmp_path: Path, settings: dict[str, Any], match: str
) -> None:
    with pytest.raises(PipelineError, match=match):
        route(spark, frame_of(spark, {"d": b"<a/>"}), output=str(tmp_path / "out"), **settings)
    assert list(tmp_path.iterdir()) == []


def test_settings_of_the_session_make_no_difference_and_stay(
    spark: SparkSession, tmp_path: Path
) -> None:
    documents: dict[str, bytes | None] = {"a": b"<a/>", "b": b"<b>", "c": None, "d": b"<a><b/></a>"}
    wanted = [Subscription("1", parse("//a"), "X"), Subscription("2", parse("//b"), "x")]
    route(spark, frame_of(spark, documents), subscriptions=wanted, output=str(tmp_path / "plain"))
    odd = spark.newSession()
    settings = {
        "spark.sql.execution.arrow.useLargeVarTypes": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
        "spark.sql.caseSensitive": "true",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.sources.default": "csv",
        "spark.sql.shuffle.partitions": "3",
    }
    for name, value in settings.items():
        odd.conf.set(name, value)
    ways = {"by workers": {}, "otherwise": WAYS["as JSON lines"] | {"shard_size": 1}}
    for name, way in ways.items():
        out = tmp_path / name
        route(odd, frame_of(odd, documents), subscriptions=wanted, output=str(out), **way)
        assert read_result(out) == read_result(tmp_path / "plain"), name
    assert {name: odd.conf.get(name) for name in settings} == settings
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None


def test_a_job_can_be_explained_without_being_run(spark: SparkSession, tmp_path: Path) -> None:
    for way in WAYS.values():
        job = prepare_route(
            spark,
            frame_of(spark, {"d": b"<a/>"}),
            subscriptions=[Subscription("k", parse("//a"))],
            output=str(tmp_path / "out"),
            **way,
        )
        assert "MapInArrow" in job.explain()
    assert list(tmp_path.iterdir()) == []


def test_a_report_tells_rates_that_fit(spark: SparkSession, tmp_path: Path) -> None:
    wanted = [Subscription("k", parse("//a"))]
    frame = frame_of(spark, {"a": b"<a/>", "b": b"<b/>", "c": b"<"})
    report: RouteReport = route(spark, frame, subscriptions=wanted, output=str(tmp_path / "out"))
    assert report.matches_per_document == 0.5
    assert report.documents_per_second * report.run_seconds == pytest.approx(3)
    assert report.megabytes_per_second * report.run_seconds == pytest.approx(9e-6)
    told = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert told == json.loads(json.dumps(report.as_json()))
