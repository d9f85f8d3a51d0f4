"""Subscriptions that live as long as their client is connected.

    offered ──► outbox of the connection, while there is credit; else DocumentQueue ──► outbox

What a client has not asked for waits in a space that all of them share, in memory and beyond that
in a file; past the limits documents are dropped and counted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from twigcast.broker.outbox import DELIVERY_ROOM, Keys, Outbox, Outgoing
from twigcast.broker.shared_queues import DocumentQueue
from twigcast.broker.subscriptions import Consumer

_log = logging.getLogger(__name__)


class EphemeralSubscription(Consumer):
    """A subscription that lives as long as its client is connected."""

    def __init__(self, link: str, number: int, window: int, queue: DocumentQueue) -> None:
        super().__init__(number, window)
        self.link = link
        self.queue = queue
        self.is_due = False
        """Whether the outbox is to take from the queue."""
        self.on_outdated: Callable[[int], None] = lambda _: None
        """Hears how many documents expired while they waited."""
        self._missed_reported = 0

    def begin(self, outbox: Outbox, sole: Keys | None, on_end: Callable[[], None]) -> None:
        """Let documents go to a client."""
        super().begin(outbox, sole, on_end)
        outbox.by_number[self.number] = self
        self.wake()

    def offer(self, document: bytes, keys: Keys, expires: int = 0) -> bool:
        """Send a document, or queue it; False if the queue is full and it was dropped.

        Whoever offers a document to several passes the same object to each: it is kept once.
        """
        if self.credit > 0 and not self.queue.items:
            outbox = self.outbox
            assert outbox is not None, "there is credit"
            if self.queue.dropped != self._missed_reported:
                self._note_dropped(outbox)
            entry: Outgoing | None = outbox.last
            if outbox.last_document is not document or outbox.last.room <= 0:
                entry = outbox.begin(document, expires)
            if entry is not None:
                self.credit -= 1
                if keys == self.sole and entry.keys is None and entry.sequences is None:
                    entry.numbers.append(self.number)
                    entry.room -= DELIVERY_ROOM
                else:
                    entry.add(self.number, None if keys == self.sole else keys)
                return True
        if keys == self.sole:
            is_queued = self.queue.put(document, None, 0, expires)
        else:
            is_queued = self.queue.put(document, keys, sum(map(len, keys)), expires)
        if self.credit > 0:
            self.wake()
        return is_queued

    def wake(self) -> None:
        """Let the client have what waits, as far as there is credit."""
        if self.outbox is not None:
            self._note_dropped(self.outbox)
            self.outbox.due(self)

    def _note_dropped(self, outbox: Outbox) -> None:
        dropped = self.queue.dropped - self._missed_reported
        if dropped:
            self._missed_reported = self.queue.dropped
            outbox.note_missed(self.number, dropped)

    def missed(self, count: int) -> None:
        """Note that documents were lost that were on their way; others may come instead."""
        self.queue.dropped += count
        self.credit = min(self.credit + count, self.window)
        self.wake()

    def outdated(self, sequence: int = 0) -> None:
        """Note that a document expired that was on its way; another may come instead."""
        self.on_outdated(1)
        self.credit = min(self.credit + 1, self.window)
        self.wake()

    def unreadable(self, error: OSError) -> None:
        """Note that the queue cannot be read."""
        _log.error("the queue of %s: %s", self.link, error)
        self.end("its queue cannot be read", "unavailable")

    def close(self) -> None:
        """Drop what is queued."""
        self.queue.close()
        if self.outbox is not None:
            self.outbox.by_number.pop(self.number, None)

    @property
    def waiting(self) -> int:
        """How many documents wait."""
        return len(self.queue)
