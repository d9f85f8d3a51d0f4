"""Writes that come seldom: letters, durable subscriptions and homes, one after the other.

Statements whose answers nobody needs are sent without waiting for them.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Final

from psycopg.types.numeric import Int8

from twigcast.broker.store.postgres.connection import Connection
from twigcast.broker.store.postgres.settling import RELEASED, TAKEN, WAITS, settle
from twigcast.delivery import (
    DropDurable,
    DropHome,
    DropLetters,
    NoteMissed,
    PutBook,
    PutDurable,
    PutHome,
    Replay,
    Replayed,
    Result,
    SetAside,
    SetAsideOwed,
    SetHomeVersion,
    Write,
)

_SET_ASIDE: Final = f"""
WITH done AS (
    SELECT queue.durable, queue.sequence, queue.document, queue.keys, durables.name
    FROM queue JOIN durables ON durables.number = queue.durable
    WHERE durables.name = %s AND queue.sequence = ANY(%s) AND {WAITS}
),
aside AS (
    INSERT INTO letters (document, durable, durable_name, home, sequence, keys, reason, at)
    SELECT document, durable, name, '', sequence, keys, %s, %s FROM done
    ORDER BY array_position(%s, sequence)
),
{TAKEN},
passed AS (INSERT INTO beyond SELECT done.durable, done.sequence
    FROM done JOIN durables ON durables.number = done.durable
    WHERE done.sequence > durables.acknowledged)
UPDATE durables SET waiting = waiting - gone.count
FROM (SELECT durable, count(*) FROM done GROUP BY durable) AS gone
WHERE durables.number = gone.durable
"""
_SET_ASIDE_OWED: Final = """
WITH done AS (
    DELETE FROM owed USING debts, documents
    WHERE debts.home = %s AND documents.id = %s
        AND owed.debt = debts.number AND owed.document = documents.number
    RETURNING owed.debt, owed.document, debts.home
),
aside AS (
    INSERT INTO letters (document, durable_name, home, sequence, keys, reason, at)
    SELECT document, '', home, 0, '[]', %s, %s FROM done
)
UPDATE debts SET waiting = waiting - 1 FROM done WHERE debts.number = done.debt
"""
_LETTERS: Final = """
SELECT letters.number, durables.number, durables.name, letters.sequence
FROM unnest(%s::int8[]) WITH ORDINALITY AS asked (number, place) JOIN letters USING (number)
JOIN durables ON durables.number = letters.durable AND durables.name IS NOT NULL
ORDER BY asked.place
"""
_REVIVE: Final = """
WITH back AS (SELECT * FROM unnest(%s::int4[], %s::int8[]) AS back (durable, sequence)),
passed_no_more AS (DELETE FROM beyond USING back
    WHERE beyond.durable = back.durable AND beyond.sequence = back.sequence),
revived AS (INSERT INTO revived SELECT back.durable, back.sequence
    FROM back JOIN durables ON durables.number = back.durable
    WHERE back.sequence <= durables.acknowledged)
UPDATE durables SET waiting = waiting + more.count
FROM (SELECT durable, count(*) FROM back GROUP BY durable) AS more
WHERE durables.number = more.durable
"""
_DROP_LETTERS: Final = f"""
WITH done AS (DELETE FROM letters WHERE number = ANY(%s) RETURNING document), {RELEASED}
SELECT 1
"""
_PUT_DURABLE: Final = """
INSERT INTO durables (name, owner, is_shared, key, most_attempts, scope)
VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, is_shared = excluded.is_shared,
    key = excluded.key, most_attempts = excluded.most_attempts, scope = excluded.scope
"""
_FORGET_EXPRESSIONS: Final = """
DELETE FROM expressions USING durables
WHERE durables.name = %s AND expressions.durable = durables.number
"""
_PUT_EXPRESSIONS: Final = """
INSERT INTO expressions SELECT durables.number, wanted.key, wanted.xpath
FROM durables, unnest(%s::text[], %s::text[]) AS wanted (key, xpath) WHERE durables.name = %s
"""
_NOTE_MISSED: Final = """
UPDATE durables SET missed_reported = greatest(missed_reported, least(%s, missed)) WHERE name = %s
"""
_PUT_HOME: Final = """
INSERT INTO homes VALUES (%s, %s, %s)
ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch, version = excluded.version
"""
_PUT_FACT: Final = """
INSERT INTO facts VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""


