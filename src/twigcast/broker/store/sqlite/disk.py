"""The folder of a store: whether its files are still there, and a reserve for when it is full.

The reserve is a file of zeros.  When the disk is full, it is given up: then there is room to
acknowledge, to confirm and to open the store, while documents are refused.  It is taken back when
there is room for it, and as much again, on the disk or within the store's file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from twigcast.broker.store.database import UnavailableError
from twigcast.broker.store.private_files import make_private
from twigcast.broker.store.sqlite.tables import WAL_BYTES

FILE: Final = "store.sqlite"
RESERVE: Final = "store.reserve"
RESERVE_BYTES: Final = 2 * WAL_BYTES
"""Room for what the write-ahead log may have to add to the file, before its own room is free."""
_LEAST_BYTES: Final = 2 * 2**20
"""Of free room that opening a store takes, about."""
_LOOK_SECONDS: Final = 1.0


class Disk:
    """The files of a store, and the room beside them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.log = folder / (FILE + "-wal")
        self._reserve = folder / RESERVE
        self._files: dict[Path, tuple[int, int]] = {}
        self._next_look = 0.0
        self.full = ""
        """Why documents cannot be kept, if the disk is full."""
        if self._free() < _LEAST_BYTES and self._reserve.exists():
            self.give_up()

    def prepare(self) -> None:
        """Make the store's file, if there is none, so that only its owner may read it."""
        make_private(self.path)
        if self._reserve.exists():
            make_private(self._reserve)

    def watch(self) -> None:
        """Remember which files are open."""
        self._files = {path: _identity(path) for path in (self.path, self.log)}
        sync_folder(self.path.parent)

    def check(self) -> None:
        """Raise UnavailableError if what is written goes to files that have no name any more."""
        for path, identity in self._files.items():
            try:
                is_same = _identity(path) == identity
            except OSError:
                is_same = False
            if not is_same:
                raise UnavailableError(
                    f"{path}: it was removed or replaced while the broker ran, so nothing can be "
                    "kept: put it back or name another folder, and start the broker again"
                )

    def give_up(self) -> None:
        """Let go of the reserve, because the disk is full."""
        self._next_look = time.monotonic() + _LOOK_SECONDS
        self.full = (
            f"{self.path}: the disk is full: make room, or let retention keep less; documents are "
            f"kept again when {2 * RESERVE_BYTES >> 20} MB are free"
        )
        self._reserve.unlink(missing_ok=True)

    def take_back(self, room_within: Callable[[], int]) -> bool:
        """Have the reserve again if there is room; whether the disk is not full any more.

        ``room_within`` says how many bytes of the store's file are free.
        """
        if not self.full and self._reserve.exists():
            return True
        now = time.monotonic()
        if now < self._next_look:
            return False
        self._next_look = now + _LOOK_SECONDS
        room = self._free()
        is_enough = room >= RESERVE_BYTES and room + room_within() >= 2 * RESERVE_BYTES
        if not is_enough or not self._make_reserve():
            self.give_up()
            return False
        self.full = ""
        return True

    def _make_reserve(self) -> bool:
        try:
            make_private(self._reserve)
            file = os.open(self._reserve, os.O_RDWR | os.O_CLOEXEC)
            try:
                os.posix_fallocate(file, 0, RESERVE_BYTES)
            finally:
                os.close(file)
        except OSError:
            return False
        return True

    def _free(self) -> int:
        """Bytes of room on the disk."""
        room = os.statvfs(self.path.parent)
        return room.f_bavail * room.f_frsize


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def sync_folder(folder: Path) -> None:
    """A new file outlives a power loss only if its name does."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
