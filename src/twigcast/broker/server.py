"""The broker on the network: the gRPC service, who is calling, starting and stopping.

:func:`start_server` opens the store, listens, and returns when clients can connect; the port may
have been left to the system.  :func:`run` does that and goes on until a signal.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import grpc
import grpc.aio

from twigcast.broker.access import Permission, Principal
from twigcast.broker.broker import Broker
from twigcast.broker.call_stream import LINKED, LinkedError
from twigcast.broker.client_sessions import ClientSessions
from twigcast.broker.client_stream import ClientStream, read_expression
from twigcast.broker.config import BrokerConfig
from twigcast.broker.credentials import certificate_names
from twigcast.broker.door import Door, StandingBy, door_addresses
from twigcast.broker.letter_service import (
    drop_letters,
    list_letters,
    read_letter,
    replay_letters,
)
from twigcast.broker.letters import Letters
from twigcast.broker.link_codec import LinkProtocolError
from twigcast.broker.link_connection import SuspectedError
from twigcast.broker.listener import Listener
from twigcast.broker.log_handler import one_line
from twigcast.broker.long_lived import look_seldom
from twigcast.broker.open_files import raise_open_files
from twigcast.broker.pace import BATCH, BATCH_BYTES
from twigcast.broker.peers import grpc_peer
from twigcast.broker.safety import check_safe
from twigcast.broker.session_errors import code_of
from twigcast.broker.status import status
from twigcast.broker.store import Retention, Store, open_store
from twigcast.broker.subscriptions import encode_common, encode_queued
from twigcast.errors import (
    AccessError,
    DocumentError,
    NetworkError,
    RefusedError,
    StoreError,
    TwigcastError,
)
from twigcast.wire import SERVICE, messages, raw

if TYPE_CHECKING:
    from twigcast.broker.http import HttpServer

_log = logging.getLogger(__name__)

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"

_CODES: Final = {
    "unauthenticated": grpc.StatusCode.UNAUTHENTICATED,
    "not-allowed": grpc.StatusCode.PERMISSION_DENIED,
    "bad-expression": grpc.StatusCode.INVALID_ARGUMENT,
    "invalid": grpc.StatusCode.INVALID_ARGUMENT,
    "unknown": grpc.StatusCode.NOT_FOUND,
    "quota": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "unavailable": grpc.StatusCode.FAILED_PRECONDITION,
}
_GRACE: Final = 0.5
_HEARD: Final = 1.0


class Service:
    """The methods of the wire, for one broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.sessions = ClientSessions(broker)

    def handlers(self) -> grpc.GenericRpcHandler:
        """What gRPC calls; messages come and go as bytes."""
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "Connect": grpc.stream_stream_rpc_method_handler(self.connect),
            "Link": grpc.stream_stream_rpc_method_handler(self.link),
            "Ask": grpc.unary_stream_rpc_method_handler(self.ask),
            "Read": grpc.unary_stream_rpc_method_handler(self.read),
            "Status": grpc.unary_unary_rpc_method_handler(self.status),
            "Letters": grpc.unary_stream_rpc_method_handler(self.letters),
            "ReadLetter": self._about_letters(read_letter),
            "ReplayLetters": self._about_letters(replay_letters),
            "DropLetters": self._about_letters(drop_letters),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    async def _principal(self, context: Context) -> Principal:
        header = None
        for key, value in context.invocation_metadata() or ():
            if key == "authorization":
                header = value if isinstance(value, str) else value.decode(errors="replace")
        return await self.broker.identification.identify(
            grpc_peer(context.peer() or ""), header, certificate_names(context.auth_context())
        )

    async def identify(self, context: Context, permission: Permission | None = None) -> Principal:
        """Who calls; the call is refused if that is nobody, or if they may not."""
        try:
            principal = await self._principal(context)
            if permission is not None:
                self.broker.access.require(principal, permission)
        except AccessError as error:
            await self._abort(context, error)
        return principal

    async def connect(self, frames: AsyncIterator[bytes], context: Context) -> None:
        """Serve a client."""
        try:
            session = self.sessions.open(await self._principal(context))
        except (RefusedError, AccessError) as error:
            # A client whose first frame meets a call that has ended does not get the reason.
            with suppress(TimeoutError):
                async with asyncio.timeout(_HEARD):
                    await anext(aiter(frames), None)
            await self._abort(context, error)
        who = one_line(str(session.principal))
        _log.info("%s connected from %s as %s", session.link, context.peer(), who)
        try:
            await ClientStream(session, context.write).run(frames)
        except (RefusedError, AccessError) as error:
            await self._abort(context, error)
        finally:
            session.close()
            _log.info("%s left", session.link)

    async def link(self, _: AsyncIterator[bytes], context: Context) -> None:
        """Serve a neighbour that calls."""
        broker = self.broker
        try:
            principal = await self._principal(context)
            broker.access.require(principal, Permission.LINK)
        except AccessError as error:
            broker.links.note_refused(context.peer() or "", str(error))
            with suppress(TimeoutError):  # as for clients
                async with asyncio.timeout(_HEARD):
                    await context.read()
            await self._abort(context, error)
        try:
            await broker.links.accept(
                context,
                context.peer() or "",
                lambda name: broker.access.require_link(principal, name),
            )
        except AccessError as error:
            await self._abort(context, error)
        except LinkedError as error:
            await context.abort(LINKED, str(error))
        except (LinkProtocolError, SuspectedError) as error:
            broker.metrics.refused("link")
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        except TimeoutError:
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "no hello has come")

    async def ask(self, data: bytes, context: Context) -> None:
        """Answer a question to the store."""
        await self.identify(context, Permission.ASK)
        broker = self.broker
        try:
            said = messages.AskRequest.FromString(data)
            expression = read_expression(broker, said.expression)
            pattern = (await broker.parse_expressions({"": expression}))[""]
            matched = 0
            async for documents, examined in broker.ask(pattern, said.limit, said.since):
                matched += len(documents)
                answer = messages.AskAnswer(examined=examined, matched=matched)
                for each in () if said.count else documents:
                    answer.documents.add().MergeFromString(encode_common(each))
                    if answer.ByteSize() > BATCH_BYTES:
                        await context.write(answer.SerializeToString())
                        answer = messages.AskAnswer(examined=examined, matched=matched)
                await context.write(answer.SerializeToString())
        except (RefusedError, StoreError) as error:
            await self._abort(context, error)

    async def read(self, data: bytes, context: Context) -> None:
        """Give out a range of the queue of a durable subscription."""
        principal = await self.identify(context, Permission.SUBSCRIBE)
        broker = self.broker
        try:
            said = messages.ReadRequest.FromString(data)
            durable = broker.keeper.of(principal, said.durable)
            sequence = max(said.first, 1)
            last = min(said.last, durable.queue.last)
            assert broker.store is not None, "there is a durable subscription"
            while sequence <= last:
                queued = await broker.store.read_queue(
                    durable.name, sequence, last, limit=BATCH, max_bytes=BATCH_BYTES
                )
                if not queued:
                    break
                sequence = queued[-1].sequence + 1
                await context.write(raw.fields(2, [encode_queued(each) for each in queued]))
        except (RefusedError, StoreError, AccessError) as error:
            await self._abort(context, error)

    async def status(self, data: bytes, context: Context) -> bytes:
        """Answer with what this broker knows of itself."""
        said = messages.StatusRequest.FromString(data)
        principal = await self.identify(context)
        answer = messages.StatusAnswer()
        try:
            self.broker.access.require_known(principal)
            if said.durable:
                self.broker.access.require(principal, Permission.SUBSCRIBE)
                durable = self.broker.keeper.of(principal, said.durable)
                answer.queue.CopyFrom(durable.state())
            else:
                answer.json = json.dumps(await status(self.sessions, principal))
        except (RefusedError, AccessError, StoreError) as error:
            await self._abort(context, error)
        return answer.SerializeToString()

    async def letters(self, data: bytes, context: Context) -> None:
        """List letters."""
        principal = await self.identify(context)
        try:
            answers = await list_letters(self.broker.letters, principal, data)
        except (RefusedError, AccessError, StoreError) as error:
            await self._abort(context, error)
        for each in answers:
            await context.write(each)

    def _about_letters(
        self, handle: Callable[[Letters, Principal, bytes], Awaitable[bytes]]
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        async def answer(data: bytes, context: Context) -> bytes:
            principal = await self.identify(context)
            try:
                return await handle(self.broker.letters, principal, data)
            except (RefusedError, AccessError, StoreError, DocumentError, NetworkError) as error:
                await self._abort(context, error)
            raise AssertionError("a call that is refused has ended")

        return grpc.unary_unary_rpc_method_handler(answer)

    async def _abort(self, context: Context, error: TwigcastError) -> None:
        code = code_of(error)
        self.broker.metrics.refused(code)
        _log.info("a call from %s is refused: %s", context.peer(), one_line(str(error)))
        context.set_trailing_metadata((("twigcast-code", code),))
        await context.abort(_CODES.get(code, grpc.StatusCode.FAILED_PRECONDITION), str(error))


class RunningBroker:
    """A broker that serves."""

    def __init__(self, broker: Broker, service: Service, listener: Listener, port: int) -> None:
        self.broker = broker
        self.service = service
        self.address = str(broker.config.listen_address._replace(port=port))
        self.http: HttpServer | None = None
        self._listener = listener

    def __repr__(self) -> str:
        clients = f"{len(self.service.sessions):,} clients"
        return f"<RunningBroker {self.broker.name} at {self.address}: {clients}>"

    async def close(self) -> None:
        """Stop serving: clients are cut off, what waits is written."""
        self.broker.is_stopping = True
        if self.http is not None:
            await self.http.close()
        await self._listener.close(_GRACE)
        await self.broker.close()


async def start_server(config: BrokerConfig, store: Store | None = None) -> RunningBroker:
    """Serve; returns once clients can connect.  ``store`` is one that is open already.

    Raises ConfigError, also where it would not be safe to serve as configured, and StoreError.
    """
    check_safe(config)
    listener = Listener(config)
    port = listener.bind()
    name = config.name_at(port)
    if config.store.is_used and store is None:
        store = await asyncio.to_thread(_open_store, config, name)
    broker = Broker(config, name, store)
    service = Service(broker)
    await listener.serve(service.handlers())
    running = RunningBroker(broker, service, listener, port)
    try:
        if config.http:
            # It takes a while to load, and not every broker has one.
            from twigcast.broker.http import HttpServer

            http = HttpServer(service.sessions)
            await http.start()
            running.http = http
        broker.start()
    except BaseException:
        await running.close()
        raise
    return running


def _open_store(config: BrokerConfig, name: str) -> Store:
    settings = config.store
    retention = Retention(
        settings.retention_age,
        settings.acknowledged_age,
        settings.retention_size,
        settings.publisher_size,
    )
    sync: Literal["full", "normal"] = "full" if settings.sync == "full" else "normal"
    return open_store(
        folder=settings.folder,
        url=settings.url,
        broker=name,
        sync=sync,
        retention=retention,
        door=door_addresses(config) if settings.door else None,
    )


async def run(config: BrokerConfig, on_ready: Callable[[RunningBroker | StandingBy], None]) -> None:
    """Serve until the process is ended, by SIGINT or SIGTERM.

    For a door of a group ``on_ready`` is called each time it begins to lead or to stand by.
    """
    raise_open_files()
    look_seldom()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    if config.store.door:
        check_safe(config)
        _stop_at_signals(loop, stop)
        await door_of(config, on_ready).run(stop)
        return
    running = await start_server(config)
    _stop_at_signals(loop, stop)
    try:
        on_ready(running)
        await stop.wait()
    finally:
        await running.close()


def door_of(config: BrokerConfig, on_change: Callable[[RunningBroker | StandingBy], None]) -> Door:
    """A door of a group, to be run."""
    return Door(
        config,
        open_store=partial(_open_store, config, config.name_at()),
        serve=partial(start_server, config),
        on_change=on_change,
    )


def _stop_at_signals(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
