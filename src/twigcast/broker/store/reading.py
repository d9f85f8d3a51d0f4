"""Reading a broker's store: a few threads with connections of their own.

Each read is one short statement, so it sees one state of the store, hinders no write, and lets the
write-ahead log be carried over soon.  A read sees what was committed before it began.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Final, TypeVar

from twigcast.broker.store.records import OwedDocuments, Queued, StoredDocument, StoreFigures
from twigcast.broker.store.schema import as_store_error, connect, copy_file
from twigcast.errors import StoreError

_THREADS: Final = 2
_ASK_BYTES: Final = 2**20
"""In a batch of documents for somebody who asks; many may ask at once, and each holds a batch."""
_LARGEST: Final = 2**63 - 1
"""Of the numbers that SQLite knows; those of the wire go further."""
_END: Final = (_LARGEST, _LARGEST)
"""A time and a document's number after all others."""

_DOCUMENT: Final = "documents.id, contents.content, documents.published, documents.stored"
_COLUMNS: Final = len(StoredDocument._fields)
_CONTENTS: Final = "JOIN contents ON contents.document = documents.number"

Result = TypeVar("Result")


class StoreReaders:
    """The threads that read, and what can be asked of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="store-reader")
        # A backup may take minutes, and whoever asks may look at everything there is; others, who
        # wait for their next document, are not to wait for that.
        self._copier = ThreadPoolExecutor(1, thread_name_prefix="store-copier")
        self._asker = ThreadPoolExecutor(1, thread_name_prefix="store-asker")
        self._own = threading.local()
        self._connections: list[sqlite3.Connection] = []

    async def run(
        self,
        question: Callable[[sqlite3.Connection], Result],
        pool: ThreadPoolExecutor | None = None,
    ) -> Result:
        """Ask something in one of the threads; errors of SQLite's become StoreErrors."""

        def ask() -> Result:
            with as_store_error(self._path):
                return question(self._connection())

        try:
            future = asyncio.get_running_loop().run_in_executor(pool or self._pool, ask)
        except RuntimeError as error:
            raise StoreError(f"{self._path}: the store is closed") from error
        return await future

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = connect(self._path)
            self._connections.append(connection)
            connection.execute("PRAGMA query_only = ON").close()
            self._own.connection = connection
        return connection

    async def copy(self, path: Path) -> None:
        """Write a consistent copy of the store to a file."""
        await self.run(lambda connection: copy_file(connection, path), self._copier)

    async def newest_first(self, since: int, batch: int) -> AsyncIterator[list[StoredDocument]]:
        """Documents stored at or after a time, the newest first, some at a time."""
        position = _END
        while True:
            documents, position = await self.run(
                _newest_before(position, since, batch), self._asker
            )
            if not documents:
                return
            yield documents

    async def close(self) -> None:
        """End the threads when what they are doing is done."""
        for pool in (self._pool, self._copier, self._asker):
            await asyncio.to_thread(pool.shutdown)
        for connection in self._connections:
            connection.close()


def read_queue(
    connection: sqlite3.Connection, durable: str, first: int, last: int, limit: int, max_bytes: int
) -> list[Queued]:
    """The entries of a queue in a range, in order: as many as the limits allow, but one if any."""
    rows = connection.execute(
        f"SELECT {_DOCUMENT}, queue.sequence, queue.keys"
        f" FROM queue JOIN documents ON documents.number = queue.document {_CONTENTS}"
        " WHERE queue.durable = (SELECT number FROM durables WHERE name = ?)"
        " AND queue.sequence BETWEEN ? AND ? ORDER BY queue.sequence LIMIT ?",
        (durable, min(first, _LARGEST), min(last, _LARGEST), max(limit, 1)),
    )
    return [
        Queued(sequence, tuple(json.loads(keys)), document)
        for document, sequence, keys in _documents(rows, max_bytes)
    ]


