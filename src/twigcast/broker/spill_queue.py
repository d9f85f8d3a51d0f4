"""A queue of byte strings that takes little memory, however much waits in it.

      take ◄── in memory, oldest first ◄── refilled ◄── ring in a temporary file ◄── put
                        ▲                                                             │
                        └──────────── while nothing waits in the file ◄───────────────┘

The file is a ring of ``disk_bytes`` (``ring_file``).  Each item has its length before it.  When
nothing waits in the file it is cut to nothing.

Invariant: what is in memory is older than what is in the file.  Cost: an item that is spilled is
written and read once; reads fetch as many items as memory may hold.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Final

from twigcast.broker.ring_file import RingFile

ITEM_BYTES: Final = 64
"""What an item takes in memory besides its bytes, about."""
_HEAD: Final = 4


class SpillQueue:
    """First in, first out; beyond ``memory_bytes`` in a file, beyond ``disk_bytes`` dropped."""

    def __init__(
        self,
        *,
        memory_bytes: int = 2**20,
        disk_bytes: int = 256 * 2**20,
        folder: Path | None = None,
    ) -> None:
        self.dropped = 0
        """How many items there was no room for."""
        self.waiting_bytes = 0
        """Bytes of the items that wait, in memory and in the file."""
        self.memory_bytes_used = 0
        self._memory_bytes = memory_bytes
        self._disk_bytes = disk_bytes
        self._memory: deque[bytes] = deque()
        self._file = RingFile(disk_bytes, folder)
        self._begin = 0  # where the oldest item in the file begins
        self._spilled = 0  # items in the file
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._memory) + self._spilled

    def put(self, item: bytes) -> bool:
        """Add an item at the end; False if there is no room, and then it is dropped."""
        if self._is_closed or not (self._keep(item) or self._spill(item)):
            self.dropped += 1
            return False
        self.waiting_bytes += len(item)
        return True

    def take(self, max_items: int, max_bytes: int) -> list[bytes]:
        """Remove items from the beginning: as many as the limits allow, but one if there is any."""
        taken: list[bytes] = []
        size = 0
        while len(self) and (not taken or len(taken) < max_items):
            if not self._memory:
                self._refill()
            following = self._memory[0]
            if taken and size + len(following) > max_bytes:
                break
            taken.append(self._memory.popleft())
            size += len(following)
            self.memory_bytes_used -= len(following) + ITEM_BYTES
        self.waiting_bytes -= size
        return taken

    def close(self) -> None:
        """Let go of everything that waits."""
        self._is_closed = True
        self._memory.clear()
        self._begin = self._spilled = 0
        self.waiting_bytes = self.memory_bytes_used = 0
        self._file.close()

    def _keep(self, item: bytes) -> bool:
        size = len(item) + ITEM_BYTES
        if self._spilled or self.memory_bytes_used + size > self._memory_bytes:
            return False
        self._memory.append(item)
        self.memory_bytes_used += size
        return True

    def _spill(self, item: bytes) -> bool:
        record = len(item).to_bytes(_HEAD, "little") + item
        if self._file.end - self._begin + len(record) > self._disk_bytes:
            return False
        try:
            self._file.write(record)
        except OSError:  # the disk is full
            return False
        self._spilled += 1
        return True

    def _refill(self) -> None:
        """Fetch from the file, when memory is empty, what fits there; one item at least."""
        waiting = self._file.end - self._begin
        block = self._file.read(self._begin, min(waiting, max(self._memory_bytes, _HEAD)))
        length = _HEAD + int.from_bytes(block[:_HEAD], "little")
        if length > len(block):
            block = self._file.read(self._begin, length)
        position = 0
        while position + _HEAD <= len(block):
            begin = position + _HEAD
            end = begin + int.from_bytes(block[position:begin], "little")
            size = end - begin + ITEM_BYTES
            fits = self.memory_bytes_used + size <= self._memory_bytes
            if end > len(block) or (self._memory and not fits):
                break
            self._memory.append(block[begin:end])
            self.memory_bytes_used += size
            position = end
            self._spilled -= 1
        self._begin += position
        if not self._spilled:
            self._begin = 0
            self._file.clear()
