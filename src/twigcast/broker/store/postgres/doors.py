"""What the doors of a group see of each other in their database.

The door that leads holds the lock of the store, and says where it is.  The others look:

    lock ──► whether somebody leads, and on which connection
    facts ─► where it is, by what is spoken there
    writers► how far it has got: it writes each second, so one that stands still hangs

A door that stands by is seen by the name of its connection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import psycopg
from psycopg.errors import UndefinedTable

from twigcast.broker.store.postgres.address import location_of, store_error
from twigcast.broker.store.postgres.connection import DOOR, WRITER, Connection, connect
from twigcast.broker.store.postgres.schema import OPEN_LOCK

_LOOK: Final = """
SELECT pg_locks.pid,
    (SELECT value FROM facts WHERE name = 'broker'),
    (SELECT value FROM facts WHERE name = 'door'),
    (SELECT string_agg(concat_ws('/', token, generation, batch), ' ') FROM writers),
    (SELECT max(batch) FROM writers)
FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
WHERE locktype = 'advisory' AND granted AND datname = current_database()
    AND classid = %s AND objid = %s AND objsubid = 2
"""
_END: Final = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND application_name = %s
"""


class Leader(NamedTuple):
    """The broker that has the store open."""

    backend: int
    """The server's process for its connection."""
    broker: str
    """Whose store it is."""
    addresses: Mapping[str, str]
    """Where it is, by what is spoken there; nothing if it is no door."""
    progress: str
    """Changes with everything that it writes."""
    has_begun: bool
    """Whether it has written anything: until then it opens the store."""

    @property
    def trace(self) -> tuple[int, str]:
        """What is another one when it has done something, and when another one leads."""
        return self.backend, self.progress


class Doors:
    """A door's look at the database; for one thread at a time."""

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._connection: Connection | None = None
        self.location = location_of(url)
        """Where the database is, for messages."""

    def look(self) -> Leader | None:
        """Who leads, if anybody does; raises StoreError."""
        rows = self._rows(_LOOK, OPEN_LOCK)
        if not rows:
            return None
        [(backend, broker, door, progress, batch)] = rows
        if broker is None:  # it is just being made
            return None
        return Leader(backend, broker, json.loads(door or "{}"), progress or "", bool(batch))

    def end(self, leader: Leader) -> None:
        """Take the lock from a leader that hangs: cut its connection; raises StoreError."""
        self._rows(_END, (leader.backend, f"twigcast {WRITER}"))

    def _rows(self, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = connect(self._url, self.location, f"{DOOR} {self._name}")
        try:
            return self._connection.execute(statement.encode(), values).fetchall()
        except UndefinedTable:  # nobody has ever opened the store
            return []
        except psycopg.Error as error:
            self.close()
            raise store_error(self.location, error) from error

    def close(self) -> None:
        """Stand by no more."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
