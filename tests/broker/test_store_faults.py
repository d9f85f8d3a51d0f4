"""A broker's store in a folder under stress: kills, full disks, damage, the wrong folder."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from broker_stores import User, document, durable, fill, identity, with_folder
from hypothesis import settings

from twigcast.broker.store import open_store
from twigcast.broker.store.sqlite import disk as sqlite_disk
from twigcast.broker.store.sqlite import tables as sqlite_tables
from twigcast.broker.store.sqlite.disk import FILE, RESERVE
from twigcast.delivery.writes import (
    Acknowledge,
    Confirm,
    DropDurable,
    Line,
    Replay,
    SetAside,
    SetHomeVersion,
    Version,
)
from twigcast.errors import StoreError

ROUNDS = max(6, min(settings().max_examples // 12, 100))
"""How often the process is killed."""

WRITER = """
import asyncio, itertools, os, sys
from pathlib import Path
from twigcast.broker.store import open_store
from twigcast.delivery.writes import *
from twigcast.routing.messages import DocumentId

def content(number):
    return b"%d " % number * (number % 700)

async def main():
    store = open_store(folder=Path(sys.argv[1]), broker="home")
    last = next((each.last for each in store.state.durables), 0)
    tickets = {}
    free = asyncio.Event()
    def done(results):
        for ticket, result in results:
            assert not isinstance(result, Exception), result
            if ticket in tickets:
                os.write(1, b"%s %d\\n" % tickets.pop(ticket))
        free.set()
    store.start(asyncio.get_running_loop(), done)
    given = itertools.count()
    def do(write, *said):
        ticket = next(given)
        if said:
            tickets[ticket] = said
        store.submit(ticket, write)
    do(PutDurable("news", "ann", {"k": "//a"}))
    for number in itertools.count(last + 1):
        parcel = Parcel(DocumentId("o", 1, number), content(number), number, f"p{number}")
        entries = (Entry("news", ("k",)),)
        do(KeepDocument(parcel, number, entries, ("far",), settled=1), b"stored", number)
        if number % 7 == 0:
            do(Acknowledge("news", number - 5, (), 0), b"acknowledged", number - 5)
            # Those before again: the kill may have come between a document and what it confirms.
            paid = tuple(DocumentId("o", 1, each) for each in range(number - 16, number - 2))
            do(Confirm("far", paid, 0), b"confirmed", number - 3)
        while store.waiting_bytes > 200_000:
            free.clear()
            await free.wait()
        await asyncio.sleep(0)

