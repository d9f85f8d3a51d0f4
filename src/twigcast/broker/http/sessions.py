"""Clients' sessions that HTTP requests hold inside the process.

    request ──► InnerSession ──frames──► Service.serve ──► ClientSession ──► broker
                     ▲                                             │
                     └───────────── answers, deliveries ◄──────────┘

A request to publish or to subscribe is served by the same session as a gRPC stream: what is
allowed, quotas, the pace of publishers, credit and order hold alike, and have one implementation.

An event stream has a session of its own.  Publishers have one each, which stays for a while after a
request, so that what a client may publish in a second counts over its requests.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from twigcast.broker.http.errors import HttpError
from twigcast.errors import AccessError, RefusedError, TwigcastError
from twigcast.wire import PROTOCOL, messages

if TYPE_CHECKING:
    from twigcast.broker.http.context import Caller
    from twigcast.broker.server import Service

_log = logging.getLogger(__name__)

_IDLE: Final = 10.0
"""For how long, in seconds, the session of a publisher stays without a request."""


class InnerSession:
    """One session; it lives until :meth:`close`, or until the broker ends it."""

    def __init__(self, service: Service, caller: Caller) -> None:
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._answers: dict[int, asyncio.Future[messages.Answer]] = {}
        self._requests = 0
        self._delivered: asyncio.Queue[messages.BrokerFrame | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(1)
        self._error: TwigcastError = HttpError("the broker has ended the session", "unavailable")
        self.has_ended = False
        self.task = asyncio.create_task(self._serve(service, caller), name="session over HTTP")

    async def request(self, **what: Any) -> messages.Answer:
        """Ask for something, as in ``subscribe=messages.Subscribe(...)``; raises HttpError."""
        if self.has_ended:
            raise self._error
        self._requests += 1
        number = self._requests
        for said in what.values():
            said.request = number
        future: asyncio.Future[messages.Answer] = asyncio.get_running_loop().create_future()
        self._answers[number] = future
        self.say(**what)
        try:
            return await future
        finally:
            self._answers.pop(number, None)

    def say(self, **what: Any) -> None:
        """Say something that is not answered."""
        self._frames.put_nowait(messages.ClientFrame(**what).SerializeToString())

    async def take(self) -> messages.BrokerFrame | None:
        """The next deliveries, or that they have ended; None when the session has.

        The broker keeps back what follows until these are taken.
        """
        frame = await self._delivered.get()
        if frame is not None:
            self._room.release()
        return frame

    def close(self) -> None:
        """End the session; what was published goes its way nevertheless."""
        self._frames.put_nowait(None)

    async def write(self, data: bytes) -> None:
        """What the broker says."""
        frame = messages.BrokerFrame.FromString(data)
        kind = frame.WhichOneof("frame")
        if kind == "answer":
            future = self._answers.get(frame.answer.request)
            if future is not None and not future.done():
                future.set_result(frame.answer)
        elif kind != "welcome":
            await self._room.acquire()
            self._delivered.put_nowait(frame)

    async def _serve(self, service: Service, caller: Caller) -> None:
        try:
            async with aclosing(self._said(caller)) as frames:
                await service.serve(caller.principal, frames, self.write)
        except (RefusedError, AccessError) as error:
            self._error = error
        except Exception:
            _log.exception("a session over HTTP has failed")
        finally:
            self.has_ended = True
            for future in self._answers.values():
                if not future.done():
                    future.set_exception(self._error)
            self._delivered.put_nowait(None)

    async def _said(self, caller: Caller) -> AsyncGenerator[bytes, None]:
        hello = messages.Hello(protocol=PROTOCOL, client=_printable(caller.agent))
        yield messages.ClientFrame(hello=hello).SerializeToString()
        while (frame := await self._frames.get()) is not None:
            yield frame


class InnerSessions:
    """All that there are."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._open: set[InnerSession] = set()

    def open(self, caller: Caller) -> InnerSession:
        """A new session for a caller."""
        session = InnerSession(self._service, caller)
        self._open.add(session)
        session.task.add_done_callback(lambda _: self._open.discard(session))
        return session

    async def close(self) -> None:
        """End them all, once what was published in them is safe."""
        sessions = list(self._open)
        for session in sessions:
            session.close()
        await asyncio.gather(*(each.task for each in sessions), return_exceptions=True)


class Publishers:
    """The sessions of those who publish."""

    def __init__(self, sessions: InnerSessions) -> None:
        self._sessions = sessions
        self._publishers: dict[str, _Publisher] = {}

    async def publish(
        self, caller: Caller, publications: Sequence[messages.Publication]
    ) -> messages.Answer:
        """Publish documents; the answer comes when they are safe.  Raises HttpError."""
        publisher = self._publishers.get(caller.key)
        if publisher is None or publisher.session.has_ended:
            publisher = _Publisher(self._sessions.open(caller))
            self._publishers[caller.key] = publisher
        publisher.begin()
        try:
            said = messages.Publish(publications=publications)
            return await publisher.session.request(publish=said)
        finally:
            publisher.end(lambda: self._leave(caller.key, publisher))

    def _leave(self, key: str, publisher: _Publisher) -> None:
        publisher.session.close()
        if self._publishers.get(key) is publisher:
            del self._publishers[key]

    def close(self) -> None:
        """Forget them; their sessions are ended with all others."""
        for publisher in self._publishers.values():
            publisher.begin()
        self._publishers.clear()


class _Publisher:
    def __init__(self, session: InnerSession) -> None:
        self.session = session
        self._under_way = 0
        self._leaving: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        self._under_way += 1
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    def end(self, leave: Callable[[], None]) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._leaving = asyncio.get_running_loop().call_later(_IDLE, leave)


def _printable(text: str) -> str:
    return "".join(each for each in text if each.isprintable())
