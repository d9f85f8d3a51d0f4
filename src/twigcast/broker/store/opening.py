"""Opening the store of a broker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from twigcast.broker.store.database import Database
from twigcast.broker.store.retention import Retention
from twigcast.broker.store.sqlite.database import SqliteDatabase
from twigcast.broker.store.sqlite.tables import Sync
from twigcast.broker.store.store import Store
from twigcast.errors import StoreError


def open_store(
    *,
    folder: Path | None = None,
    url: str = "",
    broker: str,
    sync: Sync = "full",
    retention: Retention = Retention(),  # noqa: B008 - it is immutable
    door: Mapping[str, str] | None = None,
) -> Store:
    """Open the store in a folder, or in the PostgreSQL database at an address, or make it.

    ``door`` is where other doors of the group find this broker, by what is spoken there.

    Raises TakenError if another broker has a PostgreSQL database open.  Raises StoreError, with the
    remedy, if another process has a folder open, or the store is not this broker's, or was written
    by another version, or is damaged, or cannot be reached.
    """
    if url:
        return Store(_open_postgres(url, broker, sync, door), retention)
    if folder is None:
        raise StoreError("a store is in a folder or at an address: name one of them")
    return Store(SqliteDatabase(folder, broker, sync), retention)


def require_psycopg() -> None:
    """Raise StoreError if psycopg is not installed."""
    try:
        import psycopg  # noqa: F401 - whether it is there
    except ImportError as error:
        raise StoreError(
            f"a store in PostgreSQL needs psycopg: pip install 'twigcast[postgres]' ({error})"
        ) from error


def _open_postgres(url: str, broker: str, sync: Sync, door: Mapping[str, str] | None) -> Database:
    require_psycopg()
    from twigcast.broker.store.postgres import PostgresDatabase

    return PostgresDatabase(url, broker=broker, sync=sync, door=door)
