"""Letting go of documents, little by little: what retention drops, and what drops have left.

Each slice is a transaction of its own, so that other writes have their turn in between.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from twigcast.broker.store.postgres.connection import Connection
from twigcast.broker.store.postgres.identity import int_array, parse_id, unpack_entries
from twigcast.broker.store.postgres.settling import RELEASED, WAITS, settle
from twigcast.broker.store.retention import Retention, Trimmed
from twigcast.routing import DocumentId

SLICE: Final = 500

Slice: TypeAlias = Callable[[Connection], Trimmed | None]
"""Drops some of something in a transaction; gives None if there is nothing left to drop."""

_OLD: Final = "SELECT number FROM documents WHERE stored < %s ORDER BY stored, number LIMIT %s"
_UNNEEDED: Final = "SELECT document FROM freed WHERE at < %s ORDER BY at, document LIMIT %s"
_NOTE: Final = """
UPDATE freed SET at = %s, publisher = documents.publisher FROM documents
WHERE documents.number = freed.document
AND freed.document = ANY(ARRAY(SELECT document FROM freed WHERE at IS NULL LIMIT %s)) RETURNING 1
"""
_EXCESS: Final = """
SELECT document FROM (
    SELECT document, sum(size) OVER (ORDER BY document) - size AS before
    FROM (
        SELECT freed.document, documents.size
        FROM freed JOIN documents ON documents.number = freed.document
        WHERE freed.at IS NOT NULL ORDER BY freed.document LIMIT %(slice)s
    ) AS oldest
) AS oldest
WHERE before < (SELECT coalesce(sum(bytes), 0) FROM accounts) - %(size)s ORDER BY document
"""
_EXCESS_OF: Final = """
SELECT document FROM (
    SELECT publisher, document, sum(size) OVER (PARTITION BY publisher ORDER BY document) - size
        AS before
    FROM (
        SELECT freed.publisher, freed.document, documents.size
        FROM freed JOIN documents ON documents.number = freed.document
        WHERE freed.publisher <> '' AND freed.at IS NOT NULL AND freed.publisher IN (
            SELECT publisher FROM accounts WHERE bytes > %(size)s)
        ORDER BY freed.publisher, freed.document LIMIT %(slice)s
    ) AS oldest
) AS oldest JOIN accounts USING (publisher) WHERE before < bytes - %(size)s ORDER BY document
"""
_OLD_PUBLICATIONS: Final = """
DELETE FROM publications WHERE publication = ANY(
    ARRAY(SELECT publication FROM publications WHERE stored < %s ORDER BY stored LIMIT %s))
RETURNING 1
"""

_ENTRIES: Final = f"""
SELECT queue.durable, durables.name, queue.sequence, {WAITS}
FROM unnest(%s::int4[], %s::int8[]) AS given (durable, sequence)
JOIN queue USING (durable, sequence) JOIN durables ON durables.number = queue.durable
WHERE durables.name IS NOT NULL
"""
_OWED: Final = """
SELECT debts.home, documents.id
FROM owed JOIN debts ON debts.number = owed.debt
JOIN documents ON documents.number = owed.document
WHERE owed.document = ANY(%s) AND debts.home IS NOT NULL ORDER BY owed.document
"""
_MISS: Final = """
WITH lost AS (SELECT * FROM unnest(%s::int4[], %s::int8[]) AS lost (durable, sequence)),
passed AS (INSERT INTO beyond SELECT lost.durable, lost.sequence
    FROM lost JOIN durables ON durables.number = lost.durable
    WHERE lost.sequence > durables.acknowledged),
revived_no_more AS (DELETE FROM revived USING lost
    WHERE revived.durable = lost.durable AND revived.sequence = lost.sequence),
tried_no_more AS (DELETE FROM attempts USING lost
    WHERE attempts.durable = lost.durable AND attempts.sequence = lost.sequence)
UPDATE durables SET waiting = waiting - gone.count, missed = missed + gone.count
FROM (SELECT durable, count(*) FROM lost GROUP BY durable) AS gone
WHERE durables.number = gone.durable
"""
_OWE_LESS: Final = """
UPDATE debts SET waiting = waiting - gone.count
FROM (SELECT debt, count(*) FROM owed WHERE document = ANY(%s) GROUP BY debt) AS gone
WHERE debts.number = gone.debt
"""
_ACCOUNTS: Final = """
UPDATE accounts SET documents = documents - gone.count, bytes = bytes - gone.size
FROM unnest(%s::text[], %s::int8[], %s::int8[]) AS gone (publisher, count, size)
WHERE accounts.publisher = gone.publisher
"""
_VICTIMS: Final = "SELECT publisher, size, entries FROM documents WHERE number = ANY(%s)"
_DROP_ENTRIES: Final = """
DELETE FROM queue USING unnest(%s::int4[], %s::int8[]) AS given (durable, sequence)
WHERE queue.durable = given.durable AND queue.sequence = given.sequence
"""
_FIRST: Final = """
SELECT name, coalesce((SELECT min(sequence) FROM queue WHERE durable = number), last + 1)
FROM durables WHERE number = ANY(%s)
"""
_CLEAN_QUEUE: Final = f"""
WITH part AS (
    SELECT queue.durable, queue.sequence, queue.document, {WAITS} AS waits
    FROM queue JOIN durables ON durables.number = queue.durable
    WHERE durables.number = (SELECT min(number) FROM durables WHERE name IS NULL)
    ORDER BY queue.sequence LIMIT %s
),
gone AS (DELETE FROM queue USING part
    WHERE queue.durable = part.durable AND queue.sequence = part.sequence),
