"""Numbers of a broker's store that are never given twice, also when the store falls back."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from broker_store_audit import with_store

from twigcast.broker.custody import Custody, Receipts
from twigcast.broker.store import lock as store_lock
from twigcast.broker.store import schema as store_schema
from twigcast.broker.store.lock import LOCK
from twigcast.broker.store.records import Durable, Owed, OwedState, QueueEntry, Received
from twigcast.broker.store.schema import SEQUENCE_LEAP
from twigcast.broker.store.store import FILE, Store
from twigcast.errors import StoreError


def now_us() -> int:
    return time.time_ns() // 1000


async def owe_one(store: Store) -> int:
    """Owe a document to a home, as a broker does; its number."""
    known = store.owed.get("far", OwedState(store.first_number, ()))
    identity = f"o:{store.incarnation}:1"
    await store.add_document(identity, b"x", published=1, owed=[Owed("far", known.next)])
    return known.next


async def queue_one(store: Store) -> int:
    """Put a document into a queue, as a broker does; its place."""
    last = next((each.last for each in store.durables), 0)
    if not store.durables:
        store.put_durable("news", "ann", {"k": "//a"})
    queues = [QueueEntry("news", last + 1, ("k",))]
    await store.add_document(f"o:{store.incarnation}:2", b"x", published=1, queues=queues)
    return last + 1


def test_numbers_of_each_opening_begin_at_the_time(tmp_path: Path) -> None:
    given: list[int] = []
    for _ in range(3):
        before = now_us()
        given.append(with_store(tmp_path, owe_one))
        assert before <= given[-1] <= now_us()
    assert given == sorted(set(given))


def test_numbers_are_raised_on_disk_before_any_is_given(tmp_path: Path) -> None:
    with_store(tmp_path, owe_one)

    async def look(store: Store) -> None:
        with closing(sqlite3.connect(tmp_path / FILE)) as connection:
            following = connection.execute("SELECT next FROM debts").fetchall()
            (first,) = connection.execute("SELECT value FROM facts WHERE name = 'first_number'")
        assert following == [first] == [(store.first_number,)]
        assert store.owed["far"].next == store.first_number

    with_store(tmp_path, look)


def test_a_clock_that_goes_back_gives_no_number_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def owe_and_drop(store: Store) -> int:
        number = await owe_one(store)
        await store.drop_home("far")
        return number

    first = with_store(tmp_path, owe_one)
    monkeypatch.setattr(store_schema, "now_us", lambda: 5)
    second = with_store(tmp_path, owe_and_drop)  # after which nothing is known of the home
    third = with_store(tmp_path, owe_one)
    assert first < second < third


def test_a_home_that_was_dropped_leaves_nothing(tmp_path: Path) -> None:
    async def use(store: Store) -> None:
        for number in range(50):
            await store.add_document(
                f"o:1:{number}", b"x", published=1, owed=[Owed(f"home {number}", 1)]
            )
            await store.drop_home(f"home {number}")
        await store.set_own_version(1)

    with_store(tmp_path, use)

    async def look(store: Store) -> None:
        assert store.owed == {}
        deadline = time.monotonic() + 30
        with closing(sqlite3.connect(tmp_path / FILE)) as connection:
            while connection.execute("SELECT count(*) FROM debts").fetchone() != (0,):
                assert time.monotonic() < deadline

    with_store(tmp_path, look)


def test_after_a_copy_is_put_back_a_home_takes_nothing_new_for_a_duplicate(
    tmp_path: Path,
) -> None:
    """What the store gives and what homes remember, together, and without a new epoch."""
    folder, copy = tmp_path / "store", tmp_path / "copy"
    with_store(folder, owe_one)
    shutil.copytree(folder, copy)
    receipts = Receipts()

    async def send(store: Store) -> bool:
        custody = Custody()
        for home, owed in store.owed.items():
            custody.restore(home, owed.next, ())
        (debt,) = custody.owe(["far"])
        is_new = receipts.begin("o", "e", debt.number, debt.settled)
        receipts.done("o", "e", debt.number)
        await store.add_document(
            f"o:{store.incarnation}:2", b"x", published=1, owed=[Owed("far", debt.number)]
        )
        receipt = receipts.receipt("o", "e")
        assert receipt is not None
        assert receipt == (debt.number, ())
        return is_new

    assert with_store(folder, send)
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    assert with_store(folder, send)


def test_gaps_between_numbers_cost_nothing(tmp_path: Path) -> None:
    began = time.monotonic()

    async def use(store: Store) -> None:
        store.put_durable("news", "ann", {})
        for number in (1, 10**15, 2 * 10**15):
            await store.add_document(
                f"o:1:{number}",
                b"x",
                published=1,
                queues=[QueueEntry("news", number, ())],
                owed=[Owed("far", number)],
                received=Received("p", "e", number, settled=number),
            )
        await store.acknowledge("news", 10**15, [2 * 10**15])
        await store.confirm("far", 10**15 + 5)
        assert await store.first_since("news", 0) == 1
        assert len(await store.read_queue("news", 2, 2**63, limit=9, max_bytes=9)) == 2
        assert (await store.figures()).owed == {"far": 1}

    async def look(store: Store) -> None:
        assert store.received == {("p", "e"): (2 * 10**15, ())}
        assert store.durables[0].acknowledged == 2 * 10**15

    with_store(tmp_path, use)
    with_store(tmp_path, look)
    assert time.monotonic() - began < 60


def test_places_are_contiguous_after_plain_restarts(tmp_path: Path) -> None:
    assert [with_store(tmp_path, queue_one) for _ in range(4)] == [1, 2, 3, 4]


def test_queues_of_a_backup_that_is_put_back_leap(tmp_path: Path) -> None:
    folder, backup = tmp_path / "store", tmp_path / "backup"
    with_store(folder, queue_one)
    with_store(folder, lambda store: store.backup(backup))
    assert with_store(folder, queue_one) == 2
    shutil.rmtree(folder)
    folder.mkdir()
    shutil.copy(backup, folder / FILE)

    async def look(store: Store) -> None:
        (news,) = store.durables
        assert (news.first, news.last, news.acknowledged) == (1, 1 + SEQUENCE_LEAP, 0)
        assert news.gap == (1, 1 + SEQUENCE_LEAP)
        assert (await store.figures()).queued == {"news": 1}

    with_store(folder, look)
    assert with_store(folder, queue_one) == SEQUENCE_LEAP + 2  # once only

    async def acknowledge_one_by_one(store: Store) -> None:
        await store.acknowledge("news", 0, [1])

    async def look_again(store: Store) -> None:
        assert store.durables[0].acknowledged == SEQUENCE_LEAP + 1
        read = await store.read_queue("news", 1, 2**63, limit=9, max_bytes=9)
        assert [each.sequence for each in read] == [1, SEQUENCE_LEAP + 2]

    with_store(folder, acknowledge_one_by_one)
    with_store(folder, look_again)


def test_an_older_file_in_the_place_of_a_newer_is_noticed(tmp_path: Path) -> None:
    """A plain copy, which nothing in it tells from the original."""
    folder, copy = tmp_path / "store", tmp_path / "copy"

    async def acknowledge(store: Store) -> str:
        await store.acknowledge("news", 1)
        return store.epoch

    async def look(store: Store) -> None:
        (news,) = store.durables
        assert (news.last, news.acknowledged) == (1 + SEQUENCE_LEAP, 1 + SEQUENCE_LEAP)
        assert store.epoch > epoch

    with_store(folder, queue_one)
    epoch = with_store(folder, acknowledge)
    shutil.copy(folder / FILE, copy)
    assert with_store(folder, queue_one) == 2
    shutil.copy(copy, folder / FILE)
    with_store(folder, look)
    assert with_store(folder, queue_one) == SEQUENCE_LEAP + 2


def test_an_older_folder_in_the_place_of_a_newer_is_noticed(tmp_path: Path) -> None:
    folder, copy = tmp_path / "store", tmp_path / "copy"
    with_store(folder, queue_one)
    shutil.copytree(folder, copy)
    assert with_store(folder, queue_one) == 2
    folder.rename(tmp_path / "damaged")
    shutil.copytree(copy, folder)
    assert with_store(folder, queue_one) == SEQUENCE_LEAP + 2
    folder.rename(tmp_path / "elsewhere")  # which is no copy
    assert with_store(tmp_path / "elsewhere", queue_one) == SEQUENCE_LEAP + 3


def test_a_gap_of_two_copies_after_each_other_is_one(tmp_path: Path) -> None:
    folder, copy = tmp_path / "store", tmp_path / "copy"
    with_store(folder, queue_one)
    for count in range(1, 3):
        shutil.copy(folder / FILE, copy)
        with_store(folder, nothing)
        shutil.copy(copy, folder / FILE)
        (news,) = with_store(folder, durables)
        assert (news.last, news.gap) == (1 + count * SEQUENCE_LEAP, (1, 1 + count * SEQUENCE_LEAP))


async def nothing(store: Store) -> None:
    await store.figures()


async def durables(store: Store) -> list[Durable]:
    return store.durables


@pytest.mark.parametrize(
    ("sync", "is_closed", "boot", "place"),
    [
        ("normal", False, "later", 2 + SEQUENCE_LEAP),
        ("normal", False, "same", 2),  # killed, which loses nothing
        ("normal", True, "later", 2),
        ("full", False, "later", 2),
    ],
)
def test_queues_leap_where_power_may_have_taken_commits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sync: store_schema.Sync,
    is_closed: bool,
    boot: str,
    place: int,
) -> None:
    (tmp_path / "boot").write_text("same")
    monkeypatch.setattr(store_lock, "_BOOT", tmp_path / "boot")
    folder = tmp_path / "store"
    with_store(folder, queue_one)

    async def run() -> str:
        store = Store.open(folder, broker="home", sync=sync)
        said = (folder / LOCK).read_bytes()
        await store.close()
        if not is_closed:
            (folder / LOCK).write_bytes(said)
        return store.epoch

    epoch = asyncio.run(run())
    (tmp_path / "boot").write_text(boot)

    async def look(store: Store) -> int:
        assert store.epoch == epoch
        return await queue_one(store)

    assert with_store(folder, look) == place


@pytest.mark.parametrize("content", [b"", b"\0" * 20, b"word"])
def test_a_lock_that_says_nothing_is_no_harm(tmp_path: Path, content: bytes) -> None:
    with_store(tmp_path, queue_one)
    (tmp_path / LOCK).write_bytes(content)
    assert with_store(tmp_path, queue_one) == 2


def test_a_new_file_in_an_old_folder_goes_on_with_incarnations(tmp_path: Path) -> None:
    async def incarnation(store: Store) -> int:
        return store.incarnation

    first = with_store(tmp_path, incarnation)
    far = first + 10**9  # of a clock that was ahead
    _, file = (tmp_path / LOCK).read_bytes().split()
    (tmp_path / LOCK).write_bytes(b"%020d %s" % (far, file))
    (tmp_path / FILE).unlink()
    assert with_store(tmp_path, incarnation) == far + 1


def test_what_an_origin_has_sent_beyond_a_gap_is_forgotten_when_the_gap_is_settled(
    tmp_path: Path,
) -> None:
    def rows() -> int:
        with closing(sqlite3.connect(tmp_path / FILE)) as connection:
            count: int = connection.execute("SELECT count(*) FROM received_beyond").fetchone()[0]
            return count

    async def use(store: Store) -> None:
        for number in range(2, 1002):  # the first never comes
            store.note_received(Received("p", "e", number))
            store.note_received(Received("p", "e", number))
        await store.set_own_version(1)
        assert rows() == 1000
        await store.note_received(Received("p", "e", 1005, settled=900))
        assert rows() == 1
        await store.note_received(Received("p", "e", 1003, settled=1003))
        assert rows() == 1
        await store.note_received(Received("p", "e", 1004))
        assert rows() == 0
        with pytest.raises(StoreError):
            await store.note_received(Received("p", "e", 2**64 - 1))
        await store.note_received(Received("p", "f", 7))
        assert rows() == 1

    async def look(store: Store) -> None:
        assert store.received == {("p", "f"): (0, (7,))}

    with_store(tmp_path, use)
    with_store(tmp_path, look)
