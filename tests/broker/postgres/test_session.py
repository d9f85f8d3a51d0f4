"""A connection that is lost: whatever was written is told as it is, and writing goes on."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from broker_stores import PATIENCE, PostgresStores, User, document, durable
from cutting_proxy import CuttingProxy
from postgres_server import PostgresServer

from twigcast.broker.store import Retention
from twigcast.broker.store.database import UnavailableError
from twigcast.broker.store.postgres import PostgresDatabase, batch, database, session
from twigcast.delivery.writes import Kept, Write
from twigcast.errors import StoreError


@pytest.fixture
def proxy(postgres: PostgresServer) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(postgres.port)
    yield proxy
    proxy.close()


@pytest.fixture
def opened(
    postgres: PostgresServer, postgres_url: str, proxy: CuttingProxy
) -> Iterator[PostgresDatabase]:
    """A store that is reached through the proxy, with a durable subscription."""
    url = postgres_url.replace(str(postgres.port), str(proxy.port))
    store = PostgresDatabase(url, broker="home", sync="full")
    store.write([durable("news")])
    yield store
    store.close()


def before_commit(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something once, when everything but the commit of the next transaction was sent."""
    real = batch.apply

    def apply(connection: Any, writes: list[Write]) -> Any:
        monkeypatch.setattr(database, "apply", real)
        applied = real(connection, writes)
        connection.execute("SELECT 1").fetchall()
        act()
        return applied

    monkeypatch.setattr(database, "apply", apply)


def cut_later(proxy: CuttingProxy) -> None:
    threading.Timer(0.2, proxy.cut_clients).start()


def sequences_in(store: PostgresDatabase) -> list[tuple[int, str]]:
    reader = store.reader()
    try:
        queued = reader.read_queue("news", 1, 10**6, 10**6, 10**9)
        return [(each.sequence, each.document.id) for each in queued]
    finally:
        reader.close()


