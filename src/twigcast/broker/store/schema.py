"""The file of a broker's store: its tables, how it is opened, and what is wrong when it cannot be.

    documents ──── contents         a document once, its bytes apart: rows of documents change when
      ▲     ▲                       somebody acknowledges, bytes never do
      │     └─── owed ──── debts           to each home, by number
      └───────── queue ─── durables        to each durable subscription, by sequence number
                             ├── acknowledged_beyond
                             └── expressions
    homes ──── home_patterns          what other brokers' durable subscriptions want
    received ──── received_beyond     which documents of other brokers are here already
    facts                             name, epoch, incarnation and totals

Invariants, true after each transaction:

* ``documents.needed`` counts the entries of ``queue`` that are not acknowledged and the rows of
  ``owed`` that refer to the document; ``released`` is when it became 0, and null until then.
* ``durables.waiting`` and ``debts.waiting`` count the same by queue and by home, and ``facts`` has
  the number of documents and their bytes, so that figures cost nothing.
* An entry is acknowledged if its number is up to ``durables.acknowledged``, or stands in
  ``acknowledged_beyond``.  No entry that is kept lies between ``acknowledged`` and the first that
  is not acknowledged.
* A durable subscription or home that was dropped leaves a nameless row until what it refers to is
  cleaned away, little by little.
* No number that was ever given to a home in an earlier incarnation is as high as the fact
  ``first_number``, or as ``debts.next``.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from twigcast.broker.store.lock import LastOpening
from twigcast.errors import StoreError

VERSION: Final = 2
APPLICATION: Final = 0x54776743
"""Marks the file as a store of a Twigcast broker."""
PAGE_BYTES: Final = 16384
"""Documents of a few kilobytes share a page instead of leaving half of one empty."""
WAL_BYTES: Final = 32 * 2**20
"""From which size on the write-ahead log is carried over into the file."""

Sync = Literal["full", "normal"]

_TABLES: Final = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value ANY NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    published INTEGER NOT NULL,
    stored INTEGER NOT NULL,
    publication TEXT,
    size INTEGER NOT NULL,
    needed INTEGER NOT NULL,
    released INTEGER
);
CREATE INDEX documents_by_stored ON documents (stored);
CREATE INDEX documents_by_released ON documents (released) WHERE released IS NOT NULL;
CREATE INDEX documents_by_publication ON documents (publication) WHERE publication IS NOT NULL;
CREATE TABLE contents (document INTEGER PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE durables (
    number INTEGER PRIMARY KEY,
    name TEXT UNIQUE,
    owner TEXT NOT NULL,
    last INTEGER NOT NULL DEFAULT 0,
    acknowledged INTEGER NOT NULL DEFAULT 0,
    waiting INTEGER NOT NULL DEFAULT 0,
    missed INTEGER NOT NULL DEFAULT 0,
    missed_reported INTEGER NOT NULL DEFAULT 0,
    gap_after INTEGER NOT NULL DEFAULT 0,
    gap_last INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE expressions (
    durable INTEGER NOT NULL, key TEXT NOT NULL, xpath TEXT NOT NULL, PRIMARY KEY (durable, key)
) WITHOUT ROWID;
CREATE TABLE queue (
    durable INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    document INTEGER NOT NULL,
    stored INTEGER NOT NULL,
    keys TEXT NOT NULL,
    PRIMARY KEY (durable, sequence)
) WITHOUT ROWID;
CREATE INDEX queue_by_document ON queue (document);
CREATE TABLE acknowledged_beyond (
    durable INTEGER NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (durable, sequence)
) WITHOUT ROWID;
CREATE TABLE debts (
    number INTEGER PRIMARY KEY,
    home TEXT UNIQUE,
    next INTEGER NOT NULL DEFAULT 1,
    waiting INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE owed (
    debt INTEGER NOT NULL,
    number INTEGER NOT NULL,
    document INTEGER NOT NULL,
    PRIMARY KEY (debt, number)
) WITHOUT ROWID;
CREATE INDEX owed_by_document ON owed (document);
CREATE TABLE homes (
    name TEXT PRIMARY KEY, epoch TEXT NOT NULL, version INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE home_patterns (
    home TEXT NOT NULL, pattern TEXT NOT NULL, PRIMARY KEY (home, pattern)
) WITHOUT ROWID;
CREATE TABLE received (
    origin TEXT NOT NULL, epoch TEXT NOT NULL, upto INTEGER NOT NULL, PRIMARY KEY (origin, epoch)
) WITHOUT ROWID;
CREATE TABLE received_beyond (
    origin TEXT NOT NULL,
    epoch TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (origin, epoch, number)
) WITHOUT ROWID;
"""

