"""What an error of SQLite's, or of the system's, means for whoever runs the broker."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from twigcast.broker.store.database import UnavailableError
from twigcast.errors import StoreError

_DAMAGED: Final = "replace it by a backup, or move it away to begin with an empty store"
_REMEDIES: Final = {
    sqlite3.SQLITE_FULL: "the disk is full: make room, or let retention keep less",
    sqlite3.SQLITE_IOERR: "the disk fails, or a limit is met: see the system's log, make room",
    sqlite3.SQLITE_CORRUPT: f"the file is damaged: {_DAMAGED}",
    sqlite3.SQLITE_NOTADB: f"the file is damaged, or is no store: {_DAMAGED}",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: see that the broker may write in the folder",
    sqlite3.SQLITE_READONLY: "it cannot be written: see that the broker may write in the folder",
    sqlite3.SQLITE_BUSY: "another program keeps it locked: end that program",
}


def is_full(error: BaseException) -> bool:
    """Whether SQLite found no room."""
    return _code(error) == sqlite3.SQLITE_FULL


def _code(error: BaseException) -> int:
    return int(getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def damaged(path: Path, what: str) -> StoreError:
    """The file holds what was never written."""
    return StoreError(f"{path}: {_REMEDIES[sqlite3.SQLITE_CORRUPT]} ({what})")


@contextmanager
def as_store_error(path: Path) -> Iterator[None]:
    """Whatever SQLite or the system refuses becomes a StoreError that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        code = _code(error)
        if code in _REMEDIES:
            # What is damaged in one place may be whole in another.
            kind = StoreError if code == sqlite3.SQLITE_CORRUPT else UnavailableError
            raise kind(f"{path}: {_REMEDIES[code]} ({error})") from error
        raise StoreError(f"{path}: {error}") from error
    except OSError as error:
        raise UnavailableError(f"{path}: {error.strerror or error}") from error
    except (UnicodeEncodeError, OverflowError) as error:  # an argument that SQLite cannot take
        raise StoreError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError) as error:  # a value that we never wrote
        raise damaged(path, repr(error)) from error
