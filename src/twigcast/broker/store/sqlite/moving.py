"""A store in a folder as the tables of :mod:`twigcast.broker.store.kept`.

A target is written to a file of its own, without a journal, which gets the name of the store when
it is complete.

An entry lies at the number of its document if it was stored together with the document, and if
that comes after the entry before it in the queue.  Any other has a position after all documents,
and so have those that follow it in its queue: positions grow with sequences.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from twigcast.broker.store.kept import (
    MOVED_FROM,
    MOVED_TO,
    Identity,
    Kept,
    Row,
    Source,
    Target,
    columns,
    refuse_full,
    refuse_nothing,
)
from twigcast.broker.store.private_files import make_private
from twigcast.broker.store.sqlite import tables
from twigcast.broker.store.sqlite.disk import FILE, sync_folder
from twigcast.broker.store.sqlite.errors import as_store_error
from twigcast.broker.store.sqlite.lock import FolderLock, LastOpening
from twigcast.broker.store.sqlite.tables import connect, create, is_empty, open_kept, set_facts

ASIDE: Final = "store.moving"
"""The file that is written while a store is moved to a folder."""

# CROSS JOIN lets SQLite walk on the left and look up on the right, never the other way round.
_READ: Final = {
    "durables": "SELECT number, name, owner, is_shared, key, most_attempts, scope, last,"
    " acknowledged, missed, missed_reported FROM durables JOIN places ON durable = number",
    "gaps": "SELECT durable, after, upto FROM gaps JOIN places USING (durable)"
    " WHERE upto > acknowledged OR upto ="
    " (SELECT max(upto) FROM gaps AS others WHERE others.durable = gaps.durable)",
    "queue": "SELECT durable, sequence, coalesce(again.document, queue.position),"
    " coalesce(again.stored, documents.stored), keys FROM queue"
    " CROSS JOIN durables ON durables.number = queue.durable"
    " LEFT JOIN again ON again.position = queue.position"
    " LEFT JOIN documents ON documents.number = queue.position"
    " ORDER BY queue.position, queue.durable",
    "debts": "SELECT number, home FROM debtors",
    "owed": "SELECT debtor, document FROM owed CROSS JOIN debtors ON number = debtor",
    "letters": "SELECT letters.number, document, coalesce(durables.number, 0), letters.name, home,"
    " sequence, keys, reason, at FROM letters"
    " LEFT JOIN durables ON durables.number = letters.durable",
    "publications": "SELECT key, document, digest, stored FROM publications ORDER BY number",
    "received": "SELECT origin, incarnation, settled FROM lines",
    "received_numbers": "SELECT origin, incarnation, received.number FROM received"
    " CROSS JOIN lines ON lines.number = line",
}
"""How tables are read that are not kept in the same form."""

_WRITE: Final = {
    "durables": "INSERT INTO durables"
    " (number, name, owner, is_shared, key, most_attempts, scope, missed_reported)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "debts": "INSERT INTO debtors VALUES (?, ?, 0)",
    "released": "INSERT INTO released SELECT ?1, ?2, publisher FROM documents WHERE number = ?1",
    "owed": "INSERT INTO owed (debtor, document) VALUES (?, ?)",
    "letters": "INSERT INTO letters VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "publications": "INSERT INTO publications (key, document, digest, stored) VALUES (?, ?, ?, ?)",
    "received": "INSERT INTO lines (origin, incarnation, settled) VALUES (?, ?, ?)",
    "received_numbers": "INSERT INTO received SELECT number, ?3 FROM lines"
    " WHERE origin = ?1 AND incarnation = ?2",
}
_RUNS: Final = """
    INSERT OR IGNORE INTO runs SELECT position >> ?, durable, sequence, position
    FROM queue ORDER BY position, durable
