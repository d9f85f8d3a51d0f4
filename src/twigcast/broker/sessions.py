"""A client's session: what it says, what it is answered, and what is delivered to it.

    frames ──► publish ──► flow ──► in order, once safe: released, answered
           ──► subscribe, advertise, ... ──► broker ──► answered
           ──► consumed, acknowledge ──► credit, cursor

    each subscription ──► its own task ──► deliveries, as far as there is credit

All that is written to the client goes through one lock; a client that does not read holds up only
its own deliveries.  A publisher is slowed down, by not reading on, while more of its documents wait
for the disk than is good, or when it publishes faster than it may.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import Future
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from google.protobuf.message import DecodeError

import twigcast
from twigcast.broker.access import Permission, Principal
from twigcast.broker.broker import Broker
from twigcast.broker.flow import Published
from twigcast.broker.link_codec import decode_promise
from twigcast.broker.subscriptions import (
    Attachment,
    DurableSubscription,
    EphemeralSubscription,
)
from twigcast.errors import (
    AccessError,
    AdvertisementError,
    DocumentError,
    RefusedError,
    SchemaError,
    StoreError,
    TwigcastError,
)
from twigcast.wire import PROTOCOL, messages, raw

_UNRELEASED: Final = 16
"""How many batches of one publisher may wait for the disk."""
_WAITING_BYTES: Final = 32 * 1024 * 1024
_TURN: Final = 0.002
_LONGEST_NAME: Final = 200


class SessionError(TwigcastError):
    """A client that does not keep to the protocol; its session ends."""


class Quota:
    """How much one client has, over all its connections where it is known by name."""

    def __init__(self) -> None:
        self.connections = 0
        self.subscriptions = 0
        self.expressions = 0


class ClientSession:
    """One Connect stream."""

    def __init__(
        self,
        broker: Broker,
        principal: Principal,
        number: int,
        quota: Quota,
        write: Callable[[bytes], Awaitable[None]],
    ) -> None:
        self._broker = broker
        self.principal = principal
        self._quota = quota
        self._write_raw = write
        self._lock = asyncio.Lock()
        self.link = f"client/{number}"
        self.client = ""
        self.since = time.time()
        self._subscriptions: dict[str, EphemeralSubscription | Attachment] = {}
        self._counted: dict[str, int] = {}  # expressions
        self._pumps: dict[str, asyncio.Task[None]] = {}
        self._advertisements: set[str] = set()
        self._batches: deque[_Batch] = deque()
        self._releasing: asyncio.Task[None] | None = None
        self._room = asyncio.Event()
        self._allowed_at = 0.0

    async def run(self, frames: AsyncIterator[bytes]) -> None:
        """Serve the client until it ends the stream.

        Raises SessionError where the client does not keep to the protocol.
        """
        broker = self._broker
        hello = await anext(aiter(frames), None)
        if hello is None:
            return
        self._on_hello(_decode(hello))
        limits = broker.config.limits
        welcome = messages.Welcome(
            broker=broker.name,
            protocol=PROTOCOL,
            version=twigcast.__version__,
            document_bytes=limits.document_bytes,
            message_bytes=limits.message_bytes,
        )
        broker.open_publisher(self.link)
        try:
            await self._write(messages.BrokerFrame(welcome=welcome).SerializeToString())
            async for data in frames:
                frame = _decode(data)
                kind = frame.WhichOneof("frame")
                if kind == "publish":
                    await self._on_publish(frame.publish)
                elif kind == "consumed":
                    self._on_consumed(frame.consumed)
                elif kind == "acknowledge":
                    self._on_acknowledge(frame.acknowledge)
                elif kind in ("subscribe", "unsubscribe", "advertise", "unadvertise"):
                    await self._answer(getattr(frame, kind), getattr(self, f"_on_{kind}"))
                else:
                    raise SessionError(f"a client does not say this here: {kind}")
        finally:
            await self._close()

    async def _close(self) -> None:
        for subscription in list(self._subscriptions.values()):
            self._leave(subscription)
        tasks = list(self._pumps.values())
        if self._releasing is not None:
            # What was accepted goes out, whether the publisher hears of it or not.
            await asyncio.gather(self._releasing, return_exceptions=True)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._broker.close_publisher(self.link)

    def _on_hello(self, frame: messages.ClientFrame) -> None:
        if frame.WhichOneof("frame") != "hello":
            raise SessionError("a session begins with a hello")
        if frame.hello.protocol != PROTOCOL:
            raise SessionError(
                f"the client speaks version {frame.hello.protocol} of the protocol, the broker "
                f"version {PROTOCOL}: use the same release of Twigcast for both"
            )
        self.client = frame.hello.client[:_LONGEST_NAME]

    # --- writing ----------------------------------------------------------------------------------

    async def _write(self, frame: bytes) -> None:
        async with self._lock:
            await self._write_raw(frame)

    async def _answer(self, said: Any, handle: Callable[[Any], Awaitable[object]]) -> None:
        answer = messages.Answer(request=said.request)
        try:
            state = await handle(said)
            if isinstance(state, messages.QueueState):
                answer.queue.CopyFrom(state)
        except TwigcastError as error:
            code = code_of(error)
            self._broker.metrics.refused(code)
            answer.problems.add(code=code, reason=str(error))
        await self._write(messages.BrokerFrame(answer=answer).SerializeToString())

    # --- publishing -------------------------------------------------------------------------------

    async def _on_publish(self, said: messages.Publish) -> None:
        broker = self._broker
        batch = _Batch(said.request)
        turn = time.perf_counter()
        for index, publication in enumerate(said.publications):
            try:
                batch.add(await self._publish(publication))
            except TwigcastError as error:
                code = code_of(error)
                broker.metrics.refused(code)
                batch.refuse(index, code, str(error))
            if time.perf_counter() - turn > _TURN:
                await asyncio.sleep(0)
                turn = time.perf_counter()
        if batch.is_safe and self._releasing is None:
            self._release(batch)
            await self._write(batch.answer())
        else:
            self._batches.append(batch)
            if self._releasing is None:
                self._releasing = asyncio.create_task(self._release_all())
            while len(self._batches) > _UNRELEASED or self._is_disk_behind():
                self._room.clear()
                await self._room.wait()
        await self._keep_to_rate(len(said.publications))

    def _is_disk_behind(self) -> bool:
        store = self._broker.store
        return bool(self._batches) and store is not None and store.waiting_bytes > _WAITING_BYTES

    async def _publish(self, publication: messages.Publication) -> Published:
        broker = self._broker
        broker.access.require(self.principal, Permission.PUBLISH)
        content = publication.content
        if len(content) > broker.config.limits.document_bytes:
            raise RefusedError(
                f"the document has {len(content):,} bytes, more than the "
                f"{broker.config.limits.document_bytes:,} that this broker takes "
                "(limits.document_bytes)",
                "too-large",
            )
        broker.access.check_document(self.principal, content)
        identity = ""
        if publication.id:
            if len(publication.id) > _LONGEST_NAME:
                raise RefusedError(
                    f"the id of a publication has at most {_LONGEST_NAME} characters", "invalid"
                )
            # Nobody can use up the ids of others.
            identity = f"{self.principal.name}\n{publication.id}"
            known = await broker.flow.find_publication(identity, publication.again)
            if known is not None:
                return known
        return broker.flow.publish(content, self.link, identity)

    def _release(self, batch: _Batch) -> None:
        for published in batch.published:
            if published is not None:
                published.release()
        self._broker.metrics.acknowledged(time.perf_counter() - batch.began)

    async def _release_all(self) -> None:
        """Let batches go as they become safe, in order."""
        try:
            while self._batches:
                batch = self._batches[0]
                await batch.wait()
                self._release(batch)
                self._batches.popleft()
                self._room.set()
                await self._write(batch.answer())
        finally:
            self._releasing = None
            self._room.set()

    async def _keep_to_rate(self, count: int) -> None:
        rate = self._broker.config.limits.publications_per_second
        if rate:
            now = time.monotonic()
            self._allowed_at = max(self._allowed_at, now - 1.0) + count / rate
            if self._allowed_at > now:
                await asyncio.sleep(self._allowed_at - now)

    # --- subscribing ------------------------------------------------------------------------------

    async def _on_subscribe(self, said: messages.Subscribe) -> messages.QueueState | None:
        broker = self._broker
        broker.access.require(self.principal, Permission.SUBSCRIBE)
        if not said.subscription or len(said.subscription) > _LONGEST_NAME:
            raise RefusedError("a subscription has a name of at most 200 characters", "invalid")
        if said.subscription in self._subscriptions:
            raise RefusedError(f"there is a subscription {said.subscription!r} already", "taken")
        if not said.expressions and not said.durable:
            raise RefusedError("a subscription has at least one expression", "invalid")
        window = min(max(said.window, 1), broker.config.limits.window)
        self._require_quota(len(said.expressions))
        patterns = broker.parse_expressions(said.expressions)
        state = None
        if said.durable:
            durable = await self._put_durable(said, patterns)
            subscription: EphemeralSubscription | Attachment
            subscription = await broker.attach(durable, said, window)
            state = durable.state()
        else:
            link = f"{self.link}/{said.subscription}"
            subscription = broker.subscribe(link, said.subscription, patterns, window)
        self._subscriptions[said.subscription] = subscription
        self._counted[said.subscription] = len(patterns)
        self._quota.subscriptions += 1
        self._quota.expressions += len(patterns)
        self._pumps[said.subscription] = asyncio.create_task(
            self._pump(subscription), name=f"deliver {self.link}/{said.subscription}"
        )
        return state

    async def _put_durable(
        self, said: messages.Subscribe, patterns: dict[str, twigcast.Pattern]
    ) -> DurableSubscription:
        broker = self._broker
        name = said.durable
        if len(name) > _LONGEST_NAME or not name.isprintable():
            raise RefusedError(
                "a durable subscription has a name of at most 200 printable characters", "invalid"
            )
        broker.require_durable(self.principal, name)
        return await broker.put_durable(name, self.principal.name, patterns)

    def _require_quota(self, expressions: int) -> None:
        limits = self._broker.config.limits
        for have, more, most, what, key in (
            (
                self._quota.subscriptions,
                1,
                limits.subscriptions_per_client,
                "subscriptions",
                "subscriptions_per_client",
            ),
            (
                self._quota.expressions,
                expressions,
                limits.expressions_per_client,
                "expressions",
                "expressions_per_client",
            ),
        ):
            if have + more > most:
                raise RefusedError(
                    f"{have:,} {what} and {more:,} more are beyond the {most:,} that a client "
                    f"may have here (limits.{key})",
                    "quota",
                )

    async def _on_unsubscribe(self, said: messages.Unsubscribe) -> None:
        broker = self._broker
        subscription = self._subscriptions.get(said.subscription)
        if subscription is None and not (said.forget and said.durable):
            raise RefusedError(f"there is no subscription {said.subscription!r}", "unknown")
        name = said.durable
        if subscription is not None:
            if isinstance(subscription, Attachment):
                name = subscription.durable.name
            task = self._pumps.pop(said.subscription)
            self._leave(subscription)
            # Not cancelled: gRPC does not forgive a write that was given up.
            await asyncio.wait([task])
        if said.forget and name:
            await broker.forget_durable(broker.durable_of(self.principal, name).name)

    def _leave(self, subscription: EphemeralSubscription | Attachment) -> None:
        if self._subscriptions.pop(subscription.name, None) is None:
            return
        subscription.finish()
        self._quota.subscriptions -= 1
        self._quota.expressions -= self._counted.pop(subscription.name)
        if isinstance(subscription, Attachment):
            if subscription.durable.attached is subscription:
                subscription.durable.attached = None
        else:
            self._broker.unsubscribe(subscription)

    async def _pump(self, subscription: EphemeralSubscription | Attachment) -> None:
        prefix = raw.field(1, subscription.name.encode())
        while not subscription.is_over:
            deliveries, missed = await subscription.take()
            if isinstance(subscription, Attachment) and subscription.ended is not None:
                reason, code = subscription.ended
                ended = messages.Ended(subscription=subscription.name)
                ended.problem.code, ended.problem.reason = code, reason
                self._leave(subscription)
                self._pumps.pop(subscription.name, None)
                await self._write(messages.BrokerFrame(ended=ended).SerializeToString())
                return
            if not deliveries:
                subscription.ready.clear()
                if not subscription.has_work:
                    await subscription.ready.wait()
                continue
            body = prefix + raw.fields(2, deliveries)
            if missed:
                body += b"\x18" + raw.varint(missed)
            await self._write(raw.field(3, body))

    def _on_consumed(self, said: messages.Consumed) -> None:
        subscription = self._subscriptions.get(said.subscription)
        if subscription is not None:
            subscription.consumed(said.count)

    def _on_acknowledge(self, said: messages.Acknowledge) -> None:
        subscription = self._subscriptions.get(said.subscription)
        if isinstance(subscription, Attachment):
            self._broker.acknowledge(subscription.durable, said.upto, said.sequences)

    # --- advertising ------------------------------------------------------------------------------

    async def _on_advertise(self, said: messages.Advertise) -> None:
        broker = self._broker
        broker.access.require(self.principal, Permission.ADVERTISE)
        most = broker.config.limits.advertisements_per_client
        if len(self._advertisements) >= most:
            raise RefusedError(
                f"a client may have {most:,} advertisements here "
                "(limits.advertisements_per_client)",
                "quota",
            )
        try:
            # Reading a large DTD takes a while.
            promise = await asyncio.to_thread(decode_promise, said)
        except (SchemaError, AdvertisementError) as error:
            raise RefusedError(str(error), "invalid") from None
        broker.advertise(self.link, said.advertisement, promise)
        self._advertisements.add(said.advertisement)

    async def _on_unadvertise(self, said: messages.Unadvertise) -> None:
        self._broker.unadvertise(self.link, said.advertisement)
        self._advertisements.discard(said.advertisement)

    def subscriptions(self) -> list[EphemeralSubscription | Attachment]:
        """The subscriptions of this session."""
        return list(self._subscriptions.values())


class _Batch:
    """Documents that were published together, and the answer to that."""

    def __init__(self, request: int) -> None:
        self.began = time.perf_counter()
        self.published: list[Published | None] = []
        self._answer = messages.Answer(request=request)

    def add(self, published: Published) -> None:
        self.published.append(published)

    def refuse(self, index: int, code: str, reason: str) -> None:
        self.published.append(None)
        self._answer.problems.add(index=index, code=code, reason=reason)

    @property
    def _futures(self) -> list[Future[None]]:
        return [each.safe for each in self.published if each is not None and each.safe is not None]

    @property
    def is_safe(self) -> bool:
        return all(future.done() for future in self._futures)

    async def wait(self) -> None:
        """Until everything is stored, or could not be."""
        if futures := self._futures:
            await asyncio.wait(futures)

    def answer(self) -> bytes:
        for index, each in enumerate(self.published):
            error = None if each is None or each.safe is None else each.safe.exception()
            if error is not None:
                self._answer.problems.add(index=index, code="unavailable", reason=str(error))
                self._answer.ids.append("")
            else:
                self._answer.ids.append("" if each is None else each.id)
        return messages.BrokerFrame(answer=self._answer).SerializeToString()


def _decode(data: bytes) -> messages.ClientFrame:
    try:
        return messages.ClientFrame.FromString(data)
    except DecodeError as error:
        raise SessionError(f"a frame cannot be read: {error}") from None


def code_of(error: TwigcastError) -> str:
    """The code of an error, as the wire names it."""
    if isinstance(error, RefusedError | AccessError):
        return error.code
    if isinstance(error, DocumentError):
        return "malformed"
    if isinstance(error, StoreError):
        return "unavailable"
    return "invalid"
