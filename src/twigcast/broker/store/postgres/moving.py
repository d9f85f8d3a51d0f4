"""A store in PostgreSQL as the tables of :mod:`twigcast.broker.store.kept`.

Rows are streamed with COPY, in both directions.  A target is one transaction up to ``install``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Final

from twigcast.broker.store.kept import (
    MOVED_FROM,
    MOVED_TO,
    TABLES,
    Identity,
    Kept,
    Row,
    Source,
    Target,
    columns,
    refuse_full,
    refuse_nothing,
    types,
)
from twigcast.broker.store.postgres.address import as_store_error, location_of
from twigcast.broker.store.postgres.connection import SCHEMA, Connection, connect
from twigcast.broker.store.postgres.opening import (
    has_fallen_back,
    refuse_standby,
    take_open_lock,
)
from twigcast.broker.store.postgres.schema import MIGRATIONS, prepare
from twigcast.broker.store.postgres.settling import WAITS
from twigcast.errors import StoreError

_OF_NAMED: Final = "JOIN durables ON durables.number = durable AND durables.name IS NOT NULL"
_READ: Final = {
    "durables": f"SELECT {', '.join(columns('durables'))} FROM durables WHERE name IS NOT NULL",
    # Only the last gap of a queue is kept.  Those after `acknowledged` are seen in the queue.
    "gaps": f"""
        SELECT number, gap_after, gap_last FROM durables WHERE name IS NOT NULL AND gap_last > 0
        UNION SELECT durable, before, sequence - 1 FROM (
            SELECT durable, sequence, lag(sequence, 1, acknowledged)
                OVER (PARTITION BY durable ORDER BY sequence) AS before
            FROM (SELECT durable, sequence FROM queue
                  UNION SELECT durable, sequence FROM beyond) AS known {_OF_NAMED}
            WHERE sequence > acknowledged
        ) AS following WHERE sequence > before + 1""",
    "released": "SELECT document, at FROM freed WHERE at IS NOT NULL",
    "queue": f"SELECT durable, sequence, document, stored, keys FROM queue {_OF_NAMED}"
    " ORDER BY durable, sequence",
    "debts": "SELECT number, home FROM debts WHERE home IS NOT NULL",
    "owed": "SELECT debt, document FROM owed"
    " JOIN debts ON debts.number = debt AND home IS NOT NULL",
    "letters": "SELECT letters.number, document, coalesce(durables.number, 0), durable_name, home,"
    f" sequence, keys, reason, at FROM letters LEFT {_OF_NAMED}",
    "publications": "SELECT publication, id, digest, stored FROM publications ORDER BY stored",
} | {
    table: f"SELECT {', '.join(f'{table}.{each}' for each in columns(table))} FROM {table}"
    f" {_OF_NAMED}"
    for table in ("beyond", "revived", "attempts")
}
"""How tables are read that are not kept in the same form."""

_STAGED: Final = ("gaps", "documents", "released")
"""What is not written as it comes, but gathered in a temporary table."""

_FINISH: Final = f"""
ANALYZE durables, queue, beyond, revived, owed, letters, staged_documents, staged_released;
UPDATE letters SET durable = NULL WHERE durable = 0;
UPDATE durables SET gap_after = after, gap_last = upto
FROM (SELECT DISTINCT ON (durable) * FROM staged_gaps ORDER BY durable, upto DESC) AS gap
WHERE number = durable;
CREATE TEMPORARY TABLE staged_waiting ON COMMIT DROP AS
SELECT queue.durable, queue.document
FROM queue JOIN durables ON durables.number = queue.durable WHERE {WAITS};
UPDATE durables SET waiting = counted.count
FROM (SELECT durable, count(*) FROM staged_waiting GROUP BY durable) AS counted
WHERE number = durable;
UPDATE debts SET waiting = counted.count
FROM (SELECT debt, count(*) FROM owed GROUP BY debt) AS counted WHERE number = debt;
INSERT INTO documents ({", ".join(columns("documents"))}, entries, needed)
SELECT staged.*, coalesce(entered.entries, ''), coalesce(needing.count, 0)
FROM staged_documents AS staged
LEFT JOIN (
    SELECT document, string_agg(int4send(durable) || int8send(sequence), ''::bytea) AS entries
    FROM queue GROUP BY document) AS entered ON entered.document = number
LEFT JOIN (
    SELECT document, count(*)::int4 FROM (
        SELECT document FROM staged_waiting UNION ALL SELECT document FROM owed
        UNION ALL SELECT document FROM letters) AS needed
    GROUP BY document) AS needing ON needing.document = number
