"""Tables that workers write: one task, its files and what it tells, without Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

import pyarrow as pa
import pyarrow.parquet as pq
from pipeline_oracle import read_rows
from worker_batches import BAD, batch_of, matching

from twigcast.language import Subscription, parse
from twigcast.pipeline.route import bundles, writing
from twigcast.pipeline.route.bundles import Bundle
from twigcast.pipeline.route.verdicts import MatchDocuments, RouteDocuments
from twigcast.pipeline.route.writing import (
    WriteTables,
    Written,
    busiest_subscribers,
    write_empty,
    write_links,
)
from twigcast.routing import ANYTHING, ClientPlan, FrozenNetwork, Network, NetworkPlan, Overlay


@pytest.fixture
def decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MatchDocuments:
    index = tmp_path / "index"
    index.mkdir()
    wanted = [
        Subscription("1", parse("//a"), "ann"),
        Subscription("2", parse("//b"), "bob"),
        Subscription("ключ\t\n,\"'", parse("/a/b"), "ann"),
    ]
    return matching(index, monkeypatch, wanted)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def told_by(work: WriteTables, *batches: Any) -> Written:
    rows = [text for made in work(iter(batches)) for text in made.column("written").to_pylist()]
    assert len(rows) == 1, "Spark must have exactly one row of each part"
    return Written.of_text(rows[0])


def test_a_task_writes_all_tables_and_tells_of_its_files(decide: MatchDocuments, out: Path) -> None:
    batches = [batch_of(b"<a><b/></a>", b"<x/>"), batch_of(b"<b/>", b"<b>", None).slice(0)]
    told = told_by(WriteTables(decide, str(out)), *batches)
    assert sorted(told.files) == sorted(
        str(path.relative_to(out)) for path in out.rglob("*.parquet")
    )
    assert {name.split("/")[0] for name in told.files} == {"deliveries", "documents", "rejected"}
    assert read_rows(out, "deliveries") == sorted(
        [
            ("d0", "1", "ann"),
            ("d0", "2", "bob"),
            ("d0", "ключ\t\n,\"'", "ann"),
            ("d0", "2", "bob"),
        ],
        key=repr,
    )
    assert [row[4] for row in read_rows(out, "documents")] == [
        "delivered", "delivered", "rejected", "unwanted", "rejected",
    ]  # fmt: skip
    assert len(read_rows(out, "rejected")) == 2
    assert told.statuses == {"delivered": 2, "unwanted": 1, "rejected": 2}
    assert (told.bytes, told.deliveries) == (11 + 4 + 4 + 3, 4)


def test_a_task_without_documents_writes_nothing_and_tells_so(
    decide: MatchDocuments, out: Path
) -> None:
    for batches in ([], [batch_of()]):
        told = told_by(WriteTables(decide, str(out)), *batches)
        assert (told.statuses.total(), told.deliveries, told.bytes) == (0, 0, 0)
    assert read_rows(out, "documents") == []


def test_only_bad_documents_leave_no_deliveries(decide: MatchDocuments, out: Path) -> None:
    told = told_by(WriteTables(decide, str(out)), batch_of(*BAD.values(), None))
    assert not (out / "deliveries").exists()
    assert told.reasons.total() == len(BAD) + 1 == len(read_rows(out, "rejected"))


def test_deliveries_are_the_same_however_many_are_written_at_once(
    decide: MatchDocuments, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [b"<a><b/></a>", b"<b/>", b"<x/>", b"<a/>"] * 5
    batches = [batch_of(*texts).slice(begin, 3) for begin in range(0, 20, 3)]
    found = []
    for rows_at_once, documents_at_once in ((10**6, 10**5), (1, 10**5), (7, 10**5), (10**6, 4)):
        monkeypatch.setattr(writing, "_ROWS_AT_ONCE", rows_at_once)
        monkeypatch.setattr(writing, "_DOCUMENTS_AT_ONCE", documents_at_once)
        folder = out / f"{rows_at_once}-{documents_at_once}"
        folder.mkdir()
        told = told_by(WriteTables(decide, str(folder)), *batches)
        found.append((read_rows(folder, "deliveries"), told.statuses, told.deliveries))
        files = list((folder / "deliveries").iterdir())
        assert busiest_subscribers(files, 5) == [("ann", 15), ("bob", 10)]
    assert all(each == found[0] for each in found)
    assert len(found[0][0]) == 25


def test_names_are_dictionaries_in_the_files_and_small_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: Path
) -> None:
    many = [Subscription(f"{'k' * 90}{n}", parse("//a" if n < 3 else "//b")) for n in range(5_000)]
    index = tmp_path / "many"
    index.mkdir()
    told_by(WriteTables(matching(index, monkeypatch, many), str(out)), batch_of(b"<a/>"))
    (path,) = (out / "deliveries").iterdir()
    # With the names of all subscriptions it would be 450,000 bytes.
    assert path.stat().st_size < 10_000
    encodings = pq.ParquetFile(path).metadata.row_group(0).column(1).encodings
    assert any("DICTIONARY" in one for one in encodings)


def test_a_task_that_fails_tells_nothing(decide: MatchDocuments, out: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield batch_of(b"<a/>")
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError, match="the disk is gone"):
        list(WriteTables(decide, str(out))(failing()))


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_task_whose_job_has_ended_does_not_make_its_folder_again(
    decide: MatchDocuments, out: Path, goes_on: bool
) -> None:
    """The driver has removed the folder, or put it in place; a task may learn that late."""

    def late() -> Iterator[pa.RecordBatch]:
        yield batch_of(b"<a/>")
        shutil.rmtree(out)
        if not goes_on:
            raise RuntimeError("the driver is gone")
        yield batch_of(b"<b>")

    with pytest.raises((OSError, RuntimeError)):
        list(WriteTables(decide, str(out))(late()))
    assert not out.exists()


# --- what tasks tell ----------------------------------------------------------------------------


def test_what_tasks_tell_adds_up(decide: MatchDocuments, out: Path) -> None:
    texts = [b"<a><b/></a>", b"<b>", b"<x/>", b"", b"<a/>", b"<b>"]
    for name in ("whole", "parts"):
        (out / name).mkdir()
    whole = told_by(WriteTables(decide, str(out / "whole")), batch_of(*texts))
    sum_of_parts = Written()
    for begin in range(0, len(texts), 2):
        part = batch_of(*texts).slice(begin, 2)
        sum_of_parts.merge(told_by(WriteTables(decide, str(out / "parts")), part))
    assert vars(sum_of_parts) | {"files": []} == vars(whole) | {"files": []}
    assert read_rows(out / "whole", "deliveries") == read_rows(out / "parts", "deliveries")


def test_traffic_is_counted_for_each_link_and_direction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: Path
) -> None:
    names = ['x"1"', "y\n", "z"]
    clients = (
        ClientPlan("feed", names[0], {}, {"all": ANYTHING}),
        ClientPlan("desk", names[2], {"1": parse("//a")}),
    )
    overlay = Overlay(names, [(names[0], names[1]), (names[1], names[2])])
    Network.planned(NetworkPlan(overlay, clients=clients)).freeze().save(tmp_path / "network")
    monkeypatch.setitem(bundles._kept, "network", FrozenNetwork.load(tmp_path / "network"))
    work = RouteDocuments(Bundle("network", FrozenNetwork.load), names[0])
    told = told_by(WriteTables(work, str(out), routed=True), batch_of(b"<a/>", b"<b/>", b"<a></a>"))
    assert told.link(names[0], names[1]) == (2, 11, 0)
    assert told.link(names[1], names[0]) == (0, 0, 0)
    write_links(out / "links", [(names[0], names[1], *told.link(names[0], names[1]), "x")])
    assert read_rows(out, "links") == [(names[0], names[1], 2, 11, 0, "x")]
    assert read_rows(out, "deliveries") == [("d0", "1", "desk", "z"), ("d2", "1", "desk", "z")]


def test_a_network_of_one_broker_has_a_table_of_links_without_rows(tmp_path: Path) -> None:
    write_links(tmp_path / "links", [])
    assert read_rows(tmp_path, "links") == []
    assert pq.read_schema(tmp_path / "links" / "part-0.parquet").names == [
        "sender", "receiver", "documents", "bytes", "false_positives", "unit",
    ]  # fmt: skip


@pytest.mark.parametrize("routed", [False, True])
@pytest.mark.parametrize("table", ["deliveries", "documents", "rejected"])
def test_a_table_without_rows_has_the_columns_of_one_with_rows(
    decide: MatchDocuments, tmp_path: Path, out: Path, table: str, routed: bool
) -> None:
    write_empty(tmp_path / table, table, routed=routed)
    (empty,) = (tmp_path / table).iterdir()
    told_by(WriteTables(decide, str(out)), batch_of(b"<a/>", b"<a>"))
    (full,) = (out / table).iterdir()
    names = pq.read_schema(full).names
    if table == "deliveries" and routed:
        names.append("broker")
    assert pq.read_schema(empty).names == names
    kinds = [str(one.type) for one in pq.read_schema(full)]
    assert [str(one.type) for one in pq.read_schema(empty)][: len(kinds)] == kinds


def test_what_a_task_tells_survives_the_way_to_the_driver() -> None:
    told = Written(["deliveries/ü"], bytes=2**40, deliveries=3)
    told.statuses["delivered"] = 2
    told.reasons["line\nbreak"] = 1
    told.links[json.dumps(["a", "b"])] = [1, 2, 3]
    assert Written.of_text(told.to_text()) == told
