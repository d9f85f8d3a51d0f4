"""An archive keeps each document once, and appears in parts that are there whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow
import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from archives import (
    SCHEMA,
    START,
    Kept,
    answer,
    as_frame,
    random_documents,
    shared_archive,
    shared_documents,
)
from pyspark.errors import PySparkException

from twigcast.documents import DEFAULT_LIMITS, DocumentLimits
from twigcast.errors import PipelineError
from twigcast.matching import skeletons_of
from twigcast.pipeline.archive import Rejection, archive, archiving, clustering, compact, query
from twigcast.pipeline.archive.compacting import choose_parts
from twigcast.pipeline.archive.describing import Describe
from twigcast.pipeline.archive.folder import ArchiveFolder, Part, PartFacts
from twigcast.pipeline.locations import Location
from twigcast.pipeline.sources.names import escape

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


NOTHING = PartFacts(0, 0, 0, 0, "")


@pytest.fixture(scope="module")
def original(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_archive(spark, tmp_path_factory)


@pytest.fixture
def place(original: Path, tmp_path: Path) -> Path:
    """A copy to write to."""
    shutil.copytree(original, tmp_path / "store")
    return tmp_path / "store"


def files_of(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def write_part(store: ArchiveFolder, first: int, last: int, replaced: list[Part]) -> None:
    with store.writing() as staging:
        staging.child("documents").child("one").write_text("")
        store.put(staging, NOTHING, first, last, replaced)


def skeleton_of(one: Kept) -> bytes | None:
    return skeletons_of([one.content]).skeletons[0].text


@pytest.mark.parametrize(
    ("name", "begin", "end"), [("000001-000002", 0, 250), ("000003-000003", 250, 401)]
)
def test_a_part_is_in_the_order_of_shapes(
    spark: SparkSession, original: Path, name: str, begin: int, end: int
) -> None:
    part = original / "parts" / name
    documents = {one.id: one for one in shared_documents()[begin:end]}
    shapes = {row["shape"]: row for row in spark.read.parquet(str(part / "shapes")).collect()}
    expected = Counter(map(skeleton_of, documents.values()))
    assert {row["skeleton"]: row["documents"] for row in shapes.values()} == expected
    in_order = [shapes[shape] for shape in sorted(shapes)]
    keys = [(row["root"], row["skeleton"] is None, row["skeleton"]) for row in in_order]
    assert keys == sorted(keys)
    assert {row["root"] for row in in_order} == {"r", "s", "Q{urn:n}r", "Q{urn:n}s"}

    size = sum(len(one.content) for one in documents.values())
    facts = json.loads((part / "part.json").read_text())
    assert facts["documents"] == len(documents)
    assert facts["bytes"] == size == sum(row["bytes"] for row in in_order)
    assert facts["shapes"] == len(shapes)

    files = sorted((part / "documents").glob("file=*"), key=lambda one: int(one.name[5:]))
    assert 1 < len(files) <= -(-size // 3_000)
    reader = spark.read.option("basePath", str(part / "documents"))
    rows = [row for file in files for row in reader.parquet(str(file)).collect()]
    assert sorted(row["id"] for row in rows) == sorted(documents)
    numbers = [row["shape"] for row in rows]
    assert numbers == sorted(numbers)
    for row in rows:
        one = documents[row["id"]]
        assert row["content"] == one.content
        assert (row["source"], row["size"]) == (one.source, len(one.content))
        shape = shapes[row["shape"]]
        assert (shape["root"], shape["skeleton"]) == (row["root"], skeleton_of(one))
        assert shape["first"] <= row["time"] <= shape["last"]
        assert shape["file"] <= row["file"] <= shape["last_file"]


def test_the_same_document_is_kept_once(spark: SparkSession, place: Path) -> None:
    kept = shared_documents()
    again = archive(spark, as_frame(spark, kept[:50]), str(place))
    assert (again.added, again.already_there, again.part) == (0, 50, None)
    assert (again.parts, again.documents, again.new_shapes) == (2, 401, 0)
    assert again.shapes == len(set(map(skeleton_of, kept)))
    new = [
        one
        for one in random_documents(Random(8), 30)
        if one.content not in {k.content for k in kept}
    ]
    names = ("spark.sql.session.timeZone", "spark.sql.parquet.outputTimestampType")
    settings = {name: spark.conf.get(name) for name in names}
    report = archive(spark, as_frame(spark, [*kept[:20], *new, *new[:5]]), str(place))
    assert {name: spark.conf.get(name) for name in names} == settings
    assert (report.added, report.already_there, report.repeated) == (len(new), 20, 5)
    assert (report.part, report.parts, report.documents) == ("000004-000004", 3, 401 + len(new))
    assert (
        report.shapes
        == len(set(map(skeleton_of, [*kept, *new])))
        == again.shapes + report.new_shapes
    )
    found = query(spark, str(place), "/*").ids()
    assert sorted(found) == sorted(one.id for one in [*kept, *new])
    assert not [name for name in files_of(place) if ".writing" in name or ".scratch" in name]


def test_bad_documents_are_told_and_harm_nobody(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "news[1],{a}"  # no pattern of Hadoop's, whatever it looks like
    rows: list[tuple[Any, ...]] = [
        ("2", "broken", bytearray(b"<a>\n<b></a>"), None, None),
        ("3", "absent", None, "the file is not there", None),
        ("4", "empty", bytearray(b""), None, None),
        ("5", "deep", bytearray(b"<a><a><a/></a></a>"), None, None),
        ("1", "good", bytearray(b"<a/>"), None, None),
        ("6", "good too", bytearray(b"<b/>"), None, None),
    ]
    frame = spark.createDataFrame(rows, SCHEMA)
    # Only bad ones: nothing is added, but it is written down what they were.
    limits = DocumentLimits(depth=2)
    report = archive(spark, frame.where("source not like 'good%'"), str(place), limits=limits)
    assert (report.added, report.rejected, report.documents, report.parts) == (0, 4, 0, 1)
    by_source = {one.source: one for one in report.rejections}
    mismatch = "the document is not well-formed: mismatched tag"
    assert by_source["broken"] == Rejection("broken", mismatch, 2, 6)
    assert by_source["absent"] == Rejection("absent", "the file is not there", None, None)
    assert by_source["deep"].line == 1
    assert "DocumentLimits.depth" in by_source["deep"].reason
    table = spark.read.parquet(escape(f"{place}/parts/000001-000001/rejected")).collect()
    assert {row["source"] for row in table} == {"broken", "absent", "empty", "deep"}
    result = query(spark, str(place), "//a")
    assert result.table().num_rows == 0
    assert result.frame.columns == ["id", "source", "time", "size", "root"]
    assert result.report.documents == result.report.shapes == 0

    before = datetime.now(UTC)
    report = archive(spark, frame.where("source != 'absent'").drop("time"), str(place))
    assert (report.added, report.untimed, report.rejected) == (3, 3, 2)
    joined = compact(spark, str(place))
    assert (joined.joined, joined.documents) == (2, 3)
    assert spark.read.parquet(escape(f"{place}/parts/000001-000002/rejected")).count() == 6
    # Without a time of their own, documents have that of the run.
    times = query(spark, str(place), "/*").table().column("time").to_pylist()
    assert len(times) == 3
    assert len(set(times)) == 1
    assert before <= times[0] <= datetime.now(UTC)


def test_a_skeleton_is_passed_on_with_the_first_document_that_is_kept() -> None:
    names = ["source", "content", "problem", "time"]
    time = pyarrow.timestamp("us", tz="UTC")
    types = [pyarrow.string(), pyarrow.binary(), pyarrow.string(), time]
    batches = [
        pyarrow.RecordBatch.from_arrays(
            [pyarrow.array([value], kind) for value, kind in zip(row, types, strict=True)], names
        )
        for row in (("", b"<a/>", "twice there", None), ("", b"<a/>", None, None))
    ]
    bad, good = (batch.to_pylist()[0] for batch in Describe(DEFAULT_LIMITS)(iter(batches)))
    assert (bad["id"], bad["root"], bad["reason"]) == (None, None, "twice there")
    assert (good["root"], good["skeleton"], good["reason"]) == ("a", b"<a/>", None)


def test_a_document_without_a_shape_fails_the_run(spark: SparkSession, tmp_path: Path) -> None:
    documents = spark.sql(
        "select 'x' id, '' source, now() time, 4L size, cast('<a/>' as binary) content, 'a' key"
    )
    shapes = spark.sql("select 'b' key, 'b' root, 1L shape, 0 file, 0 last_file")
    target = Location(spark, str(tmp_path / "part"))
    with pytest.raises(PySparkException, match="no shape was kept for the document x"):
        clustering.write_documents(documents, shapes, target, 4, 100)


def test_a_run_that_fails_leaves_the_archive_as_it_was(
    spark: SparkSession, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(archiving, "write_documents", fail)
    before = files_of(place)
    with pytest.raises(OSError, match="full"):
        archive(spark, as_frame(spark, random_documents(Random(3), 20)), str(place))
    assert files_of(place) == before
    # What a killed run leaves is seen by nobody.
    shutil.copytree(place / "parts" / "000003-000003", place / "parts" / ".writing-0123")
    assert [part.facts.documents for part in ArchiveFolder(spark, str(place)).parts()] == [250, 151]


def test_of_two_that_write_at_once_the_second_is_refused(
    spark: SparkSession, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = place / "parts"

    def write(*arguments: Any) -> None:
        shutil.copytree(parts / "000003-000003", parts / "000004-000004")  # somebody was quicker
        clustering.write_documents(*arguments)

    monkeypatch.setattr(archiving, "write_documents", write)
    with pytest.raises(PipelineError, match="somebody else"):
        archive(spark, as_frame(spark, random_documents(Random(4), 12)), str(place))
    assert not [path.name for path in parts.iterdir() if path.name.startswith(".writing")]
    assert json.loads((parts / "000004-000004" / "part.json").read_text())["documents"] == 151


@pytest.mark.parametrize(
    ("first", "last", "made"), [(4, 4, "000004-000004"), (1, 3, "000003-000004")]
)
def test_of_two_that_end_in_the_same_moment_the_second_is_refused(
    spark: SparkSession,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    first: int,
    last: int,
    made: str,
) -> None:
    parts = place / "parts"

    def rename(self: Location, target: Location) -> None:
        shutil.copytree(parts / "000003-000003", parts / made)  # after all has been looked up
        self._files.rename(self._path, target._path)

    monkeypatch.setattr(Location, "rename", rename)
    store = ArchiveFolder(spark, str(place))
    replaced = [part for part in store.parts() if part.last <= last and first < last]
    before = files_of(place)
    with pytest.raises(PipelineError, match="somebody else"):
        write_part(store, first, last, replaced)
    assert files_of(parts / made) == files_of(parts / "000003-000003")
    assert [name for name in files_of(place) if made not in name] == before


def test_a_first_run_that_fails_takes_nothing_of_another_with_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = str(tmp_path / "new")
    one, other, third = (ArchiveFolder(spark, place, create=True) for _ in range(3))
    with one.writing() as staging:
        with pytest.raises(PipelineError, match="somebody else"):
            write_part(other, 1, 1, [Part(1, 1, staging, NOTHING)])
        assert files_of(tmp_path) == ["new", "new/parts"]
        staging.child("file").write_text("")
        late = ArchiveFolder(spark, place, create=True)
        one.put(staging, NOTHING, 1, 1, ())
    assert [part.name for part in ArchiveFolder(spark, place).parts()] == ["000001-000001"]
    for second in (third, late):
        with pytest.raises(PipelineError, match="somebody else"):
            write_part(second, 1, 1, [])
    assert not list(tmp_path.rglob(".writing*"))


def test_compaction_joins_and_changes_no_answer(
    spark: SparkSession, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, xpath = shared_documents(), "//a[b > 5]"
    running = query(spark, str(place), xpath)
    before = running.report
    report = compact(spark, str(place))
    assert (report.joined, report.parts, report.part) == (2, 1, "000001-000003")
    assert report.documents == len(kept)
    assert query(spark, str(place), xpath).report == before
    assert compact(spark, str(place)).joined == 0
    # A query that began before goes on with what it has seen, for an hour.
    assert set(running.ids()) == answer(kept, xpath)
    parts = place / "parts"
    (parts / ".writing-0123").mkdir()
    running_yet = parts / ".writing-4567" / "documents"
    running_yet.mkdir(parents=True)
    store = ArchiveFolder(spark, str(place))
    assert store.tidy() == 0
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3601)
    assert store.tidy() == 4
    written = {".writing-0123", ".writing-4567"}
    assert {path.name for path in parts.iterdir()} == {"000001-000003"} | written
    monkeypatch.setattr(time, "time", lambda: now + 24 * 3600 + 1)
    os.utime(running_yet, (now + 3600, now + 3600))
    assert store.tidy() == 1
    assert {path.name for path in parts.iterdir()} == {"000001-000003", ".writing-4567"}
    assert set(query(spark, str(place), xpath).ids()) == answer(kept, xpath)
    with pytest.raises(PipelineError, match="ask again"):
        running.ids()


@pytest.mark.parametrize(
    ("sizes", "joined"),
    [
        ([], 0),
        ([5], 0),
        ([5, 5], 2),
        ([100, 5, 5, 0], 4),  # none fills a file
        ([1000, 5, 5], 2),
        ([5, 1000, 5, 5], 2),
        ([1000, 301, 150], 0),
        ([1000, 300, 150], 2),
        ([900, 300, 150], 3),
        ([1000, 0], 0),
    ],
)
def test_large_parts_are_left_in_peace(sizes: list[int], joined: int) -> None:
    parts = [
        Part(number, number, None, PartFacts(1, size, 1, 0, ""))  # type: ignore[arg-type]
        for number, size in enumerate(sizes, start=1)
    ]
    chosen = choose_parts(parts, small=128)
    assert chosen == parts[len(parts) - joined :]


def test_what_is_no_archive_is_left_alone(spark: SparkSession, tmp_path: Path, place: Path) -> None:
    documents = as_frame(spark, [Kept(b"<a/>", "one", START)])
    with pytest.raises(PipelineError, match="no archive here"):
        query(spark, str(tmp_path / "nowhere"), "//a")
    with pytest.raises(PipelineError, match="no archive here"):
        compact(spark, str(tmp_path / "nowhere"))
    other = tmp_path / "other"
    other.mkdir()
    (other / "precious.txt").write_text("mine")
    with pytest.raises(PipelineError, match="holds something else"):
        archive(spark, documents, str(other))
    assert files_of(other) == ["precious.txt"]
    head = place / "twigcast-archive.json"
    (place / ".twigcast-archive.json.crc").unlink()
    head.write_text(json.dumps({"format": "twigcast archive", "version": 99}))
    with pytest.raises(PipelineError, match="layout 99"):
        query(spark, str(place), "//a")
    head.write_text("[]")
    with pytest.raises(PipelineError, match="changed by hand"):
        archive(spark, documents, str(place))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("'' as source, cast('' as binary) as content", "a column problem of the type string"),
        ("'' as source, '' as content, '' as problem", "content of the type binary, not string"),
        (
            "'' as source, cast('' as binary) as content, '' as problem, '2026' as time",
            "a timestamp, not string",
        ),
    ],
)
def test_frames_without_what_is_needed_are_refused(
    spark: SparkSession, tmp_path: Path, columns: str, said: str
) -> None:
    with pytest.raises(PipelineError, match=said):
        archive(spark, spark.sql(f"select {columns}"), str(tmp_path / "store"))
    assert not (tmp_path / "store").exists()
