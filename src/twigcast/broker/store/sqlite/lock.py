"""The lock on the folder of a broker's store, and what it remembers apart from the store's file.

The system lets go of the lock however a process ends.  What is written in it shows at the next
opening whether the store has fallen back since: an older file has replaced it, or a copy of the
whole folder, or the power went while commits were not yet on the disk (``sync="normal"``).

    00000001763294105123 4711 6f1c...    the incarnation; the number of the lock's own file, which a
                                         copy does not have; the boot of the system, while commits
                                         may be lost with it

A folder that was moved to another disk is taken for a copy, too: its queues have a gap then.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from twigcast.broker.store.private_files import make_private
from twigcast.errors import StoreError

LOCK: Final = "store.lock"
_LONGEST: Final = 200
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


class LastOpening(NamedTuple):
    """What is known of the store that was opened last in a folder."""

    incarnation: int = 0
    may_have_lost: bool = False
    """Whether the folder is a copy, or the system went down while commits were not on the disk."""


class FolderLock:
    """Keeps other processes out of a folder until ``release``."""

    def __init__(self, folder: Path) -> None:
        make_private(folder / LOCK)
        self._file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(self._file, 0o600)  # whatever the umask
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._number = b"%d" % os.fstat(self._file).st_ino
            self.last = self._read()
        except BlockingIOError:
            os.close(self._file)
            raise StoreError(
                f"{folder}: a running broker has this store open: stop that one, or give each "
                "broker a folder of its own"
            ) from None
        except BaseException:
            os.close(self._file)
            raise

    def _read(self) -> LastOpening:
        words = os.pread(self._file, _LONGEST, 0).split()
        if len(words) < 2 or not words[0].isdigit():
            return LastOpening()
        incarnation, file, *boot = words
        is_copy = file != self._number
        return LastOpening(int(incarnation), is_copy or boot not in ([], [_boot()]))

    def note(self, incarnation: int, *, is_at_risk: bool) -> None:
        """Remember an opening, and whether a loss of power from now on may undo commits."""
        boot = _boot() if is_at_risk else b""
        text = b"%020d %s %s" % (incarnation, self._number, boot)
        os.pwrite(self._file, text, 0)
        os.ftruncate(self._file, len(text))
        os.fsync(self._file)

    def release(self) -> None:
        """Let others have the folder."""
        os.close(self._file)


def _boot() -> bytes:
    """What names this run of the system; nothing where that is not known."""
    with suppress(OSError):
        return _BOOT.read_bytes().strip()
    return b""
