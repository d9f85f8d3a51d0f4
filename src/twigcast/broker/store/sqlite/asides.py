"""Letters: documents that are set aside, given back, or let go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twigcast.broker.store.sqlite.walk import entries
from twigcast.delivery import Replayed, writes
from twigcast.routing import DocumentId

if TYPE_CHECKING:
    from twigcast.broker.store.sqlite.transaction import Transaction

_ADD: Final = (
    "INSERT INTO letters (document, durable, name, home, sequence, keys, reason, at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_NO_KEYS: Final = "[]"


def keep_unrouted(transaction: Transaction, document: int, reason: str, now: int) -> bool:
    """Make a document a letter of nobody's; whether it was none."""
    known = transaction.row(
        "SELECT 1 FROM letters WHERE document = ? AND name = '' AND home = ''", document
    )
    if known is None:
        transaction.execute(_ADD, document, 0, "", "", 0, _NO_KEYS, reason, now)
    return known is None


def set_aside(transaction: Transaction, write: writes.SetAside) -> None:
    """Take entries out of a queue, and keep their documents as letters."""
    queue = transaction.books.queue(write.durable)
    if queue is None:
        return
    transaction.flush()
    for sequence in write.sequences:
        if not queue.waits(sequence):
            continue
        for entry in entries(transaction.connection, queue.number, sequence, sequence):
            transaction.execute(
                _ADD,
                *(entry.document, queue.number, queue.name, "", sequence),
                *(entry.keys, write.reason, write.now),
            )
            queue.acknowledge(0, (sequence,))
            transaction.books.change(queue)


def set_aside_owed(transaction: Transaction, write: writes.SetAsideOwed) -> None:
    """Owe a document to a home no more, and keep it as a letter."""
    id_ = str(write.id)
    if transaction.pay(write.home, [id_]):
        transaction.execute(
            _ADD,
            *(transaction.number_of(id_), 0, "", write.home, 0, _NO_KEYS),
            *(write.reason, write.now),
        )


def replay(transaction: Transaction, write: writes.Replay) -> Replayed:
    """Give letters back to queues."""
    waiting: list[tuple[str, int]] = []
    for number in write.letters:
        letter = transaction.row(
            "SELECT document, durable, sequence FROM letters WHERE number = ?",
            number,
        )
        queue = None if letter is None else transaction.books.queue_of(letter[1])
        if queue is not None:
            document, _, sequence = letter
            queue.revive(sequence)
            transaction.books.change(queue)
            waiting.append((queue.name, sequence))
            transaction.execute("DELETE FROM letters WHERE number = ?", number)
            transaction.need(document)
    return Replayed(tuple(waiting))


def drop_letters(transaction: Transaction, write: writes.DropLetters) -> None:
    """Let go of letters; their documents go when nobody needs them."""
    numbers = [(number,) for number in write.letters]
    transaction.connection.executemany("DELETE FROM letters WHERE number = ?", numbers)


def id_from(text: str) -> DocumentId:
    """The id of a document, from its text."""
    origin, incarnation, number = text.rsplit(":", 2)
    return DocumentId(origin, int(incarnation), int(number))
