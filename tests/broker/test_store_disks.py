"""A broker's store on disks that are full, or fail, and how much of a disk its log takes."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from broker_stores import User, document, durable, with_folder

from twigcast.broker.store import Retention, Store
from twigcast.broker.store.sqlite import disk as sqlite_disk
from twigcast.broker.store.sqlite import tables as sqlite_tables
from twigcast.broker.store.sqlite.disk import FILE, RESERVE
from twigcast.delivery.writes import Acknowledge, Kept
from twigcast.errors import StoreError


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on a disk of its own of 8 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a disk")
    monkeypatch.setattr(sqlite_disk, "RESERVE_BYTES", 2**20)
    monkeypatch.setattr(sqlite_disk, "_LEAST_BYTES", 2**18)
    monkeypatch.setattr(sqlite_disk, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(sqlite_tables, "WAL_BYTES", 2**19)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


async def keep_until_full(user: User) -> int:
    """How many documents were kept."""
    results: list[Kept | BaseException] = []
    for first in range(1, 1001, 5):
        some = [document(n, "news", content=bytes(20_000)) for n in range(first, first + 5)]
        results += await asyncio.gather(*map(user.keep, some), return_exceptions=True)
    kept = [result for result in results if isinstance(result, Kept)]
    for result in results:
        assert isinstance(result, Kept) or "the disk is full: make room" in str(result)
    assert [each.sequences[0] for each in kept] == list(range(1, len(kept) + 1))
    return len(kept)


def test_on_a_full_disk_a_store_is_read_and_acknowledged(small_disk: Path) -> None:
    folder = small_disk / "store"
    retention = Retention(acknowledged_age=1.0)

    async def fill_up(user: User) -> int:
        await user.do(durable("news"))
        kept = await keep_until_full(user)
        assert 100 < kept < 350
        assert "make room" in user.store.full
        (small_disk / "others").write_bytes(bytes(free(small_disk) - 600_000))
        for sequence in range(1, 21):
            await user.do(Acknowledge("news", sequence, (), 0))
        with pytest.raises(StoreError, match="the disk is full"):
            await user.do(document(5000, "news"))
        return kept

    kept = with_folder(folder, fill_up, retention)

    async def go_on(user: User) -> None:
        (news,) = user.state.durables
        assert (news.last, news.acknowledged) == (kept, 20)
        assert "make room" in user.store.full
        read = await user.store.read_queue("news", 21, 22, limit=9, max_bytes=10**6)
        assert [each.sequence for each in read] == [21, 22]
        for sequence in range(21, 61):
            await user.do(Acknowledge("news", sequence, (kept,), 0))
        with pytest.raises(StoreError, match="the disk is full"):
            await user.do(document(5000, "news"))
        (small_disk / "others").unlink()
        (small_disk / "others").write_bytes(bytes(16))
        await user.store.trim(10)
        await user.store.trim(5000)

    with_folder(folder, go_on, retention)

    async def recover(user: User) -> None:
        for _ in range(2):
            await user.store.trim(10_000)
        assert user.store.full == ""
        assert await user.keep(document(5001, "news")) == Kept((kept + 1,))
        assert (folder / RESERVE).stat().st_size == 2**20

    with_folder(folder, recover, retention)


def free(folder: Path) -> int:
    room = os.statvfs(folder)
    return room.f_bavail * room.f_frsize


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
    async def keep(user: User, numbers: range) -> list[object]:
        written = [user.do(document(number, content=bytes(5000))) for number in numbers]
        return list(await asyncio.gather(*written, return_exceptions=True))

    async def use(user: User) -> None:
        await keep(user, range(100))
        with largest_file((tmp_path / (FILE + "-wal")).stat().st_size + 100_000):
            results = await keep(user, range(100, 200))
            assert "the disk fails" in user.store.full
        failed = [result for result in results if not isinstance(result, Kept)]
        assert failed
        assert all(isinstance(result, StoreError) for result in failed)
        assert all(isinstance(each, Kept) for each in await keep(user, range(200, 300)))
        assert user.store.full == ""
        assert (await user.store.figures()).documents == 300 - len(failed)

    with_folder(tmp_path, use)


def test_the_log_stays_short_while_it_is_read_and_written(tmp_path: Path) -> None:
    longest = 0

    async def use(user: User) -> None:
        nonlocal longest
        await user.do(durable("news"))
        is_over = False

        async def read(store: Store) -> None:
            while not is_over:
                await store.read_queue("news", 1, 10**6, limit=50, max_bytes=10**7)
                await asyncio.sleep(0.005)

        readers = [asyncio.create_task(read(user.store)) for _ in range(3)]
        for number in range(1, 601):
            written = user.do(document(number, "news", content=bytes(250_000)))
            if number % 20 == 0:
                await written
                longest = max(longest, (tmp_path / (FILE + "-wal")).stat().st_size)
        is_over = True
        await asyncio.gather(*readers)

    with_folder(tmp_path, use)
    assert longest < 100 * 2**20  # of 150 MB that were written
