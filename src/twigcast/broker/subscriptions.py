"""Subscriptions at a broker: queues of documents, each with a consumer that sets the pace.

    router ──► offer ──► SpillQueue ───────────────┐
                                                   ├──► take, as far as there is credit ──► client
    router ──► store ──► committed ──► tail, store ┘

The consumer gives credit for as many documents as it is ready for; what it has not asked for waits
here.  An ephemeral subscription waits in memory and beyond that in a file of its own; past the
limit documents are dropped and counted.  A durable one waits in the store, and only what was
committed last stays in memory too, so that a consumer that keeps up costs no reading.

Nothing here knows of connections: whoever serves the client calls :meth:`take` and waits for
:attr:`ready`.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

from twigcast.broker.pace import BATCH, BATCH_BYTES
from twigcast.broker.spill_queue import SpillQueue
from twigcast.broker.store import Durable, Queued, Store
from twigcast.language import Pattern
from twigcast.wire import messages, raw

_TAIL_BYTES: Final = 1024 * 1024
_NO_GAP: Final = (sys.maxsize, sys.maxsize)


def encode_common(identity: str, content: bytes, published: int) -> bytes:
    """What all deliveries of a document have in common, serialized."""
    return messages.Delivery(id=identity, content=content, published=published).SerializeToString()


def encode_delivery(common: bytes, keys: Sequence[str], sequence: int = 0) -> bytes:
    """One delivery of a document, serialized."""
    parts = [common, raw.fields(3, [key.encode() for key in keys])]
    if sequence:
        parts += (b"\x20", raw.varint(sequence))
    return b"".join(parts)


class Consumer:
    """The pace of whoever takes documents: how many it is ready for."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.credit = window
        self.ready = asyncio.Event()
        """Set when there may be something to take, or this is over."""
        self.is_over = False
        self.ended: tuple[str, str] | None = None
        """Why the broker has ended this, and the code for it."""

    def finish(self) -> None:
        """Take nothing more."""
        self.is_over = True
        self.ready.set()

    def consumed(self, count: int) -> None:
        """Note that the client has taken documents and is ready for as many more."""
        self.credit = min(self.credit + count, self.window)
        self.ready.set()


class EphemeralSubscription(Consumer):
    """A subscription that lives as long as its client is connected."""

    def __init__(self, link: str, name: str, window: int, queue: SpillQueue) -> None:
        super().__init__(window)
        self.link = link
        self.name = name
        self.queue = queue
        self._missed_reported = 0

    def offer(self, common: bytes, keys: Sequence[str]) -> bool:
        """Queue a document; False if the queue is full and it was dropped."""
        self.ready.set()
        return self.queue.put(encode_delivery(common, keys))

    async def take(self) -> tuple[list[bytes], int]:
        """The next deliveries as far as there is credit, and how many were missed before them."""
        if self.is_over or not self.has_work:
            return [], 0
        taken = self.queue.take(min(self.credit, BATCH), BATCH_BYTES)
        self.credit -= len(taken)
        missed = self.queue.dropped - self._missed_reported
        self._missed_reported = self.queue.dropped
        return taken, missed

    @property
    def has_work(self) -> bool:
        """Whether something can be taken, or this is over."""
        return self.is_over or (self.credit > 0 and len(self.queue) > 0)

    def close(self) -> None:
        """Drop what is queued."""
        self.queue.close()

    @property
    def waiting(self) -> int:
        """How many documents wait."""
        return len(self.queue)


