"""A broker's store under stress: kills, full disks, damage, the wrong folder, busy readers."""

from __future__ import annotations

import asyncio
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from broker_store_audit import audit, with_store

from twigcast.broker.store import schema as store_schema
from twigcast.broker.store.records import Owed, QueueEntry, Received
from twigcast.broker.store.store import FILE, Store
from twigcast.errors import StoreError

ROUNDS = 12

WRITER = """
import asyncio, itertools, os, sys
from pathlib import Path
from twigcast.broker.store.store import Store
from twigcast.broker.store.records import Owed, QueueEntry, Received

def content(number):
    return b"%d " % number * (number % 700)

async def main():
    store = Store.open(Path(sys.argv[1]), broker="home")
    store.start(asyncio.get_running_loop())
    await store.put_durable("news", "ann", {"k": "//a"})
    last = next((each.last for each in store.durables), 0)
    def say(kind, number):
        return lambda future: future.result() or os.write(1, b"%s %d\\n" % (kind, number))
    for number in itertools.count(last + 1):
        future = store.add_document(
            f"o:1:{number}", content(number), published=number, publication=f"p{number}",
            queues=[QueueEntry("news", number, ("k",))], owed=[Owed("far", number)],
            received=Received("o", "e", number))
        future.add_done_callback(say(b"stored", number))
        if number % 7 == 0:
            done = store.acknowledge("news", number - 5)
            done.add_done_callback(say(b"acknowledged", number - 5))
            store.confirm("far", number - 3).add_done_callback(say(b"confirmed", number - 3))
        if store.waiting_bytes > 200_000:
            await future
        else:
            await asyncio.sleep(0)

asyncio.run(main())
"""


def content(number: int) -> bytes:
    return b"%d " % number * (number % 700)


