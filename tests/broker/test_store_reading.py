"""Reading a broker's store: within limits, and without waiting for those who ask for everything."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from broker_store_audit import PATIENCE, with_store

from twigcast.broker.store import reading
from twigcast.broker.store.records import Owed, QueueEntry, StoredDocument
from twigcast.broker.store.store import Store

Answer = tuple[list[StoredDocument], tuple[int, int]]

SIZES = {1: 10, 2: 0, 4: 30, 5: 5, 7: 100}
"""Of what is owed, by number; 3 and 6 are confirmed."""


async def owe(store: Store) -> None:
    for number in range(1, 8):
        content = bytes(SIZES.get(number, 1))
        store.add_document(f"o:1:{number}", content, published=1, owed=[Owed("far", number)])
    await store.confirm("far", 0, [3, 6])


@pytest.mark.parametrize(
    ("numbers", "max_bytes", "found", "gone"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8], 10**6, [1, 2, 4, 5, 7], [3, 6, 8]),
        ([1, 2, 3, 4, 5, 6, 7, 8], 145, [1, 2, 4, 5, 7], [3, 6, 8]),
        ([1, 2, 3, 4, 5, 6, 7, 8], 144, [1, 2, 4, 5], [3, 6, 8]),
        ([1, 2, 3, 4, 5, 6, 7, 8], 39, [1, 2], [3, 6, 8]),  # though 5 would fit
        ([1, 2, 3, 4, 5, 6, 7, 8], 0, [1], [3, 6, 8]),
        ([7, 5, 3], 1, [5], [3]),
        ([7], 1, [7], []),
        ([3, 6], 100, [], [3, 6]),
        ([], 100, [], []),
    ],
)
def test_what_is_owed_is_read_as_far_as_it_fits(
    tmp_path: Path, numbers: list[int], max_bytes: int, found: list[int], gone: list[int]
) -> None:
    async def use(store: Store) -> None:
        await owe(store)
        owed = await store.read_owed("far", numbers, max_bytes=max_bytes)
        assert [(number, document.id) for number, document in owed.documents] == [
            (number, f"o:1:{number}") for number in found
        ]
        assert [len(document.content) for _, document in owed.documents] == [
            SIZES[n] for n in found
        ]
        assert owed.gone == tuple(gone)

    with_store(tmp_path, use)


def test_reading_in_parts_reads_all(tmp_path: Path) -> None:
    async def use(store: Store) -> None:
        await owe(store)
        waiting, read = set(range(1, 9)), []
        for _ in range(8):
            owed = await store.read_owed("far", sorted(waiting), max_bytes=40)
            read += [number for number, _ in owed.documents]
            waiting -= {*owed.gone, *read}
            if not waiting:
                break
        assert read == list(SIZES)

    with_store(tmp_path, use)


def test_whoever_asks_does_not_delay_those_who_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the questions of many take, a queue is read meanwhile."""
    is_asked, may_go_on = threading.Event(), threading.Event()
    real = reading._newest_before

    def slow(
        place: tuple[int, int], since: int, batch: int
    ) -> Callable[[sqlite3.Connection], Answer]:
        question = real(place, since, batch)

        def wait_and_ask(connection: sqlite3.Connection) -> Answer:
            is_asked.set()
            assert may_go_on.wait(PATIENCE)
            return question(connection)

        return wait_and_ask

    monkeypatch.setattr(reading, "_newest_before", slow)

    async def use(store: Store) -> None:
        store.put_durable("news", "ann", {})
        queues, owed = [QueueEntry("news", 1, ())], [Owed("far", 1)]
        await store.add_document(
            "o:1:1", b"x", published=1, publication="p", queues=queues, owed=owed
        )

        async def ask() -> list[str]:
            return [each.id async for batch in store.newest_first(0, 9) for each in batch]

        asks = [asyncio.create_task(ask()) for _ in range(200)]
        try:
            assert await asyncio.to_thread(is_asked.wait, PATIENCE)
            async with asyncio.timeout(PATIENCE / 2):
                for _ in range(20):
                    assert len(await store.read_queue("news", 1, 9, limit=9, max_bytes=9)) == 1
                    assert len((await store.read_owed("far", [1], max_bytes=9)).documents) == 1
                    assert await store.find_publication("p") == "o:1:1"
                await store.backup(tmp_path / "copy")
            assert not any(each.done() for each in asks)
        finally:
            may_go_on.set()
        assert await asyncio.gather(*asks) == [["o:1:1"]] * 200

    with_store(tmp_path / "store", use)


def test_a_batch_for_whoever_asks_is_small(tmp_path: Path) -> None:
    async def use(store: Store) -> list[int]:
        for number in range(10):
            store.add_document(f"o:1:{number}", bytes(300_000), published=1)
        await store.add_document("o:1:10", bytes(3_000_000), published=1)
        return [
            sum(len(document.content) for document in batch)
            async for batch in store.newest_first(0, 100)
        ]

    sizes = with_store(tmp_path, use)
    assert sizes == [3_000_000, 900_000, 900_000, 900_000, 300_000]