class DurableSubscription:
    """A named subscription that is kept with its documents; a client may be attached or not.

    Its queue is a log: documents have the sequences 1, 2, 3, ... and stay until retention.
    """

    def __init__(self, kept: Durable, patterns: Mapping[str, Pattern], store: Store) -> None:
        self.name = kept.name
        self.owner = kept.owner
        self.patterns = dict(patterns)
        self.link = f"durable/{kept.name}"
        self.last = kept.last
        """The last sequence that was given to a document."""
        self.committed_last = kept.last
        """The last sequence whose document is safe."""
        self.acknowledged = kept.acknowledged
        self.storing: asyncio.Future[None] | None = None
        """Done when the last acknowledgement is stored."""
        self._beyond = set(kept.acknowledged_beyond)
        self._gap = kept.gap
        self.first = kept.first
        self.missed = kept.missed
        self._missed_reported = kept.missed_reported
        self.attached: Attachment | None = None
        self._store = store
        self._tail: deque[tuple[int, bytes]] = deque()
        self._tail_bytes = 0
        self._pass_over()

    def next_sequence(self) -> int:
        """The sequence for one more document."""
        self.last += 1
        return self.last

    def committed(self, sequence: int, common: bytes, keys: Sequence[str]) -> None:
        """Note that the document with a sequence is safe."""
        assert sequence > self.committed_last, "the store commits in the order of sequences"
        self.committed_last = sequence
        if self.attached is not None:
            delivery = encode_delivery(common, keys, sequence)
            self._tail.append((sequence, delivery))
            self._tail_bytes += len(delivery)
            while self._tail_bytes > _TAIL_BYTES and len(self._tail) > 1:
                self._tail_bytes -= len(self._tail.popleft()[1])
            self.attached.ready.set()

    def acknowledge(self, upto: int, sequences: Sequence[int]) -> tuple[int, list[int]] | None:
        """Note documents that need not come again; returns what of that is new, if anything."""
        upto = min(upto, self.committed_last)
        is_news = upto > self.acknowledged
        if is_news:
            self.acknowledged = upto
            self._beyond = {each for each in self._beyond if each > upto}
        singles = []
        for each in sequences:
            if self.acknowledged < each <= self.committed_last and each not in self._beyond:
                self._beyond.add(each)
                singles.append(each)
        self._pass_over()
        return (self.acknowledged, singles) if is_news or singles else None

    def _pass_over(self) -> None:
        """Go on behind what is acknowledged singly, and behind sequences that were never given."""
        while True:
            if self.acknowledged >= self._gap[0]:
                self.acknowledged = max(self.acknowledged, self._gap[1])
                self._gap = _NO_GAP
            if self.acknowledged + 1 not in self._beyond:
                break
            self.acknowledged += 1
            self._beyond.remove(self.acknowledged)

    def trimmed(self, first: int, lost: int) -> None:
        """Note that retention has dropped what was before a sequence, ``lost`` of it unread."""
        self.first = max(self.first, first)
        self.missed += lost
        self.acknowledge(first - 1, ())

    def take_missed(self) -> int:
        """How many documents were missed since this was last called, for the client to hear."""
        missed = self.missed - self._missed_reported
        if missed:
            self._missed_reported = self.missed
            self._store.note_missed_reported(self.name, self.missed)
        return missed

    def is_acknowledged(self, sequence: int) -> bool:
        """Whether the document with a sequence need not come again."""
        return sequence <= self.acknowledged or sequence in self._beyond

    @property
    def waiting(self) -> int:
        """How many documents are not acknowledged."""
        never = self._gap[1] - self._gap[0]
        return self.last - self.acknowledged - len(self._beyond) - never

    def state(self) -> messages.QueueState:
        """Where the queue stands."""
        return messages.QueueState(
            last=self.committed_last,
            acknowledged=self.acknowledged,
            first=min(self.first, self.committed_last + 1),
        )

    def attach(self, name: str, window: int, start: int | None) -> Attachment:
        """Serve a client from a sequence on, or from the first that is not acknowledged."""
        self._tail.clear()
        self._tail_bytes = 0
        self.attached = Attachment(self, name, window, start)
        return self.attached

    async def read(self, sequence: int, last: int, count: int) -> list[tuple[int, bytes]]:
        """Deliveries from a sequence to another, from memory or from the store."""
        if self._tail and self._tail[0][0] <= sequence:
            while self._tail[0][0] < sequence:
                self._tail_bytes -= len(self._tail.popleft()[1])
            deliveries = []
            size = 0
            for each in self._tail:
                deliveries.append(each)
                size += len(each[1])
                if len(deliveries) >= count or size >= BATCH_BYTES:
                    break
            return deliveries
        queued = await self._store.read_queue(
            self.name, sequence, last, limit=count, max_bytes=BATCH_BYTES
        )
        return [(each.sequence, encode_queued(each)) for each in queued]


class Attachment(Consumer):
    """A client that takes from a durable subscription."""

    def __init__(
        self, durable: DurableSubscription, name: str, window: int, start: int | None
    ) -> None:
        super().__init__(window)
        self.durable = durable
        self.name = name
        self._replays = start is not None
        self._next = durable.acknowledged + 1 if start is None else max(start, 1)
        self.ready.set()

    def end(self, reason: str, code: str) -> None:
        """Serve this client no more."""
        self.ended = (reason, code)
        if self.durable.attached is self:
            self.durable.attached = None
        self.ready.set()

    async def take(self) -> tuple[list[bytes], int]:
        """The next deliveries as far as there is credit, and how many were missed before them."""
        durable = self.durable
        while self.credit and self._next <= durable.committed_last:
            upto = durable.committed_last  # more may be committed while this is read
            read = await durable.read(self._next, upto, min(self.credit, BATCH))
            if not read:
                # Retention has taken what was there, or storing it failed.
                self._next = upto + 1
                continue
            self._next = read[-1][0] + 1
            # What is acknowledged comes again only to those who ask for it.
            taken = [
                delivery
                for sequence, delivery in read
                if self._replays or not durable.is_acknowledged(sequence)
            ]
            if taken:
                self.credit -= len(taken)
                return taken, durable.take_missed()
        return [], 0

    @property
    def has_work(self) -> bool:
        """Whether something can be taken, or this is over."""
        is_behind = self._next <= self.durable.committed_last
        return self.is_over or self.ended is not None or (self.credit > 0 and is_behind)


def encode_queued(queued: Queued) -> bytes:
    """A delivery out of the store, serialized."""
    document = queued.document
    common = encode_common(document.id, document.content, document.published)
    return encode_delivery(common, queued.keys, queued.sequence)
