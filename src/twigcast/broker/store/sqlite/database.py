"""A store in a folder: the side that writes."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from twigcast.broker.store.database import Database, Reader, UnavailableError
from twigcast.broker.store.retention import Retention, Trimmed
from twigcast.broker.store.sqlite.books import Books
from twigcast.broker.store.sqlite.disk import Disk
from twigcast.broker.store.sqlite.errors import as_store_error, is_full
from twigcast.broker.store.sqlite.lock import FolderLock
from twigcast.broker.store.sqlite.reading import SqliteReader
from twigcast.broker.store.sqlite.state import begin_incarnation, read_state
from twigcast.broker.store.sqlite.tables import PAGE_BYTES, WAL_BYTES, Sync, open_file
from twigcast.broker.store.sqlite.transaction import Transaction
from twigcast.broker.store.sqlite.trimming import Trimming
from twigcast.delivery import KeepDocument, Result, Write
from twigcast.errors import StoreError

_FULL_WAL_BYTES: Final = 2**20
"""From which size on the log is carried over while the disk is full."""
_LONG_WAL_BYTES: Final = 2 * WAL_BYTES
_CUT_SECONDS: Final = 1.0
_CUT_PATIENCE_MS: Final = 200

Outcome = TypeVar("Outcome")

_log = logging.getLogger(__name__)


class SqliteDatabase(Database):
    """A store in a folder, which no other process can open meanwhile."""

    def __init__(self, folder: Path, broker: str, sync: Sync) -> None:
        self._sync = sync
        self._next_cut = 0.0
        with as_store_error(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = FolderLock(folder)
        try:
            with as_store_error(folder):
                self._disk = Disk(folder)
                self._disk.prepare()
            self._path = self._disk.path
            self.location = str(self._path)
            self._connection = open_file(self._path, broker, sync)
            try:
                self._begin()
            except BaseException:
                self._connection.close()
                raise
        except BaseException:
            self._lock.release()
            raise
        self._trimming = Trimming(self._transact)

    def _begin(self) -> None:
        with as_store_error(self._path):
            self._try_to_begin()
            self._disk.watch()
            self._books = Books(self._connection)
            self.state = read_state(self._connection, self._books)
            self._lock.note(self.state.incarnation, is_at_risk=self._sync == "normal")
            self._look_for_room()
        self.full = self._disk.full

    def _try_to_begin(self) -> None:
        """Begin an incarnation, if need be with the room of the reserve."""

        def begin() -> None:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                begin_incarnation(self._connection, self._lock.last)
                self._connection.execute("COMMIT")
            except BaseException:
                _roll_back(self._connection)
                raise

        try:
            begin()
        except sqlite3.Error as error:
            if not is_full(error):
                raise
            self._disk.give_up()
            begin()

    # ---- writing --------------------------------------------------------------------------------

    def write(self, writes: Sequence[Write]) -> list[Result | StoreError]:
        """Apply writes one after the other in one transaction, and return when it is safe."""

        def apply(transaction: Transaction) -> list[Result | StoreError]:
            refusal = StoreError(self._disk.full) if self._disk.full else None
            return [
                refusal
                if refusal is not None and isinstance(write, KeepDocument)
                else transaction.apply(write)
                for write in writes
            ]

        results = self._transact(apply)
        self._cut_log()
        return results

    def trim(self, retention: Retention, now: int) -> Iterator[Trimmed]:
        """Drop what retention does not keep, in slices of some milliseconds."""
        return self._trimming.slices(retention, now)

    def _transact(self, run: Callable[[Transaction], Outcome]) -> Outcome:
        """Run something in one transaction; on a full disk, once more without the reserve."""
        try:
            with as_store_error(self._path):
                self._disk.check()
                self._look_for_room()
                try:
                    outcome = self._commit(run)
                except sqlite3.Error as error:
                    if not is_full(error) or self._disk.full:
                        raise
                    self._make_room()
                    outcome = self._commit(run)
        except UnavailableError as error:
            self.full = str(error)
            raise
        self.full = self._disk.full
        return outcome

    def _commit(self, run: Callable[[Transaction], Outcome]) -> Outcome:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._books.begin()
            transaction = Transaction(self._connection, self._books)
            outcome = run(transaction)
            transaction.finish()
            self._connection.execute("COMMIT")
        except BaseException:
            _roll_back(self._connection)
            self._books.undo()
            raise
        self._books.committed()
        self._disk.check()
        return outcome

    # ---- room -----------------------------------------------------------------------------------

    def _make_room(self) -> None:
        """Give up the reserve, and the log's room."""
        self._disk.give_up()
        _log.error("%s", self._disk.full)
        self._set_log_bytes(_FULL_WAL_BYTES)
        with suppress(sqlite3.Error):  # what is in the log is safe there, too
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _look_for_room(self) -> None:
        """Take the reserve, if it is not there and can be had."""
        was_full = self._disk.full
        is_free = self._disk.take_back(self._room_within)
        if was_full and is_free:
            _log.warning("%s: there is room again", self._path)
            self._set_log_bytes(WAL_BYTES)

    def _room_within(self) -> int:
        """Bytes of the file that dropped documents have left."""
        (pages,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        return int(pages) * PAGE_BYTES

    def _set_log_bytes(self, size: int) -> None:
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {size // PAGE_BYTES}").fetchall()

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
            if self._disk.log.stat().st_size < _LONG_WAL_BYTES:
                return
            self._next_cut = now + _CUT_SECONDS
            self._connection.execute(f"PRAGMA busy_timeout = {_CUT_PATIENCE_MS}").fetchall()
            try:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                self._connection.execute("PRAGMA busy_timeout = 5000").fetchall()
        except (OSError, sqlite3.Error) as error:
            _log.warning("%s: the write-ahead log stays long: %s", self._path, error)

    # ---- reading, and the end -------------------------------------------------------------------

    def reader(self) -> Reader:
        """A new reader, for the thread that calls this."""
        return SqliteReader(self._path)

    def close(self) -> None:
        """Carry the log over, and let others open the store."""
        with suppress(sqlite3.Error, OSError):  # what is in the log is safe there, too
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._lock.note(self.state.incarnation, is_at_risk=False)
        self._connection.close()
        self._lock.release()


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")
