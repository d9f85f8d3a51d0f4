"""One transaction of a broker's store: what each write changes in the tables.

Many writes make one transaction.  Entries of queues are gathered and inserted together; where
queues stand is changed in the books, and written once by ``finish``.  Whoever runs it begins and
commits; after a failure the transaction is rolled back and this object thrown away, so that nothing
here has to be undone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final, cast

from twigcast.broker.store.sqlite import asides, subscribing, tables
from twigcast.broker.store.sqlite.books import Books, Debtor, Queue
from twigcast.broker.store.sqlite.tables import set_facts
from twigcast.delivery import Entry, Kept, Parcel, Result, Write, digest_of, is_of, writes

encode_keys: Callable[[tuple[str, ...]], str] = lru_cache(65536)(json.dumps)
"""The text of an entry's keys; many entries have the same."""


class Transaction:
    """The writes of one transaction."""

    def __init__(self, connection: sqlite3.Connection, books: Books) -> None:
        self.connection = connection
        self.books = books
        self._entries: list[tuple[int, int, int, str]] = []
        self._runs: list[tuple[int, int, int, int]] = []
        self._lines: dict[tuple[str, int], int] = {}

    def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        """Execute a statement."""
        return self.connection.execute(statement, values)

    def row(self, statement: str, *values: object) -> Any:
        """The first row that a statement gives; None if there is none."""
        return self.connection.execute(statement, values).fetchone()

    def apply(self, write: Write) -> Result:
        """Do what a write asks for."""
        return _APPLY[type(write)](self, write)

    def flush(self) -> None:
        """Insert the entries that were gathered, so that statements see them."""
        if self._entries:
            self.connection.executemany("INSERT INTO queue VALUES (?, ?, ?, ?)", self._entries)
            self.connection.executemany(
                "INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?)", self._runs
            )
            self._entries, self._runs = [], []

    def finish(self) -> None:
        """Write what was gathered; the commit follows."""
        self.flush()
        self.books.save()

    # ---- documents ------------------------------------------------------------------------------

    def keep_document(self, write: writes.KeepDocument) -> Kept:
        """Keep a document, or what is new of the references to one that is kept."""
        parcel = write.parcel
        if write.settled is not None:
            self.note_received(writes.NoteReceived(write.line or parcel.id, write.settled))
        if not parcel.publication or write.is_for_others:
            return self._keep(write)
        first = self._claim(parcel, write.stored)
        if first is None:
            return self._keep(write)
        kept = Kept((), is_added=False)
        is_owed = not first.known or not is_of(first.known, parcel.id.origin)
        if write.homes and is_owed and not first.is_other:
            kept = self._keep(write._replace(entries=(), aside=""))
        sequences = (0,) * len(write.entries)
        return first._replace(sequences=sequences, is_added=kept.is_added)

    def _keep(self, write: writes.KeepDocument) -> Kept:
        """Keep a document and what refers to it."""
        number = self._add(write.parcel, write.stored)
        is_added = bool(number)
        if is_added:
            sequences = self._enter(number, write.entries)
        else:
            number = self.number_of(str(write.parcel.id))
            sequences = self._enter_again(number, write.entries, write.stored)
        is_needed = self.owe(number, write.homes) or any(sequences)
        if write.aside:
            is_needed |= asides.keep_unrouted(self, number, write.aside, write.stored)
        for broker, durable in write.parcel.to:
            statement = "INSERT OR IGNORE INTO destinations VALUES (?, ?, ?)"
            self.execute(statement, number, broker, durable)
        if is_needed and not is_added:
            self.need(number)
        return Kept(tuple(sequences), is_added=is_added)

    def _claim(self, parcel: Parcel, stored: int) -> Kept | None:
        """Note the publication of a document; if it is known, with which other document."""
        digest = digest_of(parcel.content)
        id_ = str(parcel.id)
        claimed = self.execute(
            "INSERT INTO publications (key, digest, document, stored) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (key) DO NOTHING",
            *(parcel.publication, digest, id_, stored),
        )
        if claimed.rowcount:
            return None
        known, other = self.row(
            "SELECT document, digest FROM publications WHERE key = ?", parcel.publication
        )
        return Kept(()) if known == id_ else Kept((), known, other != digest)

    def _add(self, parcel: Parcel, stored: int) -> int:
        """The number of a document that was not kept before, else 0."""
        position = self.books.position + 1
        size = len(parcel.content)
        added = self.execute(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO NOTHING",
            *(position, str(parcel.id), parcel.published, stored, parcel.publication),
            *(json.dumps(parcel.headers) if parcel.headers else "", parcel.expires),
            *(parcel.publisher, parcel.scope, size),
        )
        if not added.rowcount:
            return 0
        self.execute("INSERT INTO contents VALUES (?, ?)", position, parcel.content)
        self.books.position = position
        self.books.count_document(1, size, parcel.publisher)
        return position

    def number_of(self, id_: str) -> int:
        """The number of a document that is kept; 0 if it is not."""
        row = self.row("SELECT number FROM documents WHERE id = ?", id_)
        return 0 if row is None else int(row[0])

    def need(self, document: int) -> None:
        """Note that somebody needs a document, perhaps anew."""
        self.execute("DELETE FROM released WHERE document = ?", document)

    def _enter(self, position: int, entries: Iterable[Entry]) -> list[int]:
        """The sequences that a position gets in queues; 0 where there is none to get."""
        books, rows = self.books, self._entries
        known, moved = books.queues.get, books.moved.add
        bits = tables.SEGMENT_BITS
        segment = position >> bits
        sequences: list[int] = []
        for name, keys in entries:
            queue = known(name) or books.queue(name)
            if queue is None or queue.position == position:
                sequences.append(0)
                continue
            sequence = queue.last + 1
            if queue.position >> bits != segment:
                self._runs.append((segment, queue.number, sequence, position))
            queue.position = position
            queue.last = sequence
            moved(queue)
            rows.append((position, queue.number, sequence, encode_keys(keys)))
            sequences.append(sequence)
        return sequences

    def _enter_again(self, document: int, entries: tuple[Entry, ...], stored: int) -> list[int]:
        """The same for a document that is kept already: it goes where it is not yet."""
        self.flush()
        position = self.books.position + 1
        is_new = [not self._is_in(document, self.books.queue(entry.durable)) for entry in entries]
        fresh = [entry for entry, each in zip(entries, is_new, strict=True) if each]
        given = iter(self._enter(position, fresh))
        sequences = [next(given) if each else 0 for each in is_new]
        if any(sequences):
            self.execute("INSERT INTO again VALUES (?, ?, ?)", position, document, stored)
            self.books.position = position
        return sequences

    def _is_in(self, document: int, queue: Queue | None) -> bool:
        return queue is not None and bool(
            self.row(
                "SELECT 1 FROM (SELECT ?1 AS position UNION ALL"
                " SELECT position FROM again WHERE document = ?1) AS places"
                " CROSS JOIN queue ON queue.position = places.position AND queue.durable = ?2",
                *(document, queue.number),
            )
        )

    # ---- queues ---------------------------------------------------------------------------------

    def acknowledge(self, write: writes.Acknowledge) -> None:
        """Take entries as delivered; those that are not kept any more are passed over."""
        queue = self.books.queue(write.durable)
        if queue is not None:
            queue.acknowledge(write.upto, write.sequences)
            self.books.change(queue)

    def note_attempts(self, write: writes.NoteAttempts) -> None:
        """Remember how often entries that wait were given out in vain."""
        queue = self.books.queue(write.durable)
        if queue is None:
            return
        for sequence, count in write.attempts.items():
            if queue.waits(sequence):
                self.execute(
                    "INSERT OR REPLACE INTO attempts VALUES (?, ?, ?)",
                    *(queue.number, sequence, count),
                )
                queue.attempted.add(sequence)
                queue.attempted.changes.pop(sequence, None)  # which may be a removal
                self.books.change(queue)

    # ---- homes ----------------------------------------------------------------------------------

    def owe(self, document: int, homes: Iterable[str]) -> bool:
        """Owe a document to homes; whether it is owed to one that it was not owed to."""
        is_new = False
        for home in homes:
            owed = self.execute(
                "INSERT OR IGNORE INTO owed VALUES (?, ?)", document, self._debtor(home).number
            )
            self.books.owe(home, owed.rowcount)
            is_new |= bool(owed.rowcount)
        return is_new

    def _debtor(self, home: str) -> Debtor:
        debtor = self.books.debtors.get(home)
        if debtor is None:
            added = self.execute("INSERT INTO debtors (home, waiting) VALUES (?, 0)", home)
            debtor = self.books.debtors[home] = Debtor(cast(int, added.lastrowid), 0)
        return debtor

    def confirm(self, write: writes.Confirm) -> None:
        """Owe documents no more to a home that has them."""
        self.pay(write.home, map(str, write.ids))

    def pay(self, home: str, ids: Iterable[str]) -> int:
        """Owe documents no more to a home; how many it was owed."""
        debtor = self.books.debtors.get(home)
        if debtor is None:
            return 0
        paid = self.connection.executemany(
            "DELETE FROM owed WHERE debtor = ? AND document ="
            " (SELECT number FROM documents WHERE id = ?)",
            [(debtor.number, id_) for id_ in ids],
        )
        count = max(paid.rowcount, 0)
        self.books.owe(home, -count)
        return count

    def note_received(self, write: writes.NoteReceived) -> None:
        """Remember that a document owed by another broker has come, and what will not come."""
        id_, settled = write.id, write.settled
        line = self._line(id_.origin, id_.incarnation)
        raised = self.execute(
            "UPDATE lines SET settled = ?1 WHERE number = ?2 AND settled < ?1", settled, line
        )
        if raised.rowcount:
            self.execute("DELETE FROM received WHERE line = ? AND number < ?", line, settled)
        self.execute(
            "INSERT OR IGNORE INTO received SELECT number, ?2 FROM lines"
            " WHERE number = ?1 AND settled <= ?2",
            *(line, id_.number),
        )

    def _line(self, origin: str, incarnation: int) -> int:
        line = self._lines.get((origin, incarnation))
        if line is None:
            values = (origin, incarnation)
            self.execute("INSERT OR IGNORE INTO lines VALUES (NULL, ?, ?, 0)", *values)
            statement = "SELECT number FROM lines WHERE origin = ? AND incarnation = ?"
            (line,) = self.row(statement, *values)
            self._lines[values] = line
        return int(line)

    def put_book(self, write: writes.PutBook) -> None:
        """Keep the bits of the members of a unit."""
        self.execute("DELETE FROM bits WHERE unit = ?", write.unit)
        for member, bit in write.bits.items():
            self.execute("INSERT INTO bits VALUES (?, ?, ?)", write.unit, member, bit)

    def set_home_version(self, write: writes.SetHomeVersion) -> None:
        """Keep the version of what our own durable subscriptions want."""
        epoch, version = write.version
        set_facts(self.connection, {"home_epoch": epoch, "home_version": version})


_APPLY: Final[dict[type, Callable[[Transaction, Any], Result]]] = {
    writes.KeepDocument: Transaction.keep_document,
    writes.NoteReceived: Transaction.note_received,
    writes.Acknowledge: Transaction.acknowledge,
    writes.Confirm: Transaction.confirm,
    writes.NoteAttempts: Transaction.note_attempts,
    writes.SetAside: asides.set_aside,
    writes.SetAsideOwed: asides.set_aside_owed,
    writes.Replay: asides.replay,
    writes.DropLetters: asides.drop_letters,
    writes.PutDurable: subscribing.put_durable,
    writes.DropDurable: subscribing.drop_durable,
    writes.NoteMissed: subscribing.note_missed,
    writes.PutHome: subscribing.put_home,
    writes.DropHome: subscribing.drop_home,
    writes.SetHomeVersion: Transaction.set_home_version,
    writes.PutBook: Transaction.put_book,
}
