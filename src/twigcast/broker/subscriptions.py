"""Subscriptions at a broker: queues of documents, each with a consumer that sets the pace.

    offered ──► DocumentQueue ────────────────────────────────┐
                                                              ├──► take, while there is credit
    entered ──► tail, store ──► DurableQueue says which ones ─┘

The consumer gives credit for as many documents as it is ready for; what it has not asked for waits
here.  The documents of ephemeral subscriptions wait in a space that all of them share, in memory
and beyond that in a file; past the limits documents are dropped and counted.  Those of a durable
one wait in the store, and only what was committed last stays in memory too, so that a consumer that
keeps up costs no reading.

Nothing here knows of connections: whoever serves the client calls :meth:`take` and waits for
:attr:`ready`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from twigcast.broker.ordering import Ordering
from twigcast.broker.pace import BATCH, BATCH_BYTES
from twigcast.broker.shared_queues import DocumentQueue
from twigcast.broker.store import Queued, Store, StoredDocument
from twigcast.delivery import DurableQueue, Parcel
from twigcast.wire import messages, raw

_TAIL_BYTES: Final = 1024 * 1024


def encode_common(document: Parcel | StoredDocument) -> bytes:
    """What all deliveries of a document have in common, serialized."""
    delivery = messages.Delivery(
        id=str(document.id), content=document.content, published=document.published
    )
    if document.headers:
        delivery.headers.update(document.headers)
    return delivery.SerializeToString()


def encode_delivery(common: bytes, keys: Sequence[str], sequence: int = 0) -> bytes:
    """One delivery of a document, serialized."""
    return common + encode_header(keys, sequence)


@lru_cache(maxsize=1024)  # many subscribers have the same keys
def _encode_keys(keys: tuple[str, ...]) -> bytes:
    return raw.fields(3, [key.encode() for key in keys])


def encode_header(keys: Sequence[str], sequence: int = 0) -> bytes:
    """What one delivery of a document has behind what all have in common, serialized."""
    header = _encode_keys(tuple(keys))
    return header + b"\x20" + raw.varint(sequence) if sequence else header


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

    def __init__(self, link: str, name: str, window: int, queue: DocumentQueue) -> None:
        super().__init__(window)
        self.link = link
        self.name = name
        self.queue = queue
        self._missed_reported = 0

    def offer(self, common: bytes, keys: Sequence[str]) -> bool:
        """Queue a document; False if the queue is full and it was dropped.

        Whoever offers a document to several passes the same ``common`` to each: it is kept once.
        """
        if self.credit > 0:  # otherwise it can only wait
            self.ready.set()
        return self.queue.put(common, encode_header(keys))

    async def take(self) -> tuple[list[bytes], int]:
        """The next deliveries as far as there is credit, and how many were missed before them."""
        if self.is_over or not self.has_work:
            return [], 0
        taken = self.queue.take(min(self.credit, BATCH), BATCH_BYTES)
        self.credit -= len(taken)
        if not taken:
            return [], 0
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
    """A named subscription that is kept with its documents; clients may be attached or not.

    What is in its queue and who has what of it the queue knows; this fetches documents.
    """

    def __init__(self, queue: DurableQueue, store: Store) -> None:
        self.queue = queue
        self._store = store
        self._attached: dict[str, Attachment] = {}
        self._tail: dict[int, bytes] = {}
        """Deliveries that were entered last, while somebody is attached."""
        self._tail_bytes = 0
        key = queue.options.key
        self.ordering = Ordering(key) if key else None

    @property
    def name(self) -> str:
        """What it is called."""
        return self.queue.name

    @property
    def owner(self) -> str:
        """The principal that made it."""
        return self.queue.owner

    @property
    def attached(self) -> list[Attachment]:
        """The clients that take documents."""
        return list(self._attached.values())

    def entered(self, sequence: int, common: bytes, keys: Sequence[str]) -> None:
        """Note that a document is safe under a sequence."""
        if not self._attached:
            return
        delivery = encode_delivery(common, keys, sequence)
        self._tail[sequence] = delivery
        self._tail_bytes += len(delivery)
        while self._tail_bytes > _TAIL_BYTES and len(self._tail) > 1:
            self._forget(next(iter(self._tail)))
        self.wake()

    def _forget(self, sequence: int) -> None:
        self._tail_bytes -= len(self._tail.pop(sequence))

    def wake(self) -> None:
        """Let the clients look whether there is something for them."""
        for each in self._attached.values():
            each.ready.set()

    def state(self) -> messages.QueueState:
        """Where the queue stands."""
        queue = self.queue
        return messages.QueueState(
            last=queue.last,
            acknowledged=queue.acknowledged,
            first=min(queue.first, queue.last + 1),
        )

    def options(self) -> messages.DurableOptions:
        """How documents are given out."""
        shared, ordered_by, deliveries = self.queue.options
        return messages.DurableOptions(shared=shared, ordered_by=ordered_by, deliveries=deliveries)

    def attach(self, consumer: str, name: str, window: int, start: int | None) -> Attachment:
        """Serve a client from a sequence on, or from the first that is not acknowledged.

        If the queue is not shared, the client that was attached before loses it.
        """
        for other in self.queue.attach(consumer, start):
            self._attached.pop(other).end("another client has attached to it", "taken")
        attachment = Attachment(self, consumer, name, window)
        self._attached[consumer] = attachment
        return attachment

    def detach(self, attachment: Attachment) -> bool:
        """Serve a client no more; whether it was served until now."""
        if self._attached.get(attachment.consumer) is not attachment:
            return False
        del self._attached[attachment.consumer]
        if not self._attached:
            self._tail.clear()
            self._tail_bytes = 0
        return True

    def end(self, reason: str, code: str) -> None:
        """Serve nobody any more."""
        for each in self.attached:
            self.detach(each)
            each.end(reason, code)

    async def read(self, sequences: Sequence[int]) -> tuple[dict[int, bytes], list[int]]:
        """Deliveries by sequence, from memory or from the store; and those that did not fit.

        What is in neither is kept no more.
        """
        found: dict[int, bytes] = {}
        size = 0
        for position, sequence in enumerate(sequences):
            delivery = self._tail.get(sequence)
            if delivery is None:
                if found:  # what is read from the store comes by itself
                    return found, list(sequences[position:])
                return await self._read_stored(sequences)
            self._forget(sequence)
            found[sequence] = delivery
            size += len(delivery)
            if size >= BATCH_BYTES:
                return found, list(sequences[position + 1 :])
        return found, []

    async def _read_stored(self, sequences: Sequence[int]) -> tuple[dict[int, bytes], list[int]]:
        run = _run(sequences)
        queued = await self._store.read_queue(
            self.name, run[0], run[-1], limit=len(run), max_bytes=BATCH_BYTES
        )
        found = {each.sequence: encode_queued(each) for each in queued}
        # What comes after the last that was read did not fit, perhaps.
        position = run.index(queued[-1].sequence) + 1 if queued else len(run)
        return found, list(sequences[position:])


def _run(sequences: Sequence[int]) -> list[int]:
    """Those at the beginning that follow each other."""
    run = [sequences[0]]
    for each in sequences[1:]:
        if each != run[-1] + 1:
            break
        run.append(each)
    return run


class Attachment(Consumer):
    """A client that takes from a durable subscription."""

    def __init__(self, durable: DurableSubscription, consumer: str, name: str, window: int) -> None:
        super().__init__(window)
        self.durable = durable
        self.consumer = consumer
        self.name = name
        self._waking: asyncio.TimerHandle | None = None
        self.ready.set()

    def end(self, reason: str, code: str) -> None:
        """Serve this client no more."""
        self.ended = (reason, code)
        self.ready.set()

    async def take(self) -> tuple[list[bytes], int]:
        """The next deliveries as far as there is credit, and how many were missed before them."""
        queue = self.durable.queue
        ordering = self.durable.ordering
        while self.credit and self.ended is None:
            now = time.monotonic()
            sequences = queue.take(self.consumer, min(self.credit, BATCH), now)
            if not sequences:
                self._wake_when_due(now)
                break
            try:
                found, rest = await self.durable.read(sequences)
                keys = {} if ordering is None else await ordering.keys(found)
            except BaseException:
                queue.untake(self.consumer, sequences)
                if ordering is not None:
                    self.durable.wake()
                raise
            queue.untake(self.consumer, rest)
            left = set(rest)
            queue.gone([each for each in sequences if each not in found and each not in left])
            if ordering is not None:
                found = self._keep_in_order(found, keys)
            if found:
                self.credit -= len(found)
                return self._with_attempts(found), queue.take_missed()
        return [], 0

    def _keep_in_order(
        self, deliveries: dict[int, bytes], keys: dict[int, str]
    ) -> dict[int, bytes]:
        """The deliveries that are for this client, and not for one that has some of their key."""
        assign = self.durable.queue.assign
        ours = {
            each: deliveries[each] for each in deliveries if assign(each, keys[each], self.consumer)
        }
        self.durable.wake()  # others could take nothing until this was known
        return ours

    def _with_attempts(self, deliveries: dict[int, bytes]) -> list[bytes]:
        attempts = self.durable.queue.attempts
        if not attempts:
            return list(deliveries.values())
        return [
            delivery + b"\x38" + raw.varint(attempts[sequence])
            if sequence in attempts
            else delivery
            for sequence, delivery in deliveries.items()
        ]

    def _wake_when_due(self, now: float) -> None:
        """Look again when something that was given back is due."""
        due = self.durable.queue.next_due()
        if self._waking is not None:
            self._waking.cancel()
            self._waking = None
        if due is not None and due > now:
            self._waking = asyncio.get_running_loop().call_later(due - now, self.ready.set)

    @property
    def has_work(self) -> bool:
        """Whether something can be taken, or this is over."""
        if self.is_over or self.ended is not None:
            return True
        return self.credit > 0 and self.durable.queue.has_work(self.consumer, time.monotonic())


def encode_queued(queued: Queued) -> bytes:
    """A delivery out of the store, serialized."""
    return encode_delivery(encode_common(queued.document), queued.keys, queued.sequence)
