"""Stores of brokers for tests: one suite runs for every database that a store can be in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar, cast

from broker_store_audit import audit
from postgres_server import shared_postgres
from postgres_store_audit import audit_postgres

from twigcast.broker.store import Retention, Store, open_store
from twigcast.delivery.writes import (
    Entry,
    Headers,
    KeepDocument,
    Kept,
    Parcel,
    PutDurable,
    Result,
    StoreState,
    Write,
)
from twigcast.errors import StoreError
from twigcast.routing.messages import DocumentId

Outcome = TypeVar("Outcome")

PATIENCE = 60.0
"""Seconds after which a store is taken to hang."""


class Stores(Protocol):
    """A place for one store, which is opened there again and again."""

    def open(self, retention: Retention, broker: str = "home") -> Store:
        """Open the store, or make it."""

    def audit(self) -> None:
        """Check whatever must hold in the database, whether the store is open or not."""


class SqliteStores:
    """A folder with a store in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, retention: Retention, broker: str = "home") -> Store:
        return open_store(folder=self.folder, broker=broker, retention=retention)

    def audit(self) -> None:
        audit(self.folder)


class PostgresStores:
    """A database of its own with a store."""

    def __init__(self, folder: Path) -> None:
        self.server = shared_postgres()
        self.database = self.server.new_database()
        self.url = self.server.url(self.database)

    def open(self, retention: Retention, broker: str = "home") -> Store:
        return open_store(url=self.url, broker=broker, retention=retention)

    def audit(self) -> None:
        audit_postgres(self.server, self.database)


DATABASES: dict[str, Callable[[Path], Stores]] = {
    "postgres": PostgresStores,
    "sqlite": SqliteStores,
}
"""What makes a place for a store, in a folder for whatever it needs."""


class User:
    """Uses an open store as an event loop does; writes have futures."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.tickets: list[int] = []
        """Of what is done, in order."""
        self._next = 0
        self._waiting: dict[int, asyncio.Future[Result]] = {}
        store.start(asyncio.get_running_loop(), self._done)

    @property
    def state(self) -> StoreState:
        return self.store.state

    def do(self, write: Write) -> asyncio.Future[Result]:
        """Submit a write; the future has its result."""
        self._next += 1
        future = asyncio.get_running_loop().create_future()
        self.store.submit(self._next, write)
        self._waiting[self._next] = future
        return future

    def keep(self, write: KeepDocument) -> asyncio.Future[Kept]:
        """Submit a document."""
        return cast("asyncio.Future[Kept]", self.do(write))

    def _done(self, done: list[tuple[int, Result | StoreError]]) -> None:
        for ticket, result in done:
            self.tickets.append(ticket)
            future = self._waiting.pop(ticket)
            if isinstance(result, StoreError):
                future.set_exception(result)
                future.exception()  # nobody has to ask for it
            else:
                future.set_result(result)


Use = Callable[[User], Awaitable[Outcome]]


def with_store(stores: Stores, use: Use[Outcome], retention: Retention | None = None) -> Outcome:
    """Open a store, use it in an event loop, close it and check it."""

    async def run() -> Outcome:
        store = stores.open(retention or Retention())
        try:
            return await asyncio.wait_for(use(User(store)), PATIENCE)
        finally:
            await store.close()

    result = asyncio.run(run())
    stores.audit()
    return result


def with_folder(folder: Path, use: Use[Outcome], retention: Retention | None = None) -> Outcome:
    """The same with a store in a file."""
    return with_store(SqliteStores(folder), use, retention)


def state_of(stores: Stores) -> StoreState:
    """What there is in a store at opening."""

    async def look(user: User) -> StoreState:
        return user.state

    return with_store(stores, look)


def identity(number: int, incarnation: int = 1) -> DocumentId:
    """The id of a document."""
    return DocumentId("o", incarnation, number)


def document(
    number: int,
    *durables: str,
    content: bytes = b"x",
    stored: int = 0,
    homes: tuple[str, ...] = (),
    publication: str = "",
    headers: Headers = (),
    publisher: str = "",
    settled: int | None = None,
    aside: str = "",
) -> KeepDocument:
    """A document for some queues, with one key in each."""
    parcel = Parcel(identity(number), content, 7, publication, headers, 0, publisher)
    entries = tuple(Entry(name, ("k",)) for name in durables)
    return KeepDocument(parcel, stored, entries, homes, settled, aside)


def durable(name: str) -> PutDurable:
    """A durable subscription with one expression."""
    return PutDurable(name, "ann", {"k": "//a"})


async def fill(user: User, count: int, name: str = "news", size: int = 10) -> None:
    """Documents 1 to ``count`` in the queue of a durable subscription."""
    await user.do(durable(name))
    for number in range(1, count + 1):
        content = bytes([number % 256]) * size
        last = user.do(document(number, name, content=content, stored=number))
    await last