done AS (SELECT document FROM part WHERE waits),
{RELEASED}
SELECT count(*) FROM part
"""
_CLEAN_OWED: Final = f"""
WITH done AS (
    DELETE FROM owed USING (
        SELECT debt, document FROM owed
        WHERE debt = (SELECT min(number) FROM debts WHERE home IS NULL) LIMIT %s
    ) AS part
    WHERE owed.debt = part.debt AND owed.document = part.document RETURNING owed.document
),
{RELEASED}
SELECT count(*) FROM done
"""


def slices(
    run: Callable[[Slice], Trimmed | None], retention: Retention, now: int
) -> Iterator[Trimmed]:
    """Drop what retention does not keep, slice after slice, in the order that all stores have."""
    aged = now - int(retention.age * 1000)
    released = now - int(retention.acknowledged_age * 1000)
    drops = [
        _clean,
        _dropping(_OLD, (aged, SLICE)),
        _deleting(_OLD_PUBLICATIONS, (aged, SLICE)),
        _deleting(_NOTE, (now, SLICE)),
        _dropping(_UNNEEDED, (released, SLICE)),
        _dropping(_EXCESS, {"slice": SLICE, "size": retention.size}),
    ]
    if retention.publisher_size:
        drops.append(_dropping(_EXCESS_OF, {"slice": SLICE, "size": retention.publisher_size}))
    for each in drops:
        while (trimmed := run(each)) is not None:
            yield trimmed


def _dropping(statement: str, values: Any) -> Slice:
    def drop(connection: Connection) -> Trimmed | None:
        rows = connection.execute(statement.encode(), values).fetchall()
        return _drop(connection, [number for (number,) in rows]) if rows else None

    return drop


def _deleting(statement: str, values: Any) -> Slice:
    def delete(connection: Connection) -> Trimmed | None:
        return Trimmed() if connection.execute(statement.encode(), values).fetchall() else None

    return delete


def _drop(connection: Connection, documents: list[int]) -> Trimmed:
    """Drop documents with everything that refers to them."""
    asked = (documents,)
    owed = connection.execute(_OWED, asked)
    victims = connection.execute(_VICTIMS, asked).fetchall()
    given = [entry for _, _, entries in victims for entry in unpack_entries(entries)]
    places = [int_array(number for number, _ in given), int_array(number for _, number in given)]
    entries = connection.execute(_ENTRIES, places)
    lost, touched = _losses(connection, entries.fetchall())
    connection.execute(_OWE_LESS, asked)
    counts = Counter(publisher for publisher, _, _ in victims)
    sizes: Counter[str] = Counter()
    for publisher, size, _ in victims:
        sizes[publisher] += size
    connection.execute(_ACCOUNTS, [[*counts], [*counts.values()], [sizes[each] for each in counts]])
    connection.execute(_DROP_ENTRIES, places)
    for table in ("owed", "letters", "freed", "contents", "destinations"):
        connection.execute(f"DELETE FROM {table} WHERE document = ANY(%s)".encode(), asked)
    connection.execute("DELETE FROM documents WHERE number = ANY(%s)", asked)
    settle(connection, touched)
    homes: defaultdict[str, tuple[DocumentId, ...]] = defaultdict(tuple)
    for home, id_ in owed.fetchall():
        homes[home] += (parse_id(id_),)
    first = connection.execute(_FIRST, (touched,)).fetchall()
    accounts = {publisher: size for publisher, size in sizes.items() if publisher}
    return Trimmed(len(documents), sizes.total(), lost, dict(first), dict(homes), accounts)


def _losses(
    connection: Connection, entries: list[tuple[Any, ...]]
) -> tuple[dict[str, int], list[int]]:
    """Pass over the entries that wait: how many by name, and which queues lose any."""
    lost: defaultdict[str, int] = defaultdict(int)
    missed: list[tuple[int, int]] = []
    for durable, name, sequence, waits in entries:
        if waits:
            lost[name] += 1
            missed.append((durable, sequence))
    if missed:
        connection.execute(_MISS, [list(column) for column in zip(*missed, strict=True)])
    touched = {durable: None for durable, *_ in entries}
    return dict(lost), [*touched]


def _clean(connection: Connection) -> Trimmed | None:
    """Remove some of what dropped subscriptions and homes have left."""
    for table, name, statement in (
        ("durables", "name", _CLEAN_QUEUE),
        ("debts", "home", _CLEAN_OWED),
    ):
        found = f"SELECT min(number) FROM {table} WHERE {name} IS NULL".encode()
        [(number,)] = connection.execute(found).fetchall()
        if number is None:
            continue
        [(count,)] = connection.execute(statement.encode(), (SLICE,)).fetchall()
        if not count:
            _forget(connection, table, number)
        return Trimmed()
    return None


def _forget(connection: Connection, table: str, number: int) -> None:
    if table == "durables":
        for each in ("beyond", "revived", "attempts"):
            connection.execute(f"DELETE FROM {each} WHERE durable = %s".encode(), (number,))
    connection.execute(f"DELETE FROM {table} WHERE number = %s".encode(), (number,))
