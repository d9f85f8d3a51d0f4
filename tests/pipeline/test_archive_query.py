"""A query answers what libxml2 says of every document, and looks at few."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy
import pyarrow
import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from archives import QUERIES, START, Kept, answer, as_frame, shared_archive, shared_documents

from twigcast import parse
from twigcast.errors import PipelineError, SubscriptionError
from twigcast.pipeline.archive import QueryReport, archive, query, querying
from twigcast.pipeline.archive.folder import ArchiveFolder
from twigcast.pipeline.archive.shapes import Judge, ShapeChoice, steps, stretches
from twigcast.pipeline.archive.tables import read_files
from twigcast.pipeline.archive.times import to_micros, to_time

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def kept() -> list[Kept]:
    return shared_documents()


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(shared_archive(spark, tmp_path_factory))


@pytest.fixture(scope="module")
def asked(spark: SparkSession, place: str) -> Callable[[str], tuple[list[str], QueryReport]]:
    """What a query finds and reports; each is asked once."""

    @cache
    def ask(xpath: str) -> tuple[list[str], QueryReport]:
        result = query(spark, place, xpath)
        return result.ids(), result.report

    return ask


@pytest.mark.parametrize("xpath", QUERIES)
def test_the_answer_is_that_of_libxml2_on_every_document(
    asked: Callable[[str], tuple[list[str], QueryReport]], kept: list[Kept], xpath: str
) -> None:
    expected = answer(kept, xpath)
    found, report = asked(xpath)
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert report.documents == len(kept)
    assert report.matched == len(expected) <= report.candidate_documents
    assert report.evaluated <= report.candidate_documents
    assert report.candidate_shapes <= report.shapes
    assert report.is_complete


def test_a_frame_gives_the_same(spark: SparkSession, place: str, kept: list[Kept]) -> None:
    for xpath in ("//a/b", "//a[b = 3]"):
        frame = query(spark, place, xpath, documents=True).frame
        assert frame.columns == ["id", "source", "time", "size", "root", "content"]
        rows = frame.collect()
        by_id = {one.id: one for one in kept}
        assert {row["id"] for row in rows} == answer(kept, xpath)
        assert all(bytes(row["content"]) == by_id[row["id"]].content for row in rows)
    assert query(spark, place, "//a[b = 3]", limit=2).frame.count() == 2


def test_people_see_what_was_asked(spark: SparkSession, place: str, kept: list[Kept]) -> None:
    result = query(spark, place, "//a[b = 3]", limit=2)
    documents = f"{len(kept):,} documents"
    assert repr(result).startswith("<QueryResult: //a[b=3] of file:")
    assert repr(result).endswith(f"{documents}, not run yet>")
    result.ids()
    assert repr(result).endswith(f"{documents}, 2 matched>")


def test_few_documents_are_looked_at(
    asked: Callable[[str], tuple[list[str], QueryReport]], kept: list[Kept]
) -> None:
    _, decided = asked("//a/b")
    assert decided.evaluated == 1  # of the one that is too wide only the root is known
    assert decided.matched > 20
    _, nothing = asked("//nowhere")
    assert (nothing.candidate_shapes, nothing.evaluated) == (1, 1)
    _, some = asked("//d[b = 1 or c > 5][a]")
    assert some.matched < some.evaluated == some.candidate_documents < len(kept) / 2
    _, never = asked("//a[. < 'x']")
    assert never.evaluated <= 1


def scanned(spark: SparkSession, place: str, xpath: str) -> int:
    """Rows that the scan of documents gave, after Parquet has skipped what it can."""
    plan = query(spark, place, xpath).frame._jdf.queryExecution().executedPlan()
    plan.executeCollect()
    leaves = plan.collectLeaves()
    scans = [leaves.apply(at) for at in range(leaves.size())]
    return sum(scan.metrics().apply("numOutputRows").value() for scan in scans)


def test_parquet_skips_pages_of_other_shapes(spark: SparkSession, tmp_path: Path) -> None:
    place = str(tmp_path / "store")
    documents = [
        Kept(f"<r><n{number // 100}>{number}</n{number // 100}></r>".encode(), "", START)
        for number in range(2000)
    ]
    archive(spark, as_frame(spark, documents), place)
    assert query(spark, place, "//n7[. > 0]").report.evaluated == 100
    assert scanned(spark, place, "//n7[. > 0]") <= 100 + 2 * 64
    assert scanned(spark, place, "//n7") <= 100 + 2 * 64
    assert scanned(spark, place, "/r") == 2000


@pytest.mark.parametrize(
    ("xpath", "limit"), [("//a/b", 3), ("//a/b", 1000), ("//a[b > 3]", 1), ("//a[b > 3]", 1000)]
)
def test_a_limit_ends_the_search(
    spark: SparkSession,
    place: str,
    kept: list[Kept],
    monkeypatch: pytest.MonkeyPatch,
    xpath: str,
    limit: int,
) -> None:
    monkeypatch.setattr(querying, "_FIRST_STEP", 4)
    expected = answer(kept, xpath)
    result = query(spark, place, xpath, limit=limit)
    found = result.ids()
    assert len(found) == len(set(found)) == min(limit, len(expected))
    assert set(found) <= expected
    report = result.report
    assert report.matched == len(found)
    assert report.is_complete == (limit > len(expected))
    if limit < 10:
        assert report.evaluated < report.candidate_documents / 2


def test_documents_come_in_pieces_that_fit(
    spark: SparkSession,
    place: str,
    kept: list[Kept],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A quarter of the document that is too wide: where it may lie is read in two pieces.
    monkeypatch.setattr(querying, "_MOST_BYTES", 20_000)
    tables = list(query(spark, place, "//a[b > 3]", documents=True).batches())
    assert len(tables) > 1
    content = {
        identity: data
        for table in tables
        for identity, data in zip(
            table.column("id").to_pylist(), table.column("content").to_pylist(), strict=True
        )
    }
    by_id = {one.id: one for one in kept}
    expected = answer(kept, "//a[b > 3]")
    assert content == {identity: by_id[identity].content for identity in expected}
    for table in tables:
        for row in table.drop_columns(["content"]).to_pylist():
            assert row["time"] == by_id[row["id"]].time
    # Where nothing is found the columns are the same, and nothing is looked at again.
    monkeypatch.setattr(querying.QueryResult, "frame", None)
    nothing = query(spark, place, "//nowhere[b]", limit=3, documents=True).table()
    assert nothing.schema == tables[0].schema
    assert nothing.num_rows == 0


def test_a_file_that_no_document_reached_is_empty(spark: SparkSession, place: str) -> None:
    store = ArchiveFolder(spark, place)
    assert read_files(store.spark, store.parts(), {99}).isEmpty()


@pytest.mark.parametrize("xpath", ["//a/b", "//a[b > 3]"])
def test_times_bound_the_answer(
    spark: SparkSession, place: str, kept: list[Kept], xpath: str
) -> None:
    times = sorted(one.time for one in kept)
    since, until = times[100], times[160]
    expected = answer(kept, xpath, since, until)
    assert 0 < len(expected) < len(answer(kept, xpath))
    result = query(spark, place, xpath, since=since, until=until.isoformat())
    assert set(result.ids()) == expected
    assert result.report.evaluated < 61


def test_a_time_may_be_open(spark: SparkSession, place: str, kept: list[Kept]) -> None:
    later = query(spark, place, "//a[b > 3]", since="2026-01-01T10:00")
    expected = answer(kept, "//a[b > 3]", START + timedelta(hours=10))
    assert set(later.ids()) == expected != answer(kept, "//a[b > 3]")
    assert query(spark, place, "//a", until="2025-12-31").report.candidate_documents == 0


def test_what_lies_scattered_is_found_exactly(
    spark: SparkSession, place: str, kept: list[Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(querying, "_MOST_STRETCHES", 3)
    for xpath in ("//a/b", "//a[b > 3]"):
        result = query(spark, place, xpath)
        assert set(result.ids()) == answer(kept, xpath)
        assert result.report.evaluated <= result.report.candidate_documents


def test_namespaces_and_patterns(spark: SparkSession, place: str, kept: list[Kept]) -> None:
    expected = answer(kept, "//Q{urn:n}a/Q{urn:n}b")
    assert expected
    assert set(query(spark, place, "//n:a/n:b", namespaces={"n": "urn:n"}).ids()) == expected
    assert set(query(spark, place, parse("//Q{urn:n}a/Q{urn:n}b")).ids()) == expected
    bound = query(spark, place, "//*[name() = $x]", variables={"x": "a"}, relative_to="document")
    assert set(bound.ids()) == answer(kept, '//*[name()="a"]')


def test_what_cannot_be_asked_is_refused(spark: SparkSession, place: str) -> None:
    with pytest.raises(SubscriptionError):
        query(spark, place, "amount(//a)")
    with pytest.raises(PipelineError, match="at least 1"):
        query(spark, place, "//a", limit=0)
    with pytest.raises(PipelineError, match="until: 'yesterday' is no time"):
        query(spark, place, "//a", until="yesterday")


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        (" 2026-01-31T14:30 ", datetime(2026, 1, 31, 14, 30, tzinfo=UTC)),
        ("2026-01-31T14:30:15.5Z", datetime(2026, 1, 31, 14, 30, 15, 500_000, tzinfo=UTC)),
        ("2026-01-31T14:30+01:00", datetime(2026, 1, 31, 13, 30, tzinfo=UTC)),
        ("1969-12-31T23:59:59", datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_times_as_people_write_them(text: str, time: datetime) -> None:
    assert to_time(text, "since") == time
    assert to_micros(time) == round(time.timestamp() * 1_000_000)
    there = timezone(timedelta(hours=5))
    assert to_time(time.astimezone(there), "since") == time
    assert to_time(time.replace(tzinfo=None), "since") == time


def test_a_shape_that_is_too_large_is_taken_file_by_file() -> None:
    documents = numpy.array([2, 50, 3, 4])
    choice = ShapeChoice(
        numbers=numpy.arange(4),
        fingerprints=numpy.arange(4),
        documents=documents,
        bytes=documents * 10,
        first_file=numpy.array([0, 0, 5, 5]),
        last_file=numpy.array([0, 5, 5, 6]),
        is_open=numpy.array([True, True, False, True]),
        is_certain=numpy.zeros(4, dtype=bool),
    )

    def taken(*most: Any) -> list[tuple[list[int], set[int]]]:
        return [
            (numpy.nonzero(chosen)[0].tolist(), files) for chosen, files in steps(choice, *most)
        ]

    every = set(range(7))
    assert taken(100, None, 100) == [([0, 1, 3], every)]
    cut = [([0, 1], {0, 1}), ([0, 1], {2, 3}), ([0, 1], {4, 5}), ([3], {5, 6})]
    assert taken(10, None, 10) == cut
    assert taken(100, 100, 100) == cut
    assert taken(100, None, 1) == [([0], {0}), ([1], set(range(6))), ([3], {5, 6})]
    # Files are what can be taken one after the other, so there are no more steps than files.
    assert [files for _, files in taken(1, None, 1)][1:7] == [{file} for file in range(6)]


def test_a_skeleton_that_cannot_be_read_excludes_nothing() -> None:
    skeletons = [b"<a/>", b"<b/>", b"<a", None]
    numbers = pyarrow.array([1] * len(skeletons))
    columns = [numbers] * 8 + [pyarrow.array(skeletons, pyarrow.binary())]
    batch = pyarrow.RecordBatch.from_arrays(columns, [f"{at}" for at in range(9)])
    for is_exact, verdicts in ((False, [1, 0, 1, 1]), (True, [2, 0, 1, 1])):
        (judged,) = Judge("//a", is_exact)(iter([batch]))
        assert judged.column("decided").to_pylist() == verdicts


def choice_of(documents: list[int]) -> ShapeChoice:
    numbers = numpy.arange(len(documents)) * 10
    none = numpy.zeros(len(documents), dtype=bool)
    return ShapeChoice(
        numbers, numbers, numpy.array(documents), numbers, numbers, numbers, none, none
    )


@pytest.mark.parametrize(
    ("most", "ranges", "is_exact"),
    [
        (5, [(0, 0), (20, 30), (50, 50), (70, 70)], True),
        (4, [(0, 0), (20, 30), (50, 50), (70, 70)], True),
        (3, [(0, 0), (20, 50), (70, 70)], False),
        (2, [(0, 50), (70, 70)], False),
        (1, [(0, 70)], False),
    ],
)
def test_stretches_are_joined_over_the_fewest_documents(
    most: int, ranges: list[tuple[int, int]], is_exact: bool
) -> None:
    choice = choice_of([1, 5, 1, 1, 2, 1, 9, 1, 7])
    chosen = numpy.array([True, False, True, True, False, True, False, True, False])
    assert stretches(choice, chosen, most) == (ranges, is_exact)
    assert stretches(choice, numpy.zeros(9, dtype=bool), most) == ([], True)
