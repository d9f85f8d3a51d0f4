"""Reading a broker's store through a connection of one's own.

Each question is one short transaction, so it sees one state of the store, hinders no write, and
lets the write-ahead log be carried over soon.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from twigcast.broker.store.database import Reader
from twigcast.broker.store.private_files import make_private
from twigcast.broker.store.records import (
    Letter,
    OwedDocuments,
    Queued,
    StoredDocument,
    StoreFigures,
)
from twigcast.broker.store.sqlite.errors import as_store_error
from twigcast.broker.store.sqlite.tables import connect
from twigcast.broker.store.sqlite.walk import LARGEST, entered, entries, entries_from
from twigcast.delivery import Destination, Headers, Parcel
from twigcast.routing import DocumentId

_DOCUMENT: Final = (
    "documents.id, contents.content, documents.published, documents.stored, documents.headers,"
    " documents.expires, documents.scope"
)
_CONTENTS: Final = "JOIN contents ON contents.document = documents.number"
_LETTER: Final = (
    "SELECT letters.number, documents.id, letters.name, letters.home, letters.sequence,"
    " letters.keys, letters.reason, letters.at, documents.size FROM letters"
    " JOIN documents ON documents.number = letters.document"
)
_QUEUED: Final = """
    SELECT durables.name, places.last - places.acknowledged
        - (SELECT count(*) FROM beyond WHERE beyond.durable = durables.number)
        + (SELECT count(*) FROM revived WHERE revived.durable = durables.number)
        - (SELECT coalesce(sum(max(0, gaps.upto - max(gaps.after, places.acknowledged))), 0)
           FROM gaps WHERE gaps.durable = durables.number)
    FROM durables JOIN places ON places.durable = durables.number
