"""What a transaction changes of durable subscriptions and homes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twigcast.delivery import writes

if TYPE_CHECKING:
    from twigcast.broker.store.sqlite.transaction import Transaction

_OF_DURABLES: Final = ("places", "beyond", "revived", "attempts", "gaps", "expressions")


def put_durable(transaction: Transaction, write: writes.PutDurable) -> None:
    """Begin a durable subscription, or change whose it is, what it wants and how."""
    is_shared, key, most_attempts, scope = write.options
    transaction.execute(
        "INSERT INTO durables (name, owner, is_shared, key, most_attempts, scope)"
        " VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner,"
        " is_shared = excluded.is_shared, key = excluded.key,"
        " most_attempts = excluded.most_attempts, scope = excluded.scope",
        *(write.name, write.owner, is_shared, key, most_attempts, scope),
    )
    (number,) = transaction.row("SELECT number FROM durables WHERE name = ?", write.name)
    transaction.execute("INSERT OR IGNORE INTO places VALUES (?, 0, 0, 0)", number)
    queue = transaction.books.queue(write.name)
    assert queue is not None
    transaction.books.change(queue)  # so that it is forgotten if this is rolled back
    transaction.execute("DELETE FROM expressions WHERE durable = ?", number)
    transaction.connection.executemany(
        "INSERT INTO expressions VALUES (?, ?, ?)",
        [(number, key, xpath) for key, xpath in write.expressions.items()],
    )


def drop_durable(transaction: Transaction, write: writes.DropDurable) -> None:
    """Forget a durable subscription; its entries go with their documents."""
    queue = transaction.books.queue(write.name)
    if queue is None:
        return
    transaction.books.forget(queue)
    transaction.execute("DELETE FROM durables WHERE number = ?", queue.number)
    for table in _OF_DURABLES:
        transaction.execute(f"DELETE FROM {table} WHERE durable = ?", queue.number)


def note_missed(transaction: Transaction, write: writes.NoteMissed) -> None:
    """Store how many missed entries a consumer was told of; never fewer than before."""
    queue = transaction.books.queue(write.durable)
    if queue is not None:
        transaction.execute(
            "UPDATE durables SET missed_reported = max(missed_reported, ?) WHERE number = ?",
            *(min(write.missed, queue.missed), queue.number),
        )


def put_home(transaction: Transaction, write: writes.PutHome) -> None:
    """Keep what a home wants: all of it, or how it has changed since the version ``base``."""
    home, (epoch, version) = write.home, write.version
    if write.base:
        row = transaction.row("SELECT epoch, version FROM homes WHERE name = ?", home)
        if row != (epoch, write.base):  # a write has failed before
            return
    else:
        transaction.execute("DELETE FROM home_patterns WHERE home = ?", home)
    transaction.execute("INSERT OR REPLACE INTO homes VALUES (?, ?, ?)", home, epoch, version)
    transaction.connection.executemany(
        "DELETE FROM home_patterns WHERE home = ? AND pattern = ?",
        [(home, pattern) for pattern in write.withdraw],
    )
    transaction.connection.executemany(
        "INSERT OR IGNORE INTO home_patterns VALUES (?, ?)",
        [(home, pattern) for pattern in write.forward],
    )


def drop_home(transaction: Transaction, write: writes.DropHome) -> None:
    """Forget a home and that it is owed anything."""
    _forget_home(transaction, write.home)
    transaction.books.debtors.pop(write.home, None)
    transaction.execute("DELETE FROM debtors WHERE home = ?", write.home)


def _forget_home(transaction: Transaction, home: str) -> None:
    transaction.execute("DELETE FROM homes WHERE name = ?", home)
    transaction.execute("DELETE FROM home_patterns WHERE home = ?", home)
