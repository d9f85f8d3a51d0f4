"""Reading a store in PostgreSQL: a connection of its own for each thread that reads.

Each question sees one state of the store.  A connection that was lost is made anew for the next
question; the question that found out is asked again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import psycopg

from twigcast.broker.store.database import Reader
from twigcast.broker.store.postgres.address import as_store_error
from twigcast.broker.store.postgres.connection import DOOR, Connection
from twigcast.broker.store.postgres.identity import parse_id
from twigcast.broker.store.records import (
    Letter,
    OwedDocuments,
    Queued,
    StoredDocument,
    StoreFigures,
)
from twigcast.delivery import Destination, Headers, Parcel
from twigcast.errors import StoreError
from twigcast.routing import DocumentId

_LARGEST: Final = 2**63 - 1
"""Of the numbers that PostgreSQL knows; those of the wire go further."""

_DOCUMENT: Final = (
    "documents.id, contents.content, documents.published, documents.stored, documents.headers,"
    " documents.expires, documents.scope"
)
_COLUMNS: Final = len(StoredDocument._fields) - 1  # whom it is addressed to only letters have


def _destinations_of(document: str) -> str:
    """Two columns: the brokers and the durable subscriptions that a document is addressed to."""
    order = f"FROM destinations WHERE document = {document} ORDER BY broker, durable"
    return f"ARRAY(SELECT broker {order}), ARRAY(SELECT durable {order})"


_FITTING: Final = """
SELECT {document}, {more} FROM (
    SELECT *, sum(size) OVER along AS total, row_number() OVER along AS rank
    FROM ({rows}) AS row WINDOW along AS (ORDER BY {order})
) AS row JOIN documents ON documents.number = row.document
JOIN contents ON contents.document = row.document
WHERE rank = 1 OR total <= %(max_bytes)s ORDER BY rank
"""
"""Documents with what else stands in rows: as many as fit, but one if there is any."""

_QUEUE: Final = _FITTING.format(
    document=_DOCUMENT,
    more="row.sequence, row.keys",
    order="sequence",
    rows="""
        SELECT queue.sequence, queue.keys, queue.document, documents.size
        FROM queue JOIN documents ON documents.number = queue.document
        WHERE queue.durable = (SELECT number FROM durables WHERE name = %(durable)s)
            AND queue.sequence BETWEEN %(first)s AND %(last)s
        ORDER BY queue.sequence LIMIT %(limit)s""",
)
_NEWEST: Final = _FITTING.format(
    document=_DOCUMENT,
    more="row.document",
    order="stored DESC, document DESC",
    rows="""
        SELECT stored, number AS document, size FROM documents
        WHERE stored >= %(since)s AND (stored, number) < (%(at)s, %(number)s)
        ORDER BY stored DESC, number DESC LIMIT %(limit)s""",
)
_OWED: Final = f"""
SELECT row.id, CASE WHEN rank = 1 OR total <= %(max_bytes)s THEN contents.content END,
    documents.published, documents.publication, documents.headers, documents.expires,
    documents.publisher, documents.scope, {_destinations_of("documents.number")}
FROM (
    SELECT *, sum(size) OVER along AS total, row_number() OVER along AS rank
    FROM (
        SELECT asked.id, asked.place, documents.number, documents.size
        FROM unnest(%(ids)s::text[]) WITH ORDINALITY AS asked (id, place)
        JOIN documents ON documents.id = asked.id
        JOIN owed ON owed.document = documents.number
        WHERE owed.debt = (SELECT number FROM debts WHERE home = %(home)s)
    ) AS row WINDOW along AS (ORDER BY place)
) AS row JOIN documents ON documents.number = row.number
JOIN contents ON contents.document = row.number
ORDER BY rank
"""
_FIGURES: Final = """
SELECT (SELECT coalesce(sum(documents), 0)::int8 FROM accounts),
    (SELECT coalesce(sum(bytes), 0)::int8 FROM accounts),
    (SELECT count(*) FROM letters),
    ARRAY(SELECT name FROM durables WHERE name IS NOT NULL ORDER BY number),
    ARRAY(SELECT waiting FROM durables WHERE name IS NOT NULL ORDER BY number),
    ARRAY(SELECT home FROM debts WHERE home IS NOT NULL ORDER BY number),
    ARRAY(SELECT waiting FROM debts WHERE home IS NOT NULL ORDER BY number),
    ARRAY(SELECT publisher FROM accounts ORDER BY publisher),
    ARRAY(SELECT bytes FROM accounts ORDER BY publisher),
    ARRAY(SELECT application_name FROM pg_stat_activity WHERE datname = current_database()
        AND starts_with(application_name, %s) ORDER BY application_name)