@singledispatch
def change(write: Write, connection: Connection) -> Result:
    """Apply a write, and give its result."""
    raise TypeError(f"{type(write).__name__} is no write of this kind")


@change.register
def _set_aside(write: SetAside, connection: Connection) -> None:
    sequences = [Int8(each) for each in write.sequences]
    values = (write.durable, sequences, write.reason, write.now, sequences)
    connection.execute(_SET_ASIDE, values)
    rows = connection.execute("SELECT number FROM durables WHERE name = %s", (write.durable,))
    settle(connection, [number for (number,) in rows.fetchall()])


@change.register
def _set_aside_owed(write: SetAsideOwed, connection: Connection) -> None:
    connection.execute(_SET_ASIDE_OWED, (write.home, str(write.id), write.reason, write.now))


@change.register
def _replay(write: Replay, connection: Connection) -> Replayed:
    letters = connection.execute(_LETTERS, ([*dict.fromkeys(write.letters)],)).fetchall()
    if letters:
        numbers, durables, names, sequences = map(list, zip(*letters, strict=True))
        connection.execute(_REVIVE, (durables, sequences))
        connection.execute("DELETE FROM letters WHERE number = ANY(%s)", (numbers,))
        return Replayed(tuple(zip(names, sequences, strict=True)))
    return Replayed(())


@change.register
def _drop_letters(write: DropLetters, connection: Connection) -> None:
    connection.execute(_DROP_LETTERS, ([*write.letters],))


@change.register
def _put_durable(write: PutDurable, connection: Connection) -> None:
    connection.execute(_PUT_DURABLE, (write.name, write.owner, *write.options))
    connection.execute(_FORGET_EXPRESSIONS, (write.name,))
    texts = write.expressions
    connection.execute(_PUT_EXPRESSIONS, ([*texts], [*texts.values()], write.name))


@change.register
def _drop_durable(write: DropDurable, connection: Connection) -> None:
    connection.execute(_FORGET_EXPRESSIONS, (write.name,))
    connection.execute("UPDATE durables SET name = NULL WHERE name = %s", (write.name,))


@change.register
def _note_missed(write: NoteMissed, connection: Connection) -> None:
    connection.execute(_NOTE_MISSED, (write.missed, write.durable))


@change.register
def _put_home(write: PutHome, connection: Connection) -> None:
    if write.base:
        rows = connection.execute("SELECT epoch, version FROM homes WHERE name = %s", (write.home,))
        if rows.fetchall() != [(write.version.epoch, write.base)]:  # a write has failed before
            return
    else:
        connection.execute("DELETE FROM home_patterns WHERE home = %s", (write.home,))
    connection.execute(_PUT_HOME, (write.home, *write.version))
    connection.execute(
        "DELETE FROM home_patterns WHERE home = %s AND pattern = ANY(%s)",
        (write.home, [*write.withdraw]),
    )
    connection.execute(
        "INSERT INTO home_patterns SELECT %s, unnest(%s::text[]) ON CONFLICT DO NOTHING",
        (write.home, [*write.forward]),
    )


@change.register
def _drop_home(write: DropHome, connection: Connection) -> None:
    _forget_home(connection, write.home)
    connection.execute("UPDATE debts SET home = NULL WHERE home = %s", (write.home,))


@change.register
def _set_home_version(write: SetHomeVersion, connection: Connection) -> None:
    connection.execute(_PUT_FACT, ("home_epoch", str(write.version.epoch)))
    connection.execute(_PUT_FACT, ("home_version", str(write.version.version)))


@change.register
def _put_book(write: PutBook, connection: Connection) -> None:
    connection.execute("DELETE FROM bits WHERE unit = %s", (write.unit,))
    connection.execute(
        "INSERT INTO bits SELECT %s, * FROM unnest(%s::text[], %s::int4[])",
        (write.unit, [*write.bits], [*write.bits.values()]),
    )


def _forget_home(connection: Connection, home: str) -> None:
    connection.execute("DELETE FROM homes WHERE name = %s", (home,))
    connection.execute("DELETE FROM home_patterns WHERE home = %s", (home,))
