"""The tables of a store in PostgreSQL, and how one layout becomes the next.

    documents ──── contents      a document once, its bytes apart: rows of documents change when
      ▲  ▲  ▲  ▲                 somebody acknowledges, and bytes never do
      ├─────────── destinations  whom it is addressed to
      │  │  │  └─ owed ───── debts        to each home, in the order in which they were kept
      │  │  └──── letters                 set aside, with the reason
      │  └─────── queue ──── durables     to each durable subscription, by sequence
      │                        ├── expressions
      │                        ├── beyond, revived     exceptions from `acknowledged`
      │                        └── attempts
      └────────── freed                   nobody needs it; when that was noted, and whose it is
    publications                     the first document of each publication, even if it has gone
    bits                             the members of units, and the bit of each
    homes ──── home_patterns         what other brokers' durable subscriptions want
    received ──── received_numbers   which documents of other brokers are here already
    accounts                         documents and bytes, by publisher
    writers                          the last batch of the broker that has the store open
    facts                            layout, broker, incarnation, versions

Invariants, true after each transaction:

* ``documents.needed`` counts the entries of ``queue`` that wait, the rows of ``owed`` and the
  letters that refer to the document.  A document is in ``freed`` if and only if that is 0.
* ``documents.entries`` has the queues and sequences that the document was ever given, packed; some
  of them may be gone.  An index of ``queue`` by document would cost as much as all its rows.
* ``durables.waiting`` and ``debts.waiting`` count the same by queue and by home, and ``accounts``
  documents and bytes, so that figures cost nothing.
* An entry waits if its sequence is above ``durables.acknowledged`` and not in ``beyond``, or is in
  ``revived``.  The first entry above ``acknowledged``, if there is one, waits.
* A durable subscription or home that was dropped leaves a nameless row until what it refers to is
  cleaned away, little by little.

Who writes holds the advisory lock ``OPEN_LOCK`` for as long as it is connected.  So one broker
writes at a time: sequences become visible in their order, and nobody else adds a document between a
look for it and its insertion.
"""

from __future__ import annotations

from typing import Final

from twigcast.broker.store.postgres.connection import SCHEMA, Connection
from twigcast.errors import StoreError

OPEN_LOCK: Final = (0x54776743, 1)
"""The two numbers of the advisory lock that the broker holds which has the store open."""

