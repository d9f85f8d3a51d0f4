"""Opening a store in PostgreSQL: whose it is, a new incarnation, and whether it has fallen back.

A database falls back when a backup replaces it, when a standby that lacked commits takes over, or
when its server loses power while commits were not yet on the disk (``sync="normal"``).  Sequences
that were given since would be given twice.  So at each opening the store notes where it is:

    place    the server's cluster, the table itself and the timeline, of which a restored copy and
             a promoted standby have others
    risk     the start of the server, while commits may be lost with it

Where these have changed, queues leap over the sequences that they do not know to have been given.
A standby that had everything is taken for one that had not: its queues have a gap then.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from typing import Final

from twigcast.broker.store.database import TakenError
from twigcast.broker.store.kept import refuse_moved
from twigcast.broker.store.postgres.connection import DOOR, Connection
from twigcast.broker.store.postgres.schema import OPEN_LOCK, prepare
from twigcast.errors import StoreError

SEQUENCE_LEAP: Final = 1_000_000
"""How many sequences a queue passes over when the store has fallen back: more than it can have
given since, as far as can be foreseen."""
PATIENCE: Final = 5.0
"""Seconds in which the server notices that a broker has ended that was killed a moment ago."""
_STANDING_BY: Final = (
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE %s"
)
DOOR_PATIENCE: Final = 0.5
"""The same for a door of a group, which another one is to replace soon."""


def take_open_lock(connection: Connection, location: str, patience: float = PATIENCE) -> None:
    """Keep others from opening the store while the connection lasts."""
    until = time.monotonic() + patience
    while True:
        statement = "SELECT pg_try_advisory_lock(%s, %s)"
        [(is_taken,)] = connection.execute(statement, OPEN_LOCK).fetchall()
        if is_taken:
            return
        if time.monotonic() > until:
            raise TakenError(
                f"{location}: a running broker has this store open: stop that one, give each "
                "broker a database of its own, or make both doors of a group (store.door)"
            )
        time.sleep(0.05)


def begin(
    connection: Connection,
    location: str,
    broker: str,
    token: str,
    *,
    door: Mapping[str, str],
    is_at_risk: bool,
) -> int:
    """Make or check the tables, and begin an incarnation, which is returned.

    ``door`` is where other doors of the group find this broker, by what is spoken there.
    """
    with connection.transaction():
        connection.execute("SET LOCAL synchronous_commit = on")  # or the risk is lost with the rest
        refuse_standby(connection, location)
        prepare(connection, location)
        facts: dict[str, str] = dict(connection.execute("SELECT name, value FROM facts").fetchall())
        refuse_moved(location, facts)
        if not door:
            _refuse_group(connection, location)
        _check_owner(location, broker, facts.setdefault("broker", broker))
        here, started = _whereabouts(connection)
        if _has_fallen_back(facts, here, started):
            _leap(connection)
        # With bits by chance, so that a store that was lost while the clock was ahead does not come
        # to the same.
        now = time.time_ns() // 1_000_000 << 16 | secrets.randbits(16)
        incarnation = max(int(facts.get("incarnation", "0")) + 1, now)
        risk = started if is_at_risk else ""
        facts |= {"place": here, "risk": risk, "incarnation": str(incarnation)}
        facts["door"] = json.dumps(dict(door))
        connection.execute(
            "INSERT INTO facts SELECT * FROM unnest(%s::text[], %s::text[])"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            ([*facts], [*facts.values()]),
        )
        connection.execute("DELETE FROM writers")  # of brokers that were killed, or lost the lock
        connection.execute("INSERT INTO writers (token) VALUES (%s)", (token,))
    return incarnation


def end(connection: Connection, token: str) -> None:
    """Note that the store is closed: nothing is at risk any more, and no batch in doubt."""
    # What was committed without waiting is on the disk when a later commit has waited for it.
    connection.execute("SET synchronous_commit = on")
    with connection.transaction():
        connection.execute("DELETE FROM writers WHERE token = %s", (token,))
        connection.execute(
            "UPDATE facts SET value = '' WHERE name = 'risk' AND value <> ''"
            " AND NOT EXISTS (SELECT FROM writers)"
        )


def refuse_standby(connection: Connection, location: str) -> None:
    """Raise StoreError if nothing can be written here."""
    [(is_standby,)] = connection.execute("SELECT pg_is_in_recovery()").fetchall()
    if is_standby:
        raise StoreError(
            f"{location}: this server is a standby: name the one that takes writes, or add "
            "target_session_attrs=read-write"
        )


def has_fallen_back(connection: Connection, facts: Mapping[str, str]) -> bool:
    """Whether sequences may have been given that the store does not know."""
    return _has_fallen_back(facts, *_whereabouts(connection))


def _has_fallen_back(facts: Mapping[str, str], here: str, started: str) -> bool:
    return facts.get("place", here) != here or facts.get("risk", "") not in ("", started)


def _check_owner(location: str, broker: str, owner: str) -> None:
    if owner != broker:
        raise StoreError(
            f"{location}: it belongs to the broker {owner!r}, and this is {broker!r}: give each "
            f"broker a database of its own, or start this one with --name {owner}"
        )


def _refuse_group(connection: Connection, location: str) -> None:
    doors = connection.execute(_STANDING_BY, (f"twigcast {DOOR} %",)).fetchall()
    if doors:
        raise StoreError(
            f"{location}: this is the store of a group, whose doors stand by: start this broker "
            "with store.door (--door), too, or stop them"
        )


def _whereabouts(connection: Connection) -> tuple[str, str]:
    """Where the store is, and when its server was started."""
    [(here, started)] = connection.execute(
        "SELECT concat_ws('/', system_identifier, 'facts'::regclass::oid,"
        " left(pg_walfile_name(pg_current_wal_lsn()), 8)),"
        " extract(epoch FROM pg_postmaster_start_time())::text"
        " FROM pg_control_system()"
    ).fetchall()
    return here, started


def _leap(connection: Connection) -> None:
    connection.execute(
        "UPDATE durables SET last = last + %(leap)s, gap_last = last + %(leap)s,"
        " gap_after = CASE WHEN last = gap_last THEN gap_after ELSE last END,"
        " acknowledged = CASE WHEN acknowledged = last THEN last + %(leap)s"
        " ELSE acknowledged END",
        {"leap": SEQUENCE_LEAP},
    )