def written_until_killed(folder: Path, lines: int) -> dict[str, int]:
    """The highest number of each kind that a process said before it was killed."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE)
    said: dict[str, int] = {}
    try:
        assert process.stdout is not None
        for count, line in enumerate(process.stdout):
            if count == lines:
                process.kill()
            if line.endswith(b"\n"):
                kind, number = line.split()
                said[kind.decode()] = max(int(number), said.get(kind.decode(), 0))
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    assert process.returncode == -signal.SIGKILL
    return said


def test_nothing_that_was_committed_is_lost_when_it_is_killed(tmp_path: Path) -> None:
    chance = random.Random(5)
    highest: dict[str, int] = {}

    async def check(store: Store) -> None:
        (news,) = store.durables
        assert news.last >= highest["stored"]
        assert news.acknowledged >= highest.get("acknowledged", 0)
        assert store.owed["far"].next == store.first_number > news.last
        assert min(store.owed["far"].pending) > highest.get("confirmed", 0)
        assert store.received == {("o", "e"): (news.last, ())}
        place = 1
        while place <= news.last:
            read = await store.read_queue("news", place, news.last, limit=5000, max_bytes=10**8)
            assert [each.sequence for each in read] == list(range(place, place + len(read)))
            for each in read:
                assert each.document.content == content(each.sequence)
            place += len(read)
        last = f"o:1:{news.last}"
        assert await store.find_publication(f"p{news.last}") == last

    for _ in range(ROUNDS):
        for kind, number in written_until_killed(tmp_path, chance.randrange(1, 600)).items():
            highest[kind] = max(number, highest.get(kind, 0))
        with_store(tmp_path, check)


def test_a_file_that_was_killed_while_it_was_made_is_made_anew(tmp_path: Path) -> None:
    connection = store_schema.connect(tmp_path / FILE)
    connection.close()
    with_store(tmp_path, nothing)


async def nothing(store: Store) -> None:
    assert (await store.figures()).documents == 0


def test_a_second_process_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; from twigcast.broker.store.store import Store\n"
        "store = Store.open(pathlib.Path(sys.argv[1]), broker='home')\n"
        "sys.stdout.write('open\\n'); sys.stdout.flush(); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        with pytest.raises(StoreError, match="folder of its own"):
            Store.open(tmp_path, broker="home")
        process.kill()
    with_store(tmp_path, nothing)


def test_a_second_opening_in_one_process_is_refused(tmp_path: Path) -> None:
    async def use(store: Store) -> None:
        with pytest.raises(StoreError, match="has this store open"):
            Store.open(tmp_path, broker="home")

    with_store(tmp_path, use)


def test_the_store_of_another_broker_is_refused(tmp_path: Path) -> None:
    with_store(tmp_path, nothing)
    with pytest.raises(StoreError, match=r"'home'.*'office'"):
        Store.open(tmp_path, broker="office")
    with_store(tmp_path, nothing)  # and the lock is free again


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("PRAGMA user_version = 3", "newer"),
        ("PRAGMA user_version = 1", "older"),
        ("PRAGMA application_id = 5", "something else"),
        ("DROP TABLE received", "no such table"),
        ("DELETE FROM facts WHERE name = 'broker'", "missing"),
        ("UPDATE facts SET value = 'x' WHERE name = 'incarnation'", "damaged"),
        ("DELETE FROM facts WHERE name = 'epoch'", "damaged.*epoch"),
    ],
)
def test_a_file_that_is_not_ours_is_refused(tmp_path: Path, statement: str, reason: str) -> None:
    with_store(tmp_path, nothing)
    connection = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    connection.execute(statement).close()
    connection.close()
    with pytest.raises(StoreError, match=reason) as caught:
        Store.open(tmp_path, broker="home")
    assert str(tmp_path / FILE) in str(caught.value)


async def some_documents(store: Store) -> None:
    store.put_durable("news", "ann", {"k": "//a"})
    for number in range(1, 200):
        store.add_document(
            f"o:1:{number}",
            bytes(5000),
            published=1,
            queues=[QueueEntry("news", number, ("k",))],
            owed=[Owed("far", number)],
            received=Received("o", "e", number),
        )
    await store.set_own_version(1)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_file_whose_end_is_missing_is_refused(tmp_path: Path, share: float) -> None:
    with_store(tmp_path, some_documents)
    path = tmp_path / FILE
    length = max(int(path.stat().st_size * share), 100)
    with path.open("r+b") as file:
        file.truncate(length)
    with pytest.raises(StoreError, match="replace it by a backup"):
        Store.open(tmp_path, broker="home")


def test_a_file_with_other_bytes_in_it_gives_no_other_errors(tmp_path: Path) -> None:
    """Damage is told when the store is opened, or when it is met."""
    original = tmp_path / "original"
    with_store(original, some_documents)
    whole = (original / FILE).read_bytes()
    chance = random.Random(7)
    refused = 0
    for case in range(60):
        folder = tmp_path / str(case)
        folder.mkdir()
        damaged = bytearray(whole)
        place = case * 16 if case < 10 else chance.randrange(len(whole))
        damaged[place : place + 4000] = chance.randbytes(len(damaged[place : place + 4000]))
        (folder / FILE).write_bytes(damaged)
        refused += asyncio.run(is_refused(folder))
        shutil.rmtree(folder)
    assert refused > 10


async def is_refused(folder: Path) -> bool:
    try:
        store = Store.open(folder, broker="home")
    except StoreError:
        return True
    try:
        store.start(asyncio.get_running_loop())
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: store.read_queue("news", 1, 10**6, limit=10**6, max_bytes=10**9),
            lambda: store.read_owed("far", range(1, 200), max_bytes=10**9),
            lambda: store.first_since("news", 5),
            lambda: store.figures(),
            lambda: store.add_document("o:9:9", b"x", published=1, publication="p"),
            lambda: store.acknowledge("news", 100),
            lambda: store.confirm("far", 100),
            lambda: store.trim(10**15),
            lambda: store.drop_durable("news"),
        ]
        for call in calls:
            with suppress(StoreError):
                await call()
    finally:
        await store.close()
    return False


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"<a/>" * 5000)
    with pytest.raises(StoreError, match="no store"):
        Store.open(tmp_path, broker="home")


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="Not a directory"):
        Store.open(tmp_path / "file" / "store", broker="home")


def test_a_full_store_fails_writes_and_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = store_schema.connect

    def small(path: Path, sync: store_schema.Sync = "full") -> sqlite3.Connection:
        connection = real(path, sync)
        connection.execute("PRAGMA max_page_count = 80").close()
        return connection

    monkeypatch.setattr(store_schema, "connect", small)

    async def use(store: Store) -> None:
        await store.put_durable("news", "ann", {})

        def add(number: int) -> asyncio.Future[None]:
            queues = [QueueEntry("news", number, ())]
            return store.add_document(f"o:1:{number}", bytes(5000), published=1, queues=queues)

        results = await asyncio.gather(*map(add, range(1, 401)), return_exceptions=True)
        kept = [number for number, result in enumerate(results, start=1) if result is None]
        assert 50 < len(kept) < 300
        for result in results:
            assert result is None or "the disk is full" in str(result)
        read = await store.read_queue("news", 1, 1000, limit=1000, max_bytes=10**9)
        assert [each.sequence for each in read] == kept
        assert store.waiting_bytes == 0
        await store.acknowledge("news", 400)
        assert (await store.trim(10**15)).documents == len(kept)
        await asyncio.gather(*map(add, range(401, 451)))

    with_store(tmp_path, use)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file of this process may grow beyond a size, meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_fails_for_a_while_loses_nothing_that_was_committed(tmp_path: Path) -> None:
    async def use(store: Store) -> None:
        before = [store.add_document(f"o:1:{n}", bytes(5000), published=1) for n in range(100)]
        await asyncio.gather(*before)
        with largest_file((tmp_path / (FILE + "-wal")).stat().st_size + 100_000):
            during = [store.add_document(f"o:2:{n}", bytes(5000), published=1) for n in range(100)]
            results = await asyncio.gather(*during, return_exceptions=True)
        failed = [result for result in results if result is not None]
        assert failed
        assert all(isinstance(result, StoreError) for result in failed)
        after = [store.add_document(f"o:3:{n}", bytes(5000), published=1) for n in range(100)]
        await asyncio.gather(*after)
        assert (await store.figures()).documents == 300 - len(failed)

    with_store(tmp_path, use)
    audit(tmp_path)


def test_the_log_stays_short_while_it_is_read_and_written(tmp_path: Path) -> None:
    longest = 0

    async def use(store: Store) -> None:
        nonlocal longest
        await store.put_durable("news", "ann", {})
        is_over = False

        async def read() -> None:
            while not is_over:
                await store.read_queue("news", 1, 10**6, limit=50, max_bytes=10**7)
                await asyncio.sleep(0.005)

        readers = [asyncio.create_task(read()) for _ in range(3)]
        for number in range(1, 601):
            queues = [QueueEntry("news", number, ())]
            written = store.add_document(
                f"o:1:{number}", bytes(250_000), published=1, queues=queues
            )
            if number % 20 == 0:
                await written
                longest = max(longest, (tmp_path / "store.sqlite-wal").stat().st_size)
        is_over = True
        await asyncio.gather(*readers)

    with_store(tmp_path, use)
    assert longest < 120 * 2**20  # of 150 MB that were written
