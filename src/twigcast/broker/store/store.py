"""The one door to the store: what the event loop calls."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec

from twigcast.broker.store import reading
from twigcast.broker.store.lock import FolderLock
from twigcast.broker.store.records import (
    Owed,
    OwedDocuments,
    Queued,
    QueueEntry,
    Received,
    StoredDocument,
    StoreFigures,
)
from twigcast.broker.store.retention import Retention, Trimmed
from twigcast.broker.store.schema import Sync, as_store_error, open_file
from twigcast.broker.store.state import read_state
from twigcast.broker.store.transaction import NewDocument, Transaction
from twigcast.broker.store.trimming import clean_slice, trim_slice
from twigcast.broker.store.writer import StoreWriter, Write
from twigcast.errors import StoreError

_Values = ParamSpec("_Values")

FILE: Final = "store.sqlite"
_WRITE_BYTES: Final = 1024
_REFERENCE_BYTES: Final = 256
"""About what a write takes in memory, and each queue or home in it, besides the content."""


class Store:
    """A broker's store; made by ``open``, written and read after ``start``, until ``close``."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, lock: FolderLock, retention: Retention
    ) -> None:
        self._path = path
        self._connection = connection
        self._lock = lock
        self._retention = retention
        self._writer: StoreWriter | None = None
        self._readers: reading.StoreReaders | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        self._newest = 0
        self._publications: dict[str, tuple[str, asyncio.Future[None]]] = {}  # being written
        with as_store_error(path):
            state = read_state(connection)
        self.epoch = state.epoch
        """The life of this file, in which what it owes is numbered; later ones sort later."""
        self.incarnation = state.incarnation
        """Grows with every opening."""
        self.first_number = state.first_number
        """The first number of what is owed to a home that is not in ``owed``.

        It is the time of opening in microseconds, so no earlier number is given again, not even
        after the file was put back from a copy; those in ``owed`` are raised to it, too.
        """
        self.home_version = state.own_version
        """The version of our own durable interest, see ``set_own_version``."""
        self.durables = state.durables
        self.homes = state.homes
        self.owed = state.owed
        """By home."""
        self.received = state.received
        """By origin and epoch: all up to a number, and some beyond."""

    @staticmethod
    def open(
        folder: Path,
        *,
        broker: str,
        sync: Sync = "full",
        retention: Retention = Retention(),  # noqa: B008 - it is immutable
    ) -> Store:
        """Open the store in a folder, or make it.

        Raises StoreError, with the remedy, if another process has it open, or it is not this
        broker's, or newer than this program, or damaged.
        """
        path = folder / FILE
        with as_store_error(path):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = FolderLock(folder)
        try:
            connection = open_file(path, broker, sync, lock.last)
            try:
                store = Store(path, connection, lock, retention)
                with as_store_error(path):
                    lock.note(store.incarnation, is_at_risk=sync == "normal")
                return store
            except BaseException:
                connection.close()
                raise
        except BaseException:
            lock.release()
            raise

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to write and read, for an event loop."""
        if self._loop is not None or self._is_closed:
            raise StoreError(f"{self._path}: a store is started once; open it again")
        self._loop = loop
        self._writer = StoreWriter(self._path, self._connection, loop)
        self._readers = reading.StoreReaders(self._path)
        self._clean()

    @property
    def waiting_bytes(self) -> int:
        """Bytes of memory that hold what is to be written and not yet committed, about."""
        return 0 if self._writer is None else self._writer.waiting_bytes

    # ---- writing --------------------------------------------------------------------------------

    def add_document(
        self,
        id: str,  # noqa: A002 - what it is called everywhere
        content: bytes,
        *,
        published: int,
        publication: str = "",
        queues: Sequence[QueueEntry] = (),
        owed: Sequence[Owed] = (),
        received: Received | None = None,
    ) -> asyncio.Future[None]:
        """Keep a document; of one that is kept already, only what newly refers to it.

        The futures of several calls are done in the order of the calls, so nobody may cancel them.
        """
        now, entries, debts = self._now(), tuple(queues), tuple(owed)
        new = NewDocument(id, content, published, now, publication, entries, debts, received)
        size = len(content) + _REFERENCE_BYTES * (len(new.queues) + len(new.owed))
        future = self._write(lambda transaction: transaction.add_document(new), size)
        if publication and publication not in self._publications and not future.done():
            self._publications[publication] = (id, future)
            future.add_done_callback(lambda _: self._publications.pop(publication))
        return future

    def note_received(self, received: Received) -> asyncio.Future[None]:
        """Remember that a document came that nobody here wants any more."""
        return self._write(lambda transaction: transaction.note_received(received))

    def acknowledge(
        self, durable: str, upto: int, sequences: Sequence[int] = ()
    ) -> asyncio.Future[None]:
        """Entries of a queue that need not be delivered again: all up to one, and some besides."""
        now, besides = self._now(), tuple(sequences)
        return self._write(lambda transaction: transaction.acknowledge(durable, upto, besides, now))

    def confirm(self, home: str, upto: int, numbers: Sequence[int] = ()) -> asyncio.Future[None]:
        """Documents that are owed to a home no more: all up to a number, and some besides."""
        now, besides = self._now(), tuple(numbers)
        return self._write(lambda transaction: transaction.confirm(home, upto, besides, now))

    def put_durable(
        self, name: str, owner: str, expressions: Mapping[str, str]
    ) -> asyncio.Future[None]:
        """Keep a durable subscription, or replace its expressions; its queue stays."""
        kept = dict(expressions)
        return self._write(lambda transaction: transaction.put_durable(name, owner, kept))

    def note_missed_reported(self, durable: str, count: int) -> asyncio.Future[None]:
        """Store how many missed entries, of all there ever were, were reported to a consumer."""
        return self._write(lambda transaction: transaction.note_missed_reported(durable, count))

    def drop_durable(self, name: str) -> asyncio.Future[None]:
        """Forget a durable subscription with its queue."""
        future = self._write(lambda transaction: transaction.drop_durable(name))
        self._clean()
        return future

    def put_home(
        self,
        home: str,
        epoch: str,
        version: int,
        forward: Sequence[str],
        withdraw: Sequence[str],
        *,
        base: int,
    ) -> asyncio.Future[None]:
        """Keep what a home wants: all of it if ``base`` is 0, or how that version has changed.

        If another version is kept, the home is forgotten, so that after a restart all is asked for.
        """
        more, less = tuple(forward), tuple(withdraw)
        return self._write(
            lambda transaction: transaction.put_home(home, epoch, version, more, less, base)
        )

    def drop_home(self, home: str) -> asyncio.Future[None]:
        """Forget a home and everything owed to it.

        If it is owed something again, numbers must go on, or begin at the next ``first_number``.
        """
        future = self._write(lambda transaction: transaction.drop_home(home))
        self._clean()
        return future

    def set_own_version(self, version: int) -> asyncio.Future[None]:
        """Keep the version of what our own durable subscriptions want."""
        return self._write(lambda transaction: transaction.set_own_version(version))

    def trim(self, now_ms: int) -> asyncio.Future[Trimmed]:
        """Drop what retention does not keep; other writes have their turn in between."""
        parts: list[Trimmed] = []

        def is_unfinished(dropped: tuple[Trimmed, bool]) -> bool:
            parts.append(dropped[0])
            return dropped[1]

        return self._write(
            lambda transaction: trim_slice(transaction, self._retention, now_ms),
            is_unfinished=is_unfinished,
            result=lambda: Trimmed.total(parts),
        )

    def _clean(self) -> None:
        """Remove, behind the scenes, what dropped subscriptions and homes have left."""
        now = self._now()
        self._write(lambda transaction: clean_slice(transaction, now), is_unfinished=bool)

    def _write(
        self,
        run: Callable[[Transaction], Any],
        size: int = 0,
        is_unfinished: Callable[[Any], bool] | None = None,
        result: Callable[[], Any] = lambda: None,
    ) -> asyncio.Future[Any]:
        if self._loop is None or self._writer is None:
            raise StoreError(f"{self._path}: the store is not started")
        future: asyncio.Future[Any] = self._loop.create_future()
        if self._is_closed:
            future.set_exception(StoreError(f"{self._path}: the store is closed"))
            future.exception()  # nobody has to wait for it
        else:
            self._writer.submit(Write(run, future, size + _WRITE_BYTES, is_unfinished, result))
        return future

    def _now(self) -> int:
        """Milliseconds since 1970; along a queue times never go back while the broker runs."""
        self._newest = max(self._newest, now_ms())
        return self._newest

    # ---- reading --------------------------------------------------------------------------------

    async def find_publication(self, publication: str) -> str | None:
        """The id of the document stored under a publisher's id.

        One that is still being written is waited for, so what this returns is safe.
        """
        writing = self._publications.get(publication)
        if writing is not None:
            id_, future = writing
            await asyncio.wait([future])
            if not future.cancelled() and future.exception() is None:
                return id_
        return await self._read(reading.find_publication, publication)

    async def read_queue(
        self, durable: str, first: int, last: int, *, limit: int, max_bytes: int
    ) -> list[Queued]:
        """Entries of a queue from ``first`` to ``last`` in order; one at least, if there is any."""
        return await self._read(reading.read_queue, durable, first, last, limit, max_bytes)

    async def first_since(self, durable: str, stored_ms: int) -> int:
        """The first sequence number stored at or after a time; one after the last if none was."""
        return await self._read(reading.first_since, durable, stored_ms)

    async def read_owed(
        self, home: str, numbers: Sequence[int], *, max_bytes: int
    ) -> OwedDocuments:
        """The documents owed to a home under these numbers; one at least, if there is any."""
        return await self._read(reading.read_owed, home, numbers, max_bytes)

    def newest_first(self, since_ms: int, batch: int) -> AsyncIterator[list[StoredDocument]]:
        """Documents stored at or after a time, the newest first, at most ``batch`` at a time."""
        return self._reading().newest_first(since_ms, batch)

    async def figures(self) -> StoreFigures:
        """How much is stored, queued and owed."""
        return await self._read(reading.read_figures)

    async def backup(self, path: Path) -> None:
        """Copy the store to a new file, while it goes on; the copy appears when it is whole.

        To go back to it, put it into an empty folder as ``store.sqlite``: it begins a new epoch.
        """
        unfinished = path.with_name(path.name + ".unfinished")
        with as_store_error(path):
            if path.exists():
                raise StoreError(f"{path}: there is something already: name a new file")
            unfinished.unlink(missing_ok=True)
            try:
                await self._reading().copy(unfinished)
                unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)

    async def _read(
        self,
        question: Callable[Concatenate[sqlite3.Connection, _Values], reading.Result],
        *values: _Values.args,
        **named: _Values.kwargs,
    ) -> reading.Result:
        return await self._reading().run(lambda each: question(each, *values, **named))

    def _reading(self) -> reading.StoreReaders:
        if self._readers is None or self._is_closed:
            raise StoreError(f"{self._path}: the store is not started, or is closed")
        return self._readers

    # ---- the end --------------------------------------------------------------------------------

    async def close(self) -> None:
        """Write everything that is queued, end the threads, let others open the store."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._writer is not None and self._readers is not None:
            await self._writer.close()
            await self._readers.close()
        with suppress(sqlite3.Error, OSError):  # what is in the log is safe there, too
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._lock.note(self.incarnation, is_at_risk=False)
        self._connection.close()
        self._lock.release()


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000