"""


class _SqliteKept(Kept):
    """Reads the file of a store."""

    _path: Path
    _connection: sqlite3.Connection
    _last: LastOpening

    def identity(self) -> Identity:
        with as_store_error(self._path):
            facts = dict(self._connection.execute("SELECT name, value FROM facts"))
            [(last_letter,)] = self._connection.execute(
                "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'letters'"
            )
            incarnation = facts["incarnation"]
            return Identity(
                facts["broker"],
                max(incarnation, self._last.incarnation),
                facts["home_epoch"],
                facts["home_version"],
                last_letter,
                bool(facts["is_copy"])
                or self._last.may_have_lost
                or self._last.incarnation > incarnation,
            )

    def count(self, table: str) -> int:
        with as_store_error(self._path):
            [(count,)] = self._connection.execute(f"SELECT count(*) FROM ({_statement(table)})")
            return int(count)

    def read(self, table: str) -> Iterator[Row]:
        with as_store_error(self._path):
            yield from self._connection.execute(_statement(table))


def _statement(table: str) -> str:
    return _READ.get(table) or f"SELECT {', '.join(columns(table))} FROM {table}"


class SqliteSource(_SqliteKept, Source):
    """A store in a folder that is moved away."""

    def __init__(self, folder: Path) -> None:
        self.location = str(folder.resolve())
        self._path = folder / FILE
        if not self._path.exists():
            raise refuse_nothing(self.location)
        with as_store_error(folder):
            self._lock = FolderLock(folder)
        try:
            self._last = self._lock.last
            self._connection = open_kept(self._path)
        except BaseException:
            self._lock.release()
            raise
        self.moved_to = str(_facts(self._connection).get(MOVED_TO, ""))

    def mark_moved(self, where: str) -> None:
        with as_store_error(self._path):
            statement = "INSERT OR REPLACE INTO facts VALUES (?, ?)"
            self._connection.execute(statement, (MOVED_TO, where))

    def close(self) -> None:
        self._connection.close()
        self._lock.release()


class SqliteTarget(_SqliteKept, Target):
    """A folder that a store is moved to."""

    def __init__(self, folder: Path) -> None:
        self.location = str(folder.resolve())
        self._store = folder / FILE
        self._path = folder / ASIDE
        self._last = LastOpening()  # whatever was in this folder before is not this store
        self._is_begun = False
        with as_store_error(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = FolderLock(folder)
        try:
            self.unfinished_from = self._look()
        except BaseException:
            self._lock.release()
            raise

    def _look(self) -> str:
        """Where a store comes from that is here and has not arrived."""
        if not self._store.exists():
            return ""
        with as_store_error(self._store), closing(connect(self._store)) as connection:
            if is_empty(connection):
                return ""
            if MOVED_FROM not in (facts := _facts(connection)):
                raise refuse_full(self.location)
            return str(facts[MOVED_FROM])

    def begin(self, broker: str) -> None:
        with as_store_error(self._path):
            _remove(self._store)
            _remove(self._path)
            make_private(self._path)
            self._connection = connect(self._path)
            self._is_begun = True
            for setting in ("journal_mode = OFF", "synchronous = OFF"):
                self._connection.execute(f"PRAGMA {setting}").close()
            create(self._connection, broker)
            self._connection.execute("BEGIN")
        self._documents = self._bytes = self._position = 0
        self._publishers: Counter[str] = Counter()
        self._owed: Counter[int] = Counter()

    def write(self, table: str, rows: Iterable[Row]) -> None:
        with as_store_error(self._path):
            match table:
                case "durables":
                    kept = [*rows]
                    self._insert(table, [(*row[:7], row[10]) for row in kept])
                    places = [(row[0], *row[7:10]) for row in kept]
                    self._connection.executemany("INSERT INTO places VALUES (?, ?, ?, ?)", places)
                case "documents":
                    self._insert(table, self._counting(rows))
                case "queue":
                    self._connection.executemany(
                        "INSERT INTO queue VALUES (?, ?, ?, ?)", self._placing(rows)
                    )
                case "owed":
                    self._insert(table, self._owing(rows))
                case _:
                    self._insert(table, rows)

    def _insert(self, table: str, rows: Iterable[Row]) -> None:
        names = columns(table)
        places = ", ".join("?" * len(names))
        plain = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places})"
        self._connection.executemany(_WRITE.get(table, plain), rows)

    def _counting(self, documents: Iterable[Row]) -> Iterator[Row]:
        for row in documents:
            number, *_, publisher, _, size = row
            self._documents += 1
            self._bytes += size
            self._position = max(self._position, number)
            if publisher:
                self._publishers[publisher] += size
            yield row

    def _placing(self, entries: Iterable[Row]) -> Iterator[Row]:
        """Entries with their positions; see the beginning of this module."""
        positions: dict[int, int] = {}
        for durable, sequence, document, stored, keys in entries:
            is_after = document > positions.get(durable, -1)
            if is_after and stored == self._stored(document):
                position = document
            else:
                self._position = position = self._position + 1
                self._connection.execute(
                    "INSERT INTO again VALUES (?, ?, ?)", (position, document, stored)
                )
            positions[durable] = position
            yield position, durable, sequence, keys

    def _stored(self, document: int) -> int:
        statement = "SELECT stored FROM documents WHERE number = ?"
        [(stored,)] = self._connection.execute(statement, (document,))
        return int(stored)

    def _owing(self, owed: Iterable[Row]) -> Iterator[Row]:
        for row in owed:
            self._owed[row[0]] += 1
            yield row

    def finish(self, identity: Identity) -> None:
        with as_store_error(self._path):
            self._connection.execute(_RUNS, (tables.SEGMENT_BITS,))
            self._connection.executemany(
                "UPDATE debtors SET waiting = ? WHERE number = ?",
                [(count, number) for number, count in self._owed.items()],
            )
            self._connection.executemany(
                "INSERT INTO publishers VALUES (?, ?)",
                [each for each in self._publishers.items() if each[1]],
            )
            self._connection.execute("DELETE FROM sqlite_sequence WHERE name = 'letters'")
            self._connection.execute(
                "INSERT INTO sqlite_sequence VALUES ('letters', ?)", (identity.last_letter,)
            )
            facts = {
                "incarnation": identity.incarnation,
                "is_copy": int(identity.has_fallen_back),
                "home_epoch": identity.home_epoch,
                "home_version": identity.home_version,
                "position": self._position,
                "documents": self._documents,
                "bytes": self._bytes,
            }
            set_facts(self._connection, facts)

    def install(self, moved_from: str) -> None:
        incarnation = self.identity().incarnation
        with as_store_error(self._path):
            self._connection.execute("INSERT INTO facts VALUES (?, ?)", (MOVED_FROM, moved_from))
            self._connection.execute("COMMIT")
            self._connection.close()
            _sync_file(self._path)
            self._lock.note(incarnation, is_at_risk=False)
            self._path.rename(self._store)
            sync_folder(self._store.parent)

    def release(self) -> None:
        with as_store_error(self._store), closing(connect(self._store)) as connection:
            connection.execute("DELETE FROM facts WHERE name = ?", (MOVED_FROM,))

    def close(self) -> None:
        if self._is_begun:
            self._connection.close()
        _remove(self._path)
        self._lock.release()


def _facts(connection: sqlite3.Connection) -> dict[str, str | int]:
    return dict(connection.execute("SELECT name, value FROM facts"))


def _remove(path: Path) -> None:
    """Remove a file of SQLite's, with what may be beside it."""
    for ending in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
