"""A TCP proxy that delays, cuts, swallows, spoils and injects, as a test tells it to."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class HostileProxy:
    """Stands before a server on loopback; what it does may change at any time."""

    def __init__(self, target: str, seed: int = 0) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._random = random.Random(seed)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.address = ""
        self.delay = 0.0
        """Seconds that each piece of data takes longer."""
        self.is_open = True
        """Whether new connections are let through."""
        self.swallows = False
        """Whether data goes nowhere, while connections stay."""
        self.spoiled = 0.0
        """The share of pieces in which a byte is changed."""
        self.injected = 0.0
        """The share of pieces before which garbage is put."""
        self.carried = 0
        """Bytes that went through."""

    async def start(self) -> None:
        """Listen at a port of the system's choice."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()[:2]
        self.address = f"{host}:{port}"

    async def close(self) -> None:
        """Cut everything, and listen no more."""
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def cut(self) -> None:
        """End all connections at once."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if not self.is_open:
                return
            try:
                there, back = await asyncio.open_connection(*self._target)
            except OSError:
                return
            self._writers.add(back)
            ways = [
                asyncio.create_task(self._carry(reader, back)),
                asyncio.create_task(self._carry(there, writer)),
            ]
            self._tasks.update(ways)
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self._tasks.difference_update(ways)
            back.transport.abort()
            self._writers.discard(back)
        except asyncio.CancelledError:
            pass  # the proxy is closed, and whoever made this task does not look at it
        finally:
            writer.transport.abort()
            self._writers.discard(writer)
            self._tasks.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            if self.delay:
                await asyncio.sleep(self.delay)
            if self.swallows:
                continue
            if self._random.random() < self.injected:
                writer.write(self._random.randbytes(self._random.randint(1, 50)))
            if self._random.random() < self.spoiled:
                spoiled = bytearray(data)
                spoiled[self._random.randrange(len(spoiled))] ^= 1 << self._random.randrange(8)
                data = bytes(spoiled)
            self.carried += len(data)
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def hostile_proxy(target: str, seed: int = 0) -> AsyncIterator[HostileProxy]:
    """A proxy for as long as a test needs it; friendly until told otherwise."""
    proxy = HostileProxy(target, seed)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()
