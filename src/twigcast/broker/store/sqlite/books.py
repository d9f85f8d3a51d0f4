"""Where the queues of a store stand, as the only one who writes knows it.

The books are read from the file once, and written back with each transaction that changes them.  If
a transaction fails, what it has changed is thrown away, and read again when it is needed.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from twigcast.broker.store.sqlite.tables import fact, set_facts

_QUEUE: Final = """
    SELECT durables.name, places.* FROM durables
    JOIN places ON places.durable = durables.number
"""

_MARKS: Final = ("beyond", "revived", "attempts")
_NUMBER: Final = attrgetter("number")


class Marks(set[int]):
    """Marked sequences of a queue, and which of the marks are to be written."""

    __slots__ = ("changes",)

    def __init__(self, sequences: Iterable[int] = ()) -> None:
        super().__init__(sequences)
        self.changes: dict[int, bool] = {}

    def put(self, sequence: int) -> None:
        """Mark a sequence."""
        if sequence not in self:
            self.add(sequence)
            self.changes[sequence] = True

    def take(self, sequence: int) -> None:
        """Mark a sequence no more."""
        if sequence in self:
            self.remove(sequence)
            self.changes[sequence] = False

    def take_between(self, after: int, upto: int) -> None:
        """Mark no sequence after one number and up to another."""
        if not self:
            return
        if upto - after < len(self):
            sequences: Iterable[int] = range(after + 1, upto + 1)
        else:
            sequences = [each for each in self if after < each <= upto]
        for sequence in sequences:
            self.take(sequence)


@dataclass(slots=True, eq=False)
class Queue:
    """Where the queue of a durable subscription stands."""

    name: str
    number: int
    last: int
    acknowledged: int
    missed: int
    beyond: Marks = field(default_factory=Marks)
    revived: Marks = field(default_factory=Marks)
    attempted: Marks = field(default_factory=Marks)
    """Those that have a row in the table of attempts; rows are added elsewhere."""
    gaps: list[tuple[int, int]] = field(default_factory=list)
    position: int = -1
    """The last one that is known to have an entry."""

    @property
    def marks(self) -> tuple[Marks, Marks, Marks]:
        """In the order of their tables."""
        return self.beyond, self.revived, self.attempted

    @property
    def waiting(self) -> int:
        """How many entries are not acknowledged."""
        never = sum(max(0, upto - max(after, self.acknowledged)) for after, upto in self.gaps)
        behind = self.last - self.acknowledged - never
        return behind - len(self.beyond) + len(self.revived)

    def waits(self, sequence: int) -> bool:
        """Whether an entry is not acknowledged."""
        if sequence <= self.acknowledged:
            return sequence in self.revived
        is_given = sequence <= self.last and not self._gap_end(sequence)
        return is_given and sequence not in self.beyond

    def acknowledge(self, upto: int, sequences: Iterable[int] = ()) -> None:
        """Take entries as delivered: all up to one that were not revived, and some besides."""
        upto = min(upto, self.last)
        if upto > self.acknowledged:
            self.beyond.take_between(self.acknowledged, upto)
            self.attempted.take_between(self.acknowledged, upto)
            self.acknowledged = upto
        for sequence in sequences:
            if self.waits(sequence):
                self.attempted.take(sequence)
                if sequence > self.acknowledged:
                    self.beyond.put(sequence)
                else:
                    self.revived.take(sequence)
        self.settle()

    def settle(self) -> None:
        """Move ``acknowledged`` to just before the first sequence that waits."""
        while True:
            following = self.acknowledged + 1
            if following in self.beyond:
                self.beyond.take(following)
                self.acknowledged = following
            elif end := self._gap_end(following):
                self.acknowledged = end
            else:
                return

    def revive(self, sequence: int) -> None:
        """Let an entry that was acknowledged wait again."""
        if sequence > self.acknowledged:
            self.beyond.take(sequence)
        else:
            self.revived.put(sequence)

    def _gap_end(self, sequence: int) -> int:
        """The last sequence of the gap that one lies in; 0 if it lies in none."""
        return next((upto for after, upto in self.gaps if after < sequence <= upto), 0)


@dataclass(slots=True)
class Debtor:
    """A home, and how many documents it is owed."""

    number: int
    waiting: int


class Books:
    """All queues and homes, and totals."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.queues: dict[str, Queue] = {}
        """Those that were read, by name; ``queue`` reads the others."""
        self._by_number: dict[int, Queue] = {}
        self.moved: set[Queue] = set()
        """Those whose place is to be written."""
        self._changed: set[Queue] = set()
        self._read_totals()
        self._read_all()

    def begin(self) -> None:
        """Be ready for a transaction."""
        if self._is_stale:
            self._read_totals()

    def _read_totals(self) -> None:
        names = ("position", "documents", "bytes")
        self._totals = {name: int(fact(self._connection, name)) for name in names}
        self.position, self.documents, self.bytes = self._totals.values()
        rows = self._connection.execute("SELECT home, number, waiting FROM debtors ORDER BY home")
        self.debtors = {home: Debtor(*row) for home, *row in rows}
        rows = self._connection.execute("SELECT name, bytes FROM publishers")
        self.publishers: Counter[str] = Counter(dict(rows))
        self._owing: set[str] = set()
        self._publishing: set[str] = set()
        self._is_stale = False

    # ---- queues ---------------------------------------------------------------------------------

    def queue(self, name: str) -> Queue | None:
        """The queue of a durable subscription; None if there is no such subscription."""
        return self.queues.get(name) or self._read("durables.name = ?", name)

    def queue_of(self, number: int) -> Queue | None:
        """The queue of a durable subscription by its number; None if it was dropped."""
        return self._by_number.get(number) or self._read("durables.number = ?", number)

    def change(self, queue: Queue) -> None:
        """Note that a queue is to be written, with its marks."""
        self.moved.add(queue)
        self._changed.add(queue)

    def forget(self, queue: Queue) -> None:
        """Note that a queue was dropped from the file."""
        self.moved.discard(queue)
        self._changed.discard(queue)
        self._leave(queue)

    def _enter(self, queue: Queue) -> Queue:
        self.queues[queue.name] = self._by_number[queue.number] = queue
        return queue

    def _leave(self, queue: Queue) -> None:
        self.queues.pop(queue.name, None)
        self._by_number.pop(queue.number, None)

    def _read(self, where: str, value: object) -> Queue | None:
        row = self._connection.execute(f"{_QUEUE} WHERE {where}", (value,)).fetchone()
        if row is None:
            return None
        queue = Queue(*row)
        for table, marks in zip(_MARKS, queue.marks, strict=True):
            statement = f"SELECT sequence FROM {table} WHERE durable = ?"
            rows = self._connection.execute(statement, (queue.number,))
            marks.update(sequence for (sequence,) in rows)
        statement = "SELECT after, upto FROM gaps WHERE durable = ? ORDER BY after"
        queue.gaps = self._connection.execute(statement, (queue.number,)).fetchall()
        return self._enter(queue)

    def _read_all(self) -> None:
        """All queues at once, which takes a few statements instead of some for each."""
        for row in self._connection.execute(_QUEUE):
            self._enter(Queue(*row))
        for place, table in enumerate(_MARKS):
            rows = self._connection.execute(f"SELECT durable, sequence FROM {table}")
            for number, sequence in rows:
                self._by_number[number].marks[place].add(sequence)
        rows = self._connection.execute("SELECT durable, after, upto FROM gaps ORDER BY after")
        for number, after, upto in rows:
            self._by_number[number].gaps.append((after, upto))

    # ---- homes, publishers and totals -----------------------------------------------------------

    def owe(self, home: str, count: int) -> None:
        """Count documents that a home is owed, or is owed no more."""
        self.debtors[home].waiting += count
        self._owing.add(home)

    def count_document(self, count: int, size: int, publisher: str) -> None:
        """Count a document that is added, with 1, or dropped, with -1."""
        self.documents += count
        self.bytes += count * size
        if publisher:
            self.publishers[publisher] += count * size
            self._publishing.add(publisher)

    # ---- the end of a transaction ---------------------------------------------------------------

    def save(self) -> None:
        """Write what has changed; the commit follows."""
        connection = self._connection
        connection.executemany(
            "UPDATE places SET last = ?, acknowledged = ?, missed = ? WHERE durable = ?",
            [
                (queue.last, queue.acknowledged, queue.missed, queue.number)
                for queue in sorted(self.moved, key=_NUMBER)
            ],
        )
        self._save_marks()
        connection.executemany(
            "UPDATE debtors SET waiting = ? WHERE number = ?",
            [(each.waiting, each.number) for each in map(self.debtors.get, self._owing) if each],
        )
        connection.executemany(
            "INSERT OR REPLACE INTO publishers VALUES (?, ?)",
            [(name, self.publishers[name]) for name in self._publishing],
        )
        connection.executemany(
            "DELETE FROM publishers WHERE name = ?",
            [(name,) for name in self._publishing if not self.publishers[name]],
        )
        totals = {"position": self.position, "documents": self.documents, "bytes": self.bytes}
        if totals != self._totals:
            set_facts(connection, totals)
            self._totals = totals

    def _save_marks(self) -> None:
        fresh: dict[str, list[tuple[int, int]]] = {table: [] for table in _MARKS}
        stale: dict[str, list[tuple[int, int]]] = {table: [] for table in _MARKS}
        for queue in self._changed:
            for table, marks in zip(_MARKS, queue.marks, strict=True):
                for sequence, is_put in marks.changes.items():
                    (fresh if is_put else stale)[table].append((queue.number, sequence))
        for table in _MARKS:
            where = "WHERE durable = ? AND sequence = ?"
            self._connection.executemany(f"DELETE FROM {table} {where}", stale[table])
            insert = f"INSERT OR IGNORE INTO {table} VALUES (?, ?)"
            if fresh[table]:
                self._connection.executemany(insert, fresh[table])

    def committed(self) -> None:
        """Note that everything that was saved is safe."""
        for queue in self._changed:
            for marks in queue.marks:
                marks.changes.clear()
        self.moved.clear()
        self._changed.clear()
        self._owing.clear()
        self._publishing.clear()

    def undo(self) -> None:
        """Forget what a transaction has changed that was rolled back."""
        for queue in self.moved:
            self._leave(queue)
        self.moved.clear()
        self._changed.clear()
        self._is_stale = True
