"""The connection of a link: frames to and from a neighbouring broker, and a watch on both.

    say (tables, receipts) ──► control ──┐
                                         ├──► frames, numbered and summed ──► neighbour
    pass_on (documents) ──► SpillQueue ──┘

Items about tables go first and are never dropped.  Documents wait in memory, then in a
file; past the limit they are dropped and counted: those that are owed to somebody come again, since
the broker where they were published answers for them.

A side that has nothing to say sends heartbeats.  A link on which nothing has come for a while is
suspected: it is cut, so that documents take other routes, and the side that called calls again.
Time counts as silence only while this side listens: neither while it handles what has come, nor
while its event loop is busy.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Protocol

from twigcast.broker.link_codec import decode_frame, encode_frame
from twigcast.broker.pace import BATCH, BATCH_BYTES, taking_turns
from twigcast.broker.spill_queue import SpillQueue
from twigcast.hierarchy import Speaker
from twigcast.routing import Towards
from twigcast.wire import MESSAGE_SLACK, messages

_log = logging.getLogger(__name__)

_MOST_CONTROL: Final = 64 * 1024 * 1024
_LOOKS: Final = 8
"""How often a silent link is looked at before it is suspected."""
_WRAPPING: Final = MESSAGE_SLACK // 2
"""What an item has beside the document in it: names, and the homes that it is owed to."""
_BESIDE: Final = MESSAGE_SLACK // 4
"""A frame that has more about tables has no document, so that the largest one finds room."""
_HEARTBEAT: Final = messages.LinkItem(heartbeat=messages.Heartbeat()).SerializeToString()


class Stream(Protocol):
    """Either end of a call: messages as bytes."""

    async def read(self) -> object:
        """The next message; at the end something else, None or gRPC's mark for it."""

    async def write(self, data: bytes, /) -> None:
        """Send a message, waiting while the other side does not take any."""


class SuspectedError(Exception):
    """Nothing has come on a link for too long."""


