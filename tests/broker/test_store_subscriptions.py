"""What a broker's store keeps of subscriptions, here and elsewhere: whole, or not at all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from broker_store_audit import with_store

from twigcast.broker.store.records import Durable, Home, QueueEntry
from twigcast.broker.store.retention import Retention
from twigcast.broker.store.store import FILE, Store
from twigcast.errors import StoreError


async def homes(store: Store) -> dict[str, Home]:
    return store.homes


async def durables(store: Store) -> list[Durable]:
    return store.durables


# ---- homes ---------------------------------------------------------------------------------------


def test_a_change_of_a_home_is_kept_if_it_changes_what_is_kept(tmp_path: Path) -> None:
    async def write(store: Store) -> None:
        store.put_home("far", "e1", 3, ["//a", "//b"], [], base=0)
        store.put_home("far", "e1", 5, ["//c"], ["//a"], base=3)
        await store.put_home("far", "e1", 9, ["//d"], ["//b", "//never"], base=5)

    with_store(tmp_path, write)
    assert with_store(tmp_path, homes) == {"far": Home("e1", 9, ("//c", "//d"))}


@pytest.mark.parametrize(("epoch", "base"), [("e1", 2), ("e1", 4), ("e2", 3)])
def test_a_change_of_something_else_forgets_the_home(tmp_path: Path, epoch: str, base: int) -> None:
    async def write(store: Store) -> None:
        store.put_home("near", "e1", 3, ["//a"], [], base=0)
        store.put_home("far", "e1", 3, ["//a", "//b"], [], base=0)
        store.put_home("far", epoch, 6, ["//c"], [], base=base)
        await store.put_home("far", epoch, 7, ["//d"], [], base=6)  # still not the whole

    async def write_whole(store: Store) -> None:
        await store.put_home("far", epoch, 8, ["//e"], [], base=0)

    near = Home("e1", 3, ("//a",))
    with_store(tmp_path, write)
    assert with_store(tmp_path, homes) == {"near": near}
    with_store(tmp_path, write_whole)
    assert with_store(tmp_path, homes) == {"near": near, "far": Home(epoch, 8, ("//e",))}


def test_a_change_of_a_home_that_is_not_known_is_not_kept(tmp_path: Path) -> None:
    async def write(store: Store) -> None:
        await store.put_home("far", "e1", 3, ["//a"], [], base=2)

    with_store(tmp_path, write)
    assert with_store(tmp_path, homes) == {}


def test_a_change_that_could_not_be_written_is_not_built_upon(tmp_path: Path) -> None:
    async def write(store: Store) -> None:
        await store.put_home("far", "e1", 3, ["//a"], [], base=0)
        with pytest.raises(StoreError):
            await store.put_home("far", "e1", 4, ["\ud800"], ["//a"], base=3)
        assert await kept() == [("far", "e1", 3)]
        await store.put_home("far", "e1", 5, ["//c"], [], base=4)

    async def kept() -> list[tuple[str, str, int]]:
        with closing(sqlite3.connect(tmp_path / FILE)) as connection:
            return connection.execute("SELECT * FROM homes").fetchall()

    with_store(tmp_path, write)
    assert with_store(tmp_path, homes) == {}


# ---- durable subscriptions -----------------------------------------------------------------------


def test_a_durable_subscription_that_could_not_be_written_is_not_there(tmp_path: Path) -> None:
    async def write(store: Store) -> None:
        await store.put_durable("old", "ann", {"k": "//a"})
        for name in ("old", "new"):
            with pytest.raises(StoreError):
                await store.put_durable(name, "bob", {"k": "//b", "l": "\ud800"})
        assert set((await store.figures()).queued) == {"old"}
        with pytest.raises(StoreError, match="no durable"):
            await store.add_document("o:1:1", b"", published=1, queues=[QueueEntry("new", 1, ())])

    with_store(tmp_path, write)
    (old,) = with_store(tmp_path, durables)
    assert (old.name, old.owner, old.expressions) == ("old", "ann", {"k": "//a"})


def test_a_durable_subscription_that_could_not_be_dropped_is_whole(tmp_path: Path) -> None:
    async def write(store: Store) -> None:
        await store.put_durable("news", "ann", {"k": "//a"})
        queues = [QueueEntry("news", 1, ("k",))]
        await store.add_document("o:1:1", b"x", published=1, queues=queues)

    async def fail(store: Store) -> None:
        with pytest.raises(StoreError, match="not today"):
            await store.drop_durable("news")
        (entry,) = await store.read_queue("news", 1, 9, limit=9, max_bytes=9)
        assert entry.document.content == b"x"
        queues = [QueueEntry("news", 2, ("k",))]
        await store.add_document("o:1:2", b"y", published=1, queues=queues)
        assert (await store.figures()).queued == {"news": 2}

    with_store(tmp_path, write)
    change(
        tmp_path,
        "CREATE TRIGGER refusal BEFORE DELETE ON expressions"
        " BEGIN SELECT raise(ABORT, 'not today'); END",
    )
    with_store(tmp_path, fail)
    (news,) = with_store(tmp_path, durables)
    assert (news.name, news.expressions, news.last) == ("news", {"k": "//a"}, 2)


def change(folder: Path, statement: str) -> None:
    """Change the file of a store that is closed."""
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as connection:
        connection.execute(statement)


# ---- what was missed -----------------------------------------------------------------------------


def test_how_many_missed_documents_were_reported_is_kept(tmp_path: Path) -> None:
    async def miss(store: Store) -> None:
        store.put_durable("news", "ann", {})
        for number in range(1, 6):
            queues = [QueueEntry("news", number, ())]
            store.add_document(f"o:1:{number}", b"x", published=1, queues=queues)
        await store.acknowledge("news", 1)
        await store.trim(10**15)

    async def tell(store: Store) -> None:
        await store.note_missed_reported("nowhere", 3)
        await store.note_missed_reported("news", 3)
        await store.note_missed_reported("news", 2)  # which says nothing new

    async def tell_too_much(store: Store) -> None:
        await store.note_missed_reported("news", 2**63 - 1)

    def reported() -> tuple[int, int]:
        (news,) = with_store(tmp_path, durables)
        return news.missed, news.missed_reported

    with_store(tmp_path, miss, Retention(age=1.0))
    assert reported() == (4, 0)
    with_store(tmp_path, tell)
    assert reported() == (4, 3)
    with_store(tmp_path, tell_too_much)
    assert reported() == (4, 4)


def test_a_subscription_of_the_same_name_has_missed_nothing(tmp_path: Path) -> None:
    async def use(store: Store) -> None:
        store.put_durable("news", "ann", {})
        queues = [QueueEntry("news", 1, ())]
        store.add_document("o:1:1", b"x", published=1, queues=queues)
        store.trim(10**15)
        store.note_missed_reported("news", 1)
        store.put_durable("news", "ann", {"k": "//a"})
        store.put_durable("other", "ann", {})
        await store.drop_durable("other")

    async def drop(store: Store) -> None:
        (news,) = store.durables
        assert (news.missed, news.missed_reported) == (1, 1)
        store.drop_durable("news")
        await store.put_durable("news", "ann", {})

    with_store(tmp_path, use, Retention(age=1.0))
    with_store(tmp_path, drop)
    (news,) = with_store(tmp_path, durables)
    assert (news.missed, news.missed_reported) == (0, 0)
