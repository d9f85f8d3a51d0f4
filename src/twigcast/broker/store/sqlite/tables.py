"""The file of a broker's store: its tables, how it is opened, and what is wrong when it cannot be.

    documents ──── contents          a document once, its bytes apart; both never change
      ▲  ▲  ▲ ▲
      │  │  │ └─ released            since when nobody needs it, noted by a sweep
      │  │  └─── letters             set aside, from a queue, a home or nobody
      │  └────── owed ──── debtors   to each home
      ├───────── destinations        whom it is addressed to
      └───────── queue ─── durables  to each durable subscription
        (again)   runs      ├── places                      where its queue stands
                            ├── beyond, revived, attempts   of single sequences
                            └── gaps, expressions
    publications ── publishers           who published what, and how much of it is kept
    bits                                 the members of units, and the bit of each
    homes ──── home_patterns             what other brokers' durable subscriptions want
    lines ──── received                  which documents of other brokers have come
    facts                                name, incarnation and totals

``queue`` is keyed by position and durable subscription, so a document's entries lie side by side at
the end of the table, however many queues it goes into.  The position of a document is its number;
if it goes into further queues later, the entries have a new position, which ``again`` leads back.
Positions grow, and with them the sequences of each queue.

To find an entry by its sequence, positions are cut into segments.  ``runs`` has, for each segment
and queue with entries in it, the first of them.  From there the documents of the segment are
walked, and for each its entry in the queue is looked up: see
:mod:`~twigcast.broker.store.sqlite.walk`.

Invariants, true after each transaction:

* An entry waits if its sequence is after ``places.acknowledged`` and not in ``beyond``, or if it is
  in ``revived``.  Sequences from ``acknowledged`` + 1 to ``last`` are all kept, but for those in
  ``beyond`` and those within ``gaps``; so how many wait is a matter of subtraction.
* The sequence after ``acknowledged`` is neither in ``beyond`` nor within ``gaps``; what is in
  ``revived`` is not after ``acknowledged``, and is kept.
* Nobody needs a document in ``released``: no entry of it waits, it is not owed, and no letter.
* The number of a durable subscription or home that was dropped is not given again, and what still
  bears it counts for nothing; it goes with the documents.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

from twigcast.broker.store.kept import refuse_moved
from twigcast.broker.store.sqlite.errors import as_store_error, damaged
from twigcast.errors import StoreError

VERSION: Final = 5
APPLICATION: Final = 0x54776743
"""Marks the file as a store of a Twigcast broker."""
PAGE_BYTES: Final = 4096
"""A commit of one small document writes a third of what it would with 16 KB.  Documents of 100 KB
take a quarter more time than they would with that."""
CACHE_BYTES: Final = 32 * 2**20
WAL_BYTES: Final = 16 * 2**20
"""From which size on the write-ahead log is carried over into the file."""
SEGMENT_BITS: Final = 12
"""A segment has 4,096 positions."""

Sync: TypeAlias = Literal["full", "normal"]

_TABLES: Final = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value ANY NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    published INTEGER NOT NULL,
    stored INTEGER NOT NULL,
    publication TEXT NOT NULL,
    headers TEXT NOT NULL,
    expires INTEGER NOT NULL,
    publisher TEXT NOT NULL,
    scope INTEGER NOT NULL,
    size INTEGER NOT NULL
);
CREATE INDEX documents_by_stored ON documents (stored);
CREATE TABLE contents (document INTEGER PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE again (
    position INTEGER PRIMARY KEY, document INTEGER NOT NULL, stored INTEGER NOT NULL
);
CREATE TABLE destinations (
    document INTEGER NOT NULL,
    broker TEXT NOT NULL,
    durable TEXT NOT NULL,
    PRIMARY KEY (document, broker, durable)
) WITHOUT ROWID;
CREATE INDEX again_by_document ON again (document);
CREATE TABLE released (
    document INTEGER PRIMARY KEY, at INTEGER NOT NULL, publisher TEXT NOT NULL
);
CREATE INDEX released_by_at ON released (at);
CREATE INDEX released_by_publisher ON released (publisher, document) WHERE publisher <> '';
CREATE TABLE queue (
    position INTEGER NOT NULL,
    durable INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    keys TEXT NOT NULL,
    PRIMARY KEY (position, durable)
) WITHOUT ROWID;
CREATE TABLE runs (
    segment INTEGER NOT NULL,
    durable INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (segment, durable)
) WITHOUT ROWID;
CREATE TABLE durables (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    is_shared INTEGER NOT NULL,
    key TEXT NOT NULL,
    most_attempts INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    missed_reported INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE places (
    durable INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    acknowledged INTEGER NOT NULL,
    missed INTEGER NOT NULL
);
CREATE TABLE beyond (
    durable INTEGER NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (durable, sequence)
) WITHOUT ROWID;
CREATE TABLE revived (
    durable INTEGER NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (durable, sequence)
) WITHOUT ROWID;
CREATE TABLE attempts (
    durable INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (durable, sequence)
) WITHOUT ROWID;
CREATE TABLE gaps (
    durable INTEGER NOT NULL,
    after INTEGER NOT NULL,
    upto INTEGER NOT NULL,
    PRIMARY KEY (durable, after)
) WITHOUT ROWID;
CREATE TABLE expressions (
    durable INTEGER NOT NULL, key TEXT NOT NULL, xpath TEXT NOT NULL, PRIMARY KEY (durable, key)
) WITHOUT ROWID;
CREATE TABLE debtors (
    number INTEGER PRIMARY KEY AUTOINCREMENT, home TEXT NOT NULL UNIQUE, waiting INTEGER NOT NULL
);
CREATE TABLE owed (
    document INTEGER NOT NULL, debtor INTEGER NOT NULL, PRIMARY KEY (document, debtor)
) WITHOUT ROWID;
CREATE TABLE letters (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL,
    durable INTEGER NOT NULL,
    name TEXT NOT NULL,
    home TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    keys TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL
);
CREATE INDEX letters_by_document ON letters (document);
CREATE TABLE publications (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL,
    document TEXT NOT NULL,
    stored INTEGER NOT NULL
);
CREATE TABLE publishers (name TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE homes (
    name TEXT PRIMARY KEY, epoch INTEGER NOT NULL, version INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE home_patterns (
    home TEXT NOT NULL, pattern TEXT NOT NULL, PRIMARY KEY (home, pattern)
) WITHOUT ROWID;
CREATE TABLE bits (
    unit TEXT NOT NULL, member TEXT NOT NULL, bit INTEGER NOT NULL, PRIMARY KEY (unit, member)
) WITHOUT ROWID;
CREATE TABLE lines (
    number INTEGER PRIMARY KEY,
    origin TEXT NOT NULL,
    incarnation INTEGER NOT NULL,
    settled INTEGER NOT NULL,
    UNIQUE (origin, incarnation)
);
CREATE TABLE received (
    line INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (line, number)
) WITHOUT ROWID;
"""

