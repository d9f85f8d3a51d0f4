"""Letting go of documents, little by little: what retention drops, and what drops have left.

A transaction that deletes a hundred thousand documents would keep publishers waiting for seconds,
so both work in slices, each a transaction of its own, between which other writes have their turn.
"""

from __future__ import annotations

from typing import Final

from twigcast.broker.store.retention import Retention, Trimmed
from twigcast.broker.store.state import first_kept
from twigcast.broker.store.transaction import Transaction

SLICE: Final = 500


def trim_slice(transaction: Transaction, retention: Retention, now: int) -> tuple[Trimmed, bool]:
    """Drop some of what retention does not keep; and whether there may be more."""
    victims = _victims(transaction, retention, now)
    lost: dict[str, int] = {}
    owed_lost: dict[str, tuple[int, ...]] = {}
    touched: set[str] = set()
    for document in victims:
        _drop_entries(transaction, document, lost, touched)
        _drop_owed(transaction, document, owed_lost)
    numbers = [(document,) for document in victims]
    for table in ("queue", "owed", "contents"):
        transaction.connection.executemany(f"DELETE FROM {table} WHERE document = ?", numbers)
    transaction.connection.executemany("DELETE FROM documents WHERE number = ?", numbers)
    first: dict[str, int] = {}
    for name in touched:
        queue = transaction.queue(name)
        assert queue is not None
        transaction.settle(queue)
        first[name] = first_kept(transaction.connection, queue.number, queue.last)
    transaction.documents -= len(victims)
    transaction.bytes -= sum(victims.values())
    trimmed = Trimmed(len(victims), sum(victims.values()), lost, first, owed_lost)
    return trimmed, bool(victims)


def _victims(transaction: Transaction, retention: Retention, now: int) -> dict[int, int]:
    """The sizes of documents to drop, by number: too old, long needed by nobody, or too much."""
    select = "SELECT number, size FROM documents"
    for column, age in (("stored", retention.age), ("released", retention.acknowledged_age)):
        victims = transaction.execute(
            f"{select} WHERE {column} < ? ORDER BY {column} LIMIT ?", now - int(age * 1000), SLICE
        ).fetchall()
        if victims:
            return dict(victims)
    (total,) = transaction.row("SELECT value FROM facts WHERE name = 'bytes'")
    excess = total + transaction.bytes - retention.size
    victims = []
    for row in transaction.execute(f"{select} ORDER BY number LIMIT ?", SLICE):
        if excess <= 0:
            break
        victims.append(row)
        excess -= row[1]
    return dict(victims)


def _drop_entries(
    transaction: Transaction, document: int, lost: dict[str, int], touched: set[str]
) -> None:
    entries = transaction.execute(
        "SELECT durables.name, queue.sequence, beyond.sequence FROM queue"
        " JOIN durables ON durables.number = queue.durable"
        " LEFT JOIN acknowledged_beyond AS beyond ON beyond.durable = queue.durable"
        " AND beyond.sequence = queue.sequence"
        " WHERE queue.document = ? AND durables.name IS NOT NULL",
        document,
    ).fetchall()
    for name, sequence, beyond in entries:
        queue = transaction.queue(name)
        assert queue is not None
        touched.add(name)
        if beyond is not None:
            transaction.execute(
                "DELETE FROM acknowledged_beyond WHERE durable = ? AND sequence = ?",
                *(queue.number, sequence),
            )
        elif sequence > queue.acknowledged:
            queue.waiting -= 1
            queue.missed += 1
            lost[name] = lost.get(name, 0) + 1


def _drop_owed(
    transaction: Transaction, document: int, owed_lost: dict[str, tuple[int, ...]]
) -> None:
    owed = transaction.execute(
        "SELECT debts.home, owed.number FROM owed JOIN debts ON debts.number = owed.debt"
        " WHERE owed.document = ? AND debts.home IS NOT NULL",
        document,
    ).fetchall()
    for home, number in owed:
        debt = transaction.debt(home)
        assert debt is not None
        debt.waiting -= 1
        owed_lost[home] = (*owed_lost.get(home, ()), number)


def clean_slice(transaction: Transaction, now: int) -> bool:
    """Remove some of what dropped subscriptions and homes have left; whether there may be more."""
    execute = transaction.execute
    durable = transaction.row("SELECT number, acknowledged FROM durables WHERE name IS NULL")
    if durable is not None:
        number, acknowledged = durable
        entries = execute(
            "SELECT queue.document, queue.sequence, beyond.sequence FROM queue"
            " LEFT JOIN acknowledged_beyond AS beyond ON beyond.durable = queue.durable"
            " AND beyond.sequence = queue.sequence"
            " WHERE queue.durable = ? ORDER BY queue.sequence LIMIT ?",
            *(number, SLICE),
        ).fetchall()
        waiting = (
            document
            for document, sequence, beyond in entries
            if beyond is None and sequence > acknowledged
        )
        transaction.release(waiting, now)
        if entries:
            last = entries[-1][1]
            execute("DELETE FROM queue WHERE durable = ? AND sequence <= ?", number, last)
        else:
            execute("DELETE FROM acknowledged_beyond WHERE durable = ?", number)
            execute("DELETE FROM durables WHERE number = ?", number)
        return True
    debt = transaction.row("SELECT number FROM debts WHERE home IS NULL")
    if debt is not None:
        statement = "SELECT document, number FROM owed WHERE debt = ? ORDER BY number LIMIT ?"
        owed = execute(statement, *debt, SLICE).fetchall()
        transaction.release((document for document, _ in owed), now)
        if owed:
            execute("DELETE FROM owed WHERE debt = ? AND number <= ?", *debt, owed[-1][1])
        else:
            execute("DELETE FROM debts WHERE number = ?", *debt)
        return True
    return False
