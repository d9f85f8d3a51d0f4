"""What one client publishes, one message after the other, while the rest that it says is heard.

    frames ──► put ──► waiting ──► handle ──► the next
                 ▲ too much waits

A publisher may be held back: there is no room in the store, the disk is behind, or it publishes too
fast.  The same client may have the acknowledgements that make room, so these are read meanwhile.
What waits has a bound, above what a client has unanswered; past it nothing more is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from twigcast.wire import messages

_MOST: Final = 1_088
"""Messages that wait, at most: a client has 1,024 documents unanswered."""
_MOST_BYTES: Final = 24 * 2**20
"""When as many bytes wait, nothing is added: a client has 16 MiB unanswered."""


class InTurn:
    """Messages of one client that are handled in order; made in a running event loop."""

    def __init__(self, handle: Callable[[messages.ClientFrame], Awaitable[None]]) -> None:
        self._handle = handle
        self._waiting: asyncio.Queue[tuple[messages.ClientFrame, int]] = asyncio.Queue()
        self._unhandled = 0
        self._bytes = 0
        self._error: Exception | None = None
        self._changed = asyncio.Event()
        self.task = asyncio.create_task(self._run())
        """To be cancelled in the end."""

    async def put(self, frame: messages.ClientFrame, size: int) -> None:
        """Add a message, when there is room; raises what handling an earlier one has raised."""
        await self._until(lambda: self._unhandled < _MOST and self._bytes < _MOST_BYTES)
        self._unhandled += 1
        self._bytes += size
        self._waiting.put_nowait((frame, size))

    async def finish(self) -> None:
        """Return when everything is handled; raises likewise."""
        await self._until(lambda: not self._unhandled)

    async def _until(self, condition: Callable[[], bool]) -> None:
        while self._error is None and not condition():
            self._changed.clear()
            await self._changed.wait()
        if self._error is not None:
            raise self._error

    async def _run(self) -> None:
        try:
            while True:
                frame, size = await self._waiting.get()
                await self._handle(frame)
                self._unhandled -= 1
                self._bytes -= size
                self._changed.set()
        except Exception as error:
            self._error = error
            self._changed.set()
