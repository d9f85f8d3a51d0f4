"""Connections to the database of a store, with the settings that all of them have.

Whatever a connection is for, a peer that has gone is noticed within half a minute: by the broker,
so that it connects anew, and by the server, so that it lets go of locks.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import psycopg

from twigcast.broker.store.postgres.address import as_store_error
from twigcast.errors import StoreError

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

OLDEST: Final = 140000
"""The oldest server that a store is kept on, as PostgreSQL numbers its versions."""
SCHEMA: Final = "twigcast"
"""The schema in which all tables of a store are."""
WRITER: Final = "writer"
"""The role of the connection with which a broker writes."""
DOOR: Final = "door"
"""The role of a connection with which a door of a group stands by."""

_CONNECT_SECONDS: Final = 5
_ALIVE: Final[dict[str, Any]] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
_SETTINGS: Final = {
    "search_path": SCHEMA,
    "client_encoding": "UTF8",
    "client_min_messages": "warning",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "25000",
    "lock_timeout": "0",
    "statement_timeout": "0",
    # Whoever stands still within a transaction keeps the server from tidying up.
    "idle_in_transaction_session_timeout": "30000",
    "jit": "off",
    # Tables grow from nothing: a plan that was made for small ones must not be kept.
    "plan_cache_mode": "force_custom_plan",
}


def connect(
    url: str, location: str, role: str, synchronous_commit: Literal["on", "off"] = "on"
) -> Connection:
    """A connection that begins transactions only when told to; the server shows its role."""
    with as_store_error(location):
        connection = psycopg.connect(
            url,
            autocommit=True,
            connect_timeout=_CONNECT_SECONDS,
            application_name=f"twigcast {role}",
            **_ALIVE,
        )
        try:
            _check_version(connection, location)
            connection.execute(
                "SELECT set_config(name, value, false) FROM unnest(%s::text[], %s::text[])"
                " AS setting (name, value)",
                [
                    [*_SETTINGS, "synchronous_commit"],
                    [*_SETTINGS.values(), synchronous_commit],
                ],
            )
        except BaseException:
            connection.close()
            raise
        return connection


def _check_version(connection: Connection, location: str) -> None:
    version = connection.info.server_version
    if version < OLDEST:
        raise StoreError(
            f"{location}: this is PostgreSQL {version // 10_000}, and a store needs "
            f"{OLDEST // 10_000} or newer: upgrade the server, or name another one"
        )