_SMALL_TABLES: Final = (
    "facts durables expressions debts homes home_patterns received received_beyond".split()
)

SEQUENCE_LEAP: Final = 1_000_000
"""How many sequence numbers a queue passes over when the store has fallen back: more than it can
have given since, as far as can be foreseen."""

_REMEDIES: Final = {
    sqlite3.SQLITE_FULL: "the disk is full: make room, or let retention keep less",
    sqlite3.SQLITE_IOERR: "the disk fails, or a limit is met: see the system's log, make room",
    sqlite3.SQLITE_CORRUPT: "the file is damaged: replace it by a backup, or move it away to "
    "begin with an empty store",
    sqlite3.SQLITE_NOTADB: "the file is damaged, or is no store: replace it by a backup, or "
    "move it away to begin with an empty store",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: see that the broker may write in the folder",
    sqlite3.SQLITE_READONLY: "it cannot be written: see that the broker may write in the folder",
    sqlite3.SQLITE_BUSY: "another program keeps it locked: end that program",
}


def store_error(path: Path, error: sqlite3.Error) -> StoreError:
    """What an error of SQLite's means for whoever runs the broker."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    remedy = _REMEDIES.get(code)
    return StoreError(f"{path}: {remedy} ({error})" if remedy else f"{path}: {error}")


@contextmanager
def as_store_error(path: Path) -> Iterator[None]:
    """Whatever SQLite or the system refuses becomes a StoreError that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise store_error(path, error) from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    except (UnicodeEncodeError, OverflowError) as error:  # an argument that SQLite cannot take
        raise StoreError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError) as error:  # a value that we never wrote
        raise _damaged(path, repr(error)) from error


def connect(path: Path, sync: Sync = "full") -> sqlite3.Connection:
    """A connection with the settings that all have; transactions are begun by hand."""
    connection = sqlite3.connect(path, timeout=5.0, isolation_level=None, check_same_thread=False)
    try:
        for setting in (
            f"page_size = {PAGE_BYTES}",
            "journal_mode = WAL",
            f"synchronous = {'FULL' if sync == 'full' else 'NORMAL'}",
            f"wal_autocheckpoint = {WAL_BYTES // PAGE_BYTES}",
            f"journal_size_limit = {2 * WAL_BYTES}",
            "cache_size = -16384",
            "temp_store = MEMORY",
            "secure_delete = OFF",
        ):
            connection.execute(f"PRAGMA {setting}").close()
    except BaseException:
        connection.close()
        raise
    return connection


