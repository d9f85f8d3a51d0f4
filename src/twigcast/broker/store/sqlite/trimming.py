"""Letting go of documents, little by little: in slices, between which others write.

    too old ────────────────────────────────────────────────────────────────► dropped
    nobody needs it ──sweep──► released ──acknowledged_age, or there is too much──► dropped

Nothing counts who needs a document.  A sweep goes round over all documents like the hand of a
clock, for a limited time in each trimming, and notes those that nobody needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from twigcast.broker.store.retention import Retention, Trimmed
from twigcast.broker.store.sqlite import tables
from twigcast.broker.store.sqlite.asides import id_from
from twigcast.broker.store.sqlite.transaction import Transaction
from twigcast.broker.store.sqlite.walk import first_of_each
from twigcast.routing import DocumentId

SLICE: Final = 500
"""Documents, at most, that a transaction drops, or that it looks at."""
SLICE_ENTRIES: Final = 20_000
"""Entries of queues after which a transaction drops no further document."""
_SWEEP_SECONDS: Final = 2.0
"""Of the time of the thread that writes, in each trimming."""

_WAITS: Final = """
    FROM queue CROSS JOIN places ON places.durable = queue.durable WHERE queue.position = {position}
    AND (queue.sequence > places.acknowledged AND NOT EXISTS (SELECT 1 FROM beyond
             WHERE beyond.durable = queue.durable AND beyond.sequence = queue.sequence)
         OR EXISTS (SELECT 1 FROM revived
             WHERE revived.durable = queue.durable AND revived.sequence = queue.sequence))
"""
_SWEEP: Final = f"""
    INSERT INTO released SELECT number, ?3, publisher FROM documents
    WHERE number > ?1 AND number <= ?2
    AND NOT EXISTS (SELECT 1 FROM released WHERE document = number)
    AND NOT EXISTS (SELECT 1 FROM letters WHERE document = documents.number)
    AND NOT EXISTS (SELECT 1 FROM owed JOIN debtors ON debtors.number = owed.debtor
                    WHERE owed.document = documents.number)
    AND NOT EXISTS (SELECT 1 {_WAITS.format(position="documents.number")})
    AND NOT EXISTS (SELECT 1 FROM again WHERE again.document = documents.number
                    AND EXISTS (SELECT 1 {_WAITS.format(position="again.position")}))
