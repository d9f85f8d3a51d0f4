"""The store of a broker, call by call."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from broker_store_audit import with_store

from twigcast.broker.store import store as store_module
from twigcast.broker.store.records import Home, Owed, OwedState, QueueEntry, Received
from twigcast.broker.store.retention import Retention, Trimmed
from twigcast.broker.store.store import Store, now_ms
from twigcast.errors import StoreError

HOUR = 3_600_000


class Clock:
    """The time that stores see, in milliseconds."""

    def __init__(self) -> None:
        self.now = 1_000_000_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(store_module, "now_ms", clock)
    return clock


async def fill(store: Store, count: int, durable: str = "news", size: int = 10) -> None:
    """Documents 1 to ``count`` in the queue of one durable subscription."""
    store.put_durable(durable, "ann", {"k": "//a"})
    await asyncio.gather(
        *(
            store.add_document(
                f"o:1:{number}",
                bytes([number % 256]) * size,
                published=number,
                queues=[QueueEntry(durable, number, ("k",))],
            )
            for number in range(1, count + 1)
        )
    )


def test_a_document_is_read_from_each_queue_and_debt(tmp_path: Path, clock: Clock) -> None:
    async def use(store: Store) -> None:
        store.put_durable("news", "ann", {"k": "//a", "l": "//b"})
        store.put_durable("other", "bob", {"m": "//a"})
        await store.add_document(
            "o:1:1",
            b"<a/>",
            published=5,
            queues=[QueueEntry("news", 1, ("k", "l")), QueueEntry("other", 1, ("m",))],
            owed=[Owed("far", 1)],
        )
        (news,) = await store.read_queue("news", 1, 9, limit=5, max_bytes=100)
        (other,) = await store.read_queue("other", 1, 9, limit=5, max_bytes=100)
        assert (news.sequence, news.keys, other.keys) == (1, ("k", "l"), ("m",))
        assert news.document == ("o:1:1", b"<a/>", 5, clock.now)
        assert await store.read_owed("far", [1, 2], max_bytes=9) == ([(1, news.document)], (2,))
        assert await store.read_owed("nowhere", [1], max_bytes=9) == ([], (1,))
        assert await store.read_queue("nowhere", 1, 9, limit=5, max_bytes=100) == []
        figures = await store.figures()
        assert figures == (1, 4, {"news": 1, "other": 1}, {"far": 1})

    with_store(tmp_path, use)


def test_state_is_the_same_after_opening_again(tmp_path: Path) -> None:
    async def write(store: Store) -> tuple[str, int]:
        await fill(store, 6)
        store.acknowledge("news", 2, [4, 6])
        store.put_durable("empty", "bob", {})
        store.add_document("o:1:7", b"x", published=1, owed=[Owed("far", 1), Owed("near", 1)])
        store.add_document("o:1:8", b"x", published=1, owed=[Owed("far", 2), Owed("near", 2)])
        store.confirm("far", 1)
        store.confirm("near", 0, [1, 2, 2**64 - 1])
        store.put_home("far", "e1", 3, ["//b", "//a"], [], base=0)
        store.put_home("far", "e1", 4, ["//c"], ["//a"], base=3)
        store.add_document("p:1:1", b"y", published=1, received=Received("p", "e5", 1))
        store.note_received(Received("p", "e5", 2))
        store.note_received(Received("p", "e5", 4))
        await store.set_own_version(17)
        return store.epoch, store.incarnation

    async def read(store: Store) -> None:
        empty, news = store.durables
        assert empty == ("empty", "bob", {}, 1, 0, 0, frozenset(), 0, 0, (0, 0))
        assert news == ("news", "ann", {"k": "//a"}, 1, 6, 2, frozenset({4, 6}), 0, 0, (0, 0))
        following = store.first_number
        assert store.owed == {"far": OwedState(following, (2,)), "near": OwedState(following, ())}
        assert store.homes == {"far": Home("e1", 4, ("//b", "//c"))}
        assert store.received == {("p", "e5"): (2, (4,))}
        assert store.home_version == 17
        assert (store.epoch, store.incarnation > incarnation) == (epoch, True)

    epoch, incarnation = with_store(tmp_path, write)
    with_store(tmp_path, read)


def test_an_id_that_is_there_adds_only_references(tmp_path: Path) -> None:
    async def use(store: Store) -> None:
        store.put_durable("news", "ann", {})
        store.put_durable("other", "ann", {})
        for _ in range(2):
            await store.add_document(
                "o:1:1", b"first", published=1, queues=[QueueEntry("news", 1, ())]
            )
        await store.acknowledge("news", 1)
        await store.add_document(
            "o:1:1",
            b"second",
            published=2,
            queues=[QueueEntry("news", 1, ()), QueueEntry("other", 1, ("k",))],
            owed=[Owed("far", 1)],
            received=Received("o", "e", 1),
        )
        (entry,) = await store.read_queue("other", 1, 1, limit=1, max_bytes=1)
        assert (entry.document.content, entry.document.published) == (b"first", 1)
        assert await store.figures() == (1, 5, {"news": 0, "other": 1}, {"far": 1})

    with_store(tmp_path, use)


def test_reads_keep_to_their_limits_but_give_one(tmp_path: Path) -> None:
    async def use(store: Store) -> None:
        await fill(store, 9, size=10)

        async def numbers(first: int, last: int, limit: int, max_bytes: int) -> list[int]:
            read = await store.read_queue("news", first, last, limit=limit, max_bytes=max_bytes)
            return [each.sequence for each in read]

        assert await numbers(2, 5, 100, 1000) == [2, 3, 4, 5]
        assert await numbers(2, 9, 3, 1000) == [2, 3, 4]
        assert await numbers(2, 9, 100, 35) == [2, 3, 4]
        assert await numbers(2, 9, 100, 1) == [2]
        assert await numbers(8, 2**64 - 1, 100, 1000) == [8, 9]
        assert await numbers(10, 20, 100, 1000) == []

    with_store(tmp_path, use)


def test_the_first_since_a_time_is_found_also_with_gaps(tmp_path: Path, clock: Clock) -> None:
    async def use(store: Store) -> None:
        begin = clock.now
        await store.put_durable("news", "ann", {})
        assert await store.first_since("news", begin) == 1
        for number in range(1, 41):
            clock.now = begin + number * 10
            queues = [QueueEntry("news", number, ())]
            await store.add_document(f"o:1:{number}", b"x", published=1, queues=queues)
        await store.acknowledge("news", 0, range(10, 20))
        clock.now += HOUR
        assert (await store.trim(clock.now + HOUR + 1)).documents == 10
        for number in range(1, 41):
            expected = 20 if 10 <= number < 20 else number
            assert await store.first_since("news", begin + number * 10 - 5) == expected
            assert await store.first_since("news", begin + number * 10) == expected
        assert await store.first_since("news", begin + 401) == 41
        assert await store.first_since("nowhere", begin) == 1

    with_store(tmp_path, use)


def test_documents_come_newest_first_in_batches(tmp_path: Path, clock: Clock) -> None:
    async def use(store: Store) -> list[list[str]]:
        for number in range(1, 11):
            clock.now += number % 2  # two at each time
            await store.add_document(f"o:1:{number}", b"x", published=1)
        since = clock.now - 3
        return [[document.id for document in batch] async for batch in store.newest_first(since, 3)]

    batches = with_store(tmp_path, use)
    assert [id_.removeprefix("o:1:") for batch in batches for id_ in batch] == [
        *("10", "9", "8", "7", "6", "5", "4", "3")
    ]
    assert [len(batch) for batch in batches] == [3, 3, 2]


def test_acknowledged_moves_over_what_was_acknowledged_one_by_one(tmp_path: Path) -> None:
    async def write(store: Store) -> None:
        await fill(store, 6)
        store.acknowledge("news", 0, [2, 3, 3, 99])
        await store.acknowledge("news", 1)
        assert (await store.figures()).queued == {"news": 3}
        await store.acknowledge("news", 1, [1, 2])
        assert (await store.figures()).queued == {"news": 3}
        await store.acknowledge("nowhere", 3)

    async def read(store: Store) -> None:
        (news,) = store.durables
        assert (news.acknowledged, news.acknowledged_beyond, news.last) == (3, frozenset(), 6)
        await store.acknowledge("news", 2**64 - 1, [2**64 - 1])
        assert (await store.figures()).queued == {"news": 0}

    async def read_again(store: Store) -> None:
        assert store.durables[0].acknowledged == 6

    with_store(tmp_path, write)
    with_store(tmp_path, read)
    with_store(tmp_path, read_again)


def test_trim_keeps_what_is_needed_until_it_is_too_old(tmp_path: Path, clock: Clock) -> None:
    async def use(store: Store) -> None:
        await fill(store, 4)
        store.add_document("o:1:5", b"owed", published=1, owed=[Owed("far", 1)])
        store.add_document("o:1:6", b"nobody's", published=1)
        await store.acknowledge("news", 2)
        begin = clock.now
        assert await store.trim(begin + HOUR) == Trimmed()
        trimmed = await store.trim(begin + HOUR + 1)
        assert (trimmed.documents, trimmed.bytes) == (3, 28)
        assert (trimmed.lost, trimmed.first, trimmed.owed_lost) == ({}, {"news": 3}, {})
        trimmed = await store.trim(begin + 24 * HOUR)
        assert trimmed == Trimmed()
        trimmed = await store.trim(begin + 24 * HOUR + 1)
        assert trimmed == Trimmed(3, 24, {"news": 2}, {"news": 5}, {"far": (1,)})
        assert await store.figures() == (0, 0, {"news": 0}, {"far": 0})
        await store.add_document(
            "o:1:9", b"", published=1, queues=[QueueEntry("news", 5, ())], owed=[Owed("far", 2)]
        )

    async def read(store: Store) -> None:
        (news,) = store.durables
        assert (news.first, news.last, news.acknowledged, news.missed) == (5, 5, 4, 2)
        assert store.owed == {"far": OwedState(store.first_number, (2,))}

    with_store(tmp_path, use, Retention(age=24 * 3600.0))
    with_store(tmp_path, read)


def test_a_document_that_is_needed_anew_is_kept(tmp_path: Path, clock: Clock) -> None:
    async def use(store: Store) -> None:
        await store.add_document("o:1:1", b"x", published=1)
        await store.add_document("o:1:1", b"x", published=1, owed=[Owed("far", 1)])
        assert (await store.trim(clock.now + 2 * HOUR)).documents == 0
        clock.now += 2 * HOUR
        await store.confirm("far", 1)
        assert (await store.trim(clock.now + HOUR)).documents == 0
        assert (await store.trim(clock.now + HOUR + 1)).documents == 1

    with_store(tmp_path, use)


def test_beyond_its_size_a_store_drops_the_oldest(tmp_path: Path, clock: Clock) -> None:
    async def use(store: Store) -> None:
        await fill(store, 1500, size=10)
        trimmed = await store.trim(clock.now)
        assert (trimmed.documents, trimmed.bytes) == (1397, 13970)
        assert (trimmed.lost, trimmed.first) == ({"news": 1397}, {"news": 1398})
        assert (await store.figures()).queued == {"news": 103}

    with_store(tmp_path, use, Retention(size=1035))


def test_what_is_dropped_is_gone_and_names_can_be_used_again(tmp_path: Path) -> None:
    async def use(store: Store) -> None:
        await fill(store, 1200)
        await store.add_document("o:1:1", b"", published=1, owed=[Owed("far", 1), Owed("b", 1)])
        store.put_home("far", "e1", 3, ["//a"], [], base=0)
        store.drop_durable("news")
        store.drop_durable("nowhere")
        store.put_durable("news", "bob", {})
        store.add_document("o:1:2", b"", published=1, queues=[QueueEntry("news", 1, ("n",))])
        store.drop_home("far")
        await store.drop_home("nowhere")
        (entry,) = await store.read_queue("news", 1, 2000, limit=2000, max_bytes=10**6)
        assert (entry.document.id, entry.keys) == ("o:1:2", ("n",))
        assert await store.figures() == (1200, 12000, {"news": 1}, {"b": 1})
        await store.add_document("o:1:3", b"", published=1, owed=[Owed("far", 2)])

    async def read(store: Store) -> None:
        assert [(each.name, each.owner, each.last) for each in store.durables] == [
            ("news", "bob", 1)
        ]
        following = store.first_number
        assert store.owed == {"far": OwedState(following, (2,)), "b": OwedState(following, (1,))}
        assert store.homes == {}
        far_away = 10**15
        assert (await store.trim(far_away)).documents == 1200

    with_store(tmp_path, use)
    with_store(tmp_path, read)


def test_what_a_dropped_queue_had_acknowledged_is_not_released_twice(tmp_path: Path) -> None:
    async def use(store: Store) -> None:
        await fill(store, 6)
        store.acknowledge("news", 2, [4, 6])
        for number in range(1, 7):
            owed = [Owed("far", number)]
            store.add_document(f"o:1:{number}", b"", published=1, owed=owed)
        await store.drop_durable("news")
        assert (await store.trim(now_ms() + 2 * HOUR)).documents == 0
        await store.confirm("far", 6)
        assert (await store.trim(now_ms() + 2 * HOUR)).documents == 6

    with_store(tmp_path, use)


def test_expressions_are_replaced_and_the_queue_stays(tmp_path: Path) -> None:
    async def write(store: Store) -> None:
        await fill(store, 3)
        await store.put_durable("news", "bob", {"x": "//x"})

    async def read(store: Store) -> None:
        (news,) = store.durables
        assert (news.owner, news.expressions, news.last) == ("bob", {"x": "//x"}, 3)

    with_store(tmp_path, write)
    with_store(tmp_path, read)


def test_what_is_settled_or_of_an_older_epoch_is_not_waited_for(tmp_path: Path) -> None:
    async def write(store: Store) -> None:
        store.note_received(Received("p", "e1", 9))
        store.note_received(Received("p", "e2", 5))
        store.note_received(Received("p", "e2", 8, settled=4))
        store.note_received(Received("p", "e2", 4))
        await store.note_received(Received("p", "e1", 1))

    async def read(store: Store) -> None:
        assert store.received == {("p", "e2"): (5, (8,))}

    with_store(tmp_path, write)
    with_store(tmp_path, read)


def test_a_publication_is_found_also_while_it_is_written(tmp_path: Path) -> None:
    async def use(store: Store) -> None:
        written = store.add_document("o:1:1", b"x", published=1, publication="mine")
        assert not written.done()
        assert await store.find_publication("mine") == "o:1:1"
        assert written.done()
        assert await store.find_publication("mine") == "o:1:1"
        assert await store.find_publication("yours") is None
        refused = store.add_document(
            "o:1:2", b"x", published=1, publication="yours", queues=[QueueEntry("nowhere", 1, ())]
        )
        assert await store.find_publication("yours") is None
        with pytest.raises(StoreError, match="nowhere"):
            await refused

    async def later(store: Store) -> None:
        assert await store.find_publication("mine") == "o:1:1"

    with_store(tmp_path, use)
    with_store(tmp_path, later)


def test_a_write_that_cannot_be_done_fails_alone(tmp_path: Path) -> None:
    async def use(store: Store) -> None:
        store.put_durable("news", "ann", {})
        written = [
            store.add_document(
                f"o:1:{number}",
                b"x",
                published=1,
                queues=[QueueEntry("nowhere" if number in (30, 71) else "news", number, ())],
            )
            for number in range(1, 101)
        ]
        clash = store.add_document("o:2:1", b"", published=1, queues=[QueueEntry("news", 1, ())])
        owed = store.add_document("o:2:2", b"", published=1, owed=[Owed("f", 1), Owed("f", 1)])
        odd = store.add_document("o:2:3\ud800", b"", published=1)
        results = await asyncio.gather(*written, clash, owed, odd, return_exceptions=True)
        failed = [number for number, result in enumerate(results, start=1) if result is not None]
        assert failed == [30, 71, 101, 102, 103]
        assert all(isinstance(results[number - 1], StoreError) for number in failed)
        assert (await store.figures()).queued == {"news": 98}
        assert store.waiting_bytes == 0

    with_store(tmp_path, use)


def test_bytes_wait_until_they_are_committed(tmp_path: Path) -> None:
    async def use(store: Store) -> None:
        first = store.add_document("o:1:1", b"x" * 1000, published=1)
        second = store.add_document("o:1:2", b"x" * 500, published=1)
        assert 1500 < store.waiting_bytes < 5000
        await asyncio.gather(first, second)
        assert store.waiting_bytes == 0

    with_store(tmp_path, use)


def test_closing_writes_what_is_queued_and_refuses_the_rest(tmp_path: Path) -> None:
    async def run() -> None:
        store = Store.open(tmp_path, broker="home")
        with pytest.raises(StoreError, match="not started"):
            store.drop_durable("news")
        store.start(asyncio.get_running_loop())
        with pytest.raises(StoreError, match="once"):
            store.start(asyncio.get_running_loop())
        written = [store.add_document(f"o:1:{n}", b"x", published=1) for n in range(3000)]
        await store.close()
        await store.close()
        assert [each.exception() for each in written] == [None] * 3000
        with pytest.raises(StoreError, match="closed"):
            await store.add_document("o:2:1", b"x", published=1)
        with pytest.raises(StoreError, match="closed"):
            await store.figures()

    asyncio.run(run())
    assert not [each for each in threading.enumerate() if each.name.startswith("store")]

    async def read(store: Store) -> None:
        assert (await store.figures()).documents == 3000

    with_store(tmp_path, read)


def test_a_store_that_was_never_started_can_be_closed(tmp_path: Path) -> None:
    for _ in range(2):
        asyncio.run(Store.open(tmp_path, broker="home").close())


def test_a_backup_is_a_store_with_a_new_epoch(tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "store.sqlite"
    copy.parent.mkdir()

    async def write(store: Store) -> tuple[str, int]:
        await fill(store, 300, size=5000)
        more = [store.add_document(f"o:2:{n}", b"x" * 5000, published=1) for n in range(300)]
        await store.backup(copy)
        with pytest.raises(StoreError, match="already"):
            await store.backup(copy)
        with pytest.raises(StoreError):
            await store.backup(tmp_path / "no folder" / "copy")
        await asyncio.gather(*more)
        return store.epoch, store.incarnation

    async def read(store: Store) -> None:
        assert store.epoch > epoch
        assert store.incarnation > incarnation
        read = await store.read_queue("news", 1, 300, limit=300, max_bytes=10**9)
        assert [each.document.content[0] for each in read] == [n % 256 for n in range(1, 301)]

    epoch, incarnation = with_store(tmp_path / "original", write)
    assert [each.name for each in copy.parent.iterdir()] == ["store.sqlite"]
    with_store(copy.parent, read)


def test_retention_cannot_be_negative() -> None:
    with pytest.raises(ValueError, match="negative"):
        Retention(age=-1)