class LinkConnection:
    """The gRPC stream of a link that is up, or coming up; ``name`` is the neighbour's."""

    def __init__(
        self,
        stream: Stream,
        documents: SpillQueue,
        *,
        heartbeat: float,
        suspect_after: float,
    ) -> None:
        self.name = ""
        self.gateway = ""
        """The outermost unit that the neighbour is a gateway of; empty if it is none."""
        self.speaker = Speaker("", (), (), Towards.EVERYONE)
        """What the neighbour may say; nothing before its hello."""
        self.incarnation = 0
        self.address = ""
        self.cost = 1.0
        self.is_called = False
        """Whether the neighbour called, and not this broker."""
        self.is_up = False
        self.since = time.time()
        self.documents_sent = 0
        self.documents_received = 0
        self.bytes_sent = 0
        self.bytes_received = 0
        self.documents = documents
        self.closed = asyncio.Event()
        self.reason = ""
        self._stream = stream
        self._heartbeat = heartbeat
        self._suspect_after = suspect_after
        self._control: deque[bytes] = deque()
        self._control_bytes = 0
        self.largest = 0
        """The most bytes of a document that both ends take."""
        self._too_large = 0
        self._is_handling = False
        self._ready = asyncio.Event()
        self._sent = 0
        self._received = 0
        self._heard = time.monotonic()

    def say(self, items: Iterable[bytes]) -> None:
        """Send the neighbour items that must not be lost while the link lives."""
        for item in items:
            self._control.append(item)
            self._control_bytes += len(item)
        if self._control_bytes > _MOST_CONTROL:
            self.close("the neighbour does not read")
        self._ready.set()

    def pass_on(self, item: bytes) -> bool:
        """Send a document; False if it was dropped: too many wait, or it is too large there."""
        if not self.takes(item):
            self._note_too_large(len(item))
            return False
        self._ready.set()
        return self.documents.put(item)

    def takes(self, item: bytes) -> bool:
        """Whether a document is not too large for this link."""
        return len(item) <= self.largest + _WRAPPING

    def _note_too_large(self, size: int) -> None:
        if not self._too_large:
            _log.warning(
                "a document of some %s bytes cannot cross the link to %s, on which they have up to "
                "%s; raise limits.message_bytes there, or lower limits.document_bytes here (later "
                "ones are counted as dropped)",
                f"{size:,}",
                self.name,
                f"{self.largest:,}",
            )
        self._too_large += 1

    @property
    def dropped(self) -> int:
        """How many documents did not leave: too many waited, or they were too large."""
        return self.documents.dropped + self._too_large

    async def send_now(self, *items: bytes) -> None:
        """Send a frame at once; only before the link is up."""
        await self._write(list(items))

    async def receive(self) -> list[messages.LinkItem] | None:
        """The items of the next frame; None when the other side has ended the link."""
        # Not wait_for(), which may lose the cancellation of whoever waits.
        async with asyncio.timeout(self._suspect_after):
            return await self._read()

    async def _read(self) -> list[messages.LinkItem] | None:
        data = await self._stream.read()
        if not isinstance(data, bytes):
            return None
        self._received += 1
        self.bytes_received += len(data)
        self._heard = time.monotonic()
        return decode_frame(data, self._received)

    async def serve(
        self, handle: Callable[[messages.LinkItem, LinkConnection], Awaitable[None] | None]
    ) -> None:
        """Carry everything in both directions until the link ends, for whatever reason."""
        tasks = [
            asyncio.create_task(self._pump(), name=f"to {self.name}"),
            asyncio.create_task(self._listen(handle), name=f"from {self.name}"),
            asyncio.create_task(self._watch(), name=f"watch {self.name}"),
            asyncio.create_task(self.closed.wait(), name=f"close {self.name}"),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                error = task.exception()
                if error is not None:
                    raise error
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def close(self, reason: str) -> None:
        """End the link."""
        self.reason = self.reason or reason
        self.closed.set()

    async def _pump(self) -> None:
        while True:
            if not self._control and not len(self.documents):
                self._ready.clear()
                # `wait_for` would lose a cancellation that comes together with something to send,
                # and the link would never end.
                try:
                    async with asyncio.timeout(self._heartbeat):
                        await self._ready.wait()
                except TimeoutError:
                    self.say((_HEARTBEAT,))
            items: list[bytes] = []
            size = 0
            while self._control and len(items) < BATCH and size < BATCH_BYTES:
                items.append(self._control.popleft())
                size += len(items[-1])
            self._control_bytes -= size
            if len(items) < BATCH and size < _BESIDE and len(self.documents):
                documents = self.documents.take(BATCH - len(items), BATCH_BYTES - size)
                self.documents_sent += len(documents)
                items += documents
            await self._write(items)

    async def _write(self, items: list[bytes]) -> None:
        self._sent += 1
        frame = encode_frame(self._sent, items)
        self.bytes_sent += len(frame)
        await self._stream.write(frame)

    async def _listen(
        self, handle: Callable[[messages.LinkItem, LinkConnection], Awaitable[None] | None]
    ) -> None:
        while (items := await self._read()) is not None:
            self._is_handling = True
            async for item in taking_turns(items):
                answer = handle(item, self)
                if answer is not None:
                    await answer
            # What has come while these were handled was heard.
            self._heard = time.monotonic()
            self._is_handling = False

    async def _watch(self) -> None:
        each = self._suspect_after / _LOOKS
        while True:
            began = time.monotonic()
            await asyncio.sleep(each)
            now = time.monotonic()
            # While the event loop was busy, nothing could be heard.
            busy = max(0.0, now - began - 2 * each)
            self._heard = min(now, self._heard + busy)
            silence = now - self._heard
            if silence > self._suspect_after and not self._is_handling:
                raise SuspectedError(f"nothing has come for {silence:.1f} s")
