"""A temporary file that is a ring: what is written goes on at its front when the end is reached.

Positions in it are counted without going round, so a later one is always the larger one.  Whoever
writes sees to it that no more than ``size`` bytes lie between what is still needed and the end.
The file has no name, so it goes with the process however that ends.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


class RingFile:
    """A ring of ``size`` bytes; the file is made when something is first written."""

    def __init__(self, size: int, folder: Path | None = None) -> None:
        self.end = 0
        """The position behind what was written last."""
        self._size = size
        self._folder = folder
        self._file: int | None = None

    def write(self, content: bytes) -> int:
        """The position where something has been written; raises OSError, and then nothing has."""
        if self._file is None:
            self._file = _open(self._folder)
        view = memoryview(content)
        position = self.end
        while view:
            offset = position % self._size
            written = os.pwrite(self._file, view[: self._size - offset], offset)
            view = view[written:]
            position += written
        begin, self.end = self.end, position
        return begin

    def read(self, position: int, length: int) -> bytes:
        """What was written at a position; raises OSError."""
        assert self._file is not None, "it was written"
        parts: list[bytes] = []
        while length:
            offset = position % self._size
            part = os.pread(self._file, min(length, self._size - offset), offset)
            if not part:
                raise OSError("the temporary file of a queue has lost its end")
            parts.append(part)
            position += len(part)
            length -= len(part)
        return b"".join(parts)

    def clear(self) -> None:
        """Begin anew at 0, and give the disk back."""
        self.end = 0
        if self._file is not None:
            os.ftruncate(self._file, 0)

    def close(self) -> None:
        """Let go of the file."""
        self.end = 0
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _open(folder: Path | None) -> int:
    """An open file without a name."""
    with tempfile.TemporaryFile(dir=folder, prefix="twigcast-") as file:
        return os.dup(file.fileno())
