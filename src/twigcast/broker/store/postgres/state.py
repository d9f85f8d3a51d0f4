"""What a broker has to know when it starts: the state in its store, read once at opening."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from twigcast.broker.store.postgres.connection import Connection
from twigcast.broker.store.postgres.identity import parse_id
from twigcast.delivery import (
    Durable,
    DurableOptions,
    Home,
    Line,
    StoreState,
    Version,
)
from twigcast.routing import DocumentId

_DURABLES: Final = """
SELECT number, name, owner, is_shared, key, most_attempts, scope,
    coalesce((SELECT min(sequence) FROM queue WHERE durable = number), last + 1),
    last, acknowledged, missed, missed_reported, gap_after, gap_last
FROM durables WHERE name IS NOT NULL ORDER BY name COLLATE "C"
"""
_OWED: Final = """
SELECT debts.home, documents.id
FROM debts JOIN owed ON owed.debt = debts.number
JOIN documents ON documents.number = owed.document
WHERE debts.home IS NOT NULL ORDER BY debts.home COLLATE "C", owed.document
"""


def read_state(connection: Connection, incarnation: int) -> StoreState:
    """The state as of now; costs time with what is owed and subscribed, not with documents."""
    facts = dict(_rows(connection, "SELECT name, value FROM facts"))
    accounts = dict(_rows(connection, "SELECT publisher, bytes FROM accounts"))
    return StoreState(
        incarnation,
        Version(int(facts.get("home_epoch", 0)), int(facts.get("home_version", 0))),
        _durables(connection),
        _homes(connection),
        _owed(connection),
        _received(connection),
        sum(accounts.values()),
        {publisher: size for publisher, size in accounts.items() if publisher and size},
        {
            unit: dict(bits)
            for unit, bits in _by_first(connection, "SELECT unit, member, bit FROM bits").items()
        },
    )


def _durables(connection: Connection) -> tuple[Durable, ...]:
    beyond = _by_first(connection, "SELECT durable, sequence FROM beyond")
    revived = _by_first(connection, "SELECT durable, sequence FROM revived")
    attempts = _by_first(connection, "SELECT durable, sequence, count FROM attempts")
    expressions = _by_first(connection, "SELECT durable, key, xpath FROM expressions ORDER BY key")
    return tuple(
        Durable(
            row[1],
            row[2],
            dict(expressions[row[0]]),
            DurableOptions(*row[3:7]),
            first=row[7],
            last=row[8],
            acknowledged=row[9],
            beyond=frozenset(each for (each,) in beyond[row[0]]),
            revived=frozenset(each for (each,) in revived[row[0]]),
            attempts=dict(attempts[row[0]]),
            missed=row[10],
            missed_reported=row[11],
            gap=(row[12], row[13]),
        )
        for row in _rows(connection, _DURABLES)
    )


def _homes(connection: Connection) -> dict[str, Home]:
    statement = 'SELECT home, pattern FROM home_patterns ORDER BY pattern COLLATE "C"'
    patterns = _by_first(connection, statement)
    rows = _rows(connection, 'SELECT name, epoch, version FROM homes ORDER BY name COLLATE "C"')
    return {
        name: Home(Version(epoch, version), tuple(each for (each,) in patterns[name]))
        for name, epoch, version in rows
    }


def _owed(connection: Connection) -> dict[str, tuple[DocumentId, ...]]:
    owed = _by_first(connection, _OWED)
    return {home: tuple(parse_id(id_) for (id_,) in rows) for home, rows in owed.items()}


def _received(connection: Connection) -> dict[tuple[str, int], Line]:
    numbers: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for origin, incarnation, number in _rows(
        connection, "SELECT origin, incarnation, number FROM received_numbers"
    ):
        numbers[origin, incarnation].append(number)
    rows = _rows(connection, "SELECT origin, incarnation, settled FROM received")
    return {
        (origin, incarnation): Line(settled, frozenset(numbers[origin, incarnation]))
        for origin, incarnation, settled in rows
    }


def _rows(connection: Connection, statement: str) -> list[tuple[Any, ...]]:
    return connection.execute(statement.encode()).fetchall()


def _by_first(connection: Connection, statement: str) -> defaultdict[Any, list[tuple[Any, ...]]]:
    """The rows that a statement gives, by their first column and without it."""
    rows: defaultdict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for first, *rest in _rows(connection, statement):
        rows[first].append(tuple(rest))
    return rows
