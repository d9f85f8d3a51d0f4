"""The one stream to a broker, which is made anew whenever it is lost.

    speakers ──frames()──► sender ──► stream ──► broker
    (requests, subscriptions, publisher)           │
        ▲                                          │
        └──on_answer, on_documents ◄─── reader ◄───┘

A *speaker* has things to say.  The sender asks each in turn for frames until none has any, then
sleeps until :meth:`Connection.wake`.  When a stream is lost every speaker hears ``on_lost``, and
``on_connected`` on the next one, where it says again what still counts.  After ``on_failed`` there
is no next one.

Invariant: a frame belongs to one stream, and no two requests have the same number, so an answer
cannot meet a question of an earlier stream.  Cost: one task that reads, one that sends, one that
waits for either.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Final, TypeAlias

import grpc

from twigcast.client.endpoints import Endpoint
from twigcast.client.failures import BrokenStreamError, closed, fresh, is_lasting, none_reachable
from twigcast.client.stream import Stream, open_stream
from twigcast.errors import ConnectionFailedError, TwigcastError
from twigcast.wire import messages

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
_CLOSING_PATIENCE: Final = 2.0
"""Seconds that a broker has for reading the last frames when a client closes."""

log: Final = logging.getLogger("twigcast.client")

OnAnswer: TypeAlias = Callable[[messages.Answer], None]


class Speaker:
    """Who speaks on the stream; each method does nothing unless a subclass has more to do."""

    def frames(self) -> Iterator[messages.ClientFrame]:
        """What to send now.  What follows a yield runs when that frame has been sent."""
        return iter(())

    def on_connected(self, welcome: messages.Welcome) -> None:
        """A stream is there, and nothing has been said on it."""

    def on_lost(self) -> None:
        """The stream is gone; there will be another."""

    def on_failed(self, error: TwigcastError) -> None:
        """There will be no stream any more."""


class Connection:
    """A client's connection; it lasts from :meth:`open` to :meth:`close` or a lasting failure."""

    def __init__(self, endpoint: Endpoint, *, name: str, timeout: float, reconnect: bool) -> None:
        self.endpoint = endpoint
        self.timeout = timeout
        self.welcome: messages.Welcome | None = None
        self.on_documents: Callable[[messages.Documents], None] = _ignore
        self.on_ended: Callable[[messages.Ended], None] = _ignore
        self.address = endpoint.addresses[0]
        """Where the broker is, or was last."""
        self.is_closing = False
        """Whether the client itself ends the connection."""
        self._name = name
        self._reconnect = reconnect
        self._speakers: list[Speaker] = []
        self._answers: dict[int, OnAnswer] = {}
        self._requests = 0
        self._stream: Stream | None = None
        self._failure: TwigcastError | None = None
        self._running: asyncio.Task[None] | None = None
        self._something = asyncio.Event()
        self._changed = asyncio.Event()

    def __str__(self) -> str:
        if self.welcome is not None:
            return f"at {self.address}: connected to {self.welcome.broker}"
        if self._failure is not None:
            return f"at {self.endpoint}: {'closed' if self.is_closing else self._failure}"
        return f"at {self.endpoint}: {'not connected yet' if self._running is None else 'lost'}"

    def add(self, speaker: Speaker) -> None:
        """Let somebody speak; those added first are asked first."""
        self._speakers.append(speaker)

    def wake(self) -> None:
        """Somebody has something to say."""
        self._something.set()

    def number(self, on_answer: OnAnswer) -> int:
        """A number for a request on this stream, and who hears the answer."""
        self._requests += 1
        self._answers[self._requests] = on_answer
        return self._requests

    def require(self) -> None:
        """Raise if there is no connection and will be none."""
        if self._failure is not None:
            raise fresh(self._failure)
        if self._running is None:
            raise ConnectionFailedError(
                str(self.endpoint), "not connected yet; use `async with`, or await open()"
            )

    async def channel(self) -> grpc.aio.Channel:
        """The channel of the present stream, for other calls; waits for one if need be."""
        self.require()
        while self._stream is None:
            self._changed.clear()
            await self._changed.wait()
            self.require()
        return self._stream.channel

    async def open(self) -> None:
        """Connect to the first address where a broker answers; raises what the others said."""
        if self._failure is not None:
            raise fresh(self._failure)
        if self._running is None:
            stream = await self._connect()
            if isinstance(stream, TwigcastError):
                raise fresh(stream)
            if self.is_closing:
                await stream.close()
                raise closed("client")
            self._begin(stream)
            self._running = asyncio.create_task(self._run(), name="twigcast connection")

    async def close(self) -> None:
        """Send what is still to be sent if there is a stream, and end it."""
        self.is_closing = True
        self._something.set()
        running = self._running
        try:
            if running is not None and self.welcome is not None:
                await asyncio.wait({running}, timeout=_CLOSING_PATIENCE)
        finally:
            if running is not None:
                running.cancel()
                await asyncio.wait({running})
            self._fail(closed("client"))

    async def _run(self) -> None:
        """Serve streams, one after the other; holds none itself, so that a dead one is freed."""
        pause = _FIRST_PAUSE
        try:
            while True:
                began = monotonic()
                error = await self._serve()
                self.welcome = None  # in one step with what the speakers hear below
                if self.is_closing:
                    return
                if is_lasting(error) or not self._reconnect:
                    self._fail(error)
                    return
                log.warning("%s; connecting again", error)
                for speaker in self._speakers:
                    speaker.on_lost()
                if monotonic() - began > _LONGEST_PAUSE:
                    pause = _FIRST_PAUSE
                while (problem := await self._connect_after(pause)) is not None:
                    if is_lasting(problem):
                        self._fail(problem)
                        return
                    log.debug("no connection yet: %s", problem)
                    pause = min(2 * pause, _LONGEST_PAUSE)
                pause = min(2 * pause, _LONGEST_PAUSE)
                log.info("connected again to %s", self.address)
        except Exception as error:
            log.exception("the client fails")
            self._fail(ConnectionFailedError(self.address, f"the client fails: {error!r}"))

    async def _connect_after(self, pause: float) -> TwigcastError | None:
        """Begin a new stream after a while; why there is none, if so."""
        await asyncio.sleep(pause * random.uniform(0.5, 1.0))
        stream = await self._connect()
        if isinstance(stream, TwigcastError):
            return stream
        self._begin(stream)
        return None

    async def _connect(self) -> Stream | TwigcastError:
        """A stream to one of the addresses, the latest one first, or why there is none."""
        latest = self.endpoint.addresses.index(self.address)
        addresses = self.endpoint.addresses[latest:] + self.endpoint.addresses[:latest]
        problems: list[TwigcastError] = []
        for address in addresses:
            stream = await open_stream(
                self.endpoint, address, name=self._name, timeout=self.timeout / len(addresses)
            )
            if isinstance(stream, Stream):
                return stream
            problems.append(stream)
        if len(problems) == 1 or all(map(is_lasting, problems)):
            return problems[0]
        return none_reachable(str(self.endpoint), problems)

    def _begin(self, stream: Stream) -> None:
        """Let everybody speak on a new stream."""
        self._stream, self.address, self.welcome = stream, stream.address, stream.welcome
        self._answers.clear()
        for speaker in self._speakers:
            speaker.on_connected(stream.welcome)
        self._something.set()
        self._changed.set()

    async def _serve(self) -> TwigcastError:
        """Read and send until the stream ends; why it did."""
        stream = self._stream
        assert stream is not None
        sender = asyncio.create_task(self._send(stream), name="twigcast sender")
        reader = asyncio.create_task(self._read(stream), name="twigcast reader")
        try:
            await asyncio.wait({sender, reader}, return_when=asyncio.FIRST_COMPLETED)
            if sender.done():
                # It has said everything, or the stream is over, which the reader is about to hear.
                sender.result()
            return await reader
        finally:
            self._stream = None
            for task in (sender, reader):
                task.cancel()
            await asyncio.gather(sender, reader, return_exceptions=True)
            await stream.close()

    async def _send(self, stream: Stream) -> None:
        something = self._something
        while True:
            something.clear()
            quiet = True
            for speaker in self._speakers:
                for frame in speaker.frames():
                    quiet = False
                    if not await stream.write(frame):
                        return
            if quiet:
                if self.is_closing:
                    await stream.end_writing()
                    return
                await something.wait()

    async def _read(self, stream: Stream) -> TwigcastError:
        """Hear what the broker says, until it says no more: the reason."""
        while True:
            frame = await stream.read()
            if isinstance(frame, TwigcastError):
                return frame
            try:
                self._hear(frame)
            except BrokenStreamError as error:
                return ConnectionFailedError(self.address, str(error))

    def _hear(self, frame: messages.BrokerFrame) -> None:
        kind = frame.WhichOneof("frame")
        if kind == "documents":
            self.on_documents(frame.documents)
        elif kind == "answer":
            on_answer = self._answers.pop(frame.answer.request, None)
            if on_answer is None:
                raise BrokenStreamError("the broker answers what was not asked")
            on_answer(frame.answer)
        elif kind == "ended":
            self.on_ended(frame.ended)

    def _fail(self, error: TwigcastError) -> None:
        self.welcome = None
        if self._failure is None:
            self._failure = error
            for speaker in self._speakers:
                speaker.on_failed(error)
            self._changed.set()


def _ignore(message: object) -> None:
    """Nobody listens yet."""
