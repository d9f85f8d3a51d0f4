"""Documents that are to be kept: each is decided here, and all of them are inserted together.

Sequences and numbers are given here, not in the database.  That is safe since nobody else writes
meanwhile: the transaction holds the lock of all who write.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, Final

from twigcast.broker.store.postgres.connection import Connection
from twigcast.broker.store.postgres.identity import encode_keys, int_array, pack_entry
from twigcast.broker.store.postgres.lookup import Known, KnownDocument, KnownQueue, Publication
from twigcast.delivery import KeepDocument, Kept, Parcel, digest_of, is_of
from twigcast.routing import DocumentId

_DOCUMENTS: Final = (
    "INSERT INTO documents SELECT * FROM unnest(%s::int8[], %b::text[], %s::int8[], %s::int8[],"
    " %b::text[], %s::int8[], %b::text[], %b::text[], %s::int4[], %b::bytea[], %s::int4[],"
    " %s::int4[])"
)
_CONTENTS: Final = "INSERT INTO contents SELECT * FROM unnest(%s::int8[], %b::bytea[])"
_PUBLICATIONS: Final = (
    "INSERT INTO publications SELECT * FROM unnest(%b::text[], %b::text[], %b::bytea[], %b::int8[])"
)
_DESTINATIONS: Final = (
    "INSERT INTO destinations SELECT * FROM unnest(%b::int8[], %b::text[], %b::text[])"
    " ON CONFLICT DO NOTHING"
)
_QUEUE: Final = (
    "INSERT INTO queue SELECT * FROM"
    " unnest(%s::int4[], %s::int8[], %s::int8[], %s::int8[], %b::text[])"
)
_QUEUES: Final = (
    "UPDATE durables SET last = added.last, waiting = waiting + added.count"
    " FROM unnest(%b::int4[], %b::int8[], %b::int8[]) AS added (number, last, count)"
    " WHERE durables.number = added.number"
)
_DEBTS: Final = (
    "INSERT INTO debts (home, waiting) SELECT * FROM unnest(%b::text[], %b::int8[])"
    " ON CONFLICT (home) DO UPDATE SET waiting = debts.waiting + excluded.waiting"
)
_OWED: Final = (
    "INSERT INTO owed SELECT debts.number, added.document"
    " FROM unnest(%b::text[], %b::int8[]) AS added (home, document) JOIN debts USING (home)"
)
_LETTERS: Final = (
    "INSERT INTO letters (document, durable_name, home, sequence, keys, reason, at)"
    " SELECT document, '', '', 0, '[]', reason, at"
    " FROM unnest(%b::int8[], %b::text[], %b::int8[]) AS added (document, reason, at)"
)
_ACCOUNTS: Final = (
    "INSERT INTO accounts SELECT * FROM unnest(%b::text[], %b::int8[], %b::int8[])"
    " ON CONFLICT (publisher) DO UPDATE SET documents = accounts.documents + excluded.documents,"
    " bytes = accounts.bytes + excluded.bytes"
)
_NEEDED: Final = (
    "WITH added AS (SELECT * FROM unnest(%b::int8[], %b::int4[], %b::bytea[])"
    " AS added (number, count, entries)),"
    " again AS (DELETE FROM freed USING added WHERE document = added.number)"
    " UPDATE documents SET needed = needed + added.count,"
    " entries = documents.entries || added.entries"
    " FROM added WHERE documents.number = added.number"
)
_FREED: Final = "INSERT INTO freed (document) SELECT unnest(%b::int8[])"
_LINES: Final = (
    "INSERT INTO received SELECT * FROM unnest(%b::text[], %b::int8[], %b::int8[])"
    " ON CONFLICT (origin, incarnation)"
    " DO UPDATE SET settled = greatest(received.settled, excluded.settled)"
)
_NUMBERS: Final = (
    "INSERT INTO received_numbers SELECT * FROM unnest(%b::text[], %b::int8[], %b::int8[])"
    " ON CONFLICT DO NOTHING"
)
_SETTLED: Final = (
    "DELETE FROM received_numbers AS each USING received AS line,"
    " unnest(%b::text[], %b::int8[]) AS touched (origin, incarnation)"
    " WHERE line.origin = touched.origin AND line.incarnation = touched.incarnation"
    " AND each.origin = touched.origin AND each.incarnation = touched.incarnation"
    " AND each.number < line.settled"
)


@dataclass(slots=True)
class _Rows:
    """What is to be inserted, by table."""

    documents: list[tuple[Any, ...]] = field(default_factory=list)
    contents: list[bytes] = field(default_factory=list)
    new: list[KnownDocument] = field(default_factory=list)
    touched: dict[int, KnownDocument] = field(default_factory=dict)
    destinations: list[tuple[Any, ...]] = field(default_factory=list)
    publications: list[tuple[Any, ...]] = field(default_factory=list)
    owed: dict[tuple[str, int], None] = field(default_factory=dict)
    letters: list[tuple[Any, ...]] = field(default_factory=list)
    documents_of: Counter[str] = field(default_factory=Counter)
    bytes_of: Counter[str] = field(default_factory=Counter)
    received: dict[DocumentId, None] = field(default_factory=dict)
    settled: dict[tuple[str, int], int] = field(default_factory=dict)


class Keeping:
    """Documents that are kept in a transaction."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._rows = _Rows()

    def keep(self, write: KeepDocument) -> Kept:
        """Decide what becomes of a document."""
        parcel = write.parcel
        if write.settled is not None:
            self.note_received(write.line or parcel.id, write.settled)
        if not parcel.publication or write.is_for_others:
            return self._keep(write)
        first = self._known.publications.get(parcel.publication)
        if first is None:
            self._note_publication(parcel, write.stored)
            return self._keep(write)
        kept = Kept((), is_added=False)
        known = "" if first.id == str(parcel.id) else first.id
        is_other = bool(known) and first.digest != digest_of(parcel.content)
        is_owed = not known or not is_of(known, parcel.id.origin)
        if write.homes and is_owed and not is_other:
            kept = self._keep(write._replace(entries=(), aside=""))
        sequences = (0,) * len(write.entries)
        return Kept(sequences, known, is_other, kept.is_added)

    def _keep(self, write: KeepDocument) -> Kept:
        """Keep a document and what refers to it."""
        id_ = str(write.parcel.id)
        document = self._known.documents.get(id_)
        is_added = document is None
        if document is None:
            document = self._add(id_, write.parcel, write.stored)
        sequences = tuple(
            self._enter(document, entry.durable, entry.keys, write.stored)
            for entry in write.entries
        )
        for home in write.homes:
            self._owe(document, home)
        self._rows.destinations += [(document.number, *each) for each in write.parcel.to]
        if write.aside and not document.is_letter:
            document.is_letter = True
            self._rows.letters.append((document.number, write.aside, write.stored))
            self._need(document)
        return Kept(sequences, is_added=is_added)

    def note_received(self, id_: DocumentId, settled: int) -> None:
        """Decide what is noted of a document that was owed to this broker."""
        line = (id_.origin, id_.incarnation)
        self._rows.received[id_] = None
        self._rows.settled[line] = max(self._rows.settled.get(line, 0), settled)

    def is_adding_to(self, durable: str) -> bool:
        """Whether a queue has entries here that are not in the database yet."""
        queue = self._known.queues.get(durable)
        return queue is not None and queue.last > queue.stored

    def is_owing(self, home: str, id_: str) -> bool:
        """Whether a document is owed here, but not in the database yet."""
        document = self._known.documents.get(id_)
        return document is not None and (home, document.number) in self._rows.owed

    def _note_publication(self, parcel: Parcel, stored: int) -> None:
        first = Publication(str(parcel.id), digest_of(parcel.content))
        self._known.publications[parcel.publication] = first
        self._rows.publications.append((parcel.publication, *first, stored))

    def _add(self, id_: str, parcel: Parcel, stored: int) -> KnownDocument:
        document = KnownDocument(self._known.next_number, False)
        self._known.next_number += 1
        self._known.documents[id_] = document
        headers = json.dumps(parcel.headers) if parcel.headers else ""
        size = len(parcel.content)
        said = (parcel.expires, parcel.publication, parcel.publisher)
        row = (document.number, id_, parcel.published, stored, headers, *said, size, parcel.scope)
        self._rows.documents.append(row)
        self._rows.new.append(document)
        self._rows.contents.append(parcel.content)
        self._rows.documents_of[parcel.publisher] += 1
        self._rows.bytes_of[parcel.publisher] += size
        return document

    def _enter(
        self, document: KnownDocument, durable: str, keys: tuple[str, ...], stored: int
    ) -> int:
        queue = self._known.queues.get(durable)
        if queue is None or queue.number in document.queues:
            return 0
        document.queues.add(queue.number)
        queue.last += 1
        queue.documents.append(document.number)
        queue.times.append(stored)
        queue.keys.append(encode_keys(keys))
        document.entries += pack_entry(queue.number, queue.last)
        self._need(document)
        return queue.last

    def _owe(self, document: KnownDocument, home: str) -> None:
        if home not in document.homes:
            document.homes.add(home)
            self._rows.owed[home, document.number] = None
            self._need(document)

    def _need(self, document: KnownDocument) -> None:
        document.added += 1
        if document.is_stored:
            self._rows.touched[document.number] = document

    def flush(self, connection: Connection) -> None:
        """Insert what was decided, without waiting for the answers."""
        rows, self._rows = self._rows, _Rows()
        if rows.documents:
            _insert_documents(connection, rows)
        if rows.touched:
            touched = [*rows.touched.values()]
            counts = [document.added for document in touched]
            entries = [bytes(document.entries) for document in touched]
            connection.execute(_NEEDED, [[*rows.touched], counts, entries])
        for document in (*rows.new, *rows.touched.values()):
            document.is_stored, document.added, document.entries = True, 0, bytearray()
        if rows.destinations:
            connection.execute(_DESTINATIONS, _columns(rows.destinations))
        if rows.publications:
            connection.execute(_PUBLICATIONS, _columns(rows.publications))
        if rows.letters:
            connection.execute(_LETTERS, _columns(rows.letters))
        self._flush_references(connection, rows)
        if rows.settled:
            _flush_received(connection, rows)

    def _flush_references(self, connection: Connection, rows: _Rows) -> None:
        grown = [queue for queue in self._known.queues.values() if queue.documents]
        if grown:
            _insert_entries(connection, grown)
        for queue in grown:
            queue.stored = queue.last
            queue.documents, queue.times, queue.keys = [], [], []
        if rows.owed:
            counts = Counter(home for home, _ in rows.owed)
            connection.execute(_DEBTS, [[*counts], [*counts.values()]])
            connection.execute(_OWED, _columns([*rows.owed]))


