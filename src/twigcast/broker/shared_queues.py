"""The queues of a broker's ephemeral subscriptions: each document is kept once for all of them.

    put ──► DocumentQueue: (document, header), … ──► take
                               │
                               ▼
            QueueSpace: documents, oldest first     in memory ──spilled──► ring in a file ──► lost

A document that many want is the same bytes for all of them but for a small *header*, which says
what of it this subscriber asked for.  So a queue has references and headers, and the space has the
documents, with one bound on memory and one on disk for all queues together.  When memory is short
the oldest document is written to the file, once however many wait for it.  When the file is full
too, the oldest document is lost to those who still wait for it.  These are the slowest by
definition: a subscriber that keeps up has had it.  A queue also has a bound of its own; beyond that
it takes nothing more.  Both are counted as dropped.

Invariant: documents in the file are older than those in memory, and those of a queue are in the
order of the space.  Cost: constant for each reference; a document is written once at most.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from pathlib import Path
from typing import Final

from twigcast.broker.ring_file import RingFile

REFERENCE_BYTES: Final = 128
"""What a reference takes in memory besides its header, about."""


class _Kept:
    """A document, and the queues that it was put into."""

    __slots__ = ("begin", "content", "holders", "number", "references", "size", "waiting")

    def __init__(self, number: int, content: bytes) -> None:
        self.number = number
        self.content: bytes | None = content
        self.size = len(content)
        self.begin = 0  # where in the file, once the content is there
        self.holders: list[DocumentQueue] = []
        self.waiting = 0
        self.references = 0  # bytes


class QueueSpace:
    """The documents that wait in the queues of a broker."""

    def __init__(self, *, memory_bytes: int, disk_bytes: int, folder: Path | None = None) -> None:
        self.memory_bytes_used = 0
        """By documents in memory and by references."""
        self._references = 0  # bytes of them
        self._memory_bytes = memory_bytes
        self._disk_bytes = disk_bytes
        self._in_memory: OrderedDict[int, _Kept] = OrderedDict()
        self._on_disk: OrderedDict[int, _Kept] = OrderedDict()
        self._last: tuple[bytes, _Kept] | None = None
        self._number = 0
        self._file = RingFile(disk_bytes, folder)

    @property
    def disk_bytes_used(self) -> int:
        """From the oldest document in the file to the newest."""
        return self._file.end - self._begin

    @property
    def _begin(self) -> int:
        return next(iter(self._on_disk.values())).begin if self._on_disk else self._file.end

    def close(self) -> None:
        """Let go of the file; no queue is used any more."""
        self._in_memory.clear()
        self._on_disk.clear()
        self._last = None
        self._file.close()

    # --- for the queues ---------------------------------------------------------------------------

    def refer(self, content: bytes, queue: DocumentQueue, size: int) -> _Kept:
        """Keep a document for one more queue, whose reference takes so many bytes.

        The document may be lost before this returns: then nobody waits for it.
        """
        kept = self._find(content)
        kept.holders.append(queue)
        kept.waiting += 1
        kept.references += size
        self._references += size
        self.memory_bytes_used += size
        return kept

    def _find(self, content: bytes) -> _Kept:
        """A document that is offered to many comes as the same object each time."""
        if self._last is not None and self._last[0] is content and self._last[1].waiting:
            return self._last[1]
        self._number += 1
        kept = _Kept(self._number, content)
        self._in_memory[kept.number] = kept
        self.memory_bytes_used += kept.size
        self._last = (content, kept)
        return kept

    def release(self, kept: _Kept, size: int) -> None:
        """Note that a queue has taken a document, or does not want it any more."""
        kept.waiting -= 1
        kept.references -= size
        self._references -= size
        self.memory_bytes_used -= size
        if not kept.waiting:
            self._forget(kept)

    def _forget(self, kept: _Kept) -> None:
        kept.holders.clear()
        if self._last is not None and self._last[1] is kept:
            self._last = None
        if self._in_memory.pop(kept.number, None) is not None:
            self.memory_bytes_used -= kept.size
        elif self._on_disk.pop(kept.number, None) is not None and not self._on_disk:
            self._file.clear()

    def read(self, kept: _Kept) -> bytes:
        """The content of a document; raises OSError where the file cannot be read."""
        if kept.content is not None:
            return kept.content
        return self._file.read(kept.begin, kept.size)

    @property
    def is_short(self) -> bool:
        """Whether there is more in memory than may be."""
        return self.memory_bytes_used > self._memory_bytes

    # --- room -------------------------------------------------------------------------------------

    def make_room(self) -> None:
        """Keep to the bounds, at the expense of those who have waited for longest."""
        while self.is_short:
            # Where references alone take most of it, writing documents to disk is of no use.
            if self._in_memory and 2 * self._references <= self._memory_bytes:
                self._spill(next(iter(self._in_memory.values())))
            else:
                self._lose_oldest()

    def _lose_oldest(self) -> None:
        self._lose(next(iter((self._on_disk or self._in_memory).values())))

    def _lose(self, kept: _Kept) -> None:
        for queue in tuple(kept.holders):
            queue.lose(kept)

    def _spill(self, kept: _Kept) -> None:
        """Write the oldest document in memory to the file."""
        while self._on_disk and self.disk_bytes_used + kept.size > self._disk_bytes:
            self._lose_oldest()
        assert kept.content is not None
        try:
            if kept.size > self._disk_bytes:
                raise OSError("the document is larger than the file may be")
            kept.begin = self._file.write(kept.content)
        except OSError:  # the disk is full
            self._lose(kept)
            return
        kept.content = None
        del self._in_memory[kept.number]
        self._on_disk[kept.number] = kept
        self.memory_bytes_used -= kept.size


class DocumentQueue:
    """The documents that one subscriber waits for, first in, first out."""

    def __init__(self, space: QueueSpace, most_bytes: int) -> None:
        self.dropped = 0
        """How many documents there was no room for, here or in the space."""
        self.waiting_bytes = 0
        """Bytes of the documents that wait, with their headers."""
        self._space = space
        self._most_bytes = most_bytes
        self._items: deque[tuple[_Kept, bytes]] = deque()
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._items)

    def put(self, content: bytes, header: bytes) -> bool:
        """Add a document and what stands behind it for this subscriber; False if it is dropped.

        Whoever offers a document to several queues passes the same object to each.
        """
        size = len(content) + len(header)
        room = self._most_bytes - self.waiting_bytes - REFERENCE_BYTES * len(self._items)
        if self._is_closed or size + REFERENCE_BYTES > room:
            self.dropped += 1
            return False
        kept = self._space.refer(content, self, len(header) + REFERENCE_BYTES)
        self._items.append((kept, header))
        self.waiting_bytes += size
        if self._space.is_short:
            self._space.make_room()
        return kept.waiting > 0

    def take(self, max_items: int, max_bytes: int) -> list[bytes]:
        """Remove items from the beginning: as many as the limits allow, but one if there is any.

        An item is the document with its header behind it.  Raises OSError.
        """
        taken: list[bytes] = []
        size = 0
        while self._items and (not taken or len(taken) < max_items):
            kept, header = self._items[0]
            size += kept.size + len(header)
            if taken and size > max_bytes:
                break
            taken.append(self._space.read(kept) + header)
            self._remove_first()
        return taken

    def lose(self, kept: _Kept) -> None:
        """Drop a document, the oldest of all queues, if it still waits here."""
        if self._items and self._items[0][0] is kept:
            self.dropped += 1
            self._remove_first()

    def _remove_first(self) -> None:
        kept, header = self._items.popleft()
        self.waiting_bytes -= kept.size + len(header)
        self._space.release(kept, len(header) + REFERENCE_BYTES)

    def close(self) -> None:
        """Let go of everything that waits."""
        self._is_closed = True
        while self._items:
            self._remove_first()
