"""All or nothing: jobs that fail, are killed, or would overwrite leave what was there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

import cluster_driver
import pyarrow as pa
from pipeline_oracle import expected_result, frame_of, read_result, require_summary
from spark_cluster import kill_tree, wait_until

from twigcast.errors import PipelineError
from twigcast.language import Subscription, parse
from twigcast.pipeline.route.decisions import Decision
from twigcast.pipeline.route.job import prepare_route, route
from twigcast.pipeline.route.writing import Written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WANTED = [Subscription("k", parse("//a"), "s")]
WAYS: dict[str, dict[str, Any]] = {
    "by workers": {},
    "by Spark": {"format": "jsonl"},
    "in shards": {"shard_size": 1},
}


def breaking_documents(spark: SparkSession, partitions: int = 4) -> DataFrame:
    """Documents whose last part breaks half-way, when others are done."""

    # A function of a function is sent to workers as it is; they need not import this file.
    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                if number == 10 * partitions - 5:
                    raise RuntimeError("the source is broken")
                yield pa.RecordBatch.from_pydict({"id": [str(number)], "content": [b"<a/>"]})

    numbers = spark.range(0, 10 * partitions, 1, partitions)
    return numbers.mapInArrow(make, "id string, content binary")


def listing(folder: Path) -> dict[str, bytes]:
    """Every file below, hidden ones too."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("way", WAYS)
def test_a_job_that_breaks_half_way_leaves_nothing(
    spark: SparkSession, tmp_path: Path, way: str
) -> None:
    with pytest.raises(Exception, match="the source is broken"):
        route(
            spark,
            breaking_documents(spark),
            subscriptions=WANTED,
            output=str(tmp_path / "out"),
            **WAYS[way],
        )
    assert list(tmp_path.iterdir()) == []
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None


@pytest.mark.parametrize("way", ["by workers", "by Spark"])
def test_a_job_that_breaks_leaves_the_result_that_it_was_to_replace(
    spark: SparkSession, tmp_path: Path, way: str
) -> None:
    out = tmp_path / "out"
    route(spark, frame_of(spark, {"old": b"<a/>"}), subscriptions=WANTED, output=str(out))
    before = listing(tmp_path)
    with pytest.raises(Exception, match="the source is broken"):
        route(
            spark,
            breaking_documents(spark),
            subscriptions=WANTED,
            output=str(out),
            overwrite=True,
            **WAYS[way],
        )
    assert listing(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_place_that_is_taken_is_refused_before_any_work(
    spark: SparkSession, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("mine")
    with pytest.raises(PipelineError, match="out is there already"):
        # Subscriptions that are not even read.
        route(spark, str(tmp_path / "missing"), subscriptions="missing", output=str(out))
    assert listing(tmp_path) == {str(out / "mine"): b"mine"}


def test_a_place_that_is_taken_meanwhile_is_refused_and_left_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    frame = frame_of(spark, {"d": b"<a/>"})
    job = prepare_route(spark, frame, subscriptions=WANTED, output=str(out))
    out.mkdir()
    (out / "mine").write_text("mine")
    with pytest.raises(PipelineError, match="out is there already"):
        job.run()
    assert listing(tmp_path) == {str(out / "mine"): b"mine"}


def test_overwriting_replaces_the_whole_result(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = {f"old{n}": b"<a/>" for n in range(20)}
    route(spark, frame_of(spark, first, 4), subscriptions=WANTED, output=str(out), format="jsonl")
    second = {"new": b"<a/>", "other": b"<b/>"}
    frame = frame_of(spark, second, 1)
    route(spark, frame, subscriptions=WANTED, output=str(out), overwrite=True)
    assert read_result(out) == expected_result(second, WANTED)
    require_summary(out)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert not list(out.rglob("part-*.json"))
    route(spark, frame, subscriptions=WANTED, output=str(tmp_path / "new"), overwrite=True)
    assert read_result(tmp_path / "new") == expected_result(second, WANTED)


def test_a_job_that_reads_what_it_would_replace_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "a.xml").write_text("<a/>")
    for output in (documents, tmp_path):
        with pytest.raises(PipelineError):
            route(
                spark,
                str(documents),
                subscriptions=WANTED,
                output=str(output),
                overwrite=True,
            )
        assert listing(documents) == {str(documents / "a.xml"): b"<a/>"}


def test_a_file_that_a_task_tells_of_and_nobody_sees_is_an_error(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on machines that do not share the folder: the result would lack what they wrote."""
    told = json.loads(Written(["documents/part-elsewhere.parquet"]).to_text())
    told["statuses"] = {"unwanted": 1}
    rows = spark.createDataFrame([(json.dumps(told),)], "written string")
    monkeypatch.setattr(Decision, "written", lambda *_: rows)
    frame = frame_of(spark, {"d": b"<b/>"})
    with pytest.raises(PipelineError, match="out"):
        route(spark, frame, subscriptions=WANTED, output=str(tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


def test_a_killed_job_leaves_no_result_and_the_next_one_works(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The driver and all of its processes are killed while tasks write."""
    driver = subprocess.Popen(
        [sys.executable, cluster_driver.__file__, "local[2]", str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(Path(cluster_driver.__file__).parent)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:

        def written() -> list[Path]:
            assert driver.poll() is None, "the driver has ended"
            return list(tmp_path.glob(".lost.partial*/_tries/documents/*"))

        wait_until(written, "a task that writes")
    finally:
        kill_tree(driver)
    names = {path.name for path in tmp_path.iterdir() if not path.name.startswith("began-")}
    assert all(name.startswith(".lost.partial") for name in names), names
    documents, wanted = cluster_driver.documents(), cluster_driver.subscriptions()
    frame = frame_of(spark, documents)
    route(spark, frame, subscriptions=wanted, output=str(tmp_path / "lost"))
    assert read_result(tmp_path / "lost") == expected_result(documents, wanted)
    assert not list(tmp_path.glob(".*.partial*"))
