"""What a broker has to know when it starts: a new incarnation, and the state in its store."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from twigcast.broker.store.sqlite.asides import id_from
from twigcast.broker.store.sqlite.books import Books
from twigcast.broker.store.sqlite.lock import LastOpening
from twigcast.broker.store.sqlite.tables import fact, set_facts
from twigcast.broker.store.sqlite.walk import first_of_each
from twigcast.delivery import (
    Durable,
    DurableOptions,
    Home,
    Line,
    StoreState,
    Version,
)
from twigcast.routing import DocumentId

SEQUENCE_LEAP: Final = 1_000_000
"""How many sequences a queue passes over when the store has fallen back: more than it can have
given since, as far as can be foreseen."""


def begin_incarnation(connection: sqlite3.Connection, last: LastOpening) -> None:
    """Give this opening a number of its own, within the open transaction.

    It is the time in milliseconds and 16 bits by chance, so that a store that was lost, while the
    clock was ahead, does not come to the same; and it is above all that the folder knows.

    An older copy that was put back is known by the mark that a backup has, or by its incarnation,
    if later ones were begun in the folder.  Its queues, like those of a file that may lack commits
    (see :mod:`~twigcast.broker.store.sqlite.lock`), leap over the sequences that it does not know
    to have been given.
    """
    before = int(fact(connection, "incarnation"))
    now = now_ms() << 16 | secrets.randbits(16)
    is_copy = fact(connection, "is_copy") or last.incarnation > before
    if is_copy or last.may_have_lost:
        _leap(connection)
    incarnation = max(before + 1, last.incarnation + 1, now)
    set_facts(connection, {"incarnation": incarnation, "is_copy": 0})


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _leap(connection: sqlite3.Connection) -> None:
    connection.execute(
        # A leap right after another makes its gap longer.
        "INSERT INTO gaps SELECT durable, last, last + ?1 FROM places WHERE NOT EXISTS"
        " (SELECT 1 FROM gaps WHERE gaps.durable = places.durable AND gaps.upto = places.last)",
        (SEQUENCE_LEAP,),
    )
    connection.execute(
        "UPDATE gaps SET upto = upto + ?1 WHERE upto ="
        " (SELECT last FROM places WHERE places.durable = gaps.durable)",
        (SEQUENCE_LEAP,),
    )
    connection.execute(
        "UPDATE places SET last = last + ?1,"
        " acknowledged = CASE WHEN acknowledged = last THEN last + ?1 ELSE acknowledged END",
        (SEQUENCE_LEAP,),
    )


def read_state(connection: sqlite3.Connection, books: Books) -> StoreState:
    """The state as of now; costs time with what is owed and subscribed, not with documents."""
    return StoreState(
        int(fact(connection, "incarnation")),
        Version(int(fact(connection, "home_epoch")), int(fact(connection, "home_version"))),
        _durables(connection, books),
        _homes(connection),
        _owed(connection),
        _received(connection),
        books.bytes,
        {name: size for name, size in books.publishers.items() if size},
        _bits(connection),
    )


def _durables(connection: sqlite3.Connection, books: Books) -> tuple[Durable, ...]:
    expressions: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for durable, key, xpath in connection.execute("SELECT * FROM expressions"):
        expressions[durable][key] = xpath
    attempts: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for durable, sequence, count in connection.execute("SELECT * FROM attempts"):
        attempts[durable][sequence] = count
    rows = connection.execute(
        "SELECT number, owner, is_shared, key, most_attempts, scope, missed_reported, name"
        " FROM durables ORDER BY name"
    )
    known = rows.fetchall()
    firsts = first_of_each(connection, [number for number, *_ in known])
    durables = []
    for number, owner, is_shared, key, most_attempts, scope, missed_reported, name in known:
        queue = books.queue(name)
        assert queue is not None
        durables.append(
            Durable(
                name,
                owner,
                expressions[number],
                DurableOptions(bool(is_shared), key, most_attempts, scope),
                firsts.get(number, queue.last + 1),
                queue.last,
                queue.acknowledged,
                frozenset(queue.beyond),
                frozenset(queue.revived),
                attempts[number],
                queue.missed,
                missed_reported,
                queue.gaps[-1] if queue.gaps else (0, 0),
            )
        )
    return tuple(durables)


def _homes(connection: sqlite3.Connection) -> dict[str, Home]:
    rows = connection.execute("SELECT home, pattern FROM home_patterns ORDER BY home, pattern")
    patterns = _grouped(rows)
    return {
        name: Home(Version(epoch, version), tuple(patterns[name]))
        for name, epoch, version in connection.execute("SELECT * FROM homes ORDER BY name")
    }


def _owed(connection: sqlite3.Connection) -> dict[str, tuple[DocumentId, ...]]:
    rows = connection.execute(
        "SELECT debtors.home, documents.id FROM owed"
        " CROSS JOIN debtors ON debtors.number = owed.debtor"
        " CROSS JOIN documents ON documents.number = owed.document ORDER BY owed.document"
    )
    return {home: tuple(map(id_from, ids)) for home, ids in _grouped(rows).items()}


def _bits(connection: sqlite3.Connection) -> dict[str, dict[str, int]]:
    bits: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for unit, member, bit in connection.execute("SELECT unit, member, bit FROM bits"):
        bits[unit][member] = bit
    return dict(bits)


def _received(connection: sqlite3.Connection) -> dict[tuple[str, int], Line]:
    numbers = _grouped(connection.execute("SELECT line, number FROM received"))
    return {
        (origin, incarnation): Line(settled, frozenset(numbers[line]))
        for line, origin, incarnation, settled in connection.execute("SELECT * FROM lines")
    }


def _grouped(rows: Iterable[tuple[Any, Any]]) -> defaultdict[Any, list[Any]]:
    groups: defaultdict[Any, list[Any]] = defaultdict(list)
    for group, value in rows:
        groups[group].append(value)
    return groups
