"""Verdicts: what a worker says of a batch of documents, without Spark."""

from __future__ import annotations

import hashlib
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from worker_batches import BAD, batch_of, matching

from twigcast import Matcher
from twigcast.errors import DocumentError
from twigcast.language import Subscription, parse
from twigcast.pipeline.route import bundles, verdicts
from twigcast.pipeline.route.bundles import Bundle
from twigcast.pipeline.route.verdicts import MatchDocuments, RouteDocuments, VerdictRows, Verdicts
from twigcast.routing import ANYTHING, ClientPlan, FrozenNetwork, Network, NetworkPlan, Overlay


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MatchDocuments:
    wanted = [
        Subscription("1", parse("//a"), "ann"),
        Subscription("2", parse("//b"), "bob"),
        Subscription("3", parse("/a/b"), "ann"),
        Subscription("4", parse("//c")),
    ]
    return matching(tmp_path, monkeypatch, wanted)


def rows_of(found: Verdicts) -> list[dict[str, Any]]:
    return [row for piece in found.rows() for row in piece.to_pylist()]


def test_each_document_has_one_row_with_what_it_is_and_who_gets_it(few: MatchDocuments) -> None:
    rows = rows_of(few(batch_of(b"<a><b/></a>", b"<x/>", b"<a>", None, b"<c/>")))
    assert [row["status"] for row in rows] == [
        "delivered", "unwanted", "rejected", "rejected", "delivered",
    ]  # fmt: skip
    assert [row["size"] for row in rows] == [11, 4, 3, None, 4]
    assert [row["id"] for row in rows] == ["d0", "d1", "d2", "d3", "d4"]
    got = [{(each["key"], each["subscriber"]) for each in row["deliveries"]} for row in rows]
    assert got == [{("1", "ann"), ("2", "bob"), ("3", "ann")}, set(), set(), set(), {("4", "4")}]


def test_a_bad_document_is_told_of_as_its_error_says(few: MatchDocuments) -> None:
    rows = rows_of(few(batch_of(*BAD.values())))
    for (name, content), row in zip(BAD.items(), rows, strict=True):
        with pytest.raises(DocumentError) as caught:
            Matcher().match(content)
        assert row["status"] == "rejected", name
        assert row["reason"] == caught.value.reason, name
        place = (caught.value.line or None, caught.value.column or None if caught.value.line else 0)
        assert (row["line"], row["column"] if row["line"] else 0) == place, name
        assert row["hash"] == hashlib.sha256(content).hexdigest()
        assert row["deliveries"] == []


def test_a_problem_of_the_source_is_the_reason_and_has_no_place(few: MatchDocuments) -> None:
    batch = batch_of(None, b"<a>", problem=["it cannot be opened", None])
    first, second = rows_of(few(batch))
    assert (first["reason"], first["line"], first["column"]) == ("it cannot be opened", None, None)
    assert "no element found" in second["reason"]
    assert second["line"] == 1


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_a_slice_of_a_batch_is_decided_like_a_batch(few: MatchDocuments, kind: Any) -> None:
    contents = [b"<a/>", None, b"", b"<b>\xc3\xbc</b>", b"<x/>", None, b"<c/>"]
    for begin in range(len(contents)):
        for end in range(begin, len(contents) + 1):
            part = batch_of(*contents, kind=kind).slice(begin, end - begin)
            hashes = [row["hash"] for row in rows_of(few(part))]
            assert hashes == [
                None if one is None else hashlib.sha256(one).hexdigest()
                for one in contents[begin:end]
            ]


@pytest.mark.parametrize("contents", [[], [None, None], [b"", b""], [b"", None]])
def test_a_batch_without_any_bytes(few: MatchDocuments, contents: list[bytes | None]) -> None:
    rows = rows_of(few(batch_of(*contents)))
    assert [row["status"] for row in rows] == ["rejected"] * len(contents)


def test_no_subscriptions_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(matching(tmp_path, monkeypatch, [])(batch_of(b"<a/>", b"<a>")))
    assert [row["status"] for row in rows] == ["unwanted", "rejected"]


# --- pieces -------------------------------------------------------------------------------------


def of_counts(counts: list[int]) -> Verdicts:
    """Verdicts on documents with so many deliveries each."""
    ids = [str(number) for number in range(len(counts))]
    nothing = pa.nulls(len(counts), pa.string())
    facts = pa.RecordBatch.from_pydict(
        {"id": pa.array(ids, pa.string()), "source": pa.array(ids, pa.string()), "size": nothing,
         "hash": nothing, "reason": nothing, "line": nothing, "column": nothing}
    )  # fmt: skip
    offsets = np.cumsum([0, *counts])
    keys = pa.array([str(number) for number in range(offsets[-1])], pa.string())
    return Verdicts(facts, offsets, {"key": keys.dictionary_encode(), "subscriber": keys})