ORDER BY number;
INSERT INTO freed
SELECT number, at, publisher FROM documents
LEFT JOIN staged_released ON document = number WHERE needed = 0;
INSERT INTO accounts SELECT publisher, count(*), sum(size) FROM documents GROUP BY publisher;
SELECT setval('document_numbers', max(number)) FROM documents HAVING count(*) > 0;
SELECT setval('durables_number_seq', max(number)) FROM durables HAVING count(*) > 0;
SELECT setval('debts_number_seq', max(number)) FROM debts HAVING count(*) > 0;
"""
_LAST_LETTER: Final = (
    "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM letters_number_seq"
)
_NOWHERE: Final = "a store that had fallen back"
"""The place of a store whose queues have to leap when it is opened."""


class _PostgresKept(Kept):
    """Reads the tables of a store, while nobody else has it open."""

    _connection: Connection

    def __init__(self, url: str) -> None:
        self.location = location_of(url)
        self._connection = connect(url, self.location, "mover")
        try:
            with as_store_error(self.location):
                # While the other store is read or written, this one may have to wait.
                self._connection.execute("SET idle_in_transaction_session_timeout = 0")
                refuse_standby(self._connection, self.location)
                take_open_lock(self._connection, self.location)
                self._look()
        except BaseException:
            self._connection.close()
            raise

    @abstractmethod
    def _look(self) -> None:
        """See what there is."""

    def _has_tables(self) -> bool:
        [(has_tables,)] = self._connection.execute(
            "SELECT EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace(%s))",
            (SCHEMA,),
        ).fetchall()
        return bool(has_tables)

    def _facts(self) -> dict[str, str]:
        [(has_facts,)] = self._connection.execute("SELECT to_regclass('facts')").fetchall()
        if not has_facts:
            return {}
        return dict(self._connection.execute("SELECT name, value FROM facts").fetchall())

    def identity(self) -> Identity:
        with as_store_error(self.location):
            facts = self._facts()
            [(last_letter,)] = self._connection.execute(_LAST_LETTER).fetchall()
            return Identity(
                facts["broker"],
                int(facts["incarnation"]),
                int(facts.get("home_epoch", 0)),
                int(facts.get("home_version", 0)),
                last_letter,
                has_fallen_back(self._connection, facts),
            )

    def count(self, table: str) -> int:
        with as_store_error(self.location):
            counted = f"SELECT count(*) FROM ({_statement(table)}) AS counted"
            [(count,)] = self._connection.execute(counted.encode()).fetchall()
            return int(count)

    def read(self, table: str) -> Iterator[Row]:
        statement = f"COPY ({_statement(table)}) TO STDOUT (FORMAT BINARY)"
        copying = self._connection.cursor().copy(statement.encode())
        with as_store_error(self.location), copying as copy:
            copy.set_types(types(table))
            yield from copy.rows()

    def close(self) -> None:
        self._connection.close()


def _statement(table: str) -> str:
    return _READ.get(table) or f"SELECT {', '.join(columns(table))} FROM {table}"


class PostgresSource(_PostgresKept, Source):
    """A store in PostgreSQL that is moved away."""

    def _look(self) -> None:
        facts = self._facts()
        if "broker" not in facts:
            raise refuse_nothing(self.location)
        if int(facts["layout"]) != len(MIGRATIONS):
            raise StoreError(
                f"{self.location}: its layout is {facts['layout']}, and this Twigcast moves "
                f"{len(MIGRATIONS)}: open it once with a broker of this version"
            )
        self.moved_to = facts.get(MOVED_TO, "")

    def mark_moved(self, where: str) -> None:
        with as_store_error(self.location):
            self._connection.execute(
                "INSERT INTO facts VALUES (%s, %s)"
                " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (MOVED_TO, where),
            )


class PostgresTarget(_PostgresKept, Target):
    """A database that a store is moved to."""

    def _look(self) -> None:
        self.unfinished_from = self._facts().get(MOVED_FROM, "")
        if self._has_tables() and not self.unfinished_from:
            raise refuse_full(self.location)

    def begin(self, broker: str) -> None:
        with as_store_error(self.location):
            self._connection.execute("BEGIN")
            if self.unfinished_from:
                self._connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE".encode())
            prepare(self._connection, self.location)
            self._put({"broker": broker})
            for table in _STAGED:
                statement = (
                    f"CREATE TEMPORARY TABLE staged_{table} ({TABLES[table]}) ON COMMIT DROP"
                )
                self._connection.execute(statement.encode())

    def write(self, table: str, rows: Iterable[Row]) -> None:
        name = f"staged_{table}" if table in _STAGED else table
        statement = f"COPY {name} ({', '.join(columns(table))}) FROM STDIN (FORMAT BINARY)"
        copying = self._connection.cursor().copy(statement.encode())
        with as_store_error(self.location), copying as copy:
            copy.set_types(types(table))
            for row in rows:
                copy.write_row(row)

    def finish(self, identity: Identity) -> None:
        with as_store_error(self.location):
            self._connection.execute(_FINISH.encode())
            if identity.last_letter:
                self._connection.execute(
                    "SELECT setval('letters_number_seq', %s)", (identity.last_letter,)
                )
            facts = {
                "incarnation": str(identity.incarnation),
                "home_epoch": str(identity.home_epoch),
                "home_version": str(identity.home_version),
            }
            self._put(facts | ({"place": _NOWHERE} if identity.has_fallen_back else {}))

    def _put(self, facts: dict[str, str]) -> None:
        self._connection.execute(
            "INSERT INTO facts SELECT * FROM unnest(%s::text[], %s::text[])",
            ([*facts], [*facts.values()]),
        )

    def install(self, moved_from: str) -> None:
        with as_store_error(self.location):
            self._put({MOVED_FROM: moved_from})
            self._connection.execute("COMMIT")

    def release(self) -> None:
        with as_store_error(self.location):
            self._connection.execute("DELETE FROM facts WHERE name = %s", (MOVED_FROM,))