def open_file(path: Path, broker: str, sync: Sync, last: LastOpening) -> sqlite3.Connection:
    """The connection that writes, after the file was made or checked."""
    with as_store_error(path):
        connection = connect(path, sync)
        try:
            if _is_empty(connection):
                _create(connection, broker)
                _sync_folder(path.parent)
            else:
                _check(connection, path, broker)
            _begin_incarnation(connection, last)
        except BaseException:
            connection.close()
            raise
        return connection


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _is_empty(connection: sqlite3.Connection) -> bool:
    (count,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return not count and not _pragma(connection, "user_version")


def _create(connection: sqlite3.Connection, broker: str) -> None:
    """All of it in one transaction: a store that is killed here is empty, or is whole."""
    facts = {
        "broker": broker,
        "epoch": _new_epoch(),
        "incarnation": 0,
        "first_number": 1,
        "own_version": 0,
        "documents": 0,
        "bytes": 0,
        "is_copy": 0,
    }
    connection.execute("BEGIN IMMEDIATE")
    for statement in _TABLES.split(";"):
        if statement.strip():
            connection.execute(statement)
    connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _new_epoch(before: str = "") -> str:
    """A name that nobody else chooses and that sorts after earlier ones: the time, and chance."""
    milliseconds = time.time_ns() // 1_000_000
    if before:
        milliseconds = max(milliseconds, int(before.partition("-")[0], 16) + 1)
    return f"{milliseconds:012x}-{secrets.token_hex(8)}"


def _check(connection: sqlite3.Connection, path: Path, broker: str) -> None:
    """Cheap, whatever the size: whose it is, that no end is missing, that small tables are whole.

    Damage elsewhere is reported when it is met.
    """
    version = _pragma(connection, "user_version")
    if _pragma(connection, "application_id") != APPLICATION:
        raise StoreError(f"{path}: this is a database of something else: name another folder")
    if version != VERSION:
        age = "a newer" if version > VERSION else "an older"
        raise StoreError(
            f"{path}: it was written by {age} Twigcast (its layout is {version}, this one knows "
            f"{VERSION}): install that version again, or name another folder"
        )
    owner = _fact(connection, "broker")
    if owner != broker:
        raise StoreError(
            f"{path}: it belongs to the broker {owner!r}, and this is {broker!r}: give each broker "
            "a folder of its own"
        )
    # What the log still holds has to be in the file before its length says anything.
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    expected = _pragma(connection, "page_count") * _pragma(connection, "page_size")
    if path.stat().st_size < expected:
        raise _damaged(path, "its end is missing")
    for table in _SMALL_TABLES:
        (problem,) = connection.execute(f"PRAGMA quick_check('{table}')").fetchone()
        if problem != "ok":
            raise _damaged(path, f"table {table}: {problem}")
    connection.execute("SELECT * FROM documents ORDER BY number DESC LIMIT 1").fetchall()
    connection.execute("SELECT * FROM documents ORDER BY number LIMIT 1").fetchall()


def _damaged(path: Path, what: str) -> StoreError:
    return StoreError(f"{path}: {_REMEDIES[sqlite3.SQLITE_CORRUPT]} ({what})")


def _fact(connection: sqlite3.Connection, name: str) -> str | int:
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise sqlite3.DatabaseError(f"the fact {name!r} is missing")
    value: str | int = row[0]
    return value


def _begin_incarnation(connection: sqlite3.Connection, last: LastOpening) -> None:
    """A number above all earlier ones, also of a file that was lost since: milliseconds since 1970.

    The numbers of what is owed go on at the time in microseconds, above all that were ever given:
    fewer than a million a second are.

    An older copy that was put back is known by the mark that ``copy_file`` leaves in it, or by its
    incarnation, if later ones were begun in the folder; it begins a new epoch.  Its queues, like
    those of a file that may lack commits (see :mod:`~twigcast.broker.store.lock`), leap over the
    sequence numbers that it does not know to have been given.
    """
    connection.execute("BEGIN IMMEDIATE")
    before = int(_fact(connection, "incarnation"))
    first_number = max(int(_fact(connection, "first_number")), now_us())
    changes: dict[str, str | int] = {
        "incarnation": max(before + 1, last.incarnation + 1, time.time_ns() // 1_000_000),
        "first_number": first_number,
    }
    connection.execute("UPDATE debts SET next = max(next, ?)", (first_number,))
    is_copy = _fact(connection, "is_copy") or (last.incarnation > before and not last.may_have_lost)
    if is_copy:
        changes |= {"epoch": _new_epoch(str(_fact(connection, "epoch"))), "is_copy": 0}
    if is_copy or last.may_have_lost:
        connection.execute(
            "UPDATE durables SET last = last + ?1, gap_last = last + ?1,"
            " gap_after = CASE WHEN last = gap_last THEN gap_after ELSE last END,"
            " acknowledged = CASE WHEN waiting = 0 THEN last + ?1 ELSE acknowledged END",
            (SEQUENCE_LEAP,),
        )
    set_facts(connection, changes)
    connection.execute("COMMIT")


def now_us() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def set_facts(connection: sqlite3.Connection, facts: dict[str, str | int]) -> None:
    """Change facts, within the open transaction."""
    rows = [(value, name) for name, value in facts.items()]
    connection.executemany("UPDATE facts SET value = ? WHERE name = ?", rows)


def _sync_folder(folder: Path) -> None:
    """A new file outlives a power loss only if its name does."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy_file(source: sqlite3.Connection, path: Path) -> None:
    """A consistent copy of the store as one file, while it goes on being written."""
    target = sqlite3.connect(path, isolation_level=None)
    try:
        # In one step: between steps a writer would make it begin anew, for ever if it is busy.
        source.backup(target, pages=-1)
        target.execute("PRAGMA journal_mode = DELETE").fetchall()
        target.execute("UPDATE facts SET value = 1 WHERE name = 'is_copy'")
    finally:
        target.close()