@settings(max_examples=100)
@given(counts=st.lists(st.integers(0, 12), max_size=20), most=st.integers(1, 12))
def test_pieces_are_bounded_whole_and_in_order(counts: list[int], most: int) -> None:
    found = of_counts(counts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "_MOST_DELIVERIES", most)
        pieces = [piece.to_pylist() for piece in found.rows()]
    for piece in pieces:
        assert len(piece) == 1 or sum(len(row["deliveries"]) for row in piece) <= most
    rows = [row for piece in pieces for row in piece]
    assert [len(row["deliveries"]) for row in rows] == counts
    assert [each["key"] for row in rows for each in row["deliveries"]] == [
        str(number) for number in range(sum(counts))
    ]
    assert [row["status"] for row in rows] == [
        "delivered" if count else "unwanted" for count in counts
    ]


def test_pieces_are_not_needlessly_small() -> None:
    assert [len(piece) for piece in of_counts([100_000, 100_000, 1, 0]).rows()] == [2, 2]
    assert [len(piece) for piece in of_counts([200_001, 0, 0]).rows()] == [1, 2]


# --- by a network -------------------------------------------------------------------------------


@pytest.fixture
def by_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RouteDocuments:
    clients = (
        ClientPlan("feed", "x", {}, {"all": ANYTHING}),
        ClientPlan("desk", "z", {"1": parse("//a"), "2": parse("/a")}),
    )
    plan = NetworkPlan(Overlay("xyz", [("x", "y"), ("y", "z")]), clients=clients)
    Network.planned(plan).freeze().save(tmp_path / "network")
    monkeypatch.setitem(bundles._kept, "network", FrozenNetwork.load(tmp_path / "network"))
    return RouteDocuments(Bundle("network", FrozenNetwork.load), "x")


def test_a_document_enters_where_it_says_or_else_where_all_do(by_network: RouteDocuments) -> None:
    batch = batch_of(*[b"<a/>"] * 4, b"<b/>", at=["x", None, "z", "nowhere", "x"])
    rows = rows_of(by_network(batch))
    ways = [[(each["sender"], each["receiver"]) for each in row["crossings"]] for row in rows]
    assert ways == [[("x", "y"), ("y", "z")], [("x", "y"), ("y", "z")], [], [], []]
    assert [len(row["deliveries"]) for row in rows] == [2, 2, 2, 0, 0]
    assert {each["broker"] for row in rows for each in row["deliveries"]} == {"z"}
    assert [row["status"] for row in rows] == [*["delivered"] * 3, "rejected", "unwanted"]
    assert "nowhere" in rows[3]["reason"]


def test_a_bad_document_has_its_own_reason_wherever_it_enters(by_network: RouteDocuments) -> None:
    batch = batch_of(b"<a>", b"<a>", None, at=["x", "nowhere", "nowhere"])
    rows = rows_of(by_network(batch))
    assert [row["status"] for row in rows] == ["rejected"] * 3
    assert [row["crossings"] for row in rows] == [[], [], []]
    assert rows[0]["line"] == 1


def test_without_any_place_a_document_is_rejected(by_network: RouteDocuments) -> None:
    for decide, reason in (
        (RouteDocuments(by_network.bundle), "nothing says at which broker"),
        (RouteDocuments(by_network.bundle, "x", "cluster"), "'x' is in no unit, so the scope"),
    ):
        (row,) = rows_of(decide(batch_of(b"<a/>")))
        assert row["status"] == "rejected"
        assert reason in row["reason"]


def test_batches_are_decided_one_after_the_other(few: MatchDocuments) -> None:
    random = Random(1)
    texts = [random.choice((b"<a/>", b"<b/>", b"<x/>", b"<")) for _ in range(50)]
    whole = rows_of(few(batch_of(*texts)))
    taken: list[int] = []

    def parts() -> Any:
        for begin in range(0, 50, 7):
            taken.append(begin)
            yield batch_of(*texts).slice(begin, 7)

    out = VerdictRows(few)(parts())
    first = next(out)
    assert taken == [0]
    assert first.to_pylist() + [row for piece in out for row in piece.to_pylist()] == whole