"""
_LETTER: Final = """
letters.number, documents.id, letters.durable_name, letters.home, letters.sequence, letters.keys,
letters.reason, letters.at, documents.size
"""
_LETTER_COLUMNS: Final = len(Letter._fields)
_LETTERS: Final = f"""
SELECT {_LETTER} FROM letters JOIN documents ON documents.number = letters.document
WHERE letters.number > %(after)s AND (%(durable)s = '' OR letters.durable_name = %(durable)s)
    AND (%(home)s = '' OR letters.home = %(home)s)
ORDER BY letters.number LIMIT %(limit)s
"""
_READ_LETTER: Final = f"""
SELECT {_LETTER}, {_DOCUMENT}, {_destinations_of("documents.number")}
FROM letters JOIN documents ON documents.number = letters.document
JOIN contents ON contents.document = documents.number WHERE letters.number = %s
"""
_ENTRY_FROM: Final = """
SELECT sequence, stored FROM queue WHERE durable = %s AND sequence >= %s ORDER BY sequence LIMIT 1
"""

Answer = TypeVar("Answer")


class PostgresReader(Reader):
    """Reads with one connection, which it makes when it is first asked something."""

    def __init__(self, location: str, connect: Callable[[], Connection]) -> None:
        self._location = location
        self._connect = connect
        self._connection: Connection | None = None

    def _rows(self, statement: str, values: object = None) -> list[tuple[Any, ...]]:
        return self._ask(lambda connection: _fetch(connection, statement, values))

    def _ask(self, question: Callable[[Connection], Answer]) -> Answer:
        with as_store_error(self._location):
            if self._connection is not None:
                try:
                    return question(self._connection)
                except psycopg.OperationalError:
                    if not self._connection.broken:
                        raise
            self._connection = self._connect()
            return question(self._connection)

    def read_queue(
        self, durable: str, first: int, last: int, limit: int, max_bytes: int
    ) -> list[Queued]:
        values = {
            "durable": durable,
            "first": min(first, _LARGEST),
            "last": min(last, _LARGEST),
            "limit": max(limit, 1),
            "max_bytes": max_bytes,
        }
        rows = self._rows(_QUEUE, values)
        return [Queued(row[-2], tuple(json.loads(row[-1])), _document(row)) for row in rows]

    def first_since(self, durable: str, stored: int) -> int:
        return self._ask(lambda connection: _first_since(connection, durable, stored))

    def read_owed(self, home: str, ids: Sequence[DocumentId], max_bytes: int) -> OwedDocuments:
        texts = [str(each) for each in ids]
        rows = self._rows(_OWED, {"ids": texts, "home": home, "max_bytes": max_bytes})
        fitting: list[Parcel] = []
        for id_, content, published, publication, headers, *others in rows:
            if content is None:  # nor does anything after it fit
                break
            expires, publisher, scope, brokers, durables = others
            said = (published, publication, _headers(headers), expires, publisher, scope)
            fitting.append(Parcel(parse_id(id_), content, *said, _destinations(brokers, durables)))
        owed = {row[0] for row in rows}
        gone = (each for each, text in zip(ids, texts, strict=True) if text not in owed)
        return OwedDocuments(fitting, tuple(gone))

    def find_publication(self, publication: str) -> tuple[str, bytes] | None:
        statement = "SELECT id, digest FROM publications WHERE publication = %s"
        rows = self._rows(statement, (publication,))
        return (rows[0][0], rows[0][1]) if rows else None

    def newest_before(
        self, position: tuple[int, int], since: int, batch: int, max_bytes: int
    ) -> tuple[list[StoredDocument], tuple[int, int]]:
        values = {
            "at": position[0],
            "number": position[1],
            "since": since,
            "limit": max(batch, 1),
            "max_bytes": max_bytes,
        }
        rows = self._rows(_NEWEST, values)
        documents = [_document(row) for row in rows]
        return documents, (documents[-1].stored, rows[-1][-1]) if rows else position

    def figures(self) -> StoreFigures:
        door = f"twigcast {DOOR} "
        [row] = self._rows(_FIGURES, (door,))
        documents, size, letters, *lists, doors = row
        queued, owed, publishers = (
            dict(zip(lists[each], lists[each + 1], strict=True)) for each in (0, 2, 4)
        )
        accounts = {publisher: kept for publisher, kept in publishers.items() if publisher and kept}
        standing_by = tuple(name.removeprefix(door) for name in doors)
        return StoreFigures(documents, size, queued, owed, letters, accounts, standing_by)

    def letters(self, durable: str, home: str, after: int, limit: int) -> list[Letter]:
        values = {"durable": durable, "home": home, "after": min(after, _LARGEST), "limit": limit}
        return [_letter(row) for row in self._rows(_LETTERS, values)]

    def read_letter(self, number: int) -> tuple[Letter, StoredDocument] | None:
        rows = self._rows(_READ_LETTER, (number,))
        if not rows:
            return None
        letter, (*document, brokers, durables) = (
            rows[0][:_LETTER_COLUMNS],
            rows[0][_LETTER_COLUMNS:],
        )
        to = _destinations(brokers, durables)
        return _letter(letter), _document(document)._replace(to=to)

    def backup(self, path: Path) -> None:
        raise StoreError(
            f"{self._location}: a broker does not back up PostgreSQL: use pg_dump, or archive the "
            "write-ahead log"
        )

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _fetch(connection: Connection, statement: str, values: Any) -> list[tuple[Any, ...]]:
    return connection.execute(statement.encode(), values, binary=True).fetchall()


def _first_since(connection: Connection, durable: str, stored: int) -> int:
    """Times grow along a queue, so a binary search suffices."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        statement = "SELECT number, last FROM durables WHERE name = %s"
        rows = _fetch(connection, statement, (durable,))
        number, last = rows[0] if rows else (0, 0)
        [(first,)] = _fetch(
            connection, "SELECT min(sequence) FROM queue WHERE durable = %s", (number,)
        )
        low, high = first or last + 1, last + 1  # the answer is in this range
        while low < high:
            middle = (low + high) // 2
            entries = _fetch(connection, _ENTRY_FROM, (number, middle))
            if not entries or entries[0][1] >= stored:
                high = middle
            else:
                low = entries[0][0] + 1
        entries = _fetch(connection, _ENTRY_FROM, (number, low))
        return int(entries[0][0]) if entries else int(last) + 1


def _destinations(brokers: Iterable[str], durables: Iterable[str]) -> tuple[Destination, ...]:
    return tuple(map(Destination, brokers, durables))


def _document(row: Sequence[Any]) -> StoredDocument:
    id_, content, published, stored, headers, *others = row[:_COLUMNS]
    return StoredDocument(id_, content, published, stored, _headers(headers), *others)


def _letter(row: Sequence[Any]) -> Letter:
    number, id_, durable, home, sequence, keys, *rest = row[:_LETTER_COLUMNS]
    return Letter(number, id_, durable, home, sequence, tuple(json.loads(keys)), *rest)


def _headers(text: str) -> Headers:
    return tuple((name, value) for name, value in json.loads(text)) if text else ()
