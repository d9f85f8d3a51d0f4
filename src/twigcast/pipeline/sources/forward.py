"""A stream that only goes forward, in the shape that :mod:`tarfile` wants for random access.

``tarfile`` has a mode of its own for streams, which gathers whatever a header asks for: a name of
ten gigabytes is read into memory.  Here a single read is bounded, and seeking forward means reading
on in small pieces.  It also remembers the last block, since ``tarfile`` takes a damaged header for
the end of the archive.
"""

from __future__ import annotations

import io
import tarfile
from typing import BinaryIO, Final

_STEP: Final = 1024 * 1024


class ForwardFile(io.RawIOBase):
    """Reads and forward seeks; a read of more than ``limit`` bytes is refused."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream = stream
        self._limit = limit + tarfile.RECORDSIZE
        self._offset = 0
        self._last = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._offset

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, fewer only at the end."""
        if size < 0 or size > self._limit:
            raise tarfile.ReadError(f"a header asks for {size:,} bytes at once")
        self._last = self._stream.read(size)
        self._offset += len(self._last)
        return self._last

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Read on to an offset, which must not be behind."""
        if whence != io.SEEK_SET or offset < self._offset:
            raise tarfile.ReadError("a header points backwards")
        while self._offset < offset:
            piece = self._stream.read(min(_STEP, offset - self._offset))
            if not piece:
                break
            self._offset += len(piece)
        return self._offset

    def require_end(self) -> None:
        """Raise unless the archive came to its end mark, and what follows can be read.

        Reading on lets a compressed stream check its sum; that is bounded too.
        """
        if self._last != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("its end mark is missing; it is incomplete or damaged")
        for _ in range(0, self._limit, _STEP):
            if not self._stream.read(_STEP):
                break
