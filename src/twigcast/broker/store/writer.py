"""The thread that writes a broker's store: many writes in one transaction, in order.

    event loop ──submit──► waiting ──take a batch──► transaction ──commit──► futures done
                              ▲                          │
                              └───── not finished yet ◄──┘    (retention, cleaning: in slices)

While one batch is being committed the next one gathers, so the more there is to write the more a
commit carries: no write waits for others to come, and a disk that needs milliseconds for a commit
takes thousands of documents a second.

A batch that fails is rolled back and tried again in halves, down to single writes.  So a write that
cannot be done fails alone, and on a full disk what still fits is kept.  Nothing stops the thread:
what comes later is tried anew.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from twigcast.broker.store.schema import WAL_BYTES, store_error
from twigcast.broker.store.transaction import Transaction
from twigcast.errors import StoreError

_BATCH_WRITES: Final = 2000
_BATCH_BYTES: Final = 16 * 2**20
_LONG_WAL_BYTES: Final = 2 * WAL_BYTES
_CUT_SECONDS: Final = 1.0
_CUT_PATIENCE_MS: Final = 200

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Write:
    """Something to be written, and who waits for it."""

    run: Callable[[Transaction], Any]
    future: asyncio.Future[Any]
    size: int = 0
    """Bytes that it holds in memory, about."""
    is_unfinished: Callable[[Any], bool] | None = None
    """Of a write in slices: whether to go on after a result of ``run`` that is committed."""
    result: Callable[[], Any] = lambda: None
    """What the future gets in the end."""


class StoreWriter:
    """Runs writes in a thread of its own; what is public is for the event loop."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._path = path
        self._wal = path.with_name(path.name + "-wal")
        self._connection = connection
        self._loop = loop
        self._waiting: deque[Write] = deque()
        self._wake = threading.Condition()
        self._is_closing = False
        self._next_cut = 0.0
        self._stopped: asyncio.Future[None] = loop.create_future()
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self.waiting_bytes = 0
        self._thread.start()

    def submit(self, write: Write) -> None:
        """Queue a write; its future is done when it is committed."""
        self.waiting_bytes += write.size
        with self._wake:
            self._waiting.append(write)
            self._wake.notify()

    async def close(self) -> None:
        """Write what is queued, and end the thread."""
        with self._wake:
            self._is_closing = True
            self._wake.notify()
        await asyncio.shield(self._stopped)
        self._thread.join()

    # ---- in the thread --------------------------------------------------------------------------

    def _work(self) -> None:
        while batch := self._take():
            self._write(batch)
            self._cut_log()
        self._call(self._stopped.set_result, None)

    def _take(self) -> list[Write]:
        """What to write next, waiting for it; nothing when all is written and no more will come."""
        with self._wake:
            while not self._waiting and not self._is_closing:
                self._wake.wait()
            batch: list[Write] = []
            size = 0
            while self._waiting and len(batch) < _BATCH_WRITES and size < _BATCH_BYTES:
                write = self._waiting.popleft()
                batch.append(write)
                size += write.size
                if write.is_unfinished is not None:
                    break  # a slice is long enough to end a transaction
            return batch

    def _write(self, batch: list[Write]) -> None:
        try:
            results = self._commit(batch)
        except Exception as error:  # whatever is wrong with a write, the thread goes on
            if len(batch) > 1:
                half = len(batch) // 2
                self._write(batch[:half])
                self._write(batch[half:])
                return
            results = [self._as_store_error(error)]
            _log.error("not written: %s", results[0])
        self._settle(batch, results)

    def _as_store_error(self, error: Exception) -> StoreError:
        if isinstance(error, sqlite3.Error):
            return store_error(self._path, error)
        return error if isinstance(error, StoreError) else StoreError(f"{self._path}: {error}")

    def _commit(self, batch: list[Write]) -> list[Any]:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            transaction = Transaction(connection)
            results = [write.run(transaction) for write in batch]
            transaction.finish()
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return results

    def _settle(self, batch: list[Write], results: list[Any]) -> None:
        """Report to the event loop, once for all of them, and queue again what has more to do."""
        done: list[tuple[Write, Any]] = []
        again: list[Write] = []
        for write, result in zip(batch, results, strict=True):
            if isinstance(result, StoreError):
                done.append((write, result))
            elif (
                write.is_unfinished is not None
                and write.is_unfinished(result)
                and not self._is_closing
            ):
                again.append(write)
            else:
                done.append((write, write.result()))
        if again:
            with self._wake:
                self._waiting.extend(again)
        if done:
            self._call(self._report, done)

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            _log.warning("%s: the event loop ended before its store was closed", self._path)

    def _report(self, done: list[tuple[Write, Any]]) -> None:
        """In the event loop: the futures get their results."""
        for write, result in done:
            self.waiting_bytes -= write.size
            if write.future.done():  # whoever waited for it gave up
                continue
            if isinstance(result, StoreError):
                write.future.set_exception(result)
                write.future.exception()  # it is in the log; nobody has to ask for it
            else:
                write.future.set_result(result)

    def _cut_log(self) -> None:
        """Keep the write-ahead log from growing.

        SQLite begins it anew when a commit finds all of it carried over and nobody reading in it.
        Readers that follow each other closely could prevent that for ever, so when it has become
        long, new readers are made to wait for a moment; not often, for a backup reads for long.
        """
        now = time.monotonic()
        if now < self._next_cut:
            return
        try:
            if self._wal.stat().st_size < _LONG_WAL_BYTES:
                return
            self._next_cut = now + _CUT_SECONDS
            self._connection.execute(f"PRAGMA busy_timeout = {_CUT_PATIENCE_MS}").fetchall()
            try:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                self._connection.execute("PRAGMA busy_timeout = 5000").fetchall()
        except (OSError, sqlite3.Error) as error:
            _log.warning("%s: the write-ahead log stays long: %s", self._path, error)