asyncio.run(main())
"""


def content(number: int) -> bytes:
    return b"%d " % number * (number % 700)


async def nothing(user: User) -> None:
    assert (await user.store.figures()).documents == 0


async def some_documents(user: User) -> None:
    user.do(durable("news"))
    for number in range(1, 200):
        user.do(document(number, "news", content=bytes(5000), homes=("far",), settled=1))
    user.do(SetAside("news", (7,), "too often", 1))
    await user.do(SetHomeVersion(Version(1, 1)))


# ---- kills ---------------------------------------------------------------------------------------


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

    async def check(user: User) -> None:
        (news,) = user.state.durables
        assert news.last >= highest["stored"]
        assert news.acknowledged >= highest.get("acknowledged", 0)
        assert min(each.number for each in user.state.owed["far"]) > highest.get("confirmed", 0)
        assert user.state.received == {("o", 1): Line(1, frozenset(range(1, news.last + 1)))}
        following = 1
        while following <= news.last:
            read = await user.store.read_queue(
                "news", following, news.last, limit=5000, max_bytes=10**8
            )
            assert [each.sequence for each in read] == list(range(following, following + len(read)))
            for each in read:
                assert each.document.content == content(each.sequence)
            following += len(read)
        found = await user.store.find_publication(f"p{news.last}")
        assert found is not None
        assert found[0] == f"o:1:{news.last}"

    for _ in range(ROUNDS):
        for kind, number in written_until_killed(tmp_path, chance.randrange(1, 600)).items():
            highest[kind] = max(number, highest.get(kind, 0))
        with_folder(tmp_path, check)


def test_a_file_that_was_killed_while_it_was_made_is_made_anew(tmp_path: Path) -> None:
    sqlite_tables.connect(tmp_path / FILE).close()
    with_folder(tmp_path, nothing)


# ---- the wrong folder ----------------------------------------------------------------------------


def test_a_second_process_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; from twigcast.broker.store import open_store\n"
        "store = open_store(folder=pathlib.Path(sys.argv[1]), broker='home')\n"
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
            open_store(folder=tmp_path, broker="home")
        process.kill()
    with_folder(tmp_path, nothing)


def test_the_store_of_another_broker_is_refused(tmp_path: Path) -> None:
    with_folder(tmp_path, nothing)
    with pytest.raises(StoreError, match=r"'home'.*'office'"):
        open_store(folder=tmp_path, broker="office")
    with_folder(tmp_path, nothing)  # and the lock is free again


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="Not a directory"):
        open_store(folder=tmp_path / "file" / "store", broker="home")


def test_only_their_owner_may_read_the_files_of_a_store(tmp_path: Path) -> None:
    folder = tmp_path / "store"

    async def use(user: User) -> None:
        await fill(user, 3)
        await user.store.backup(tmp_path / "backup")
        files = [*folder.iterdir(), tmp_path / "backup"]
        assert {FILE, FILE + "-wal", RESERVE, "store.lock"} <= {file.name for file in files}
        for file in files:
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file

    for mask in (0o000, 0o777):
        folder.mkdir()
        before = os.umask(mask)
        try:
            with_folder(folder, use)
        finally:
            os.umask(before)
        shutil.rmtree(folder)
        (tmp_path / "backup").unlink()


@pytest.mark.parametrize("how", ["folder removed", "file removed", "file replaced", "log removed"])
def test_a_store_that_is_taken_away_from_a_running_broker_keeps_nothing(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_disk, "_LOOK_SECONDS", 0.0)
    folder = tmp_path / "store"

    def take_away() -> None:
        match how:
            case "folder removed":
                shutil.rmtree(folder)
            case "file removed":
                (folder / FILE).unlink()
            case "file replaced":
                (folder / FILE).rename(tmp_path / "away")
                shutil.copy(tmp_path / "away", folder / FILE)
            case "log removed":
                (folder / (FILE + "-wal")).unlink()

    async def run() -> None:
        store = open_store(folder=folder, broker="home")
        user = User(store)
        try:
            await fill(user, 3)
            assert store.full == ""
            take_away()
            for write in (document(9, "news"), Acknowledge("news", 1, (), 0)):
                with pytest.raises(StoreError, match=r"removed or replaced.*again"):
                    await user.do(write)
            assert "removed or replaced" in store.full
        finally:
            await store.close()

    asyncio.run(run())


# ---- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (f"PRAGMA user_version = {sqlite_tables.VERSION + 1}", "newer"),
        ("PRAGMA user_version = 2", "older.*install that version again, or name another folder"),
        ("PRAGMA application_id = 5", "something else"),
        ("DROP TABLE received", "no such table"),
        ("DELETE FROM facts WHERE name = 'broker'", "missing"),
        ("UPDATE facts SET value = 'x' WHERE name = 'incarnation'", "damaged"),
        ("DELETE FROM facts WHERE name = 'bytes'", "damaged.*bytes"),
        ("INSERT INTO beyond VALUES (99, 1)", "damaged.*99"),
    ],
)
def test_a_file_that_is_not_ours_is_refused(tmp_path: Path, statement: str, reason: str) -> None:
    with_folder(tmp_path, nothing)
    connection = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    connection.execute(statement).close()
    connection.close()
    with pytest.raises(StoreError, match=reason) as caught:
        open_store(folder=tmp_path, broker="home")
    assert str(tmp_path / FILE) in str(caught.value)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_file_whose_end_is_missing_is_refused(tmp_path: Path, share: float) -> None:
    with_folder(tmp_path, some_documents)
    path = tmp_path / FILE
    length = max(int(path.stat().st_size * share), 100)
    with path.open("r+b") as file:
        file.truncate(length)
    with pytest.raises(StoreError, match="replace it by a backup"):
        open_store(folder=tmp_path, broker="home")


def test_a_file_with_other_bytes_in_it_gives_no_other_errors(tmp_path: Path) -> None:
    """Damage is told when the store is opened, or when it is met."""
    original = tmp_path / "original"
    with_folder(original, some_documents)
    whole = (original / FILE).read_bytes()
    chance = random.Random(7)
    refused = 0
    for case in range(60):
        folder = tmp_path / str(case)
        folder.mkdir()
        damaged = bytearray(whole)
        start = case * 16 if case < 10 else chance.randrange(len(whole))
        damaged[start : start + 4000] = chance.randbytes(len(damaged[start : start + 4000]))
        (folder / FILE).write_bytes(damaged)
        refused += asyncio.run(is_refused(folder))
        shutil.rmtree(folder)
    assert refused > 10


async def is_refused(folder: Path) -> bool:
    try:
        store = open_store(folder=folder, broker="home")
    except StoreError:
        return True
    try:
        user = User(store)
        ids = [identity(number) for number in range(1, 200)]
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: store.read_queue("news", 1, 10**6, limit=10**6, max_bytes=10**9),
            lambda: store.read_owed("far", ids, max_bytes=10**9),
            lambda: store.first_since("news", 5),
            lambda: store.figures(),
            lambda: store.letters(),
            lambda: user.do(document(999, "news", publication="p")),
            lambda: user.do(Acknowledge("news", 100, (150,), 0)),
            lambda: user.do(Confirm("far", tuple(ids[:100]), 0)),
            lambda: user.do(SetAside("news", (120,), "why", 0)),
            lambda: user.do(Replay((1, 2), 0)),
            lambda: store.trim(10**12),
            lambda: user.do(DropDurable("news")),
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
        open_store(folder=tmp_path, broker="home")


# ---- copies -------------------------------------------------------------------------------------


def test_a_backup_is_a_store(tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / FILE
    copy.parent.mkdir()

    async def write(user: User) -> int:
        await fill(user, 300, size=5000)
        more = [user.do(document(n, content=bytes(5000))) for n in range(1000, 1300)]
        await user.store.backup(copy)
        with pytest.raises(StoreError, match="already"):
            await user.store.backup(copy)
        with pytest.raises(StoreError):
            await user.store.backup(tmp_path / "no folder" / "copy")
        await asyncio.gather(*more)
        return user.state.incarnation

    async def look(user: User) -> None:
        assert user.state.incarnation > incarnation
        read = await user.store.read_queue("news", 1, 300, limit=300, max_bytes=10**9)
        assert [each.document.content[0] for each in read] == [n % 256 for n in range(1, 301)]

    incarnation = with_folder(tmp_path / "original", write)
    assert [each.name for each in copy.parent.iterdir()] == [FILE]
    with_folder(copy.parent, look)
