"""A broker that does what a test says, to see what a client makes of it.

Every session that a client opens runs a *script*: the first session the first script, and so on;
the last one serves all that follow.  A script reads frames and answers them as it likes.  The
script :func:`serve` is well-behaved: it accepts everything, delivers every document to every
subscription whatever the expression, and keeps durable queues across sessions.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import grpc

from twigcast.wire import PROTOCOL, SERVICE, messages

BrokerFrame = messages.BrokerFrame


class Drop(Exception):  # noqa: N818 - it is no error of the test
    """Ends a session from inside a script, with a status."""

    def __init__(
        self, status: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE, why: str = ""
    ) -> None:
        super().__init__(status, why)
        self.status = status
        self.why = why


@dataclass
class Queue:
    """A durable queue, which is also what an ephemeral subscription has while it lasts."""

    durable: str = ""
    log: list[messages.Delivery] = field(default_factory=list)
    done: set[int] = field(default_factory=set)

    @property
    def acknowledged(self) -> int:
        """Up to where all are acknowledged."""
        upto = 0
        while upto + 1 in self.done:
            upto += 1
        return upto


@dataclass
class Attached:
    """A subscription on a stream."""

    queue: Queue
    window: int
    position: int = 0
    unconsumed: int = 0


class Session:
    """One stream."""

    def __init__(self, broker: ScriptedBroker, context: Any) -> None:
        self.broker = broker
        self.context = context
        self.attached: dict[int, Attached] = {}
        self.hello = messages.Hello()

    async def read(self) -> messages.ClientFrame | None:
        """The next frame; None when the client has ended its side."""
        frame: Any = await self.context.read()
        if frame is grpc.aio.EOF:
            return None
        self.broker.frames.append(frame)
        return self.broker.frames[-1]

    async def expect(self, kind: str) -> Any:
        """The next frame of a kind; those of others are passed over."""
        while (frame := await self.read()) is not None:
            if frame.WhichOneof("frame") == kind:
                return getattr(frame, kind)
        raise Drop

    async def send(self, frame: messages.BrokerFrame) -> None:
        await self.context.write(frame.SerializeToString())

    async def send_garbage(self, data: bytes) -> None:
        await self.context.write(data)

    async def welcome(self, **fields: Any) -> None:
        self.hello = await self.expect("hello")
        told = {"broker": self.broker.name, "protocol": PROTOCOL, "version": "test"}
        sizes = {"document_bytes": 4 * 2**20, "message_bytes": 4 * 2**20}
        await self.send(BrokerFrame(welcome=messages.Welcome(**{**told, **sizes, **fields})))

    async def answer(self, request: int, **fields: Any) -> None:
        await self.send(BrokerFrame(answer=messages.Answer(request=request, **fields)))

    async def refuse(self, request: int, code: str, reason: str, index: int = 0) -> None:
        problem = messages.Problem(code=code, reason=reason, index=index)
        await self.answer(request, problems=[problem])

    async def deliver(
        self, subscription: int, *deliveries: messages.Delivery, missed: int = 0
    ) -> None:
        await self.send(BrokerFrame(documents=documents_of(subscription, deliveries, missed)))

    async def handle(self, frame: messages.ClientFrame) -> None:
        """Do what a good broker does."""
        kind = frame.WhichOneof("frame") or ""
        await getattr(self, f"_on_{kind}")(getattr(frame, kind))
        for other in list(self.broker.sessions):
            await other.pump()

    async def pump(self) -> None:
        """Deliver what the windows allow."""
        for name, attached in list(self.attached.items()):
            queue = attached.queue
            ready: list[messages.Delivery] = []
            while attached.position < len(queue.log) and attached.unconsumed < attached.window:
                delivery = queue.log[attached.position]
                attached.position += 1
                if delivery.sequence not in queue.done or not queue.durable:
                    attached.unconsumed += 1
                    ready.append(delivery)
            if ready:
                await self.deliver(name, *ready)

    async def _on_publish(self, publish: messages.Publish) -> None:
        ids = [self.broker.accept(publication) for publication in publish.publications]
        await self.answer(publish.request, ids=ids)

    async def _on_subscribe(self, subscribe: messages.Subscribe) -> None:
        if not subscribe.durable:
            queue = Queue()
            self.broker.ephemeral.append(queue)
            attached = Attached(queue, subscribe.window)
            await self.answer(subscribe.request)
        else:
            queue = self.broker.durable.setdefault(subscribe.durable, Queue(subscribe.durable))
            attached = Attached(queue, subscribe.window, position=queue.acknowledged)
            if subscribe.since_sequence:
                attached.position = subscribe.since_sequence - 1
            await self.answer(subscribe.request, queue=state_of(queue))
        self.attached[subscribe.subscription] = attached

    async def _on_unsubscribe(self, unsubscribe: messages.Unsubscribe) -> None:
        self.attached.pop(unsubscribe.subscription, None)
        if unsubscribe.forget and self.broker.durable.pop(unsubscribe.durable, None) is None:
            await self.refuse(unsubscribe.request, "unknown", "no such subscription")
        else:
            await self.answer(unsubscribe.request)

    async def _on_advertise(self, advertise: messages.Advertise) -> None:
        await self.answer(advertise.request)

    async def _on_unadvertise(self, unadvertise: messages.Unadvertise) -> None:
        await self.answer(unadvertise.request)

    async def _on_acknowledged(self, acknowledged: messages.Acknowledged) -> None:
        for acknowledge in acknowledged.entries:
            done = self.attached[acknowledge.subscription].queue.done
            done.update(range(1, acknowledge.upto + 1))
            done.update(acknowledge.sequences)

    async def _on_consumed(self, consumed: messages.Consumed) -> None:
        for number, count in zip(consumed.subscriptions, consumed.counts, strict=True):
            attached = self.attached[number]
            attached.unconsumed -= count
            assert attached.unconsumed >= 0, "more was consumed than delivered"


def documents_of(
    subscription: int, deliveries: Sequence[messages.Delivery], missed: int = 0
) -> messages.Documents:
    """The message that has deliveries for one subscription."""
    said = messages.Documents()
    for each in deliveries:
        common = messages.Delivery()
        common.CopyFrom(each)
        for name in ("keys", "sequence", "attempts"):
            common.ClearField(name)
        said.keys.add(keys=each.keys)
        said.documents.add(
            document=common,
            subscriptions=[subscription],
            keys=[len(said.keys)],
            sequences=[each.sequence],
            attempts=[each.attempts],
        )
    if missed:
        said.missed.add(subscription=subscription, count=missed)
    return said


Script = Callable[[Session], Awaitable[None]]


async def serve(session: Session) -> None:
    """The well-behaved script."""
    await session.welcome()
    await serve_on(session)


async def serve_on(session: Session) -> None:
    """The same, after the welcome."""
    while (frame := await session.read()) is not None:
        await session.handle(frame)


class ScriptedBroker:
    """The server, and all that was said to it."""

    def __init__(self, *scripts: Script, name: str = "scripted") -> None:
        self.name = name
        self.scripts = list(scripts) or [serve]
        self.count = 0
        self.frames: list[messages.ClientFrame] = []
        self.metadata: list[dict[str, str]] = []
        self.published: dict[str, messages.Publication] = {}
        self.ids: dict[str, str] = {}
        self.sessions: list[Session] = []
        self.durable: dict[str, Queue] = {}
        self.ephemeral: list[Queue] = []
        self.ask: Callable[[messages.AskRequest], list[messages.AskAnswer]] = lambda _: []
        self.status: Callable[[messages.StatusRequest], messages.StatusAnswer] = lambda _: (
            messages.StatusAnswer(json="{}")
        )
        self.garbage = b""
        self.tells_status = True
        self.status_asked = asyncio.Event()
        self.problems: list[BaseException] = []
        self._server: grpc.aio.Server | None = None
        self._port = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def kinds(self) -> list[str]:
        """The frames that were heard, in short."""
        return [frame.WhichOneof("frame") or "" for frame in self.frames]

    def heard(self, kind: str) -> list[Any]:
        return [getattr(frame, kind) for frame in self.frames if frame.HasField(kind)]

    def accept(self, publication: messages.Publication) -> str:
        """Take a document once, and queue it everywhere."""
        if publication.id in self.published:
            return self.ids[publication.id]
        self.published[publication.id] = publication
        event_id = self.ids[publication.id] = f"{self.name}:1:{len(self.published)}"
        for queue in [*self.durable.values(), *self.ephemeral]:
            queue.log.append(
                messages.Delivery(
                    id=event_id,
                    content=publication.content,
                    keys=["any"],
                    sequence=len(queue.log) + 1 if queue.durable else 0,
                    published=1_800_000_000_123,
                )
            )
        return event_id

    async def start(self, credentials: grpc.ServerCredentials | None = None) -> None:
        """Listen, on the same port as before if there was one."""
        self._server = grpc.aio.server(
            options=[("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", 64 * 2**20)]
        )
        handlers: dict[str, Any] = {
            "Connect": grpc.stream_stream_rpc_method_handler(
                self._connect, messages.ClientFrame.FromString
            ),
            "Ask": grpc.unary_stream_rpc_method_handler(
                self._ask,
                messages.AskRequest.FromString,
                self._serialise,
            ),
            "Read": grpc.unary_stream_rpc_method_handler(
                self._read,
                messages.ReadRequest.FromString,
                messages.Deliveries.SerializeToString,
            ),
            "Status": grpc.unary_unary_rpc_method_handler(
                self._status,
                messages.StatusRequest.FromString,
                self._serialise,
            ),
        }
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE, handlers),)
        )
        if credentials is None:
            self._port = self._server.add_insecure_port(self.address)
        else:
            self._port = self._server.add_secure_port(self.address, credentials)
        await self._server.start()

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(0)
            self._server = None
        self.sessions.clear()

    async def _connect(self, requests: object, context: Any) -> None:
        self.metadata.append(dict(context.invocation_metadata()))
        script = self.scripts[min(self.count, len(self.scripts) - 1)]
        self.count += 1
        session = Session(self, context)
        self.sessions.append(session)
        try:
            await script(session)
        except Drop as drop:
            await context.abort(drop.status, drop.why)
        except (AssertionError, LookupError, TypeError, ValueError) as problem:
            self.problems.append(problem)
            raise
        finally:
            if session in self.sessions:
                self.sessions.remove(session)
            for attached in session.attached.values():
                if attached.queue in self.ephemeral:
                    self.ephemeral.remove(attached.queue)

    def _serialise(self, answer: messages.AskAnswer | messages.StatusAnswer) -> bytes:
        return self.garbage or answer.SerializeToString()

    async def _ask(
        self, request: messages.AskRequest, context: Any
    ) -> AsyncIterator[messages.AskAnswer]:
        try:
            for answer in [messages.AskAnswer()] if self.garbage else self.ask(request):
                yield answer
        except Drop as drop:
            await context.abort(drop.status, drop.why)

    async def _read(
        self, request: messages.ReadRequest, context: Any
    ) -> AsyncIterator[messages.Deliveries]:
        if request.durable not in self.durable:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such subscription")
        log = self.durable[request.durable].log
        yield messages.Deliveries(deliveries=log[request.first - 1 : request.last])

    async def _status(self, request: messages.StatusRequest, context: Any) -> messages.StatusAnswer:
        self.status_asked.set()
        if not self.tells_status:
            await asyncio.Event().wait()
        try:
            answer = self.status(request)
        except Drop as drop:
            await context.abort(drop.status, drop.why)
        if request.durable in self.durable:
            answer.queue.CopyFrom(state_of(self.durable[request.durable]))
        return answer


def state_of(queue: Queue) -> messages.QueueState:
    return messages.QueueState(last=len(queue.log), acknowledged=queue.acknowledged, first=1)


@asynccontextmanager
async def broker(*scripts: Script, **settings: Any) -> AsyncIterator[ScriptedBroker]:
    """A broker that listens on a port of its own, and whose scripts all did what they should."""
    scripted = ScriptedBroker(*scripts, **settings)
    await scripted.start()
    try:
        yield scripted
    finally:
        await scripted.stop()
    assert not scripted.problems, scripted.problems


@contextmanager
def broker_thread(*scripts: Script) -> Iterator[ScriptedBroker]:
    """The same on a thread of its own, for clients without an event loop."""
    scripted = ScriptedBroker(*scripts)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="scripted broker")
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(scripted.start(), loop).result(10)
        yield scripted
    finally:
        asyncio.run_coroutine_threadsafe(_stop(scripted), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
    assert not scripted.problems, scripted.problems


async def _stop(scripted: ScriptedBroker) -> None:
    await scripted.stop()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*others, return_exceptions=True)


async def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait for something to come true, and fail if it does not."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


def run(story: Callable[[], Awaitable[None]], seconds: float = 60.0) -> None:
    """Run a test on an event loop, in bounded time; a closed client leaves no task behind."""

    async def main() -> None:
        async with asyncio.timeout(seconds):
            await story()
        left = [task.get_name() for task in asyncio.all_tasks()]
        assert not [name for name in left if name.startswith("twigcast")]

    asyncio.run(main())