_LAYOUT_1: Final = """
CREATE TABLE writers (
    token text PRIMARY KEY,
    generation bigint NOT NULL DEFAULT 0,
    batch bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 20);
CREATE TABLE accounts (
    publisher text PRIMARY KEY, documents bigint NOT NULL, bytes bigint NOT NULL
) WITH (fillfactor = 50);
CREATE SEQUENCE document_numbers;
CREATE TABLE documents (
    number bigint PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    published bigint NOT NULL,
    stored bigint NOT NULL,
    headers text NOT NULL,
    expires bigint NOT NULL,
    publication text NOT NULL,
    publisher text NOT NULL,
    size integer NOT NULL,
    entries bytea NOT NULL,
    needed integer NOT NULL CHECK (needed >= 0)
) WITH (fillfactor = 70);
CREATE INDEX documents_by_stored ON documents (stored, number);
CREATE TABLE contents (document bigint PRIMARY KEY, content bytea NOT NULL);
ALTER TABLE contents ALTER content SET STORAGE EXTERNAL;
CREATE TABLE freed (document bigint PRIMARY KEY, at bigint, publisher text);
CREATE INDEX freed_by_at ON freed (at);
CREATE INDEX freed_by_publisher ON freed (publisher, document) WHERE publisher <> '';
CREATE TABLE publications (
    publication text COLLATE "C" PRIMARY KEY,
    id text NOT NULL,
    digest bytea NOT NULL,
    stored bigint NOT NULL
);
CREATE INDEX publications_by_stored ON publications USING brin (stored);
CREATE TABLE durables (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text UNIQUE,
    owner text NOT NULL,
    is_shared boolean NOT NULL,
    key text NOT NULL,
    most_attempts integer NOT NULL,
    last bigint NOT NULL DEFAULT 0,
    acknowledged bigint NOT NULL DEFAULT 0,
    waiting bigint NOT NULL DEFAULT 0,
    missed bigint NOT NULL DEFAULT 0,
    missed_reported bigint NOT NULL DEFAULT 0,
    gap_after bigint NOT NULL DEFAULT 0,
    gap_last bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE expressions (
    durable integer NOT NULL, key text NOT NULL, xpath text NOT NULL, PRIMARY KEY (durable, key)
);
CREATE TABLE queue (
    durable integer NOT NULL,
    sequence bigint NOT NULL,
    document bigint NOT NULL,
    stored bigint NOT NULL,
    keys text NOT NULL,
    PRIMARY KEY (durable, sequence)
);
CREATE TABLE beyond (
    durable integer NOT NULL, sequence bigint NOT NULL, PRIMARY KEY (durable, sequence)
);
CREATE TABLE revived (
    durable integer NOT NULL, sequence bigint NOT NULL, PRIMARY KEY (durable, sequence)
);
CREATE TABLE attempts (
    durable integer NOT NULL,
    sequence bigint NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (durable, sequence)
);
CREATE TABLE debts (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    home text UNIQUE,
    waiting bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE owed (
    debt integer NOT NULL, document bigint NOT NULL, PRIMARY KEY (debt, document)
);
CREATE INDEX owed_by_document ON owed (document);
CREATE TABLE letters (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document bigint NOT NULL,
    durable integer,
    durable_name text NOT NULL,
    home text NOT NULL,
    sequence bigint NOT NULL,
    keys text NOT NULL,
    reason text NOT NULL,
    at bigint NOT NULL
);
CREATE INDEX letters_by_document ON letters (document);
CREATE UNIQUE INDEX letters_unrouted ON letters (document)
    WHERE durable_name = '' AND home = '';
CREATE INDEX letters_by_durable ON letters (durable_name, number) WHERE durable_name <> '';
CREATE INDEX letters_by_home ON letters (home, number) WHERE home <> '';
CREATE TABLE homes (name text PRIMARY KEY, epoch bigint NOT NULL, version bigint NOT NULL);
CREATE TABLE home_patterns (
    home text NOT NULL, pattern text NOT NULL, PRIMARY KEY (home, pattern)
);
CREATE TABLE received (
    origin text NOT NULL,
    incarnation bigint NOT NULL,
    settled bigint NOT NULL,
    PRIMARY KEY (origin, incarnation)
);
CREATE TABLE received_numbers (
    origin text NOT NULL,
    incarnation bigint NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (origin, incarnation, number)
);
"""

_LAYOUT_2: Final = """
CREATE TABLE destinations (
    document bigint NOT NULL,
    broker text COLLATE "C" NOT NULL,
    durable text COLLATE "C" NOT NULL,
    PRIMARY KEY (document, broker, durable)
);
ALTER TABLE documents ADD scope integer NOT NULL DEFAULT 0;
ALTER TABLE durables ADD scope integer NOT NULL DEFAULT 0;
CREATE TABLE bits (
    unit text NOT NULL, member text NOT NULL, bit integer NOT NULL, PRIMARY KEY (unit, member)
);
"""

MIGRATIONS: Final = (_LAYOUT_1, _LAYOUT_2)
"""What brings a store from each layout to the next; the first one begins with nothing."""


def prepare(connection: Connection, location: str) -> None:
    """Make the tables, or bring them to this layout; within a transaction that holds the lock."""
    layout = _layout(connection, location)
    if layout > len(MIGRATIONS):
        raise StoreError(
            f"{location}: it was written by a newer Twigcast (its layout is {layout}, this one "
            f"knows {len(MIGRATIONS)}): install that version again, or name another database"
        )
    for migration in MIGRATIONS[layout:]:
        connection.execute(migration.encode())
    if layout < len(MIGRATIONS):
        connection.execute(
            "INSERT INTO facts VALUES ('layout', %s)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (str(len(MIGRATIONS)),),
        )


def _layout(connection: Connection, location: str) -> int:
    """Which layout there is; 0 for none."""
    tables = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s)", (SCHEMA,)
    ).fetchall()
    if ("facts",) in tables:
        row = connection.execute("SELECT value FROM facts WHERE name = 'layout'").fetchone()
        if row is not None:
            return int(row[0])
    elif not tables:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}".encode())
        connection.execute("CREATE TABLE facts (name text PRIMARY KEY, value text NOT NULL)")
        return 0
    raise StoreError(
        f"{location}: its schema {SCHEMA} belongs to something else: name another database"
    )