def _documents(rows: sqlite3.Cursor, max_bytes: int) -> Iterator[tuple[Any, ...]]:
    """The documents that rows begin with, and what else stands in each row.

    As many as the limit allows, but one if there is any.
    """
    size = 0
    with closing(rows):
        for count, row in enumerate(rows):
            document = StoredDocument(*row[:_COLUMNS])
            size += len(document.content)
            if count and size > max_bytes:
                return
            yield document, *row[_COLUMNS:]


def first_since(connection: sqlite3.Connection, durable: str, stored: int) -> int:
    """The first entry of a queue that was stored at or after a time; the number after the last.

    Times grow along a queue, so a binary search suffices.
    """
    statement = "SELECT number, last FROM durables WHERE name = ?"
    number, last = connection.execute(statement, (durable,)).fetchone() or (0, 0)
    low, high = 1, last + 1  # the answer is in this range
    while low < high:
        middle = (low + high) // 2
        entry = connection.execute(
            "SELECT sequence, stored FROM queue WHERE durable = ? AND sequence >= ?"
            " ORDER BY sequence LIMIT 1",
            (number, middle),
        ).fetchone()
        if entry is None or entry[1] >= stored:
            high = middle
        else:
            low = entry[0] + 1
    entry = connection.execute(
        "SELECT min(sequence) FROM queue WHERE durable = ? AND sequence >= ?", (number, low)
    ).fetchone()
    return int(last + 1 if entry[0] is None else entry[0])


def read_owed(
    connection: sqlite3.Connection, home: str, numbers: Sequence[int], max_bytes: int
) -> OwedDocuments:
    """Documents owed to a home, by number: as many as the limit allows, but one if any."""
    documents: list[tuple[int, StoredDocument]] = []
    gone: list[int] = []
    room = _LARGEST  # for the first
    for number in sorted(numbers):
        # Bytes that do not fit are not read.
        row = connection.execute(
            "SELECT documents.size, documents.id,"
            " CASE WHEN documents.size <= ? THEN contents.content END,"
            " documents.published, documents.stored FROM owed"
            f" JOIN documents ON documents.number = owed.document {_CONTENTS}"
            " WHERE owed.debt = (SELECT number FROM debts WHERE home = ?) AND owed.number = ?",
            (room, home, number),
        ).fetchone()
        if row is None:
            gone.append(number)
        elif row[0] > room:
            room = -1  # nor does anything after it
        else:
            room = (room if documents else max_bytes) - row[0]
            documents.append((number, StoredDocument(*row[1:])))
    return OwedDocuments(documents, tuple(gone))


def find_publication(connection: sqlite3.Connection, publication: str) -> str | None:
    """The id of the document that was published under a publisher's id."""
    row = connection.execute(
        "SELECT id FROM documents WHERE publication = ? ORDER BY number LIMIT 1", (publication,)
    ).fetchone()
    return None if row is None else str(row[0])


def read_figures(connection: sqlite3.Connection) -> StoreFigures:
    """How much there is; counted when it is written, so it costs nothing to ask."""
    facts = dict(connection.execute("SELECT name, value FROM facts"))
    queued = connection.execute("SELECT name, waiting FROM durables WHERE name IS NOT NULL")
    owed = connection.execute("SELECT home, waiting FROM debts WHERE home IS NOT NULL")
    return StoreFigures(facts["documents"], facts["bytes"], dict(queued), dict(owed))


def _newest_before(
    position: tuple[int, int], since: int, batch: int
) -> Callable[[sqlite3.Connection], tuple[list[StoredDocument], tuple[int, int]]]:
    def question(connection: sqlite3.Connection) -> tuple[list[StoredDocument], tuple[int, int]]:
        rows = connection.execute(
            f"SELECT {_DOCUMENT}, documents.number FROM documents {_CONTENTS}"
            " WHERE documents.stored >= ? AND documents.stored <= ?"
            " AND (documents.stored, documents.number) < (?, ?)"
            " ORDER BY documents.stored DESC, documents.number DESC LIMIT ?",
            (since, position[0], *position, max(batch, 1)),
        )
        numbered = list(_documents(rows, _ASK_BYTES))
        last = (numbered[-1][0].stored, numbered[-1][1]) if numbered else position
        return [document for document, _ in numbered], last

    return question
