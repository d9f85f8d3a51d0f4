"""Carries out what the machine of durable delivery says: with queues, links and the store.

    publishers, neighbours, store, clock ──events──► Delivery ──instructions──► here
                       ▲                                                         │
                       └───────────── store, links, queues, answers ◄────────────┘

What is decided is decided in :mod:`twigcast.delivery`; nothing here knows why.  Whoever
waits for an answer gives a number, its ticket, with the event.

Cost: one match for each document and broker; durable documents are written once here, and once at
each home, many in one commit.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from asyncio import Future
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from twigcast.broker.delivery_codec import encode_message, is_document
from twigcast.broker.ephemeral import EphemeralSubscription
from twigcast.broker.link_connection import LinkConnection
from twigcast.broker.metrics import Metrics
from twigcast.broker.outbox import Keys
from twigcast.broker.shared_queues import DocumentQueue, QueueSpace
from twigcast.broker.store import Store
from twigcast.broker.store.writer import Done
from twigcast.broker.subscriptions import (
    DurableSubscription,
    encode_common,
)
from twigcast.delivery import (
    NOTHING,
    Acknowledged,
    Addressed,
    Again,
    Answer,
    Came,
    Delivery,
    Drop,
    Event,
    Expired,
    FullError,
    Instruction,
    Limits,
    LinkMessage,
    Load,
    Loaded,
    Moment,
    Offer,
    Outdated,
    Parcel,
    Published,
    Queue,
    Repeat,
    Route,
    Routed,
    Send,
    Stored,
    StoreFailed,
    Tick,
    TooLarge,
    Wake,
)
from twigcast.delivery import Store as StoreIt
from twigcast.errors import RefusedError, StoreError
from twigcast.hierarchy import Numberings
from twigcast.routing import Foreseen, Recipients, Router
from twigcast.routing import Send as RouterSend

TICK: Final = 0.25
"""How often, in seconds, the machine is told that time passes."""
_RESEND_BYTES: Final = 4 * 1024 * 1024
FULL_FOR: Final = 10.0
"""For how many seconds it is reported that there was no room."""
_TRIM_AGAIN: Final = 0.1
"""How many seconds after it was of no use."""

_SENT: Final = (Send, Offer)

_log = logging.getLogger(__name__)


class Waiting(Protocol):
    """Somebody who waits for answers."""

    def answered(self, answer: Answer) -> None:
        """Take an answer."""


class DocumentFlow:
    """What one broker does with documents.

    ``link`` gives the connection to a neighbour, if it is up; ``route`` sends what the router says.
    """

    def __init__(
        self,
        router: Router,
        store: Store | None,
        metrics: Metrics,
        link: Callable[[str], LinkConnection | None],
        route: Callable[[list[RouterSend]], None],
        space: QueueSpace,
        *,
        limits: Limits,
        keep_all: bool,
        keep_unrouted: bool,
        is_guarded: bool,
    ) -> None:
        self._name = router.name
        self._router = router
        self._looked = 0.0
        """Seconds for each of the documents that were looked at together last."""
        self._is_guarded = is_guarded
        self._store = store
        self._metrics = metrics
        self._space = space
        self._link = link
        self.machine = Delivery(
            router,
            None if store is None else store.state,
            limits=limits,
            keep_all=keep_all and store is not None,
            keep_unrouted=keep_unrouted and store is not None,
            is_guarded=is_guarded,
        )
        self.numberings = Numberings(router)
        """The bits by which brokers name homes to each other."""
        self._tickets = count(1)
        self._waiting: dict[int, Waiting] = {}
        self._ephemeral: dict[str, EphemeralSubscription] = {}
        self._receivers: WeakKeyDictionary[Recipients, list[tuple[EphemeralSubscription, Keys]]]
        self._receivers = WeakKeyDictionary()
        self._durable: dict[str, DurableSubscription] = {}
        self._encoded: tuple[Parcel | None, bytes] = (None, b"")
        """The document that was sent last, and what was sent of it."""
        self._loading: set[asyncio.Task[None]] = set()
        self._trimming: asyncio.Task[bool] | None = None
        self._trimmed_in_vain = -math.inf
        self.held = 0
        """How many publishers are held back now."""
        self._refused = ""
        self._refused_at = -math.inf
        """When there was no room for a document."""
        self._carry_out: dict[type[Any], Callable[[Any], None]] = {
            StoreIt: self._on_store,
            Send: self._on_send,
            Route: lambda instruction: route(instruction.sends),
            Offer: self._on_offer,
            Queue: self._on_queue,
            Again: self._on_again,
            Answer: self.answer,
            Load: self._on_load,
            Drop: self._on_drop,
            Repeat: lambda _: None,
            Outdated: lambda _: metrics.outdated(1),
            Wake: self._on_wake,
        }

    def start(self) -> None:
        """Go on with what was kept."""
        if self._store is not None:
            self._store.start(asyncio.get_running_loop(), self._on_done)
        self._do(self.machine.begin())

    async def close(self) -> None:
        """Stop, after what is to be remembered of this life."""
        self._do(self.machine.end())
        tasks = [*self._loading, *((self._trimming,) if self._trimming else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- who takes documents ----------------------------------------------------------------------

    def add_ephemeral(self, subscription: EphemeralSubscription) -> None:
        """Give documents to an ephemeral subscription."""
        self._ephemeral[subscription.link] = subscription
        self._receivers.clear()
        subscription.on_outdated = self._metrics.outdated

    def remove_ephemeral(self, subscription: EphemeralSubscription) -> None:
        """Give no more documents to one."""
        del self._ephemeral[subscription.link]
        self._receivers.clear()

    def ephemeral(self) -> Iterable[EphemeralSubscription]:
        """The ephemeral subscriptions."""
        return self._ephemeral.values()

    @property
    def subscriptions(self) -> int:
        """How many subscriptions there are, of either kind."""
        return len(self._ephemeral) + len(self._durable)

    def add_durable(self, durable: DurableSubscription) -> None:
        """Tell a durable subscription when documents are in its queue."""
        self._durable[durable.name] = durable
        durable.on_outdated = partial(self._outdated, durable.name)

    def _outdated(self, durable: str, sequences: Sequence[int]) -> None:
        """Take documents as done with that have expired in a queue."""
        self._metrics.outdated(len(sequences))
        self.happen(Acknowledged(0, durable, 0, sequences))

    def remove_durable(self, durable: DurableSubscription) -> None:
        """Tell one no more."""
        del self._durable[durable.name]

    @property
    def durable(self) -> Mapping[str, DurableSubscription]:
        """The durable subscriptions, by name."""
        return self._durable

    # --- what happens -----------------------------------------------------------------------------

    def happen(self, event: Event) -> None:
        """Let the machine know of something, and do what it says."""
        self._do(self.machine.handle(event, _now()))

    async def ask(self, event: Callable[[int], Event]) -> Answer:
        """Let something happen that is answered; ``event`` makes it from the ticket.

        Raises RefusedError, and StoreError where it could not be stored.
        """
        asked = _Asked()
        self.happen(event(self.ticket(asked)))
        answer = await asked.future
        if answer.code == "unavailable":
            raise StoreError(answer.reason)
        if answer.code:
            raise RefusedError(answer.reason, answer.code)
        return answer

    def ticket(self, waiting: Waiting) -> int:
        """A number under which somebody is answered."""
        ticket = next(self._tickets)
        self._waiting[ticket] = waiting
        return ticket

    def publish(self, event: Published) -> None:
        """Take a document from a client of this broker; it is answered under its ticket.

        Raises DocumentError for what is none, NetworkError where the client must advertise before,
        and RefusedError; then whoever calls answers.
        """
        began = time.perf_counter()
        if event.foreseen is not None:
            began -= self._looked
        instructions = self.machine.handle(event, _now())
        self._note_matched(event.content, began, instructions)
        self._do(instructions)

    def foresee(self, contents: Sequence[bytes]) -> list[Foreseen]:
        """Look at documents together that are published next, which takes less time."""
        began = time.perf_counter()
        foreseen = self._router.documents.foresee(contents)
        self._looked = (time.perf_counter() - began) / len(contents)
        return foreseen

    def came(self, message: LinkMessage, link: LinkConnection) -> None:
        """Take what a neighbour says; raises SubscriptionError."""
        link.documents_received += is_document(message)
        is_for_us = isinstance(message, Addressed) and message.to == self._name
        routed = message.content if is_for_us and isinstance(message, Addressed) else message
        if not isinstance(routed, Routed):  # there is nothing to match
            self.happen(Came(link.name, message))
            return
        began = time.perf_counter()
        instructions = self.machine.handle(Came(link.name, message), _now())
        self._note_matched(routed.parcel.content, began, instructions)
        self._do(instructions)

    def _note_matched(
        self, content: bytes, began: float, instructions: Sequence[Instruction]
    ) -> None:
        seconds = time.perf_counter() - began
        is_wanted = False
        for each in instructions:
            if isinstance(each, Repeat):
                self._metrics.repeated()
                return
            if isinstance(each, StoreIt):
                is_wanted |= each.write is not NOTHING
            elif isinstance(each, _SENT):
                is_wanted = True
        self._metrics.matched(len(content), seconds, is_wanted)

    async def tick(self) -> None:
        """Let the machine know that time passes; to be done now and then."""
        self.happen(Tick())

    async def make_room(self, error: FullError) -> bool:
        """Drop at once what nobody needs; False if that is of no use, or was of none just now."""
        if error.room and await self._trim_at_once(error.room):
            return True
        now = time.monotonic()
        if now - self._refused_at > FULL_FOR:
            _log.warning("publishers are refused or held back: %s", error)
        self._refused, self._refused_at = str(error), now
        return False

    async def _trim_at_once(self, room: int) -> bool:
        if self._trimming is None or self._trimming.done():
            if time.monotonic() - self._trimmed_in_vain < _TRIM_AGAIN:
                return False
            self._trimming = asyncio.create_task(self.trim(room), name="trim")
        try:
            has_dropped = await asyncio.shield(self._trimming)
        except StoreError:
            return False
        if not has_dropped:
            self._trimmed_in_vain = time.monotonic()
        return has_dropped

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Count a publisher that is held back."""
        self.held += 1
        try:
            yield
        finally:
            self.held -= 1

    @property
    def full(self) -> str:
        """Why publishers were refused or held back a moment ago; empty if none was."""
        return self._refused if time.monotonic() - self._refused_at <= FULL_FOR else ""

    async def trim(self, room: int = 0) -> bool:
        """Drop what retention does not keep, if there is anything; to be done now and then."""
        if self._store is None:
            return False
        trimmed = await self._store.trim(_now().time, room=room)
        self._metrics.lost(sum(trimmed.lost.values()))
        self.happen(
            Expired(trimmed.bytes, trimmed.publishers, trimmed.owed, trimmed.first, trimmed.lost)
        )
        return trimmed.documents > 0

    def _on_done(self, done: Done) -> None:
        """What the store has written, or could not."""
        if self._is_guarded and self._store is not None and self._store.over:
            return  # another door answers: clients publish there what was not answered here
        moment = _now()
        for ticket, result in done:
            if not isinstance(result, StoreError):
                if ticket:
                    self._do(self.machine.handle(Stored(ticket, result), moment))
            elif ticket:
                self._do(self.machine.handle(StoreFailed(ticket, str(result)), moment))

    # --- what is done -----------------------------------------------------------------------------

    def _do(self, instructions: list[Instruction]) -> None:
        for each in instructions:
            self._carry_out[type(each)](each)

    def _on_store(self, instruction: StoreIt) -> None:
        assert self._store is not None, "nothing is stored without a store"
        try:
            self._store.submit(*instruction)
        except StoreError as error:  # it is closed
            if instruction.ticket:
                self.happen(StoreFailed(instruction.ticket, str(error)))

    def _on_send(self, instruction: Send) -> None:
        items = encode_message(instruction.message, self.numberings.now)
        if not is_document(instruction.message):
            for name in instruction.links:
                link = self._link(name)
                if link is not None:
                    link.say(items)
            return
        is_alone = isinstance(instruction.message, Addressed)
        for name in instruction.links:
            link = self._link(name)
            if link is None:
                continue
            if is_alone and not link.takes(items[0]):
                # It was dropped when it went with others; now whoever owes it sets it aside.
                reason = (
                    f"it cannot cross the link to {name}, on which documents have up to "
                    f"{link.largest:,} bytes (limits.message_bytes)"
                )
                self.happen(TooLarge(name, instruction.message, reason))
                continue
            if instruction.is_again:
                self._metrics.resent()
            self._metrics.forwarded(link.pass_on(items[0]))

    def _on_offer(self, instruction: Offer) -> None:
        parcel = instruction.parcel
        common = self._encode(parcel)
        receivers = self._receivers_of(instruction.recipients)
        waiting: list[DocumentQueue] = []
        others: list[tuple[EphemeralSubscription, Keys]] = []
        for each in receivers:
            receiver, keys = each
            if not receiver.credit and keys == receiver.sole:
                waiting.append(receiver.queue)
            else:
                others.append(each)
        # First the queues: what is lost to make room may give one credit, which then finds it.
        queued = self._space.put_in_all(waiting, common, parcel.expires) if waiting else 0
        for receiver, keys in others:
            if receiver.offer(common, keys, parcel.expires):
                queued += 1
        self._metrics.offered(queued, len(receivers) - queued, parcel.published)

    def _receivers_of(self, recipients: Recipients) -> list[tuple[EphemeralSubscription, Keys]]:
        receivers = self._receivers.get(recipients)
        if receivers is None:
            receivers = self._receivers[recipients] = [
                (self._ephemeral[name], keys)
                for name, keys in recipients.deliveries
                if name in self._ephemeral  # it may have gone while the document was stored
            ]
        return receivers

    def _on_queue(self, instruction: Queue) -> None:
        parcel = instruction.parcel
        common = self._encode(parcel)
        for name, sequence, keys in instruction.entries:
            durable = self._durable.get(name)
            if durable is not None:
                durable.entered(sequence, common, keys, parcel.expires)
        self._metrics.offered(len(instruction.entries), 0, parcel.published)

    def _on_again(self, instruction: Again) -> None:
        durable = self._durable.get(instruction.durable)
        if durable is not None:
            durable.wake()

    def _encode(self, parcel: Parcel) -> bytes:
        """What is sent of a document: the same object for all who get it now."""
        if parcel is not self._encoded[0]:
            self._encoded = (parcel, encode_common(parcel))
        return self._encoded[1]

    def answer(self, answer: Answer) -> None:
        """Tell whoever waits under a ticket."""
        waiting = self._waiting.pop(answer.ticket, None)
        if waiting is not None:
            waiting.answered(answer)

    def _on_load(self, instruction: Load) -> None:
        task = asyncio.create_task(self._load(instruction), name=f"owed to {instruction.home}")
        self._loading.add(task)
        task.add_done_callback(self._loading.discard)

    async def _load(self, instruction: Load) -> None:
        assert self._store is not None, "nothing is loaded without a store"
        home, documents = instruction
        try:
            owed = await self._store.read_owed(home, documents, max_bytes=_RESEND_BYTES)
        except StoreError:
            return  # they are sent again in a while
        read = {each.id for each in owed.documents}.union(owed.gone)
        unread = tuple(each for each in documents if each not in read)
        self.happen(Loaded(home, tuple(owed.documents), owed.gone, unread))

    def _on_drop(self, instruction: Drop) -> None:
        self._metrics.refused("dropped")
        _log.warning("%s: %s", instruction.id, instruction.reason)

    def _on_wake(self, instruction: Wake) -> None:
        asyncio.get_running_loop().call_later(instruction.after, self.happen, Tick())


class _Asked:
    """Somebody who waits for one answer."""

    def __init__(self) -> None:
        self.future: Future[Answer] = asyncio.get_running_loop().create_future()

    def answered(self, answer: Answer) -> None:
        """Take the answer."""
        if not self.future.done():
            self.future.set_result(answer)


def _now() -> Moment:
    return Moment(time.monotonic(), time.time_ns() // 1_000_000)
