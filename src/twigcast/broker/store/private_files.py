"""Files that only their owner reads and writes, whatever the umask and the folder allow."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from twigcast.errors import StoreError

_PRIVATE: Final = 0o600
_BESIDE: Final = ("-wal", "-shm")
"""What SQLite keeps beside a database.  It makes these with the permissions of the database."""


def make_private(path: Path) -> None:
    """Make a file private, with what SQLite keeps beside it; an empty one if there is none.

    Call this before SQLite opens the file.  Raises OSError, and StoreError for a file of others.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE))
    for each in (path, *(path.with_name(path.name + ending) for ending in _BESIDE)):
        with suppress(FileNotFoundError):
            _restrict(each)


def _restrict(path: Path) -> None:
    if stat.S_IMODE(path.stat().st_mode) == _PRIVATE:
        return
    try:
        path.chmod(_PRIVATE)
    except PermissionError:
        raise StoreError(
            f"{path}: it belongs to another user: give it to the broker's, with chown"
        ) from None
