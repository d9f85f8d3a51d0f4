"""Where a database is, as it may be shown; and what PostgreSQL's refusals mean for whoever runs it.

Addresses may hold a password, so no message here contains one: places are made of the other parts,
and what libpq says of an address that it cannot read is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import conninfo

from twigcast.errors import StoreError

_REMEDIES: Final = {
    "28": "put the user's password into the file that passfile in the address or PGPASSFILE names, "
    "and see what pg_hba.conf of the server allows",
    "3D000": "make the database, as with: createdb --owner USER DATABASE",
    "42501": "let the broker's user own the database",
    "25006": "name the server that takes writes, or add target_session_attrs=read-write",
    "53100": "the server's disk is full: make room, or let retention keep less",
    "53300": "the server has no connection left: raise its max_connections",
    "53": "the server lacks means: see its log",
    "57P03": "the server is starting or stopping: it is tried again",
    "58": "the server's disk or system fails: see its log",
    "XX": "the database may be damaged: see the server's log, and restore a backup",
}
"""By the beginning of an SQLSTATE."""

_SAYINGS: Final = {
    "password authentication failed": "28",
    "no password supplied": "28",
    "no pg_hba.conf entry": "28",
    "Peer authentication failed": "28",
    'role "': "28",
    'database "': "3D000",
    "too many clients": "53300",
    "remaining connection slots": "53300",
    "starting up": "57P03",
    "shutting down": "57P03",
    "read-only": "25006",
}
"""What a server says while one logs in comes without a code."""

_UNREACHABLE: Final = "see that PostgreSQL runs and listens there"


def location_of(url: str) -> str:
    """The address of a database without its password and its options."""
    parts = _parts(url)
    user = f"{parts['user']}@" if parts.get("user") else ""
    port = f":{parts['port']}" if parts.get("port") else ""
    database = parts.get("dbname") or parts.get("user") or ""
    return f"postgresql://{user}{parts.get('host') or ''}{port}/{database}"


def _parts(url: str) -> dict[str, str]:
    try:
        parts = conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        raise StoreError(
            "store.url is no address of a PostgreSQL database: write it as in "
            "postgresql://user@host:5432/database"
        ) from None
    return {name: str(value) for name, value in parts.items() if value is not None}


def store_error(location: str, error: BaseException) -> StoreError:
    """What an error of PostgreSQL's means for whoever runs the broker."""
    said = " ".join(str(error).split()) or type(error).__name__
    remedy = _remedy(error, said)
    return StoreError(f"{location}: {said}; {remedy}" if remedy else f"{location}: {said}")


def _remedy(error: BaseException, said: str) -> str:
    code = getattr(error, "sqlstate", None) or next(
        (code for words, code in _SAYINGS.items() if words in said), ""
    )
    for length in (5, 2):
        if code[:length] in _REMEDIES:
            return _REMEDIES[code[:length]]
    return _UNREACHABLE if isinstance(error, psycopg.OperationalError) and not code else ""


def _code_of(said: str) -> str:
    return next((code for words, code in _SAYINGS.items() if words in said), "")


@contextmanager
def as_store_error(location: str) -> Iterator[None]:
    """Whatever PostgreSQL refuses becomes a StoreError that names the database."""
    try:
        yield
    except psycopg.Error as error:
        raise store_error(location, error) from error
    except (UnicodeEncodeError, OverflowError) as error:  # an argument that it cannot take
        raise StoreError(f"{location}: {error}") from error
