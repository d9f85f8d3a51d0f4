"""The documents that wait for a broker's clients: each is kept once for all of them.

    put ──► DocumentQueue: (document, label), … ──► take
                               │
                               ▼
            QueueSpace: documents, oldest first     in memory ──spilled──► ring in a file ──► lost

A document that many want is the same bytes for all of them but for a *label*, which says what of it
this one asked for.  So a queue has references and labels, and the space has the documents, with one
bound on memory and one on disk for all queues together.  When memory is short the oldest document
is written to the file, once however many wait for it.  When the file is full too, the oldest
document is lost to those who still wait for it.  These are the slowest by definition: a subscriber
that keeps up has had it.  A queue also has a bound of its own; beyond that it takes nothing more.
Both are counted as dropped.

A subscription that takes nothing has such a queue, and so has each connection, for what is on its
way (:mod:`~twigcast.broker.outbox`).

Invariant: documents in the file are older than those in memory, and those of a queue are in the
order of the space.  Cost: about half a microsecond for each reference; a document is written once
at most.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from twigcast.broker.ring_file import RingFile
from twigcast.times import now_milliseconds

REFERENCE_BYTES: Final = 128
"""What a reference takes in memory besides its label, about."""
_SHARED_BYTES: Final = 32
"""The same for one that many queues have in common."""
_PINNED: Final = 4
"""What is pinned takes this part of the memory besides, about, or its shares."""


class Holder(Protocol):
    """Who waits for a document."""

    def lose(self, kept: Kept) -> int:
        """Drop a document, the oldest of all that wait; the bytes of a reference to be released."""


class Kept:
    """A document, and who waits for it; it has a place in the order of the space."""

    __slots__ = ("begin", "content", "expires", "holders", "number", "size", "waiting")

    def __init__(self, number: int, content: bytes, expires: int) -> None:
        self.number = number
        self.content: bytes | None = content
        self.expires = expires
        self.size = len(content)
        self.begin = 0  # where in the file, once the content is there
        self.holders: list[Holder] = []
        self.waiting = 0

    @property
    def is_outdated(self) -> bool:
        """Whether it has expired."""
        return 0 < self.expires <= now_milliseconds()


class QueueSpace:
    """The documents that wait in the queues of a broker."""

    def __init__(self, *, memory_bytes: int, disk_bytes: int, folder: Path | None = None) -> None:
        self.memory_bytes_used = 0
        """By documents in memory and by references."""
        self.references = 0
        """Bytes of these."""
        self.last = Kept(0, b"", 0)
        """The document that was kept last."""
        self.last_content = b""
        """What it has, perhaps in the file by now; it is offered to many as the same object."""
        self.memory_bytes = memory_bytes
        self.pinned_bytes = 0
        """By documents that cannot be lost, since they are kept elsewhere, too."""
        self._disk_bytes = disk_bytes
        self._in_memory: OrderedDict[int, Kept] = OrderedDict()
        self._on_disk: OrderedDict[int, Kept] = OrderedDict()
        self._file = RingFile(disk_bytes, folder)

    @property
    def may_pin(self) -> bool:
        """Whether those who have their share of what is pinned may have more."""
        return self.pinned_bytes < self.memory_bytes // _PINNED

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
        self.last_content = b""
        self._file.close()

    # --- for the queues ---------------------------------------------------------------------------

    def put_in_all(self, queues: Sequence[DocumentQueue], content: bytes, expires: int) -> int:
        """Add a document to queues, without labels; how many of them it is in."""
        kept = self.keep(content, expires)
        item = (kept, None, _SHARED_BYTES)
        cost = kept.size + REFERENCE_BYTES
        before = len(kept.holders)
        for queue in queues:
            if queue.room < cost:
                queue.dropped += 1
            else:
                queue.room -= cost
                queue.items.append(item)
                kept.holders.append(queue)
        added = len(kept.holders) - before
        kept.waiting += added
        if not kept.waiting:
            self._forget(kept)
        self.grow(added * _SHARED_BYTES)
        return added if kept.waiting else 0

    def keep(self, content: bytes, expires: int = 0) -> Kept:
        """Keep a document for somebody who refers to it next; 0 stands for no end."""
        if self.last_content is content and self.last.waiting:
            return self.last
        self.last_content = content
        kept = self.last = Kept(self.last.number + 1, content, expires)
        self._in_memory[kept.number] = kept
        self.memory_bytes_used += kept.size
        return kept

    def refer(self, kept: Kept, holder: Holder, size: int) -> None:
        """Keep a document for one more, whose reference takes so many bytes.

        The document may be lost before this returns: then nobody waits for it.
        """
        kept.holders.append(holder)
        kept.waiting += 1
        self.grow(size)

    def grow(self, size: int) -> None:
        """Note that references take so many bytes more, and keep to the bounds."""
        self.references += size
        self.memory_bytes_used += size
        if self.memory_bytes_used > self.memory_bytes:
            self.make_room()

    def release(self, kept: Kept, size: int, count: int = 1) -> None:
        """Note that so many have taken a document, or do not want it any more."""
        kept.waiting -= count
        self.references -= size
        self.memory_bytes_used -= size
        if not kept.waiting:
            self._forget(kept)

    def _forget(self, kept: Kept) -> None:
        kept.holders.clear()
        if kept is self.last:
            self.last_content = b""
        if self._in_memory.pop(kept.number, None) is not None:
            self.memory_bytes_used -= kept.size
        elif self._on_disk.pop(kept.number, None) is not None and not self._on_disk:
            self._file.clear()

    def read(self, kept: Kept) -> bytes:
        """The content of a document; raises OSError where the file cannot be read."""
        if kept.content is not None:
            return kept.content
        return self._file.read(kept.begin, kept.size)

    # --- room -------------------------------------------------------------------------------------

    def make_room(self) -> None:
        """Keep to the bounds, at the expense of those who have waited for longest."""
        while self.memory_bytes_used > self.memory_bytes:
            # Where references alone take most of it, writing documents to disk is of no use.
            if self._in_memory and 2 * self.references <= self.memory_bytes:
                self._spill(next(iter(self._in_memory.values())))
            else:
                self._lose_oldest()

    def _lose_oldest(self) -> None:
        self._lose(next(iter((self._on_disk or self._in_memory).values())))

    def _lose(self, kept: Kept) -> None:
        sizes = [size for holder in kept.holders if (size := holder.lose(kept))]
        if sizes:
            self.release(kept, sum(sizes), len(sizes))

    def _spill(self, kept: Kept) -> None:
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
        self.room = most_bytes
        """How many bytes more may wait, with what references take."""
        self.items: deque[tuple[Kept, Any, int]] = deque()
        """The documents with their labels, and the bytes that each reference takes."""
        self._space = space
        self._most_bytes = most_bytes

    def __len__(self) -> int:
        return len(self.items)

    def put(self, content: bytes, label: object, size: int = 0, expires: int = 0) -> bool:
        """Add a document and what stands beside it for this one; False if it is dropped.

        ``size`` is that of the label.  Whoever offers a document to several queues passes the same
        object to each.  From the time ``expires`` on nobody wants it; 0 stands for never.
        """
        size += REFERENCE_BYTES
        if len(content) + size > self.room:
            self.dropped += 1
            return False
        space = self._space
        kept = space.last
        if space.last_content is not content or not kept.waiting:
            kept = space.keep(content, expires)
        self.items.append((kept, label, size))
        self.room -= kept.size + REFERENCE_BYTES
        space.refer(kept, self, size)
        return kept.waiting > 0

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the documents that wait."""
        return self._most_bytes - self.room - REFERENCE_BYTES * len(self.items)

    @property
    def first(self) -> Kept:
        """The document that waits for longest; there is one."""
        return self.items[0][0]

    def take(self) -> tuple[bytes, Any]:
        """Remove the first document, with its label; raises OSError where it cannot be read."""
        kept, label, _ = self.items[0]
        content = self._space.read(kept)
        self.remove_first()
        return content, label

    def lose(self, kept: Kept) -> int:
        """Drop a document, the oldest of all queues, if it still waits here."""
        if not self.items or self.items[0][0] is not kept:
            return 0
        self.dropped += 1
        self.room += kept.size + REFERENCE_BYTES
        return self.items.popleft()[2]

    def remove_first(self) -> None:
        kept, _, size = self.items.popleft()
        self.room += kept.size + REFERENCE_BYTES
        self._space.release(kept, size)

    def close(self) -> None:
        """Let go of everything that waits, and take nothing more."""
        while self.items:
            self.remove_first()
        self._most_bytes = self.room = 0
