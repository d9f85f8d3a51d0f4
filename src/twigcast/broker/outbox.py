"""What is on its way to one client: each document once, with the subscriptions that get it.

    offered, given ──────────────────────┐  credit, and nothing of the subscription waits
                                         ▼
    queues of its own, the store ──► log of documents ──► next: some of them, for one message
     (no credit, or something waits)  subscriptions: 7, 9, 23, …

A connection has one log for all its subscriptions.  A document that matches thousands of them is
one entry there, with a list of their numbers; so a delivery costs an append and a credit less, and
the bytes travel once.  A subscription without credit has a queue of its own, or the store, and
holds up nobody.  When it has credit again, what waited for it is added to the end of the log: that
of several subscriptions together, so that a document that waited for many goes once to them, too.

Invariant: what the log has of a subscription came before what waits elsewhere for it.  So the
documents of a subscription are in order.

Bounds: entries are kept in the space of all queues (:mod:`~twigcast.broker.shared_queues`), and may
be lost there as the oldest; then their subscriptions are told how many they missed.  What comes
from queues and for durable subscriptions is *pinned*: it is in memory here.  While there is a
message full of it, no more is added, unless all connections together have little of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from heapq import heappop, heappush
from typing import Final, NamedTuple, Protocol

from twigcast.broker.pace import BATCH, BATCH_BYTES
from twigcast.broker.shared_queues import REFERENCE_BYTES, DocumentQueue, Kept, QueueSpace
from twigcast.times import now_milliseconds
from twigcast.wire import messages, raw

_log = logging.getLogger(__name__)

Keys = tuple[str, ...]

_DELIVERY_BYTES: Final = 16
"""What a delivery takes in memory, about, if its keys are known otherwise."""
_MOST_DELIVERIES: Final = 16_384
"""How many deliveries one message has, at most."""
DELIVERY_ROOM: Final = 8
"""What a delivery takes in a message, about, if its keys are known otherwise."""
_SEQUENCE_ROOM: Final = 16


class Waiter(Protocol):
    """A subscription that has a queue of its own."""

    number: int
    credit: int
    queue: DocumentQueue
    is_over: bool
    is_due: bool
    on_outdated: Callable[[int], None]
    """Hears how many documents expired while they waited."""

    def missed(self, count: int) -> None:
        """Note that documents were lost that were on their way; others may come instead."""

    def outdated(self, sequence: int = 0) -> None:
        """Note that a document expired that was on its way; another may come instead."""

    def unreadable(self, error: OSError) -> None:
        """Note that the queue cannot be read."""


class Outgoing:
    """A document, and the subscriptions of one client that get it.

    ``keys``, ``sequences`` and ``attempts`` are as long as ``numbers``, or None where no
    subscription needs them.
    """

    __slots__ = (
        "attempts",
        "cost",
        "document",
        "expires",
        "kept",
        "keys",
        "numbers",
        "rank",
        "room",
        "sequences",
    )

    def __init__(
        self, document: bytes | None, kept: Kept | None = None, *, expires: int = 0
    ) -> None:
        self.document = document
        """The document if it is pinned, else None."""
        self.kept = kept
        self.expires = expires
        self.room = BATCH_BYTES
        """How many bytes its deliveries may still take in a message; then there is another."""
        self.cost = 0
        """Bytes that the reference takes in the space."""
        self.rank = 0
        """Where in the order of the space it was, if it waited."""
        self.numbers: list[int] = []
        self.keys: list[Keys | None] | None = None
        self.sequences: list[int] | None = None
        self.attempts: list[int] | None = None

    def add(self, number: int, keys: Keys | None, sequence: int = 0, attempts: int = 0) -> None:
        """Add a delivery; ``keys`` is None where the client knows them."""
        before = len(self.numbers)
        self.numbers.append(number)
        self.room -= DELIVERY_ROOM + (_SEQUENCE_ROOM if sequence else 0)
        if keys is not None:
            self.room -= sum(map(len, keys))
        if self.keys is not None or keys is not None:
            if self.keys is None:
                self.keys = [None] * before
            self.keys.append(keys)
        if self.sequences is not None or sequence:
            if self.sequences is None:
                self.sequences = [0] * before
            self.sequences.append(sequence)
        if self.attempts is not None or attempts:
            if self.attempts is None:
                self.attempts = [0] * before
            self.attempts.append(attempts)

    @property
    def is_outdated(self) -> bool:
        """Whether the document has expired."""
        return 0 < self.expires <= now_milliseconds()

    @property
    def size(self) -> int:
        """Bytes of the document."""
        if self.document is not None:
            return len(self.document)
        assert self.kept is not None, "it is pinned or kept"
        return self.kept.size

    def deliveries(self) -> Iterator[tuple[int, Keys | None, int, int]]:
        """Number, keys, sequence and attempts of each delivery."""
        count = len(self.numbers)
        return zip(
            self.numbers,
            self.keys or [None] * count,
            self.sequences or [0] * count,
            self.attempts or [0] * count,
            strict=True,
        )


class Sendable(NamedTuple):
    """Some documents to send, and how many were missed, by the number of the subscription."""

    documents: list[tuple[bytes, Outgoing]]
    missed: Mapping[int, int]


class Outbox:
    """The log of one client; whoever serves the client calls :meth:`next`."""

    def __init__(self, space: QueueSpace, most_bytes: int, message_bytes: int) -> None:
        self.by_number: dict[int, Waiter] = {}
        """The ephemeral subscriptions."""
        self.durable: dict[int, Callable[[int], None]] = {}
        """By the number of a durable one, who hears that a sequence expired on its way."""
        self.ready = asyncio.Event()
        """Set when there may be something to send."""
        self.waiting_bytes = 0
        self.last = Outgoing(None)
        """The entry that was begun last."""
        self.last_document: bytes | None = None
        """Its document, while further subscriptions may get it."""
        self._space = space
        self._most_bytes = most_bytes
        self._message_bytes = min(BATCH_BYTES, message_bytes)
        self._log: deque[Outgoing] = deque()
        self._pinned_bytes = 0
        self._due: list[tuple[int, int, Waiter]] = []
        """A heap: by the rank of the first document that waits, subscriptions with credit."""
        self._missed: dict[int, int] = {}
        self._room = asyncio.Event()

    def __len__(self) -> int:
        return len(self._log)

    # --- what comes in ----------------------------------------------------------------------------

    def begin(self, document: bytes, expires: int) -> Outgoing | None:
        """An entry for a document that is offered; None if the log is full."""
        self._account()
        if self.waiting_bytes + len(document) + REFERENCE_BYTES > self._most_bytes:
            return None
        kept = self._space.keep(document, expires)
        entry = Outgoing(None, kept, expires=expires)
        entry.cost = REFERENCE_BYTES
        self._append(entry, document)
        self._space.refer(kept, self, REFERENCE_BYTES)
        return entry if kept.waiting and self.last is entry else None

    def is_full_for(self, document: bytes) -> bool:
        """Whether a document would be one more, and enough is pinned: here, and everywhere."""
        return (
            self._pinned_bytes >= BATCH_BYTES
            and self.last_document is not document
            and not self._space.may_pin
        )

    def pin(self, document: bytes, expires: int) -> Outgoing:
        """An entry for a document that cannot be lost, the last if it is the same."""
        last = self.last
        if self.last_document is document and last.document is not None and last.room > 0:
            return last
        return self.pin_more(document, expires)

    def pin_more(self, document: bytes, expires: int) -> Outgoing:
        """An entry of its own that cannot be lost; see :meth:`room`."""
        self._account()
        entry = Outgoing(document, expires=expires)
        self._pin_bytes(len(document))
        self._append(entry, document)
        return entry

    def _pin_bytes(self, size: int) -> None:
        self._pinned_bytes += size
        self._space.pinned_bytes += size

    def _append(self, entry: Outgoing, document: bytes) -> None:
        self._log.append(entry)
        self.last = entry
        self.last_document = document
        self.waiting_bytes += len(document)
        self.ready.set()

    def _account(self) -> None:
        """Count what the list of the last entry takes, now that it is complete."""
        entry, self.last_document = self.last, None
        if entry.kept is not None and self._log and self._log[-1] is entry:
            size = _DELIVERY_BYTES * len(entry.numbers)
            if entry.keys is not None:
                size += sum(len(key) for keys in entry.keys if keys for key in keys)
            more = REFERENCE_BYTES + size - entry.cost  # it may have been counted before
            entry.cost += more
            self._space.grow(more)

    async def room(self) -> None:
        """Wait until something more can be pinned."""
        while self._pinned_bytes >= BATCH_BYTES:
            self._room.clear()
            await self._room.wait()

    def due(self, waiter: Waiter) -> None:
        """Let a subscription have what waits for it, as far as it has credit."""
        if not waiter.is_due and waiter.credit > 0 and waiter.queue.items:
            waiter.is_due = True
            heappush(self._due, (waiter.queue.first.number, waiter.number, waiter))
            self.ready.set()

    def note_missed(self, number: int, count: int) -> None:
        """Tell a subscription, with its next document, that some were dropped."""
        self._missed[number] = self._missed.get(number, 0) + count

    # --- what is lost -----------------------------------------------------------------------------

    def lose(self, kept: Kept) -> int:
        """Drop a document, the oldest of all that wait; nothing is left to be released."""
        for position, entry in enumerate(self._log):
            if entry.kept is None:
                continue  # what is pinned stays
            if entry.kept is kept:
                del self._log[position]
                self._released(entry)
                for number in entry.numbers:
                    waiter = self.by_number.get(number)
                    if waiter is not None:
                        waiter.missed(1)
            break
        return 0

    def _released(self, entry: Outgoing) -> None:
        if entry is self.last:
            self.last_document = None
        if entry.kept is None:
            assert entry.document is not None, "it is pinned"
            self.waiting_bytes -= len(entry.document)
            self._pin_bytes(-len(entry.document))
            self._room.set()
        else:
            self.waiting_bytes -= entry.kept.size
            self._space.release(entry.kept, entry.cost)

    def close(self) -> None:
        """Let go of everything."""
        self._due.clear()
        while self._log:
            self._released(self._log.popleft())
        self._most_bytes = 0
        self.ready.set()

    # --- what goes out ----------------------------------------------------------------------------

    def next(self) -> Sendable | None:
        """What to send next; None if there is nothing.

        Raises OSError where a document cannot be read, which is missed then.
        """
        self._refill()
        documents: list[tuple[bytes, Outgoing]] = []
        size = deliveries = 0
        while self._log and len(documents) < BATCH:
            entry = self._log[0]
            if entry.is_outdated:
                self._pass_over(self._log.popleft())
                continue
            deliveries += len(entry.numbers)
            size += entry.size + BATCH_BYTES - entry.room
            if documents and (deliveries > _MOST_DELIVERIES or size > self._message_bytes):
                break
            document = entry.document
            if document is None:
                try:
                    document = self._read(entry)
                except OSError as error:
                    if not documents:
                        raise
                    _log.error("a document that waits cannot be read: %s", error)
                    break  # what was read already goes out; this one is missed
            self._log.popleft()
            self._released(entry)
            documents.append((document, entry))
        if not documents:
            return None
        return Sendable(documents, self._missed_of(documents) if self._missed else {})

    def _pass_over(self, entry: Outgoing) -> None:
        """Let go of a document that has expired."""
        self._released(entry)
        for number, _, sequence, _ in entry.deliveries():
            waiter = self.by_number.get(number)
            if sequence and number in self.durable:
                self.durable[number](sequence)
            elif waiter is not None:
                waiter.outdated()

    def _read(self, entry: Outgoing) -> bytes:
        assert entry.kept is not None, "it is not pinned"
        try:
            return self._space.read(entry.kept)
        except OSError:
            self.lose(entry.kept)
            raise

    def _missed_of(self, documents: list[tuple[bytes, Outgoing]]) -> dict[int, int]:
        getting = {number for _, entry in documents for number in entry.numbers}
        found = [number for number in self._missed if number in getting]
        return {number: self._missed.pop(number) for number in found}

    def _refill(self) -> None:
        """Move what waited for subscriptions with credit to the log, a message full of it."""
        due = self._due
        while due and self._pinned_bytes < BATCH_BYTES:
            rank = due[0][0]
            self._account()
            while due and due[0][0] == rank:
                waiter = heappop(due)[2]
                waiter.is_due = False
                if waiter.is_over or not waiter.queue.items:
                    continue
                if waiter.queue.first.is_outdated:
                    waiter.queue.remove_first()
                    waiter.on_outdated(1)
                elif waiter.queue.first.number == rank:  # or else that one was lost meanwhile
                    expires = waiter.queue.first.expires
                    try:
                        document, keys = waiter.queue.take()
                    except OSError as error:
                        waiter.unreadable(error)
                        continue
                    self._pin_again(document, rank, expires).add(waiter.number, keys)
                    waiter.credit -= 1
                self.due(waiter)

    def _pin_again(self, document: bytes, rank: int, expires: int) -> Outgoing:
        """The pinned entry of a document that waited for several."""
        if self.last_document is not None and self.last.rank == rank and self.last.room > 0:
            return self.last
        entry = self.pin_more(document, expires)
        entry.rank = rank
        return entry


def encode_documents(sendable: Sendable) -> bytes:
    """The message for what is to be sent: a BrokerFrame, serialized."""
    sets: dict[Keys, int] = {}
    body = []
    for document, entry in sendable.documents:
        deliveries = messages.Shared(subscriptions=entry.numbers)
        if entry.keys is not None:
            deliveries.keys.extend(
                [0 if each is None else sets.setdefault(each, len(sets) + 1) for each in entry.keys]
            )
        if entry.sequences is not None:
            deliveries.sequences.extend(entry.sequences)
        if entry.attempts is not None:
            deliveries.attempts.extend(entry.attempts)
        body.append(raw.field(1, document) + deliveries.SerializeToString())
    rest = messages.Documents(
        keys=[messages.Keys(keys=each) for each in sets],
        missed=[
            messages.Missed(subscription=number, count=count)
            for number, count in sendable.missed.items()
        ],
    )
    return raw.field(3, raw.fields(1, body) + rest.SerializeToString())