def _insert_documents(connection: Connection, rows: _Rows) -> None:
    numbers, ids, published, stored, headers, expires, *said, sizes, scopes = _columns(
        rows.documents
    )
    known = [int_array(numbers), ids, int_array(published), int_array(stored), headers]
    entries = [bytes(document.entries) for document in rows.new]
    needed = int_array(document.added for document in rows.new)
    columns = [*known, int_array(expires), *said, int_array(sizes), entries, needed]
    columns.append(int_array(scopes))
    connection.execute(_DOCUMENTS, columns)
    connection.execute(_CONTENTS, [int_array(numbers), rows.contents])
    publishers = [*rows.documents_of]
    bytes_of = [rows.bytes_of[each] for each in publishers]
    connection.execute(_ACCOUNTS, [publishers, [*rows.documents_of.values()], bytes_of])
    unneeded = [document.number for document in rows.new if not document.added]
    if unneeded:
        connection.execute(_FREED, [unneeded])


def _insert_entries(connection: Connection, queues: list[KnownQueue]) -> None:
    """Queue by queue, so that the entries of each lie side by side."""
    counts = [len(queue.documents) for queue in queues]
    durables = chain.from_iterable(repeat(queue.number, len(queue.documents)) for queue in queues)
    sequences = chain.from_iterable(range(each.stored + 1, each.last + 1) for each in queues)
    documents = chain.from_iterable(queue.documents for queue in queues)
    times = chain.from_iterable(queue.times for queue in queues)
    keys = [*chain.from_iterable(queue.keys for queue in queues)]
    numbers = [int_array(each) for each in (durables, sequences, documents, times)]
    connection.execute(_QUEUE, [*numbers, keys])
    places = [[queue.number for queue in queues], [queue.last for queue in queues], counts]
    connection.execute(_QUEUES, places)


def _flush_received(connection: Connection, rows: _Rows) -> None:
    lines = [(*line, settled) for line, settled in rows.settled.items()]
    connection.execute(_LINES, _columns(lines))
    connection.execute(_NUMBERS, _columns([*rows.received]))
    connection.execute(_SETTLED, _columns([*rows.settled]))


def _columns(rows: list[Any]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