"""
_VICTIM: Final = "SELECT number, id, size, publisher FROM documents"


@dataclass(slots=True)
class _Dropped:
    """What a slice has dropped."""

    documents: int = 0
    bytes: int = 0
    entries: int = 0
    lost: dict[str, int] = field(default_factory=dict)
    owed: dict[str, tuple[DocumentId, ...]] = field(default_factory=dict)
    publishers: dict[str, int] = field(default_factory=dict)

    def trimmed(self) -> Trimmed:
        return Trimmed(self.documents, self.bytes, self.lost, {}, self.owed, self.publishers)


class Trimming:
    """Trims a store again and again."""

    def __init__(self, transact: Callable[[Callable[[Transaction], Any]], Any]) -> None:
        self._transact: Any = transact
        self._hand = 0
        self._touched: dict[int, str] = {}

    def slices(self, retention: Retention, now: int) -> Iterator[Trimmed]:
        """Drop what retention does not keep; each step is a transaction."""
        oldest = now - int(retention.age * 1000)
        released = now - int(retention.acknowledged_age * 1000)
        yield from self._drop_while(lambda transaction: _too_old(transaction, oldest))
        yield from self._forget_publications(oldest)
        yield from self._sweep(now)
        yield from self._drop_while(lambda transaction: _long_released(transaction, released))
        yield from self._drop_while(lambda transaction: _too_much(transaction, retention.size))
        yield from self._drop_of_publishers(retention.publisher_size)
        yield from self._find_firsts()
        yield from self._forget_runs()

    def _drop_while(self, find: Callable[[Transaction], list[Any]]) -> Iterator[Trimmed]:
        """Drop documents as long as some are found."""

        def step(transaction: Transaction) -> Trimmed:
            return self._drop(transaction, find(transaction))

        while (trimmed := self._transact(step)).documents:
            yield trimmed

    def _drop_of_publishers(self, size: int) -> Iterator[Trimmed]:
        """Drop documents of publishers of whom more is kept than that."""

        def find(transaction: Transaction) -> list[str]:
            return [name for name, kept in transaction.books.publishers.items() if kept > size]

        for each in self._transact(find) if size else ():
            yield from self._drop_while(partial(_too_much_of, publisher=each, size=size))

    def _drop(self, transaction: Transaction, victims: Iterable[Any]) -> Trimmed:
        dropped = _Dropped()
        for number, id_, size, publisher in victims:
            positions = [(number,)]
            positions += transaction.execute(
                "SELECT position FROM again WHERE document = ?", number
            ).fetchall()
            for (position,) in positions:
                self._drop_entries(transaction, position, dropped)
            _drop_owed(transaction, number, id_, dropped)
            for table in ("contents", "released", "letters", "again", "destinations"):
                transaction.execute(f"DELETE FROM {table} WHERE document = ?", number)
            transaction.execute("DELETE FROM documents WHERE number = ?", number)
            transaction.books.count_document(-1, size, publisher)
            dropped.documents += 1
            dropped.bytes += size
            if publisher:
                dropped.publishers[publisher] = dropped.publishers.get(publisher, 0) + size
            if dropped.entries >= SLICE_ENTRIES:
                break
        return dropped.trimmed()

    def _drop_entries(self, transaction: Transaction, position: int, dropped: _Dropped) -> None:
        books = transaction.books
        rows = transaction.execute(
            "SELECT durable, sequence FROM queue WHERE position = ?", position
        )
        for durable, sequence in rows:
            queue = books.queue_of(durable)
            dropped.entries += 1
            if queue is None:
                continue
            self._touched[durable] = queue.name
            if queue.waits(sequence):
                queue.acknowledge(0, (sequence,))
                queue.missed += 1
                books.change(queue)
                dropped.lost[queue.name] = dropped.lost.get(queue.name, 0) + 1
        transaction.execute("DELETE FROM queue WHERE position = ?", position)

    def _forget_publications(self, oldest: int) -> Iterator[Trimmed]:
        """Publications lie in the order of time, but for a clock that was set."""

        def step(transaction: Transaction) -> int:
            return transaction.execute(
                "DELETE FROM publications WHERE number IN (SELECT number FROM (SELECT number,"
                " stored FROM publications ORDER BY number LIMIT ?) WHERE stored < ?)",
                *(10 * SLICE, oldest),
            ).rowcount

        while self._transact(step):
            yield Trimmed()

    def _sweep(self, now: int) -> Iterator[Trimmed]:
        """Note documents that nobody needs: once round, or for as long as is allowed."""

        def step(transaction: Transaction) -> int:
            end, count = transaction.row(
                "SELECT max(number), count(*) FROM"
                " (SELECT number FROM documents WHERE number > ? ORDER BY number LIMIT ?)",
                *(self._hand, SLICE),
            )
            if count:
                transaction.execute(_SWEEP, self._hand, end, now)
            return end if count == SLICE else 0

        begin, spent, has_turned = self._hand, 0.0, False
        while spent < _SWEEP_SECONDS:
            started = time.monotonic()
            self._hand = self._transact(step)
            spent += time.monotonic() - started
            yield Trimmed()
            has_turned |= not self._hand
            if has_turned and self._hand >= begin:
                return

    def _find_firsts(self) -> Iterator[Trimmed]:
        """The first entries that are left of queues that have lost some."""

        def step(transaction: Transaction) -> dict[str, int]:
            some = [self._touched.popitem() for _ in range(min(SLICE, len(self._touched)))]
            found = first_of_each(transaction.connection, [number for number, _ in some])
            first = {}
            for number, name in some:
                queue = transaction.books.queue_of(number)
                if queue is not None:
                    first[name] = found.get(number, queue.last + 1)
            return first

        while self._touched:
            yield Trimmed(first=self._transact(step))

    def _forget_runs(self) -> Iterator[Trimmed]:
        """Remove segments that have no document any more, but for the one that is written."""

        def step(transaction: Transaction) -> int:
            (segment,) = transaction.row("SELECT min(segment) FROM runs")
            positions = transaction.row(
                "SELECT (SELECT min(number) FROM documents), (SELECT min(position) FROM again)"
            )
            kept = [transaction.books.position, *(each for each in positions if each is not None)]
            if segment is None or segment >= min(kept) >> tables.SEGMENT_BITS:
                return 0
            return transaction.execute("DELETE FROM runs WHERE segment = ?", segment).rowcount

        while self._transact(step):
            yield Trimmed()


def _too_old(transaction: Transaction, oldest: int) -> list[Any]:
    return transaction.execute(
        f"{_VICTIM} WHERE stored < ? ORDER BY stored LIMIT ?", oldest, SLICE
    ).fetchall()


def _long_released(transaction: Transaction, before: int) -> list[Any]:
    return transaction.execute(
        f"{_VICTIM} WHERE number IN (SELECT document FROM released WHERE at < ?"
        " ORDER BY at LIMIT ?)",
        *(before, SLICE),
    ).fetchall()


def _too_much(transaction: Transaction, size: int) -> list[Any]:
    released = "SELECT document FROM released ORDER BY document LIMIT ?"
    return _oldest(transaction, transaction.books.bytes - size, released, SLICE)


def _too_much_of(transaction: Transaction, publisher: str, size: int) -> list[Any]:
    excess = transaction.books.publishers[publisher] - size
    released = (
        "SELECT document FROM released WHERE publisher = ? AND publisher <> ''"
        " ORDER BY document LIMIT ?"
    )
    return _oldest(transaction, excess, released, publisher, SLICE)


def _oldest(transaction: Transaction, excess: int, released: str, *values: Any) -> list[Any]:
    """The first of some documents, until they are as many bytes as there are too many."""
    victims = []
    if excess > 0:
        for row in transaction.execute(
            f"{_VICTIM} WHERE number IN ({released}) ORDER BY number", *values
        ):
            victims.append(row)
            excess -= row[2]
            if excess <= 0:
                break
    return victims


def _drop_owed(transaction: Transaction, document: int, id_: str, dropped: _Dropped) -> None:
    homes = transaction.execute(
        "SELECT home FROM owed JOIN debtors ON number = debtor WHERE document = ?", document
    ).fetchall()
    for (home,) in homes:
        transaction.books.owe(home, -1)
        dropped.owed[home] = (*dropped.owed.get(home, ()), id_from(id_))
    transaction.execute("DELETE FROM owed WHERE document = ?", document)
