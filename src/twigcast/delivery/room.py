"""How much a broker's store may hold, and on whose account.

What is unread is never dropped to make room.  At a limit a publisher is refused, or held back by
whoever serves it, until documents were read or have expired.  What is being written counts as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from twigcast.delivery.queues import Queues
from twigcast.delivery.writes import Entry, Parcel
from twigcast.errors import RefusedError


class Limits(NamedTuple):
    """The most of each thing; 0 for no limit."""

    size: int = 0
    """Bytes of all documents."""
    publisher_size: int = 0
    """Bytes of the documents of one publisher."""
    queue_documents: int = 0
    """Documents that wait in the queue of one durable subscription."""


class FullError(RefusedError):
    """There is no room for a document now; there may be later.

    It may help to drop what nobody needs any more, until ``room`` bytes are free; 0 if it does not.
    """

    def __init__(self, reason: str, room: int = 0) -> None:
        super().__init__(reason, "full")
        self.room = room


class Room:
    """The bytes that are kept, and the limits."""

    def __init__(self, limits: Limits, size: int, publishers: Mapping[str, int]) -> None:
        self._limits = limits
        self._size = size
        self._publishers = Counter(publishers)
        self._writing: Counter[str] = Counter()
        """By durable subscription, documents that are being written."""

    def reserve(self, parcel: Parcel, entries: Sequence[Entry], queues: Queues) -> None:
        """Take room for a document that is about to be written; raises FullError."""
        self._require(parcel, entries, queues)
        self.add(parcel)
        for durable, _ in entries:
            self._writing[durable] += 1

    def written(self, parcel: Parcel, entries: Sequence[Entry], *, is_kept: bool) -> None:
        """Note that a document was written, or could not be, or was there already."""
        for durable, _ in entries:
            self._writing[durable] -= 1
            if not self._writing[durable]:
                del self._writing[durable]
        if not is_kept:
            size = len(parcel.content)
            self.dropped(size, {parcel.publisher: size} if parcel.publisher else {})

    def _require(self, parcel: Parcel, entries: Sequence[Entry], queues: Queues) -> None:
        limits = self._limits
        size = len(parcel.content)
        if limits.size and self._size + size > limits.size:
            raise FullError(
                f"the documents that are kept take {self._size:,} of {limits.size:,} bytes "
                "(store.retention_size): see that they are read, or raise the limit",
                size,
            )
        theirs = self._publishers[parcel.publisher] if parcel.publisher else 0
        if parcel.publisher and 0 < limits.publisher_size < theirs + size:
            raise FullError(
                f"the documents of {parcel.publisher} that are kept take {theirs:,} of "
                f"{limits.publisher_size:,} bytes (store.publisher_size): see that they are read, "
                "or raise the limit",
                size,
            )
        if limits.queue_documents:
            for durable, _ in entries:
                waiting = queues[durable].waiting + self._writing[durable]
                if waiting >= limits.queue_documents:
                    raise FullError(
                        f"{waiting:,} documents wait for the durable subscription {durable!r}, and "
                        f"there may be {limits.queue_documents:,} (store.queue_documents): see "
                        "that they are read, end it, or raise the limit"
                    )

    def add(self, parcel: Parcel) -> None:
        """Note that a document is kept."""
        self._size += len(parcel.content)
        if parcel.publisher:
            self._publishers[parcel.publisher] += len(parcel.content)

    def dropped(self, size: int, publishers: Mapping[str, int]) -> None:
        """Note that documents are kept no more."""
        self._size -= size
        self._publishers.subtract(publishers)
