"""How much a broker's store may hold, and on whose account.

What is unread is never dropped to make room.  At a limit a publisher is refused, or held back by
whoever serves it, until documents were read or have expired.  What is being written does not count
yet, so that a limit may be passed by as much.
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
    """There is no room for a document now; there may be later."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, "full")


class Room:
    """The bytes that are kept, and the limits."""

    def __init__(self, limits: Limits, size: int, publishers: Mapping[str, int]) -> None:
        self._limits = limits
        self._size = size
        self._publishers = Counter(publishers)

    def require(self, parcel: Parcel, entries: Sequence[Entry], queues: Queues) -> None:
        """Raise FullError where there is no room for one more document."""
        limits = self._limits
        size = len(parcel.content)
        if limits.size and self._size + size > limits.size:
            raise FullError(
                f"the store holds {self._size:,} bytes of documents that are not read, or were "
                "read lately, and may hold no more (store.retention_size): read them, or raise it"
            )
        theirs = self._publishers[parcel.publisher] if parcel.publisher else 0
        if parcel.publisher and 0 < limits.publisher_size < theirs + size:
            raise FullError(
                f"{theirs:,} bytes of documents of {parcel.publisher} are kept here, and there may "
                "be no more (store.publisher_size): see that they are read, or raise it"
            )
        if limits.queue_documents:
            for durable, _ in entries:
                if queues[durable].waiting >= limits.queue_documents:
                    raise FullError(
                        f"{limits.queue_documents:,} documents wait for the durable subscription "
                        f"{durable!r}, and there may be no more (store.queue_documents): see that "
                        "they are read, end it, or raise the limit"
                    )

    def kept(self, parcel: Parcel) -> None:
        """Note that a document is kept."""
        self._size += len(parcel.content)
        if parcel.publisher:
            self._publishers[parcel.publisher] += len(parcel.content)

    def dropped(self, size: int, publishers: Mapping[str, int]) -> None:
        """Note that documents are kept no more."""
        self._size -= size
        self._publishers.subtract(publishers)
