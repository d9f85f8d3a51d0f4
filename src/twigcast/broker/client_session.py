"""A client session: what one client may do at a broker, however it is connected.

    gRPC: client_stream ──┐                    ┌──► publishing ──► flow
                          ├──► ClientSession ──┼──► subscribe, acknowledge ──► subscriptions
    HTTP: http/ ──────────┘                    └──► advertise ──► router

Permissions, quotas, the pace of publishers and the order of what they publish hold for every kind
of connection, since they are decided here.  The calls take plain values; only a document is
serialized already, since it waits in a queue that may be on disk.

What is on its way to the client is in one outbox, for all subscriptions.  A durable subscription
that is behind has a task that fetches documents for it; there is none for one that keeps up.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from twigcast.broker.access import Permission, Principal
from twigcast.broker.broker import Broker, Expression
from twigcast.broker.client_publishing import RETRY, ClientPublishing
from twigcast.broker.durables import NOTHING_ASKED, AskedOptions
from twigcast.broker.ephemeral import EphemeralSubscription
from twigcast.broker.outbox import Outbox, Sendable
from twigcast.broker.quotas import Quota
from twigcast.broker.session_errors import require_few
from twigcast.broker.subscriptions import (
    Attachment,
    DurableSubscription,
)
from twigcast.errors import (
    AdvertisementError,
    RefusedError,
    SchemaError,
    StoreError,
)
from twigcast.routing import Promise

LONGEST_NAME: Final = 200
_READING: Final = 8
"""For how many durable subscriptions of a client documents are fetched at a time."""

_log = logging.getLogger(__name__)

Subscription: TypeAlias = EphemeralSubscription | Attachment


class ClientSession:
    """One client, from its first message to its last; :meth:`close` ends it."""

    def __init__(
        self,
        broker: Broker,
        principal: Principal,
        number: int,
        quota: Quota,
        client: str,
        on_close: Callable[[], None],
    ) -> None:
        self.broker = broker
        self.principal = principal
        self.link = f"client:{number}"
        self.client = client
        self.since = time.time()
        self._quota = quota
        self._on_close = on_close
        self._is_closed = False
        limits = broker.config.limits
        self.outbox = Outbox(broker.queues, limits.queue_bytes, limits.message_bytes)
        self._subscriptions: dict[int, Subscription] = {}
        self._counted: dict[int, int] = {}  # expressions
        self._highest = 0  # number of a subscription
        self._ended: deque[Subscription] = deque()  # by the broker
        self._taking: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Semaphore(_READING)
        self._advertisements: set[str] = set()
        self.publishing = ClientPublishing(broker, principal, self.link, quota)
        broker.open_publisher(self.link)

    def close(self, *, is_lost: bool = False) -> None:
        """End subscriptions and advertisements; what was published is still delivered.

        A client ``is_lost`` that did not end its subscriptions itself.
        """
        if self._is_closed:
            return
        self._is_closed = True
        for subscription in self.subscriptions():
            self.leave(subscription, is_lost=is_lost)
        for task in self._taking:
            task.cancel()
        self.outbox.close()
        self.broker.close_publisher(self.link)
        self._quota.advertisements -= len(self._advertisements)
        self._on_close()

    # --- subscribing ------------------------------------------------------------------------------

    def subscriptions(self) -> list[Subscription]:
        """The subscriptions of this session."""
        return list(self._subscriptions.values())

    def subscription(self, number: int) -> Subscription | None:
        """The subscription of a number."""
        return self._subscriptions.get(number)

    async def subscribe(
        self,
        number: int,
        expressions: Mapping[str, Expression],
        *,
        window: int,
        durable: str = "",
        since_sequence: int | None = None,
        since_time: int | None = None,
        options: AskedOptions = NOTHING_ASKED,
        scope: str = "",
    ) -> Subscription:
        """Open a subscription, under a number of the client's; :meth:`begin` lets documents come.

        A durable subscription begins with a sequence, with the documents since a time, or with the
        first document that is not acknowledged.  A shared one begins with what nobody has.  With a
        scope only documents come that are published in that unit.  Raises RefusedError, AccessError
        and StoreError.
        """
        broker = self.broker
        broker.access.require(self.principal, Permission.SUBSCRIBE)
        if number <= self._highest:
            raise RefusedError(
                f"there was a subscription {self._highest} already: number the next one higher "
                f"than that, not {number}",
                "taken",
            )
        if not expressions and not durable:
            raise RefusedError("a subscription has at least one expression", "invalid")
        if any("\0" in key for key in expressions):
            raise RefusedError("the key of an expression has no NUL character", "invalid")
        if options != NOTHING_ASKED and not durable:
            raise RefusedError(
                "only a durable subscription has options: give it a name, or leave them out",
                "invalid",
            )
        depth = broker.depth_of_scope(scope)
        window = min(max(window, 1), broker.config.limits.window)
        self._quota.require(broker.config.limits, len(expressions))
        patterns = await broker.parse_expressions(expressions)
        subscription: Subscription
        if durable:
            check_name(durable)
            keeper = broker.keeper
            keeper.require(self.principal, durable)
            options = options._replace(scope=depth if scope else None)
            kept = await keeper.put(durable, self.principal, patterns, options)
            if kept.queue.options.is_shared and (since_sequence, since_time) != (None, None):
                raise RefusedError(
                    f"several clients share the documents of {durable!r}, so that none of them "
                    "says where to begin: leave out since",
                    "invalid",
                )
            if since_time is not None:
                since_sequence = await keeper.first_since(kept, since_time)
            subscription = keeper.attach(kept, number, window, since_sequence)
            _log.info("%s reads the durable subscription %r of %r", self.link, durable, kept.owner)
        else:
            link = f"{self.link}/{number}"
            subscription = await broker.subscribe(link, number, patterns, window, depth)
        self._highest = number
        self._subscriptions[number] = subscription
        self._counted[number] = len(patterns)
        self._quota.add(len(patterns))
        return subscription

    def leave(self, subscription: Subscription, *, is_lost: bool = False) -> None:
        """Deliver nothing more; a durable subscription is kept."""
        if self._subscriptions.pop(subscription.number, None) is None:
            return
        self._quota.remove(self._counted.pop(subscription.number))
        if isinstance(subscription, Attachment):
            # Its credit says what it had taken up, and is none when it has finished.
            self.broker.keeper.detach(subscription, is_lost=is_lost)
        else:
            self.broker.unsubscribe(subscription)
        subscription.finish()

    def begin(self, subscription: Subscription, sole: str | None = None) -> None:
        """Let documents come; the client knows the keys where it is ``sole`` that matches."""
        if self._subscriptions.get(subscription.number) is not subscription:
            return  # it was left meanwhile
        if isinstance(subscription, Attachment):
            subscription.on_work = self._take_soon
        keys = None if sole is None else (sole,)
        subscription.begin(self.outbox, keys, lambda: self._on_end(subscription))
        subscription.wake()

    def _on_end(self, subscription: Subscription) -> None:
        self._ended.append(subscription)
        self.outbox.ready.set()

    async def deliveries(self) -> Sendable | Subscription | None:
        """The next documents, once there are some; or a subscription that the broker has ended.

        None when the session is closed.
        """
        while not self._is_closed:
            if self._ended:
                subscription = self._ended.popleft()
                if self._subscriptions.get(subscription.number) is subscription:
                    self.leave(subscription)
                    return subscription
                continue
            try:
                sendable = self.outbox.next()
            except OSError as error:
                _log.error("a document for %s cannot be read: %s", self.link, error)
                continue
            if sendable is not None:
                return sendable
            self.outbox.ready.clear()
            if not self._ended:
                await self.outbox.ready.wait()
        return None

    def _take_soon(self, attachment: Attachment) -> None:
        task = asyncio.create_task(self._take(attachment))
        self._taking.add(task)
        task.add_done_callback(self._taking.discard)

    async def _take(self, attachment: Attachment) -> None:
        """Fetch what waits for a durable subscription, as far as there is credit."""
        try:
            while True:
                try:
                    async with self._turns:
                        if not await self._take_some(attachment):
                            return
                except StoreError:
                    await asyncio.sleep(RETRY)  # it is in the log of the store
        finally:
            attachment.is_taking = False

    async def _take_some(self, attachment: Attachment) -> bool:
        found, missed = await attachment.take()
        if missed:
            self.outbox.note_missed(attachment.number, missed)
            self.broker.keeper.note_missed(attachment.durable)
        if found:
            await self.outbox.room()
            attachment.send(found)
        return bool(found)

    def acknowledge(
        self, number: int, upto: int, sequences: Sequence[int], *, durable: str = ""
    ) -> None:
        """Note documents that need not come again.

        The subscription is one of this session, or a durable one.
        """
        kept = self._acknowledged(number, sequences, durable)
        if kept is not None:
            self.broker.keeper.note_acknowledged(kept, upto, sequences)

    async def acknowledge_safely(
        self, number: int, upto: int, sequences: Sequence[int], *, durable: str = ""
    ) -> None:
        """Note the same; returns when it is stored."""
        kept = self._acknowledged(number, sequences, durable)
        if kept is not None:
            await self.broker.keeper.acknowledge(kept, upto, sequences)

    def give_back(self, number: int, sequences: Sequence[int], delay: float) -> None:
        """Take documents back that the client could not use; they come again after a delay."""
        require_few(sequences, "acknowledgements")
        subscription = self._subscriptions.get(number)
        if isinstance(subscription, Attachment):
            self.broker.keeper.give_back(subscription, sequences, delay)

    def _acknowledged(
        self, number: int, sequences: Sequence[int], durable: str
    ) -> DurableSubscription | None:
        require_few(sequences, "acknowledgements")
        if durable:
            self.broker.access.require(self.principal, Permission.SUBSCRIBE)
            return self.broker.keeper.of(self.principal, durable)
        subscription = self._subscriptions.get(number)
        return subscription.durable if isinstance(subscription, Attachment) else None

    # --- advertising ------------------------------------------------------------------------------

    async def advertise(self, name: str, read: Callable[[], Promise], scope: str = "") -> None:
        """Advertise under a name; ``read`` gives the promise, and may take a while."""
        broker = self.broker
        broker.access.require(self.principal, Permission.ADVERTISE)
        most = broker.config.limits.advertisements_per_client
        if self._quota.advertisements >= most:
            raise RefusedError(
                f"a client may have {most:,} advertisements here "
                "(limits.advertisements_per_client)",
                "quota",
            )
        depth = broker.depth_of_scope(scope)
        try:
            promise = await asyncio.to_thread(read)
        except (SchemaError, AdvertisementError) as error:
            raise RefusedError(str(error), "invalid") from None
        broker.advertise(self.link, name, promise, depth)
        self._advertisements.add(name)
        self._quota.advertisements += 1

    def unadvertise(self, name: str) -> None:
        """End an advertisement."""
        self.broker.unadvertise(self.link, name)
        self._advertisements.remove(name)
        self._quota.advertisements -= 1


def check_name(durable: str) -> None:
    """Raise RefusedError for what no durable subscription can be called."""
    if len(durable) > LONGEST_NAME or not durable.isprintable():
        raise RefusedError(
            "a durable subscription has a name of at most 200 printable characters", "invalid"
        )