def test_a_commit_whose_answer_is_lost_is_told_as_done(
    opened: PostgresDatabase, proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act() -> None:
        proxy.swallow_answers()
        cut_later(proxy)

    before_commit(monkeypatch, act)
    assert opened.write([document(1, "news"), document(2, "news")]) == [Kept((1,)), Kept((2,))]
    assert opened.full == ""
    assert opened.write([document(2, "news"), document(3, "news")]) == [
        Kept((0,), is_added=False),
        Kept((3,)),
    ]


def test_a_commit_is_told_as_done_though_the_loss_is_noticed_only_behind_it(
    opened: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server goes after the commit; psycopg notices when it is asked to roll back."""
    real = session.Session._transact

    def transact(self: session.Session, connection: Any, work: Any) -> Any:
        monkeypatch.undo()
        real(self, connection, work)
        connection.pgconn.enter_pipeline_mode()  # in which a plain statement cannot be sent
        connection.pgconn.send_query_params(b"SELECT 1", None)
        raise psycopg.OperationalError("the server has gone")

    monkeypatch.setattr(session.Session, "_transact", transact)
    assert opened.write([document(1, "news")]) == [Kept((1,))]
    assert opened.write([document(1, "news"), document(2, "news")]) == [
        Kept((0,), is_added=False),
        Kept((2,)),
    ]


def test_a_commit_that_did_not_arrive_is_told_as_failed(
    opened: PostgresDatabase, proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act() -> None:
        proxy.swallow_requests()
        cut_later(proxy)

    before_commit(monkeypatch, act)
    with pytest.raises(UnavailableError, match="nothing was committed"):
        opened.write([document(1, "news")])
    assert opened.write([document(1, "news")]) == [Kept((1,))]
    assert sequences_in(opened) == [(1, "o:1:1")]


def test_a_transaction_that_comes_late_fails(
    opened: PostgresDatabase, postgres: PostgresServer
) -> None:
    """Its generation has passed, as after a connection that was made anew."""
    name = opened.location.rpartition("/")[2]
    postgres.execute("UPDATE twigcast.writers SET generation = generation + 1", name)
    with pytest.raises(StoreError, match="null value"):
        opened.write([document(1, "news")])
    assert sequences_in(opened) == []


def test_a_connection_that_was_lost_in_between_is_made_anew(
    opened: PostgresDatabase, proxy: CuttingProxy
) -> None:
    reader = opened.reader()
    assert reader.figures().documents == 0
    proxy.cut_clients()
    assert opened.write([document(1, "news")]) == [Kept((1,))]
    assert reader.figures().documents == 1
    reader.close()


def test_a_database_that_has_fallen_back_is_not_written(
    opened: PostgresDatabase, postgres: PostgresServer, proxy: CuttingProxy
) -> None:
    opened.write([document(1, "news")])
    name = opened.location.rpartition("/")[2]
    postgres.execute("UPDATE twigcast.writers SET batch = batch - 1", name)
    proxy.cut_clients()
    with pytest.raises(UnavailableError, match="has fallen back"):
        opened.write([document(2, "news")])
    assert "start this broker again" in opened.full
    assert opened.over == opened.full
    with pytest.raises(UnavailableError, match="has fallen back"):
        opened.write([document(2, "news")])


def test_a_server_that_is_away_is_waited_for(postgres: PostgresServer, postgres_url: str) -> None:
    store = PostgresDatabase(postgres_url, broker="home", sync="full")
    store.write([durable("news")])
    postgres.stop()
    try:
        with pytest.raises(UnavailableError, match="it is tried again"):
            store.write([document(1, "news")])
        assert "see that PostgreSQL runs and listens there" in store.full
        assert "secret" not in store.full
        with pytest.raises(UnavailableError):
            store.write([document(1, "news")])
    finally:
        postgres.start()
    until = time.monotonic() + 10
    while store.full and time.monotonic() < until:
        time.sleep(0.02)
    assert store.write([document(1, "news")]) == [Kept((1,))]
    store.close()


def test_who_sees_that_the_connection_is_there_again_may_write(
    opened: PostgresDatabase, proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    mended = opened._session._is_mended
    begin_to_write = mended.set

    def begin_late() -> None:
        time.sleep(0.3)
        begin_to_write()

    def be_away() -> Any:
        raise StoreError("nobody is there")

    monkeypatch.setattr(mended, "set", begin_late)
    with monkeypatch.context() as away:
        away.setattr(opened._session, "_connect", be_away)
        proxy.cut_clients()
        with pytest.raises(UnavailableError, match="it is tried again"):
            opened.write([document(1, "news")])
    until = time.monotonic() + PATIENCE
    while opened.full and time.monotonic() < until:
        time.sleep(0.01)
    assert opened.write([document(1, "news")]) == [Kept((1,))]


def test_a_store_is_closed_while_its_server_is_away(
    postgres: PostgresServer, postgres_url: str
) -> None:
    store = PostgresDatabase(postgres_url, broker="home", sync="full")
    postgres.stop()
    try:
        with pytest.raises(UnavailableError):
            store.write([durable("news")])
        store.hurry()
        store.close()
    finally:
        postgres.start()


def test_a_store_is_closed_while_a_commit_is_in_doubt(
    opened: PostgresDatabase, proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_LAST_PATIENCE", 0.1)

    def act() -> None:
        proxy.swallow_answers()
        proxy.close()
        opened.hurry()

    before_commit(monkeypatch, act)
    with pytest.raises(UnavailableError, match="before it is known whether that was done"):
        opened.write([document(1, "news")])


def test_nothing_is_told_falsely_when_the_server_is_killed(postgres: PostgresServer) -> None:
    """Whatever is acknowledged is there, and whatever has failed is not."""
    stores = PostgresStores(Path())
    told: dict[int, Kept | StoreError] = {}

    async def write(user: User) -> None:
        await user.do(durable("news"))
        number = 0
        killing = asyncio.create_task(asyncio.to_thread(kill_again_and_again))
        while not killing.done():
            numbers = range(number + 1, number + 41)
            number = numbers[-1]
            done = [user.keep(document(each, "news", content=b"x" * 500)) for each in numbers]
            results = await asyncio.gather(*done, return_exceptions=True)
            told.update(zip(numbers, results, strict=True))  # type: ignore[arg-type]
        await killing

    def kill_again_and_again() -> None:
        for _ in range(3):
            time.sleep(0.2)
            postgres.kill()
            postgres.start()
        time.sleep(0.2)

    async def run() -> dict[str, int]:
        store = stores.open(Retention())
        try:
            await asyncio.wait_for(write(User(store)), PATIENCE)
            queued = await store.read_queue("news", 1, 10**6, limit=10**6, max_bytes=10**9)
            return {each.document.id: each.sequence for each in queued}
        finally:
            await store.close()

    kept = asyncio.run(run())
    acknowledged = {
        f"o:1:{number}": result.sequences[0]
        for number, result in told.items()
        if isinstance(result, Kept)
    }
    assert kept == acknowledged
    assert sorted(kept.values()) == list(range(1, len(kept) + 1))
    assert len(kept) > 100
    assert len(told) > len(kept), "no kill has met a write"
    stores.audit()
