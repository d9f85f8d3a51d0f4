"""Subscriptions at a broker: documents for a consumer that sets the pace; here the durable ones.

    entered ──► outbox of the connection, while there is credit; else tail, store ──► take:
                                                                 DurableQueue says which ones

The consumer gives credit for as many documents as it is ready for; what it has not asked for waits.
The documents of a durable subscription wait in the store, and only what was committed last stays in
memory too, so that a consumer that is a little behind costs no reading.  The others are in
:mod:`~twigcast.broker.ephemeral`.

Nothing here knows of connections: whoever serves the client empties the outbox
(:mod:`~twigcast.broker.outbox`), and is told when something is to be taken from a durable one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from twigcast.broker.ordering import Ordering
from twigcast.broker.outbox import Keys, Outbox
from twigcast.broker.pace import BATCH, BATCH_BYTES
from twigcast.broker.shared_queues import QueueSpace
from twigcast.broker.store import Queued, Store, StoredDocument
from twigcast.delivery import DurableQueue, Parcel
from twigcast.times import now_milliseconds
from twigcast.wire import messages

_TAIL_BYTES: Final = 1024 * 1024
"""What a durable subscription has in memory of what was entered last, if others need the space."""


def encode_common(document: Parcel | StoredDocument) -> bytes:
    """What all deliveries of a document have in common, serialized."""
    delivery = messages.Delivery(
        id=str(document.id),
        content=document.content,
        published=document.published,
        expires=document.expires,
    )
    if document.headers:
        delivery.headers.update(document.headers)
    return delivery.SerializeToString()


def encode_queued(queued: Queued) -> bytes:
    """A delivery out of the store, serialized."""
    own = messages.Delivery(keys=queued.keys, sequence=queued.sequence)
    return encode_common(queued.document) + own.SerializeToString()


class Consumer:
    """The pace of whoever takes documents: how many it is ready for.

    There is no credit before :meth:`begin`.
    """

    def __init__(self, number: int, window: int) -> None:
        self.number = number
        """What the client calls the subscription."""
        self.window = window
        self.credit = 0
        self.is_over = False
        self.ended: tuple[str, str] | None = None
        """Why the broker has ended this, and the code for it."""
        self.outbox: Outbox | None = None
        self.sole: Keys | None = None
        """The keys of all its documents, where the client knows these."""
        self._on_end: Callable[[], None] = _nothing

    def begin(self, outbox: Outbox, sole: Keys | None, on_end: Callable[[], None]) -> None:
        """Let documents go to a client, which knows its ``sole`` keys, if it has no others.

        ``on_end`` is called when the broker ends this.
        """
        self.outbox = outbox
        self.credit = self.window
        self.sole = sole
        self._on_end = on_end
        if self.ended is not None:
            on_end()

    def finish(self) -> None:
        """Take nothing more."""
        self.is_over = True
        self.credit = 0

    def end(self, reason: str, code: str) -> None:
        """Serve this client no more."""
        self.ended = (reason, code)
        self._on_end()

    def consumed(self, count: int) -> None:
        """Note that the client has taken documents and is ready for as many more."""
        if self.outbox is not None and not self.is_over:
            self.credit = min(self.credit + count, self.window)
            self.wake()

    def wake(self) -> None:
        """Let the client have what waits, as far as there is credit."""


def _nothing() -> None:
    """Nobody has to be told."""


class Given(NamedTuple):
    """A document of a durable subscription that is to be sent."""

    sequence: int
    document: bytes
    keys: Keys
    expires: int


class DurableSubscription:
    """A named subscription that is kept with its documents; clients may be attached or not.

    What is in its queue and who has what of it the queue knows; this fetches documents.
    """

    def __init__(self, queue: DurableQueue, store: Store, space: QueueSpace) -> None:
        self.queue = queue
        self._store = store
        self._space = space
        self._attached: dict[str, Attachment] = {}
        self._only: Attachment | None = None
        """The client that takes documents, where no others share them."""
        self._tail: dict[int, Given] = {}
        """What was entered last, while somebody is attached."""
        self._tail_bytes = 0
        self.on_outdated: Callable[[Sequence[int]], None] = queue.gone
        """Takes the sequences of documents that expired while they waited."""
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

    def entered(self, sequence: int, document: bytes, keys: Keys, expires: int = 0) -> None:
        """Note that a document is safe under a sequence; the client has it if it keeps up."""
        if self._only is not None and self._only.give(sequence, document, keys, expires):
            return
        if not self._attached:
            return
        self._tail[sequence] = Given(sequence, document, keys, expires)
        self._tail_bytes += len(document)
        self._space.pinned_bytes += len(document)
        while self._tail_bytes > _TAIL_BYTES and not self._space.may_pin and len(self._tail) > 1:
            self._forget(next(iter(self._tail)))
        self.wake()

    def _forget(self, sequence: int) -> None:
        size = len(self._tail.pop(sequence).document)
        self._tail_bytes -= size
        self._space.pinned_bytes -= size

    def wake(self) -> None:
        """Let the clients look whether there is something for them."""
        for each in self._attached.values():
            each.wake()

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
        shared, ordered_by, deliveries, _ = self.queue.options
        return messages.DurableOptions(shared=shared, ordered_by=ordered_by, deliveries=deliveries)

    def attach(self, attachment: Attachment, start: int | None) -> None:
        """Serve a client from a sequence on, or from the first that is not acknowledged.

        If the queue is not shared, the client that was attached before loses it.
        """
        for other in self.queue.attach(attachment.consumer, start):
            self._take_from(other)
        self._attached[attachment.consumer] = attachment
        self._only = None if self.queue.options.is_shared else attachment

    def join(self, attachment: Attachment) -> None:
        """Serve a client beside those that take documents now and then, as it does itself.

        If the queue is not shared, a client that is attached for good loses it.
        """
        if self._only is not None:
            self.queue.detach(self._only.consumer)
            self._take_from(self._only.consumer)
            self._only = None
        self.queue.attach(attachment.consumer, joins=True)
        self._attached[attachment.consumer] = attachment

    def _take_from(self, consumer: str) -> None:
        attached = self._attached.pop(consumer, None)
        if attached is not None:
            attached.end(f"another client has taken over {self.name!r}", "taken")

    def detach(self, attachment: Attachment) -> bool:
        """Serve a client no more; whether it was served until now."""
        if self._attached.get(attachment.consumer) is not attachment:
            return False
        del self._attached[attachment.consumer]
        if not self._attached:
            self._only = None
            self._tail.clear()
            self._space.pinned_bytes -= self._tail_bytes
            self._tail_bytes = 0
        return True

    def end(self, reason: str, code: str) -> None:
        """Serve nobody any more."""
        for each in self.attached:
            self.detach(each)
            each.end(reason, code)

    async def read(self, sequences: Sequence[int]) -> tuple[list[Given], list[int]]:
        """Documents by sequence, from memory or from the store; and those that did not fit.

        What is in neither is kept no more.
        """
        found: list[Given] = []
        size = 0
        for position, sequence in enumerate(sequences):
            given = self._tail.get(sequence)
            if given is None:
                if found:  # what is read from the store comes by itself
                    return found, list(sequences[position:])
                return await self._read_stored(sequences)
            self._forget(sequence)
            found.append(given)
            size += len(given.document)
            if size >= BATCH_BYTES:
                return found, list(sequences[position + 1 :])
        return found, []

    async def _read_stored(self, sequences: Sequence[int]) -> tuple[list[Given], list[int]]:
        run = _run(sequences)
        queued = await self._store.read_queue(
            self.name, run[0], run[-1], limit=len(run), max_bytes=BATCH_BYTES
        )
        found = [
            Given(
                each.sequence,
                encode_common(each.document),
                tuple(each.keys),
                each.document.expires,
            )
            for each in queued
        ]
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

    def __init__(
        self, durable: DurableSubscription, consumer: str, number: int, window: int
    ) -> None:
        super().__init__(number, window)
        self.durable = durable
        self.consumer = consumer
        self.on_work: Callable[[Attachment], None] = _no_work
        """Called when there is something to take; nothing is given until ``is_taking`` is False."""
        self.is_taking = False
        self._reading = 0
        """How many documents it has of the queue that are still being read."""
        self._waking: asyncio.TimerHandle | None = None

    def begin(self, outbox: Outbox, sole: Keys | None, on_end: Callable[[], None]) -> None:
        """Let documents go to a client."""
        super().begin(outbox, sole, on_end)
        outbox.durable[self.number] = self._outdated

    def finish(self) -> None:
        """Take nothing more."""
        super().finish()
        if self.outbox is not None:
            self.outbox.durable.pop(self.number, None)
        if self._waking is not None:
            self._waking.cancel()

    def _outdated(self, sequence: int) -> None:
        """Take a document as done with that expired on its way; another may come instead."""
        self.durable.on_outdated([sequence])
        self.consumed(1)

    def give(self, sequence: int, document: bytes, keys: Keys, expires: int) -> bool:
        """Send a document that was just entered, if it is the next one and there is credit."""
        if self.credit <= 0 or self.is_taking:
            return False
        outbox = self.outbox
        assert outbox is not None, "there is credit"
        if outbox.is_full_for(document) or not self.durable.queue.give(self.consumer, sequence):
            return False
        self.credit -= 1
        known = None if keys == self.sole else keys
        outbox.pin(document, expires).add(self.number, known, sequence)
        return True

    def send(self, documents: Sequence[Given]) -> None:
        """Send documents that were taken."""
        outbox = self.outbox
        assert outbox is not None, "they were taken"
        attempts = self.durable.queue.attempts
        for sequence, document, keys, expires in documents:
            known = None if keys == self.sole else keys
            entry = outbox.pin_more(document, expires)
            entry.add(self.number, known, sequence, attempts.get(sequence, 0))

    def wake(self) -> None:
        """Let the client have what waits, as far as there is credit."""
        if not self.is_taking and self.has_work:
            self.is_taking = True
            self.on_work(self)

    async def take(self) -> tuple[list[Given], int]:
        """The next documents as far as there is credit, and how many were missed before them."""
        queue = self.durable.queue
        ordering = self.durable.ordering
        while self.credit and self.ended is None:
            now = time.monotonic()
            sequences = queue.take(self.consumer, min(self.credit, BATCH), now)
            if not sequences:
                self._wake_when_due(now)
                break
            self._reading = len(sequences)
            try:
                found, rest = await self.durable.read(sequences)
                found = self._without_outdated(found)
                keys = {} if ordering is None else await ordering.keys(_contents(found))
            except BaseException:
                queue.untake(self.consumer, sequences)
                if ordering is not None:
                    self.durable.wake()
                raise
            finally:
                self._reading = 0
            queue.untake(self.consumer, rest)
            left = {*rest, *(each.sequence for each in found)}
            queue.gone([each for each in sequences if each not in left])
            if ordering is not None:
                found = self._keep_in_order(found, keys)
            if found:
                self.credit -= len(found)
                return found, queue.take_missed()
        return [], 0

    @property
    def taken_up(self) -> int:
        """How many documents the client has taken that are not acknowledged, as far as it says."""
        held = len(self.durable.queue.held(self.consumer)) - self._reading
        return max(held - (self.window - self.credit), 0)

    def _without_outdated(self, documents: list[Given]) -> list[Given]:
        """The documents that have not expired; those that have are done with."""
        now = now_milliseconds()
        outdated = [each.sequence for each in documents if 0 < each.expires <= now]
        if not outdated:
            return documents
        self.durable.on_outdated(outdated)
        return [each for each in documents if each.sequence not in outdated]

    def _keep_in_order(self, documents: list[Given], keys: dict[int, str]) -> list[Given]:
        """The documents that are for this client, and not for one that has some of their key."""
        assign = self.durable.queue.assign
        ours = [
            each for each in documents if assign(each.sequence, keys[each.sequence], self.consumer)
        ]
        self.durable.wake()  # others could take nothing until this was known
        return ours

    def _wake_when_due(self, now: float) -> None:
        """Look again when something that was given back is due."""
        due = self.durable.queue.next_due()
        if self._waking is not None:
            self._waking.cancel()
            self._waking = None
        if due is not None and due > now:
            self._waking = asyncio.get_running_loop().call_later(due - now, self.wake)

    @property
    def has_work(self) -> bool:
        """Whether something can be taken, now or later."""
        queue = self.durable.queue
        if self.is_over or self.ended is not None or self.credit <= 0:
            return False
        return queue.has_work(self.consumer, time.monotonic()) or queue.next_due() is not None


def _contents(documents: Sequence[Given]) -> dict[int, bytes]:
    return {each.sequence: each.document for each in documents}


def _no_work(attachment: Attachment) -> None:
    """Nobody serves it yet."""
