"""One transaction of a broker's store: what each write changes in the tables.

Many writes make one transaction.  What they change row by row goes to SQLite at once; where queues
and debts stand is gathered here, read once and written once by ``finish``.  Whoever runs it begins
and commits; after a failure the transaction is rolled back and this object thrown away, so that
nothing here has to be undone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from twigcast.broker.store.records import Owed, QueueEntry, Received
from twigcast.broker.store.schema import set_facts
from twigcast.errors import StoreError

_ENTRY: Final = "SELECT document FROM queue WHERE durable = ? AND sequence = ?"
_OWED: Final = "SELECT document FROM owed WHERE debt = ? AND number = ?"


class NewDocument(NamedTuple):
    """A document with everything that refers to it."""

    id: str
    content: bytes
    published: int
    stored: int
    publication: str
    queues: Sequence[QueueEntry]
    owed: Sequence[Owed]
    received: Received | None


@dataclass(slots=True)
class Queue:
    """Where the queue of a durable subscription stands."""

    number: int
    last: int
    acknowledged: int
    waiting: int
    missed: int


@dataclass(slots=True)
class Debt:
    """What is owed to a home: the next number, and how many are not confirmed."""

    number: int
    next: int
    waiting: int


class Transaction:
    """The writes of one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.documents = 0  # how many more there are after this transaction, and how many bytes
        self.bytes = 0
        self._queues: dict[str, Queue] = {}
        self._debts: dict[str, Debt] = {}
        self._received: dict[tuple[str, str], list[Received]] = {}

    def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        """Execute a statement."""
        return self.connection.execute(statement, values)

    def row(self, statement: str, *values: object) -> Any:
        """The first row that a statement gives; None if there is none."""
        return self.connection.execute(statement, values).fetchone()

    # ---- documents ------------------------------------------------------------------------------

    def add_document(self, new: NewDocument) -> None:
        """Keep a document, or what is new of the references to one that is kept."""
        references = len(new.queues) + len(new.owed)
        added = self.execute(
            "INSERT OR IGNORE INTO documents"
            " (id, published, stored, publication, size, needed, released)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(new.id, new.published, new.stored, new.publication or None, len(new.content)),
            *(references, None if references else new.stored),
        )
        if added.rowcount:
            number = added.lastrowid
            assert number is not None
            self.execute("INSERT INTO contents VALUES (?, ?)", number, new.content)
            self.documents += 1
            self.bytes += len(new.content)
        else:
            (number,) = self.row("SELECT number FROM documents WHERE id = ?", new.id)
        fresh = sum(self._add_entry(number, entry, new.stored) for entry in new.queues)
        fresh += sum(self._add_owed(number, owed) for owed in new.owed)
        if not added.rowcount and fresh:
            self.execute(
                "UPDATE documents SET needed = needed + ?, released = NULL WHERE number = ?",
                fresh,
                number,
            )
        elif added.rowcount and fresh != references:
            raise StoreError(f"{new.id}: one queue entry or debt is named twice")
        if new.received is not None:
            self.note_received(new.received)

    def _add_entry(self, document: int, entry: QueueEntry, stored: int) -> bool:
        queue = self.queue(entry.durable)
        if queue is None:
            raise StoreError(f"there is no durable subscription {entry.durable!r}")
        if entry.sequence <= queue.last:
            row = self.row(_ENTRY, queue.number, entry.sequence)
            if row == (document,):
                return False
            if row is not None or entry.sequence <= queue.acknowledged:
                raise StoreError(f"{entry.durable}: {entry.sequence} was given to another document")
        self.execute(
            "INSERT INTO queue (durable, sequence, document, stored, keys) VALUES (?, ?, ?, ?, ?)",
            *(queue.number, entry.sequence, document, stored, json.dumps(entry.keys)),
        )
        queue.last = max(queue.last, entry.sequence)
        queue.waiting += 1
        return True

    def _add_owed(self, document: int, owed: Owed) -> bool:
        debt = self.debt(owed.home)
        if debt is None:
            self.execute("INSERT INTO debts (home) VALUES (?)", owed.home)
            debt = self.debt(owed.home)
            assert debt is not None
        if owed.number < debt.next:
            row = self.row(_OWED, debt.number, owed.number)
            if row == (document,):
                return False
            if row is not None:
                raise StoreError(f"{owed.home}: {owed.number} was given to another document")
        self.execute("INSERT INTO owed VALUES (?, ?, ?)", debt.number, owed.number, document)
        debt.next = max(debt.next, owed.number + 1)
        debt.waiting += 1
        return True

    def release(self, documents: Iterable[int], now: int) -> None:
        """One reference less to each of these documents."""
        self.connection.executemany(
            "UPDATE documents SET needed = needed - 1,"
            " released = CASE WHEN needed = 1 THEN ? ELSE released END WHERE number = ?",
            ((now, document) for document in documents),
        )

    # ---- queues ---------------------------------------------------------------------------------

    def queue(self, name: str) -> Queue | None:
        """Where a queue stands in this transaction; None if there is no such subscription."""
        queue = self._queues.get(name)
        if queue is None:
            row = self.row(
                "SELECT number, last, acknowledged, waiting, missed FROM durables WHERE name = ?",
                name,
            )
            if row is not None:
                queue = self._queues[name] = Queue(*row)
        return queue

    def acknowledge(self, durable: str, upto: int, sequences: Sequence[int], now: int) -> None:
        """Take entries as delivered; those that are not kept any more are passed over."""
        queue = self.queue(durable)
        if queue is None:
            return
        upto = max(min(upto, queue.last), queue.acknowledged)
        released = self.execute(
            "SELECT document FROM queue WHERE durable = ?1 AND sequence > ?2 AND sequence <= ?3"
            " AND sequence NOT IN (SELECT sequence FROM acknowledged_beyond WHERE durable = ?1"
            " AND sequence > ?2 AND sequence <= ?3)",
            *(queue.number, queue.acknowledged, upto),
        ).fetchall()
        queue.acknowledged = upto
        for sequence in sequences:
            if upto < sequence <= queue.last:
                released += self._acknowledge_beyond(queue.number, sequence)
        self.release((document for (document,) in released), now)
        queue.waiting -= len(released)
        self.settle(queue)

    def _acknowledge_beyond(self, durable: int, sequence: int) -> list[tuple[int]]:
        entry = self.execute(_ENTRY, durable, sequence).fetchall()
        statement = "INSERT OR IGNORE INTO acknowledged_beyond VALUES (?, ?)"
        if entry and not self.execute(statement, durable, sequence).rowcount:
            return []
        return entry

    def settle(self, queue: Queue) -> None:
        """Move ``acknowledged`` to just before the first entry that waits for it."""
        row = self.row(
            "SELECT sequence FROM queue WHERE durable = ?1 AND sequence > ?2 AND NOT EXISTS"
            " (SELECT 1 FROM acknowledged_beyond AS beyond WHERE beyond.durable = ?1"
            " AND beyond.sequence = queue.sequence) ORDER BY sequence LIMIT 1",
            *(queue.number, queue.acknowledged),
        )
        queue.acknowledged = queue.last if row is None else row[0] - 1
        self.execute(
            "DELETE FROM acknowledged_beyond WHERE durable = ? AND sequence <= ?",
            *(queue.number, queue.acknowledged),
        )

    def put_durable(self, name: str, owner: str, expressions: Mapping[str, str]) -> None:
        """Begin a durable subscription, or change whose it is and what it wants."""
        queue = self.queue(name)
        if queue is None:
            self.execute("INSERT INTO durables (name, owner) VALUES (?, ?)", name, owner)
            queue = self.queue(name)
            assert queue is not None
        number = queue.number
        self.execute("UPDATE durables SET owner = ? WHERE number = ?", owner, number)
        self.execute("DELETE FROM expressions WHERE durable = ?", number)
        self.connection.executemany(
            "INSERT INTO expressions VALUES (?, ?, ?)",
            ((number, key, xpath) for key, xpath in expressions.items()),
        )

    def note_missed_reported(self, durable: str, count: int) -> None:
        """Store how many missed entries were reported to a consumer; never fewer than before."""
        queue = self.queue(durable)
        if queue is not None:
            self.execute(
                "UPDATE durables SET missed_reported = max(missed_reported, ?) WHERE number = ?",
                *(min(count, queue.missed), queue.number),
            )

    def drop_durable(self, name: str) -> None:
        """Forget a durable subscription; its entries are cleaned away later."""
        queue = self.queue(name)
        if queue is not None:
            self._save_queue(queue)
            del self._queues[name]
            self.execute("UPDATE durables SET name = NULL WHERE number = ?", queue.number)
            self.execute("DELETE FROM expressions WHERE durable = ?", queue.number)

    # ---- homes ----------------------------------------------------------------------------------

    def debt(self, home: str) -> Debt | None:
        """What a home is owed in this transaction; None if it never was owed anything."""
        debt = self._debts.get(home)
        if debt is None:
            row = self.row("SELECT number, next, waiting FROM debts WHERE home = ?", home)
            if row is not None:
                debt = self._debts[home] = Debt(*row)
        return debt

    def confirm(self, home: str, upto: int, numbers: Sequence[int], now: int) -> None:
        """Owe documents no more to a home that has them."""
        debt = self.debt(home)
        if debt is None:
            return
        upto = min(upto, debt.next)
        rows = []
        ranges = [("<=", upto), *(("=", number) for number in numbers if number < debt.next)]
        for comparison, number in ranges:
            which = f"FROM owed WHERE debt = ? AND number {comparison} ?"
            rows += self.execute(f"SELECT document {which}", debt.number, number).fetchall()
            self.execute(f"DELETE {which}", debt.number, number)
        self.release((document for (document,) in rows), now)
        debt.waiting -= len(rows)

    def put_home(
        self,
        home: str,
        epoch: str,
        version: int,
        forward: Sequence[str],
        withdraw: Sequence[str],
        base: int,
    ) -> None:
        """Keep what a home wants: all of it, or how it has changed since the version ``base``."""
        if base:
            row = self.row("SELECT epoch, version FROM homes WHERE name = ?", home)
            if row != (epoch, base):  # a write has failed before
                self._forget_home(home)
                return
        else:
            self.execute("DELETE FROM home_patterns WHERE home = ?", home)
        self.execute("INSERT OR REPLACE INTO homes VALUES (?, ?, ?)", home, epoch, version)
        self.connection.executemany(
            "DELETE FROM home_patterns WHERE home = ? AND pattern = ?",
            ((home, pattern) for pattern in withdraw),
        )
        self.connection.executemany(
            "INSERT OR IGNORE INTO home_patterns VALUES (?, ?)",
            ((home, pattern) for pattern in forward),
        )

    def drop_home(self, home: str) -> None:
        """Forget a home and what it is owed, but not how far the numbers have come."""
        self._forget_home(home)
        debt = self.debt(home)
        if debt is not None:
            del self._debts[home]
            self.execute("UPDATE debts SET home = NULL WHERE number = ?", debt.number)
            self.execute(
                "UPDATE facts SET value = max(value, ?) WHERE name = 'first_number'", debt.next
            )

    def _forget_home(self, home: str) -> None:
        self.execute("DELETE FROM homes WHERE name = ?", home)
        self.execute("DELETE FROM home_patterns WHERE home = ?", home)

    def note_received(self, received: Received) -> None:
        """Remember that a document owed by another broker is here."""
        self._received.setdefault((received.origin, received.epoch), []).append(received)

    # ---- the end --------------------------------------------------------------------------------

    def finish(self) -> None:
        """Write what was gathered; the commit follows."""
        for queue in self._queues.values():
            self._save_queue(queue)
        for debt in self._debts.values():
            self.execute(
                "UPDATE debts SET next = ?, waiting = ? WHERE number = ?",
                *(debt.next, debt.waiting, debt.number),
            )
        for (origin, epoch), received in self._received.items():
            self._save_received(origin, epoch, received)
        if self.documents or self.bytes:
            self.connection.executemany(
                "UPDATE facts SET value = value + ? WHERE name = ?",
                ((self.documents, "documents"), (self.bytes, "bytes")),
            )

    def set_own_version(self, version: int) -> None:
        """Keep the version of what our own durable subscriptions want."""
        set_facts(self.connection, {"own_version": version})

    def _save_queue(self, queue: Queue) -> None:
        self.execute(
            "UPDATE durables SET last = ?, acknowledged = ?, waiting = ?, missed = ?"
            " WHERE number = ?",
            *(queue.last, queue.acknowledged, queue.waiting, queue.missed, queue.number),
        )

    def _save_received(self, origin: str, epoch: str, received: list[Received]) -> None:
        """Cost: what is new and what is settled by it, not what else stands beyond a gap."""
        (latest,) = self.row("SELECT max(epoch) FROM received WHERE origin = ?", origin)
        if latest is not None and latest > epoch:
            return
        for table in ("received", "received_beyond"):
            self.execute(f"DELETE FROM {table} WHERE origin = ? AND epoch < ?", origin, epoch)
        of_epoch = "WHERE origin = ? AND epoch = ?"
        row = self.row(f"SELECT upto FROM received {of_epoch}", origin, epoch)
        before = 0 if row is None else row[0]
        upto = max(before, *(each.settled - 1 for each in received))
        fresh = {each.number for each in received}
        beyond = f"SELECT 1 FROM received_beyond {of_epoch} AND number = ?"
        while upto + 1 in fresh or self.row(beyond, origin, epoch, upto + 1):
            upto += 1
        if upto > before or row is None:
            self.execute("INSERT OR REPLACE INTO received VALUES (?, ?, ?)", origin, epoch, upto)
            self.execute(
                f"DELETE FROM received_beyond {of_epoch} AND number <= ?", origin, epoch, upto
            )
        self.connection.executemany(
            "INSERT OR IGNORE INTO received_beyond VALUES (?, ?, ?)",
            ((origin, epoch, number) for number in fresh if number > upto),
        )
