"""Numbers of a broker's store that are never given twice, also when the store falls back."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from broker_stores import SqliteStores, User, document, durable, state_of, with_folder

from twigcast.broker.store import open_store
from twigcast.broker.store.sqlite import lock as sqlite_lock
from twigcast.broker.store.sqlite import state as sqlite_state
from twigcast.broker.store.sqlite.disk import FILE
from twigcast.broker.store.sqlite.lock import LOCK
from twigcast.broker.store.sqlite.state import SEQUENCE_LEAP
from twigcast.broker.store.sqlite.tables import Sync
from twigcast.delivery.writes import Acknowledge, Durable, Line, NoteReceived
from twigcast.routing.messages import DocumentId


async def queue_one(user: User) -> int:
    """Put a document into a queue; its sequence."""
    if not user.state.durables:
        user.do(durable("news"))
    parcel = document(1).parcel._replace(id=DocumentId("o", user.state.incarnation, 1))
    kept = await user.keep(document(1, "news")._replace(parcel=parcel))
    return kept.sequences[0]


def news(folder: Path) -> Durable:
    (only,) = state_of(SqliteStores(folder)).durables
    return only


async def incarnation(user: User) -> int:
    return user.state.incarnation


def test_sequences_are_contiguous_after_plain_restarts(tmp_path: Path) -> None:
    assert [with_folder(tmp_path, queue_one) for _ in range(4)] == [1, 2, 3, 4]


def test_queues_of_a_backup_that_is_put_back_leap(tmp_path: Path) -> None:
    folder, backup = tmp_path / "store", tmp_path / "backup"
    with_folder(folder, queue_one)
    with_folder(folder, lambda user: user.store.backup(backup))
    assert with_folder(folder, queue_one) == 2
    shutil.rmtree(folder)
    folder.mkdir()
    shutil.copy(backup, folder / FILE)

    async def look(user: User) -> None:
        (only,) = user.state.durables
        assert (only.first, only.last, only.acknowledged) == (1, 1 + SEQUENCE_LEAP, 0)
        assert only.gap == (1, 1 + SEQUENCE_LEAP)
        assert (await user.store.figures()).queued == {"news": 1}

    with_folder(folder, look)
    assert with_folder(folder, queue_one) == SEQUENCE_LEAP + 2  # once only

    async def acknowledge_one_by_one(user: User) -> None:
        await user.do(Acknowledge("news", 0, (1, 5), 0))

    async def look_again(user: User) -> None:
        (only,) = user.state.durables
        assert (only.acknowledged, only.beyond) == (SEQUENCE_LEAP + 1, frozenset())
        read = await user.store.read_queue("news", 1, 2**63, limit=9, max_bytes=9)
        assert [each.sequence for each in read] == [1, SEQUENCE_LEAP + 2]

    with_folder(folder, acknowledge_one_by_one)
    with_folder(folder, look_again)


def test_an_older_file_in_the_place_of_a_newer_is_noticed(tmp_path: Path) -> None:
    """A plain copy, which nothing in it tells from the original."""
    folder, copy = tmp_path / "store", tmp_path / "copy"

    async def acknowledge(user: User) -> None:
        await user.do(Acknowledge("news", 1, (), 0))

    with_folder(folder, queue_one)
    with_folder(folder, acknowledge)
    shutil.copy(folder / FILE, copy)
    assert with_folder(folder, queue_one) == 2
    before = with_folder(folder, incarnation)
    shutil.copy(copy, folder / FILE)
    only = news(folder)
    assert (only.last, only.acknowledged) == (1 + SEQUENCE_LEAP, 1 + SEQUENCE_LEAP)
    assert with_folder(folder, incarnation) > before
    assert with_folder(folder, queue_one) == SEQUENCE_LEAP + 2


def test_an_older_folder_in_the_place_of_a_newer_is_noticed(tmp_path: Path) -> None:
    folder, copy = tmp_path / "store", tmp_path / "copy"
    with_folder(folder, queue_one)
    shutil.copytree(folder, copy)
    assert with_folder(folder, queue_one) == 2
    folder.rename(tmp_path / "damaged")
    shutil.copytree(copy, folder)
    assert with_folder(folder, queue_one) == SEQUENCE_LEAP + 2
    folder.rename(tmp_path / "elsewhere")  # which is no copy
    assert with_folder(tmp_path / "elsewhere", queue_one) == SEQUENCE_LEAP + 3


def fall_back(folder: Path) -> None:
    """Put a copy back after a later opening."""
    copy = folder.with_name("copy")
    shutil.copy(folder / FILE, copy)
    with_folder(folder, incarnation)
    shutil.copy(copy, folder / FILE)


def test_a_gap_of_two_copies_after_each_other_is_one(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with_folder(folder, queue_one)
    for count in range(1, 3):
        fall_back(folder)
        only = news(folder)
        assert (only.last, only.gap) == (1 + count * SEQUENCE_LEAP, (1, 1 + count * SEQUENCE_LEAP))


def test_entries_between_two_gaps_wait_until_they_are_acknowledged(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with_folder(folder, queue_one)
    between = SEQUENCE_LEAP + 2
    fall_back(folder)
    assert with_folder(folder, queue_one) == between
    fall_back(folder)
    after = 2 * SEQUENCE_LEAP + 3
    assert with_folder(folder, queue_one) == after
    assert news(folder).gap == (between, after - 1)

    async def look(user: User) -> None:
        for sequence, left in ((1, 2), (between, 1), (after, 0)):
            await user.do(Acknowledge("news", 0, (sequence, sequence - 1), 0))
            assert (await user.store.figures()).queued == {"news": left}

    with_folder(folder, look)
    assert news(folder).acknowledged == after


@pytest.mark.parametrize(
    ("sync", "is_closed", "boot", "sequence"),
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
    sync: Sync,
    is_closed: bool,
    boot: str,
    sequence: int,
) -> None:
    (tmp_path / "boot").write_text("same")
    monkeypatch.setattr(sqlite_lock, "_BOOT", tmp_path / "boot")
    folder = tmp_path / "store"
    with_folder(folder, queue_one)

    async def run() -> None:
        store = open_store(folder=folder, broker="home", sync=sync)
        said = (folder / LOCK).read_bytes()
        await store.close()
        if not is_closed:
            (folder / LOCK).write_bytes(said)

    asyncio.run(run())
    (tmp_path / "boot").write_text(boot)
    assert with_folder(folder, queue_one) == sequence


@pytest.mark.parametrize("content", [b"", b"\0" * 20, b"word"])
def test_a_lock_that_says_nothing_is_no_harm(tmp_path: Path, content: bytes) -> None:
    with_folder(tmp_path, queue_one)
    (tmp_path / LOCK).write_bytes(content)
    assert with_folder(tmp_path, queue_one) == 2


def test_a_new_file_in_an_old_folder_goes_on_with_incarnations(tmp_path: Path) -> None:
    far = with_folder(tmp_path, incarnation) + 10**15  # of a clock that was ahead
    _, file = (tmp_path / LOCK).read_bytes().split()
    (tmp_path / LOCK).write_bytes(b"%020d %s" % (far, file))
    (tmp_path / FILE).unlink()
    assert with_folder(tmp_path, incarnation) == far + 1


def test_two_stores_of_one_time_have_different_incarnations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that replaces one that was lost, while the clock is behind."""
    monkeypatch.setattr(sqlite_state, "now_ms", lambda: 1_700_000_000_000)
    given = {with_folder(tmp_path / str(number), incarnation) for number in range(12)}
    assert len(given) >= 10
    assert {each >> 16 for each in given} == {1_700_000_000_000}


def test_a_number_that_is_too_large_fails_alone(tmp_path: Path) -> None:
    async def use(user: User) -> None:
        user.do(NoteReceived(DocumentId("p", 1, 5), 2))
        bad = user.do(NoteReceived(DocumentId("p", 1, 2**64 - 1), 3))
        await user.do(NoteReceived(DocumentId("p", 1, 7), 4))
        assert bad.exception() is not None

    with_folder(tmp_path, use)
    assert state_of(SqliteStores(tmp_path)).received == {("p", 1): Line(4, frozenset({5, 7}))}
