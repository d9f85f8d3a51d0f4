"""Two brokers of a group write into one database at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from broker_stores import document, durable
from postgres_server import PostgresServer
from postgres_store_audit import audit_postgres

from twigcast.broker.store.postgres import PostgresDatabase, opening
from twigcast.delivery.writes import Acknowledge, KeepDocument, Kept
from twigcast.errors import StoreError

Pair = tuple[PostgresDatabase, PostgresDatabase]


@pytest.fixture
def pair(postgres: PostgresServer, postgres_url: str) -> Iterator[Pair]:
    first, second = (
        PostgresDatabase(postgres_url, broker="group", sync="full", is_shared=True)
        for _ in range(2)
    )
    first.write([durable("news"), durable("sport")])
    yield first, second
    first.close()
    second.close()
    audit_postgres(postgres, postgres_url.rpartition("/")[2])


def test_each_has_an_incarnation_of_its_own(pair: Pair) -> None:
    first, second = pair
    assert second.state.incarnation > first.state.incarnation


def test_sequences_have_no_gaps_and_are_seen_in_their_order(pair: Pair) -> None:
    given: list[dict[int, int]] = [{}, {}]
    seen: list[list[int]] = []
    is_done = threading.Event()

    def write(which: int) -> None:
        for turn in range(40):
            first = 1000 * (1 + which) + 5 * turn
            batch = [document(number, "news", "sport") for number in range(first, first + 5)]
            if turn % 3 == which:
                batch.append(document(turn, "news"))  # which both have
            for write, result in zip(batch, pair[which].write(batch), strict=True):
                assert isinstance(result, Kept)
                given[which][write.parcel.id.number] = result.sequences[0]
            pair[which].write([Acknowledge("news", 0, (turn,), 0)])

    def read() -> None:
        reader = pair[0].reader()
        while not is_done.is_set():
            queued = reader.read_queue("news", 1, 10**6, 10**6, 10**9)
            seen.append([each.sequence for each in queued])
        reader.close()

    threads = [threading.Thread(target=write, args=(which,)) for which in (0, 1)]
    reading = threading.Thread(target=read)
    for thread in (*threads, reading):
        thread.start()
    for thread in threads:
        thread.join()
    is_done.set()
    reading.join()
    sequences = [each for one in given for each in one.values() if each]
    assert sorted(sequences) == list(range(1, len(sequences) + 1))
    assert len(sequences) > 400
    assert len(seen) > 3
    for each in seen:
        assert each == list(range(1, len(each) + 1)), "a later one was seen before an earlier one"


def test_a_document_is_kept_once(pair: Pair) -> None:
    first, second = pair
    assert first.write([document(1, "news")]) == [Kept((1,))]
    assert second.write([document(1, "news", "sport")]) == [Kept((0, 1))]


def test_a_publication_belongs_to_one_document(pair: Pair) -> None:
    first, second = pair
    first.write([document(1, "news", publication="ann/7", content=b"a")])
    expected = [Kept((0,), "o:1:1"), Kept((0,), "o:1:1", is_other=True)]
    again = [
        document(2, "news", publication="ann/7", content=b"a"),
        document(3, "news", publication="ann/7", content=b"b"),
    ]
    assert second.write(again) == expected


def test_at_once_a_publication_belongs_to_one_document(pair: Pair) -> None:
    results: list[list[object]] = [[], []]

    def write(which: int) -> None:
        for turn in range(30):
            write: KeepDocument = document(2 * turn + which, "news", publication=f"p{turn}")
            results[which] += pair[which].write([write])

    threads = [threading.Thread(target=write, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for turn, kept in enumerate(zip(*results, strict=True)):
        known = [each.known for each in kept if isinstance(each, Kept)]
        assert known in (["", f"o:1:{2 * turn}"], [f"o:1:{2 * turn + 1}", ""])


def test_a_store_that_is_not_shared_is_opened_once(
    pair: Pair, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_PATIENCE", 0.0)
    with pytest.raises(StoreError, match="a running broker has this store open: stop that one"):
        PostgresDatabase(postgres_url, broker="group", sync="full")