"""


class SqliteReader(Reader):
    """Reads a store in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with as_store_error(path):
            self._connection = connect(path)
            self._connection.execute("PRAGMA query_only = ON").close()

    @contextmanager
    def _asking(self) -> Iterator[sqlite3.Connection]:
        """One state of the store for several statements; what goes wrong is a StoreError."""
        with as_store_error(self._path):
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                self._connection.execute("ROLLBACK")

    # ---- queues ---------------------------------------------------------------------------------

    def read_queue(
        self, durable: str, first: int, last: int, limit: int, max_bytes: int
    ) -> list[Queued]:
        """The entries of a queue in a range, in order: as many as fit, but one if any."""
        found: list[Queued] = []
        size = 0
        with self._asking() as connection:
            number, _ = _queue(connection, durable)
            bounds = min(first, LARGEST), min(last, LARGEST)
            for sequence, document, keys, _ in entries(connection, number, *bounds):
                row = connection.execute(
                    f"SELECT {_DOCUMENT} FROM documents {_CONTENTS} WHERE documents.number = ?",
                    (document,),
                ).fetchone()
                read = _stored(row)
                size += len(read.content)
                if found and size > max_bytes:
                    break
                found.append(Queued(sequence, tuple(json.loads(keys)), read))
                if len(found) >= limit:
                    break
        return found

    def first_since(self, durable: str, stored: int) -> int:
        """The first sequence stored at or after a time; one after the last if none was."""
        with self._asking() as connection:
            number, last = _queue(connection, durable)
            first_document = connection.execute(
                "SELECT number FROM documents WHERE stored >= ? ORDER BY stored, number LIMIT 1",
                (stored,),
            ).fetchone()
            (first_again,) = connection.execute(
                "SELECT min(position) FROM again WHERE stored >= ?", (stored,)
            ).fetchone()
            positions = [*(first_document or ()), *(() if first_again is None else (first_again,))]
            if positions:
                # Entries of a store that was moved here may lie after documents of later times.
                with closing(entries_from(connection, number, min(positions))) as found:
                    for entry in found:
                        if entered(connection, entry) >= stored:
                            return entry.sequence
            return last + 1

    # ---- homes ----------------------------------------------------------------------------------

    def read_owed(self, home: str, ids: Sequence[DocumentId], max_bytes: int) -> OwedDocuments:
        """Documents owed to a home, in the order of the ids: as many as fit, but one if any."""
        documents: list[Parcel] = []
        gone: list[DocumentId] = []
        room = LARGEST  # for the first
        with self._asking() as connection:
            for id_ in ids:
                # Bytes that do not fit are not read.
                row = connection.execute(
                    "SELECT size, CASE WHEN size <= ? THEN content END, published, publication,"
                    " headers, expires, publisher, scope FROM documents"
                    f" {_CONTENTS} WHERE id = ? AND EXISTS (SELECT 1 FROM owed"
                    " WHERE owed.document = documents.number"
                    " AND owed.debtor = (SELECT number FROM debtors WHERE home = ?))",
                    (room, str(id_), home),
                ).fetchone()
                if row is None:
                    gone.append(id_)
                elif row[0] > room:
                    room = -1  # nor does anything after it
                else:
                    size, content, published, publication, headers, *others = row
                    room = (room if documents else max_bytes) - size
                    expires, publisher, scope = others
                    said = (publication, _headers(headers), expires, publisher, scope)
                    to = _destinations(connection, id_)
                    documents.append(Parcel(id_, content, published, *said, to))
        return OwedDocuments(documents, tuple(gone))

    # ---- documents ------------------------------------------------------------------------------

    def find_publication(self, publication: str) -> tuple[str, bytes] | None:
        """The id of the document that was kept under a publication, and its content's digest."""
        with self._asking() as connection:
            row: tuple[str, bytes] | None = connection.execute(
                "SELECT document, digest FROM publications WHERE key = ?", (publication,)
            ).fetchone()
            return row

    def newest_before(
        self, position: tuple[int, int], since: int, batch: int, max_bytes: int
    ) -> tuple[list[StoredDocument], tuple[int, int]]:
        """Documents stored from ``since`` on and before a position, the newest first."""
        found: list[StoredDocument] = []
        size = 0
        with self._asking() as connection:
            rows = connection.execute(
                f"SELECT documents.number, {_DOCUMENT} FROM documents {_CONTENTS}"
                " WHERE documents.stored >= ? AND documents.stored <= ?"
                " AND (documents.stored, documents.number) < (?, ?)"
                " ORDER BY documents.stored DESC, documents.number DESC LIMIT ?",
                (since, position[0], *position, max(batch, 1)),
            )
            for number, *row in rows:
                document = _stored(row)
                size += len(document.content)
                if found and size > max_bytes:
                    break
                found.append(document)
                position = document.stored, number
            rows.close()
        return found, position

    # ---- the whole ------------------------------------------------------------------------------

    def figures(self) -> StoreFigures:
        """How much there is; it costs time with subscriptions, not with documents."""
        with self._asking() as connection:
            facts = dict(connection.execute("SELECT name, value FROM facts"))
            (letters,) = connection.execute("SELECT count(*) FROM letters").fetchone()
            return StoreFigures(
                facts["documents"],
                facts["bytes"],
                dict(connection.execute(_QUEUED)),
                dict(connection.execute("SELECT home, waiting FROM debtors")),
                letters,
                dict(connection.execute("SELECT name, bytes FROM publishers")),
            )

    def letters(self, durable: str, home: str, after: int, limit: int) -> list[Letter]:
        """Letters with numbers after one, in order; of a queue or home only, if one is named."""
        with self._asking() as connection:
            rows = connection.execute(
                f"{_LETTER} WHERE letters.number > ?1 AND (?2 = '' OR letters.name = ?2)"
                " AND (?3 = '' OR letters.home = ?3) ORDER BY letters.number LIMIT ?4",
                (min(after, LARGEST), durable, home, limit),
            )
            return [_letter(row) for row in rows]

    def read_letter(self, number: int) -> tuple[Letter, StoredDocument] | None:
        """A letter with its document."""
        with self._asking() as connection:
            row = connection.execute(f"{_LETTER} WHERE letters.number = ?", (number,)).fetchone()
            if row is None:
                return None
            letter = _letter(row)
            row = connection.execute(
                f"SELECT {_DOCUMENT} FROM documents {_CONTENTS} WHERE documents.id = ?",
                (letter.id,),
            ).fetchone()
            return letter, _stored(row)._replace(to=_destinations(connection, letter.id))

    def backup(self, path: Path) -> None:
        """Write a consistent copy of the store to a new file, while it goes on being written.

        To go back to it, put it into an empty folder as ``store.sqlite``.
        """
        with as_store_error(path):
            make_private(path)
            target = sqlite3.connect(path, isolation_level=None)
            try:
                # In one step: between steps a writer would make it begin anew, for ever if it is
                # busy.
                self._connection.backup(target, pages=-1)
                target.execute("PRAGMA journal_mode = DELETE").fetchall()
                target.execute("UPDATE facts SET value = 1 WHERE name = 'is_copy'")
            finally:
                target.close()

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()


def _queue(connection: sqlite3.Connection, durable: str) -> tuple[int, int]:
    """The number of a durable subscription and its last sequence; 0 for one that there is not."""
    row = connection.execute(
        "SELECT number, last FROM durables JOIN places ON durable = number WHERE name = ?",
        (durable,),
    ).fetchone()
    return (0, 0) if row is None else (row[0], row[1])


def _destinations(connection: sqlite3.Connection, id_: object) -> tuple[Destination, ...]:
    """Whom a document is addressed to."""
    rows = connection.execute(
        "SELECT broker, durable FROM destinations WHERE document ="
        " (SELECT number FROM documents WHERE id = ?) ORDER BY broker, durable",
        (str(id_),),
    )
    return tuple(Destination(*row) for row in rows)


def _stored(row: Sequence[Any]) -> StoredDocument:
    id_, content, published, stored, headers, *others = row
    return StoredDocument(id_, content, published, stored, _headers(headers), *others)


def _headers(text: str) -> Headers:
    return tuple((name, value) for name, value in json.loads(text)) if text else ()


def _letter(row: Sequence[Any]) -> Letter:
    number, id_, durable, home, sequence, keys, reason, at, size = row
    keys = tuple(json.loads(keys))
    return Letter(number, id_, durable, home, sequence, keys, reason, at, size)
