"""A client that is connected by gRPC: its frames become calls of its session, and are answered.

    frames ──► publish, advertise ──► in turn ──► session ──► in order, once safe: answered
           ──► subscribe, unsubscribe ──► session ──► answered
           ──► consumed, acknowledged ──► credit, cursor

    outbox of the session ──► one task ──► documents, each once for all subscriptions that get it

All that is written to the client goes through one lock; a client that does not read holds up only
its own deliveries.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final

from google.protobuf.message import DecodeError

import twigcast
from twigcast.broker.batches import Batch, Publication
from twigcast.broker.broker import Broker, Expression
from twigcast.broker.client_session import (
    LONGEST_NAME,
    ClientSession,
    Subscription,
)
from twigcast.broker.durables import AskedOptions
from twigcast.broker.in_turn import InTurn
from twigcast.broker.link_codec import decode_promise
from twigcast.broker.log_handler import one_line
from twigcast.broker.outbox import Sendable, encode_documents
from twigcast.broker.session_errors import SessionError, code_of, require_few
from twigcast.broker.subscriptions import Attachment
from twigcast.errors import RefusedError, TwigcastError
from twigcast.hierarchy import unit_at
from twigcast.wire import PROTOCOL, messages

_log = logging.getLogger(__name__)

_HELLO_PATIENCE: Final = 10.0


class ClientStream:
    """One Connect stream."""

    def __init__(self, session: ClientSession, write: Callable[[bytes], Awaitable[None]]) -> None:
        self._session = session
        self._broker = session.broker
        self._write_raw = write
        self._lock = asyncio.Lock()
        self._delivering: asyncio.Task[None] | None = None
        self._serving: dict[int, asyncio.Task[None]] = {}
        """Durable subscriptions that are not answered yet, by their numbers."""
        self._confirming: dict[int, asyncio.Task[tuple[str, ...]]] = {}
        self._batches: deque[tuple[int, Batch]] = deque()
        """With the number of their request, those that are not answered."""
        self._in_turn = InTurn(self._handle_in_turn)
        self._answering: asyncio.Task[None] | None = None

    async def run(self, frames: AsyncIterator[bytes]) -> None:
        """Serve the client until it ends the stream.

        Raises SessionError where the client does not keep to the protocol.
        """
        try:
            async with asyncio.timeout(_HELLO_PATIENCE):
                hello = await anext(aiter(frames), None)
        except TimeoutError:
            raise SessionError("a session begins with a hello, which has not come") from None
        if hello is None:
            return
        self._on_hello(_decode(hello))
        limits = self._broker.config.limits
        welcome = messages.Welcome(
            broker=self._broker.name,
            protocol=PROTOCOL,
            version=twigcast.__version__,
            document_bytes=limits.document_bytes,
            message_bytes=limits.message_bytes,
        )
        try:
            await self._write(messages.BrokerFrame(welcome=welcome))
            self._delivering = asyncio.create_task(
                self._deliver(), name=f"deliver to {self._session.link}"
            )
            async for data in frames:
                frame = _decode(data)
                kind = frame.WhichOneof("frame")
                if kind in _IN_TURN:
                    # Here, so that the stream ends at once, not with what comes next.
                    require_few(frame.publish.publications, "documents")
                    await self._in_turn.put(frame, len(data))
                elif kind == "consumed":
                    self._on_consumed(frame.consumed)
                elif kind == "acknowledged":
                    self._on_acknowledged(frame.acknowledged)
                elif kind == "give_back":
                    said = frame.give_back
                    self._session.give_back(said.subscription, said.sequences, said.delay / 1000)
                elif kind in _ANSWERED:
                    await self._answer(getattr(frame, kind), getattr(self, f"_on_{kind}"))
                else:
                    raise SessionError(f"a client does not say this here: {kind}")
            await self._in_turn.finish()
        finally:
            await self._close()

    async def _close(self) -> None:
        # The session first: gRPC cancels a call more than once, and may not wait for the tasks.
        self._session.close(is_lost=not self._broker.is_stopping)
        tasks = [
            self._in_turn.task,
            *self._serving.values(),
            *self._confirming.values(),
            *(each for each in (self._answering, self._delivering) if each is not None),
        ]
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
        self._session.client = frame.hello.client[:LONGEST_NAME]

    # --- writing ----------------------------------------------------------------------------------

    async def _write(self, frame: messages.BrokerFrame) -> None:
        await self._write_bytes(frame.SerializeToString())

    async def _write_bytes(self, frame: bytes) -> None:
        async with self._lock:
            await self._write_raw(frame)

    async def _answer(self, request: Any, handle: Callable[[Any], Awaitable[None]]) -> None:
        answer = messages.Answer(request=request.request)
        try:
            await handle(request)
        except TwigcastError as error:
            code = code_of(error)
            self._broker.metrics.refused(code)
            _log.info("%s is refused: %s", self._session.link, one_line(str(error)))
            answer.problems.add(code=code, reason=str(error))
        else:
            if isinstance(request, messages.Subscribe):
                return  # it is answered when it is confirmed
        await self._write(messages.BrokerFrame(answer=answer))

    # --- publishing -------------------------------------------------------------------------------

    async def _handle_in_turn(self, frame: messages.ClientFrame) -> None:
        kind = frame.WhichOneof("frame")
        if kind == "publish":
            await self._on_publish(frame.publish)
        elif kind == "advertise":
            await self._answer(frame.advertise, self._on_advertise)
        else:
            await self._answer(frame.unadvertise, self._on_unadvertise)

    async def _on_publish(self, request: messages.Publish) -> None:
        batch = await self._session.publishing.publish(
            [
                Publication(
                    each.content,
                    each.id,
                    each.again,
                    tuple(each.headers.items()) if each.headers else (),
                    each.expires,
                    each.scope,
                    tuple(each.to),
                )
                for each in request.publications
            ]
        )
        if batch.is_safe and self._answering is None:
            await self._answer_batch(request.request, batch)
        else:
            self._batches.append((request.request, batch))
            if self._answering is None:
                self._answering = asyncio.create_task(self._answer_batches())

    async def _answer_batches(self) -> None:
        """Answer as batches become safe, in order."""
        try:
            while self._batches:
                number, batch = self._batches.popleft()
                await batch.wait()
                await self._answer_batch(number, batch)
        finally:
            self._answering = None

    async def _answer_batch(self, number: int, batch: Batch) -> None:
        ids, problems = batch.outcome()
        answer = messages.Answer(request=number, ids=ids)
        for each in problems:
            answer.problems.add(index=each.index, code=each.code, reason=each.reason)
        self._session.publishing.answered(batch)
        await self._write(messages.BrokerFrame(answer=answer))

    # --- subscribing ------------------------------------------------------------------------------

    async def _on_subscribe(self, request: messages.Subscribe) -> None:
        since = request.WhichOneof("since")
        subscription = await self._session.subscribe(
            request.subscription,
            {
                key: read_expression(self._session.broker, each)
                for key, each in request.expressions.items()
            },
            window=request.window,
            durable=request.durable,
            since_sequence=request.since_sequence if since == "since_sequence" else None,
            since_time=request.since_time if since == "since_time" else None,
            options=_read_options(request.options),
            scope=request.scope,
        )
        if request.confirmed and request.expressions and request.durable:
            number = subscription.number
            serving = asyncio.create_task(
                self._serve(request, subscription), name=f"serve {self._session.link}/{number}"
            )
            self._serving[number] = serving
            serving.add_done_callback(lambda _: self._serving.pop(number, None))
        else:
            await self._serve(request, subscription)

    async def _serve(self, request: messages.Subscribe, subscription: Subscription) -> None:
        """Answer when a subscription is confirmed, if it is to be, and then deliver."""
        answer = messages.Answer(request=request.request, window=subscription.window)
        depth = self._broker.depth_of_scope(request.scope)
        if isinstance(subscription, Attachment):
            depth = subscription.durable.queue.options.scope
            if request.confirmed and request.expressions:
                answer.unreached.extend(await self._confirm(subscription))
            answer.queue.CopyFrom(subscription.durable.state())
            answer.options.CopyFrom(subscription.durable.options())
        answer.scope = unit_at(self._broker.name, depth)
        await self._write(messages.BrokerFrame(answer=answer))
        only = next(iter(request.expressions)) if len(request.expressions) == 1 else None
        self._session.begin(subscription, only)

    async def _confirm(self, subscription: Subscription) -> tuple[str, ...]:
        """The brokers that may not know of a subscription; none if it is over meanwhile."""
        task = asyncio.create_task(self._broker.keeper.confirm())
        self._confirming[subscription.number] = task
        await asyncio.wait([task])
        self._confirming.pop(subscription.number, None)
        return () if task.cancelled() else task.result()

    async def _on_unsubscribe(self, request: messages.Unsubscribe) -> None:
        subscription = self._session.subscription(request.subscription)
        if subscription is None and not (request.forget and request.durable):
            raise RefusedError(f"there is no subscription {request.subscription}", "unknown")
        durable = request.durable
        if subscription is not None:
            # Not cancelled: gRPC does not forgive a write that was given up.
            serving = self._serving.get(request.subscription)
            confirming = self._confirming.get(request.subscription)
            if confirming is not None:
                confirming.cancel()
            self._session.leave(subscription)
            if serving is not None:
                await asyncio.wait([serving])
            if isinstance(subscription, Attachment):
                durable = subscription.durable.name
                # What was acknowledged before is stored when this is.
                await self._session.acknowledge_safely(0, 0, (), durable=durable)
        if request.forget and durable:
            keeper = self._broker.keeper
            await keeper.forget(keeper.of(self._session.principal, durable).name)

    async def _deliver(self) -> None:
        """Write documents as they come, and which subscriptions the broker has ended."""
        while (taken := await self._session.deliveries()) is not None:
            if isinstance(taken, Sendable):
                await self._write_bytes(encode_documents(taken))
            elif taken.ended is not None:
                reason, code = taken.ended
                problem = messages.Problem(code=code, reason=reason)
                ended = messages.Ended(subscription=taken.number, problem=problem)
                await self._write(messages.BrokerFrame(ended=ended))

    def _on_consumed(self, request: messages.Consumed) -> None:
        if len(request.subscriptions) != len(request.counts):
            raise SessionError("as many counts are consumed as subscriptions are named")
        find = self._session.subscription
        for number, count in zip(request.subscriptions, request.counts, strict=True):
            subscription = find(number)
            if subscription is not None:
                subscription.consumed(count)

    def _on_acknowledged(self, request: messages.Acknowledged) -> None:
        for each in request.entries:
            self._session.acknowledge(
                each.subscription, each.upto, each.sequences, durable=each.durable
            )

    async def _on_acknowledge(self, request: messages.Acknowledge) -> None:
        await self._session.acknowledge_safely(
            request.subscription, request.upto, request.sequences, durable=request.durable
        )

    # --- advertising ------------------------------------------------------------------------------

    async def _on_advertise(self, request: messages.Advertise) -> None:
        await self._session.advertise(
            request.advertisement, partial(decode_promise, request), request.scope
        )

    async def _on_unadvertise(self, request: messages.Unadvertise) -> None:
        self._session.unadvertise(request.advertisement)


_IN_TURN: Final = ("publish", "advertise", "unadvertise")
_ANSWERED: Final = ("subscribe", "unsubscribe", "acknowledge")


def read_expression(broker: Broker, message: messages.Expression) -> Expression:
    """The expression that a message has; raises RefusedError for bindings that cannot be."""
    bindings = broker.bind(
        dict(message.namespaces), dict(message.variables), message.relative_to, message.version
    )
    return Expression(message.xpath, bindings)


def _read_options(message: messages.DurableOptions) -> AskedOptions:
    return AskedOptions(
        message.shared if message.HasField("shared") else None,
        message.ordered_by if message.HasField("ordered_by") else None,
        message.deliveries if message.HasField("deliveries") else None,
    )


def _decode(data: bytes) -> messages.ClientFrame:
    try:
        return messages.ClientFrame.FromString(data)
    except DecodeError as error:
        raise SessionError(f"a frame cannot be read: {error}") from None
