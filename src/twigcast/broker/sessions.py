"""A client's session: what it says, what it is answered, and what is delivered to it.

    frames ──► publish ──► flow ──► in order, once safe: answered
           ──► subscribe, advertise, ... ──► broker ──► answered
           ──► consumed, acknowledge ──► credit, cursor

    each subscription ──► its own task ──► deliveries, as far as there is credit

All that is written to the client goes through one lock; a client that does not read holds up only
its own deliveries.  A publisher is slowed down, by not reading on, while more of its documents wait
for the disk than is good, or when it publishes faster than it may.
"""

from __future__ import annotations

import asyncio
import logging
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
from twigcast.broker.pace import WAITING_BYTES, taking_turns
from twigcast.broker.quotas import Quota
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

_UNANSWERED: Final = 16
"""How many batches of one publisher may wait for the disk."""
_MOST_AT_ONCE: Final = 10_000
"""How many documents, or acknowledgements, one message may have."""
_LONGEST_NAME: Final = 200
_LONGEST_ID: Final = 1024
_HELLO_PATIENCE: Final = 10.0
_RETRY: Final = 0.5


_log = logging.getLogger(__name__)


class SessionError(TwigcastError):
    """A client that does not keep to the protocol; its session ends."""


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
        self._answering: asyncio.Task[None] | None = None
        self._room = asyncio.Event()

    async def run(self, frames: AsyncIterator[bytes]) -> None:
        """Serve the client until it ends the stream.

        Raises SessionError where the client does not keep to the protocol.
        """
        broker = self._broker
        try:
            hello = await asyncio.wait_for(anext(aiter(frames), None), _HELLO_PATIENCE)
        except TimeoutError:
            raise SessionError("a session begins with a hello, which has not come") from None
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
                elif kind == "acknowledge" and not frame.acknowledge.request:
                    self._on_acknowledge(frame.acknowledge)
                elif kind in ("subscribe", "unsubscribe", "advertise", "unadvertise"):
                    await self._answer(getattr(frame, kind), getattr(self, f"_on_{kind}"))
                elif kind == "acknowledge":
                    await self._answer(frame.acknowledge, self._on_acknowledge_kept)
                else:
                    raise SessionError(f"a client does not say this here: {kind}")
        finally:
            await self._close()

    async def _close(self) -> None:
        # What is waited for may never come: gRPC cancels a call more than once.
        for subscription in list(self._subscriptions.values()):
            self._leave(subscription)
        self._broker.close_publisher(self.link)
        self._quota.advertisements -= len(self._advertisements)
        tasks = list(self._pumps.values())
        if self._answering is not None:
            tasks.append(self._answering)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

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
        if len(said.publications) > _MOST_AT_ONCE:
            raise SessionError(f"a message has at most {_MOST_AT_ONCE:,} documents")
        batch = _Batch(said.request)
        async for publication in taking_turns(said.publications):
            try:
                batch.add(await self._publish(publication))
            except TwigcastError as error:
                code = code_of(error)
                broker.metrics.refused(code)
                batch.refuse(code, str(error))
        if batch.is_safe and self._answering is None:
            await self._answer_batch(batch)
        else:
            self._batches.append(batch)
            if self._answering is None:
                self._answering = asyncio.create_task(self._answer_batches())
            while len(self._batches) > _UNANSWERED or self._is_disk_behind():
                self._room.clear()
                await self._room.wait()
        rate = broker.config.limits.publications_per_second
        await asyncio.sleep(self._quota.wait_for(len(said.publications), rate))

    def _is_disk_behind(self) -> bool:
        store = self._broker.store
        return bool(self._batches) and store is not None and store.waiting_bytes > WAITING_BYTES

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
            if len(publication.id) > _LONGEST_ID:
                raise RefusedError(
                    f"the id of a publication has at most {_LONGEST_ID:,} characters", "invalid"
                )
            # Nobody can use up the ids of others.
            identity = f"{self.principal.name}\n{publication.id}"
            known = await broker.flow.find_publication(identity, publication.again)
            if known is not None:
                return known
        return broker.flow.publish(content, self.link, identity)

    async def _answer_batch(self, batch: _Batch) -> None:
        self._broker.metrics.acknowledged(time.perf_counter() - batch.began)
        await self._write(batch.answer())

    async def _answer_batches(self) -> None:
        """Answer as batches become safe, in order."""
        try:
            while self._batches:
                await self._batches[0].wait()
                batch = self._batches.popleft()
                self._room.set()
                await self._answer_batch(batch)
        finally:
            self._answering = None
            self._room.set()

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
        self._quota.require(broker.config.limits, len(said.expressions))
        patterns = await broker.parse_expressions(said.expressions)
        state = None
        if said.durable:
            durable = await self._put_durable(said, patterns)
            subscription: EphemeralSubscription | Attachment
            subscription = await broker.keeper.attach(durable, said, window)
            state = durable.state()
        else:
            link = f"{self.link}/{said.subscription}"
            subscription = await broker.subscribe(link, said.subscription, patterns, window)
        self._subscriptions[said.subscription] = subscription
        self._counted[said.subscription] = len(patterns)
        self._quota.add(len(patterns))
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
        broker.keeper.require(self.principal, name)
        return await broker.keeper.put(name, self.principal, patterns)

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
            await broker.keeper.forget(broker.keeper.of(self.principal, name).name)

    def _leave(self, subscription: EphemeralSubscription | Attachment) -> None:
        if self._subscriptions.pop(subscription.name, None) is None:
            return
        subscription.finish()
        self._quota.remove(self._counted.pop(subscription.name))
        if isinstance(subscription, Attachment):
            if subscription.durable.attached is subscription:
                subscription.durable.attached = None
        else:
            self._broker.unsubscribe(subscription)

    async def _pump(self, subscription: EphemeralSubscription | Attachment) -> None:
        prefix = raw.field(1, subscription.name.encode())
        while not subscription.is_over:
            try:
                deliveries, missed = await subscription.take()
            except StoreError:
                await asyncio.sleep(_RETRY)  # it is in the log of the store
                continue
            except OSError as error:
                _log.error("the queue of %s/%s: %s", self.link, subscription.name, error)
                await self._end(subscription, "its queue cannot be read", "unavailable")
                return
            if isinstance(subscription, Attachment) and subscription.ended is not None:
                await self._end(subscription, *subscription.ended)
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

    async def _end(
        self, subscription: EphemeralSubscription | Attachment, reason: str, code: str
    ) -> None:
        ended = messages.Ended(subscription=subscription.name)
        ended.problem.code, ended.problem.reason = code, reason
        self._leave(subscription)
        self._pumps.pop(subscription.name, None)
        await self._write(messages.BrokerFrame(ended=ended).SerializeToString())

    def _on_consumed(self, said: messages.Consumed) -> None:
        subscription = self._subscriptions.get(said.subscription)
        if subscription is not None:
            subscription.consumed(said.count)

    def _on_acknowledge(self, said: messages.Acknowledge) -> Future[None] | None:
        if len(said.sequences) > _MOST_AT_ONCE:
            raise SessionError(f"a message has at most {_MOST_AT_ONCE:,} acknowledgements")
        keeper = self._broker.keeper
        if said.durable:
            self._broker.access.require(self.principal, Permission.SUBSCRIBE)
            durable = keeper.of(self.principal, said.durable)
            return keeper.acknowledge(durable, said.upto, said.sequences)
        subscription = self._subscriptions.get(said.subscription)
        if isinstance(subscription, Attachment):
            return keeper.acknowledge(subscription.durable, said.upto, said.sequences)
        return None

    async def _on_acknowledge_kept(self, said: messages.Acknowledge) -> None:
        kept = self._on_acknowledge(said)
        if kept is not None:
            await asyncio.wait([kept])
            kept.result()

    # --- advertising ------------------------------------------------------------------------------

    async def _on_advertise(self, said: messages.Advertise) -> None:
        broker = self._broker
        broker.access.require(self.principal, Permission.ADVERTISE)
        most = broker.config.limits.advertisements_per_client
        if self._quota.advertisements >= most:
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
        self._quota.advertisements += 1

    async def _on_unadvertise(self, said: messages.Unadvertise) -> None:
        self._broker.unadvertise(self.link, said.advertisement)
        self._advertisements.remove(said.advertisement)
        self._quota.advertisements -= 1

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

    def refuse(self, code: str, reason: str) -> None:
        self._answer.problems.add(index=len(self.published), code=code, reason=reason)
        self.published.append(None)

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
