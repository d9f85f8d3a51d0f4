"""What a broker has to know when it starts: the state in its store, read once at opening."""

from __future__ import annotations

import sqlite3
from typing import Any, Final, NamedTuple

from twigcast.broker.store.records import Durable, Home, OwedState

_PATTERNS: Final = "SELECT pattern FROM home_patterns WHERE home = ? ORDER BY pattern"
_PENDING: Final = "SELECT number FROM owed WHERE debt = ? ORDER BY number"
_BEYOND: Final = "SELECT number FROM received_beyond WHERE origin = ? AND epoch = ? ORDER BY number"


class StoreState(NamedTuple):
    """Everything in a store but the documents."""

    epoch: str
    incarnation: int
    first_number: int
    own_version: int
    durables: list[Durable]
    homes: dict[str, Home]
    owed: dict[str, OwedState]
    received: dict[tuple[str, str], tuple[int, tuple[int, ...]]]


def read_state(connection: sqlite3.Connection) -> StoreState:
    """The state as of now; costs time with what is owed and subscribed, not with documents."""
    facts = dict(connection.execute("SELECT name, value FROM facts"))
    return StoreState(
        facts["epoch"],
        facts["incarnation"],
        facts["first_number"],
        facts["own_version"],
        [
            _durable(connection, *row)
            for row in connection.execute(
                "SELECT number, name, owner, last, acknowledged, missed, missed_reported,"
                " gap_after, gap_last FROM durables WHERE name IS NOT NULL ORDER BY name"
            )
        ],
        {
            name: Home(epoch, version, _column(connection, _PATTERNS, name))
            for name, epoch, version in connection.execute("SELECT * FROM homes ORDER BY name")
        },
        {
            home: OwedState(following, _column(connection, _PENDING, number))
            for number, home, following in connection.execute(
                "SELECT number, home, next FROM debts WHERE home IS NOT NULL ORDER BY home"
            )
        },
        {
            (origin, epoch): (upto, _column(connection, _BEYOND, origin, epoch))
            for origin, epoch, upto in connection.execute("SELECT * FROM received")
        },
    )


def first_kept(connection: sqlite3.Connection, durable: int, last: int) -> int:
    """The first sequence number of a queue that is still kept; ``last`` + 1 if none is."""
    (first,) = connection.execute(
        "SELECT min(sequence) FROM queue WHERE durable = ?", (durable,)
    ).fetchone()
    return last + 1 if first is None else int(first)


def _durable(
    connection: sqlite3.Connection,
    number: int,
    name: str,
    owner: str,
    last: int,
    acknowledged: int,
    missed: int,
    missed_reported: int,
    *gap: int,
) -> Durable:
    expressions = connection.execute(
        "SELECT key, xpath FROM expressions WHERE durable = ? ORDER BY key", (number,)
    )
    beyond = "SELECT sequence FROM acknowledged_beyond WHERE durable = ?"
    return Durable(
        name,
        owner,
        dict(expressions),
        first_kept(connection, number, last),
        last,
        acknowledged,
        frozenset(_column(connection, beyond, number)),
        missed,
        missed_reported,
        (gap[0], gap[1]),
    )


def _column(connection: sqlite3.Connection, statement: str, *values: object) -> tuple[Any, ...]:
    """The values in the only column that a statement gives."""
    return tuple(value for (value,) in connection.execute(statement, values))
