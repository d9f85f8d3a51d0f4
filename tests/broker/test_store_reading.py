"""Reading a broker's store: within limits, and without waiting for those who ask for everything."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from broker_stores import PATIENCE, Stores, User, document, durable, fill, identity, with_store

from twigcast.broker.store import readers
from twigcast.delivery.writes import Acknowledge, Confirm

SIZES = {1: 10, 2: 0, 4: 30, 5: 5, 7: 100}
"""Of what is owed, by number; 3 and 6 are confirmed."""
HOUR = 3_600_000


async def owe(user: User) -> None:
    for number in range(1, 8):
        user.do(document(number, content=bytes(SIZES.get(number, 1)), homes=("far",)))
    await user.do(Confirm("far", (identity(3), identity(6)), 0))


@pytest.mark.parametrize(
    ("numbers", "max_bytes", "found", "gone"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8], 10**6, [1, 2, 4, 5, 7], [3, 6, 8]),
        ([1, 2, 3, 4, 5, 6, 7, 8], 145, [1, 2, 4, 5, 7], [3, 6, 8]),
        ([1, 2, 3, 4, 5, 6, 7, 8], 144, [1, 2, 4, 5], [3, 6, 8]),
        ([1, 2, 3, 4, 5, 6, 7, 8], 39, [1, 2], [3, 6, 8]),  # though 5 would fit
        ([1, 2, 3, 4, 5, 6, 7, 8], 0, [1, 2][:1], [3, 6, 8]),
        ([5, 7, 3], 1, [5], [3]),
        ([7, 5], 1, [7], []),
        ([3, 6], 100, [], [3, 6]),
        ([], 100, [], []),
    ],
)
def test_what_is_owed_is_read_as_far_as_it_fits(
    stores: Stores, numbers: list[int], max_bytes: int, found: list[int], gone: list[int]
) -> None:
    async def use(user: User) -> None:
        await owe(user)
        ids = [identity(number) for number in numbers]
        owed = await user.store.read_owed("far", ids, max_bytes=max_bytes)
        assert [parcel.id.number for parcel in owed.documents] == found
        assert [len(parcel.content) for parcel in owed.documents] == [SIZES[n] for n in found]
        assert [id_.number for id_ in owed.gone] == gone

    with_store(stores, use)


def test_reads_of_a_queue_keep_to_their_limits_but_give_one(stores: Stores) -> None:
    async def use(user: User) -> None:
        await fill(user, 9, size=10)

        async def numbers(first: int, last: int, limit: int, max_bytes: int) -> list[int]:
            read = await user.store.read_queue(
                "news", first, last, limit=limit, max_bytes=max_bytes
            )
            return [each.sequence for each in read]

        assert await numbers(2, 5, 100, 1000) == [2, 3, 4, 5]
        assert await numbers(2, 9, 3, 1000) == [2, 3, 4]
        assert await numbers(2, 9, 100, 35) == [2, 3, 4]
        assert await numbers(2, 9, 100, 1) == [2]
        assert await numbers(8, 2**64 - 1, 100, 1000) == [8, 9]
        assert await numbers(10, 20, 100, 1000) == []

    with_store(stores, use)


def test_the_first_since_a_time_is_found_also_with_gaps(stores: Stores) -> None:
    async def use(user: User) -> None:
        await user.do(durable("news"))
        assert await user.store.first_since("news", 0) == 1
        for number in range(1, 41):
            user.do(document(number, "news", stored=number * 10))
        await user.do(Acknowledge("news", 0, tuple(range(10, 20)), 0))
        await user.store.trim(500)
        assert (await user.store.trim(501 + HOUR)).documents == 10
        for number in range(1, 41):
            expected = 20 if 10 <= number < 20 else number
            assert await user.store.first_since("news", number * 10 - 5) == expected
            assert await user.store.first_since("news", number * 10) == expected
        assert await user.store.first_since("news", 401) == 41
        assert await user.store.first_since("nowhere", 0) == 1

    with_store(stores, use)


def test_documents_come_newest_first_in_batches(stores: Stores) -> None:
    async def use(user: User) -> list[list[str]]:
        for number in range(1, 11):
            await user.do(document(number, stored=number // 2))  # two at each time
        return [[each.id for each in batch] async for batch in user.store.newest_first(2, 3)]

    batches = with_store(stores, use)
    assert [id_ for batch in batches for id_ in batch] == [f"o:1:{n}" for n in range(10, 3, -1)]
    assert [len(batch) for batch in batches] == [3, 3, 1]


def test_a_batch_for_whoever_asks_is_small(stores: Stores) -> None:
    async def use(user: User) -> list[int]:
        for number in range(10):
            user.do(document(number, content=bytes(300_000)))
        await user.do(document(10, content=bytes(3_000_000)))
        return [
            sum(len(each.content) for each in batch)
            async for batch in user.store.newest_first(0, 100)
        ]

    assert with_store(stores, use) == [3_000_000, 900_000, 900_000, 900_000, 300_000]


def test_whoever_asks_does_not_delay_those_who_read(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the questions of many take, a queue is read meanwhile."""
    is_asked, may_go_on = threading.Event(), threading.Event()
    real: Any = readers._newest_before

    def slow(*values: Any) -> Any:
        def wait_and_ask(reader: Any) -> Any:
            is_asked.set()
            assert may_go_on.wait(PATIENCE)
            return real(*values)(reader)

        return wait_and_ask

    monkeypatch.setattr(readers, "_newest_before", slow)

    async def use(user: User) -> None:
        user.do(durable("news"))
        await user.do(document(1, "news", homes=("far",), publication="p"))

        async def ask() -> list[str]:
            return [each.id async for batch in user.store.newest_first(0, 9) for each in batch]

        asks = [asyncio.create_task(ask()) for _ in range(200)]
        try:
            assert await asyncio.to_thread(is_asked.wait, PATIENCE)
            async with asyncio.timeout(PATIENCE / 2):
                for _ in range(20):
                    assert await user.store.read_queue("news", 1, 9, limit=9, max_bytes=9)
                    assert (await user.store.read_owed("far", [identity(1)], max_bytes=9)).documents
                    assert await user.store.find_publication("p") is not None
            assert not any(each.done() for each in asks)
        finally:
            may_go_on.set()
        assert await asyncio.gather(*asks) == [["o:1:1"]] * 200

    with_store(stores, use)


def test_a_sparse_queue_is_read_across_segments(stores: Stores, tmp_path: Path) -> None:
    async def use(user: User) -> None:
        user.do(durable("all"))
        user.do(durable("few"))
        for number in range(1, 9001):
            rare = ("few",) if number % 2500 == 1 else ()
            written = user.do(document(number, "all", *rare))
        await written
        few = await user.store.read_queue("few", 1, 99, limit=99, max_bytes=99)
        assert [(each.sequence, each.document.id) for each in few] == [
            *((1, "o:1:1"), (2, "o:1:2501"), (3, "o:1:5001"), (4, "o:1:7501"))
        ]
        for first in (1, 2, 4095, 4096, 4097, 8191, 8192, 8999, 9000):
            (entry,) = await user.store.read_queue("all", first, first, limit=9, max_bytes=99)
            assert (entry.sequence, entry.document.id) == (first, f"o:1:{first}")

    with_store(stores, use)