_SMALL_TABLES: Final = (
    "facts durables places beyond revived attempts gaps expressions debtors publishers homes"
    " home_patterns bits lines received"
).split()

_NEW_FACTS: Final = {
    "incarnation": 0,
    "is_copy": 0,
    "home_epoch": 0,
    "home_version": 0,
    "position": 0,
    "documents": 0,
    "bytes": 0,
}


def connect(path: Path, sync: Sync = "full") -> sqlite3.Connection:
    """A connection with the settings that all have; transactions are begun by hand."""
    connection = sqlite3.connect(
        path, timeout=5.0, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        for setting in (
            f"page_size = {PAGE_BYTES}",
            "journal_mode = WAL",
            f"synchronous = {'FULL' if sync == 'full' else 'NORMAL'}",
            f"wal_autocheckpoint = {WAL_BYTES // PAGE_BYTES}",
            f"journal_size_limit = {2 * WAL_BYTES}",
            f"cache_size = -{CACHE_BYTES // 1024}",
            "temp_store = MEMORY",
            "secure_delete = OFF",
        ):
            connection.execute(f"PRAGMA {setting}").close()
    except BaseException:
        connection.close()
        raise
    return connection


def open_file(path: Path, broker: str, sync: Sync) -> sqlite3.Connection:
    """The connection that writes, after the file was made or checked."""
    with as_store_error(path):
        connection = connect(path, sync)
        try:
            if is_empty(connection):
                create(connection, broker)
            else:
                _check_layout(connection, path)
                _check_broker(connection, path, broker)
                _check_whole(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def open_kept(path: Path) -> sqlite3.Connection:
    """A connection to a store that there is, whosever it is."""
    with as_store_error(path):
        connection = connect(path)
        try:
            _check_layout(connection, path)
            _check_whole(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nothing was ever written to the file."""
    (count,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return not count and not _pragma(connection, "user_version")


def create(connection: sqlite3.Connection, broker: str) -> None:
    """Make the tables.

    All of it in one transaction: a store that is killed here is empty, or is whole.
    """
    connection.execute("BEGIN IMMEDIATE")
    for statement in _TABLES.split(";\n"):
        connection.execute(statement)
    facts = {"broker": broker, **_NEW_FACTS}
    connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _check_layout(connection: sqlite3.Connection, path: Path) -> None:
    if _pragma(connection, "application_id") != APPLICATION:
        raise StoreError(f"{path}: this is a database of something else: name another folder")
    version = _pragma(connection, "user_version")
    if version != VERSION:
        age = "a newer" if version > VERSION else "an older"
        raise StoreError(
            f"{path}: it was written by {age} Twigcast (its layout is {version}, this one knows "
            f"{VERSION}): install that version again, or name another folder"
        )


def _check_broker(connection: sqlite3.Connection, path: Path, broker: str) -> None:
    facts = dict(connection.execute("SELECT name, value FROM facts"))
    refuse_moved(str(path), facts)
    owner = fact(connection, "broker")
    if owner != broker:
        raise StoreError(
            f"{path}: it belongs to the broker {owner!r}, and this is {broker!r}: give each broker "
            f"a folder of its own, or start this one with --name {owner}"
        )


def _check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Cheap, whatever the size: that no end is missing, and that small tables are whole.

    Damage elsewhere is reported when it is met.
    """
    _check_length(connection, path)
    for table in _SMALL_TABLES:
        (problem,) = connection.execute(f"PRAGMA quick_check('{table}')").fetchone()
        if problem != "ok":
            raise damaged(path, f"table {table}: {problem}")
    connection.execute("SELECT * FROM documents ORDER BY number DESC LIMIT 1").fetchall()
    connection.execute("SELECT * FROM documents ORDER BY number LIMIT 1").fetchall()


def _check_length(connection: sqlite3.Connection, path: Path) -> None:
    """See that the file has all its pages.

    What the log still holds has to be in the file before its length says anything.  On a full disk
    it cannot be; then the length is believed.
    """
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError:
        return
    expected = _pragma(connection, "page_count") * _pragma(connection, "page_size")
    if path.stat().st_size < expected:
        raise damaged(path, "its end is missing")


def fact(connection: sqlite3.Connection, name: str) -> str | int:
    """A fact about the store."""
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise KeyError(f"the fact {name!r} is missing")
    value: str | int = row[0]
    return value


def set_facts(connection: sqlite3.Connection, facts: Mapping[str, str | int]) -> None:
    """Change facts, within the open transaction."""
    rows = [(value, name) for name, value in facts.items()]
    connection.executemany("UPDATE facts SET value = ? WHERE name = ?", rows)
