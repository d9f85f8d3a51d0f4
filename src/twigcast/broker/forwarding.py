"""A port whose connections go on to another broker's: how a door that stands by serves clients.

    client ◄──bytes──► door that stands by ◄──bytes──► door that leads

Bytes pass as they are, so whatever is spoken there is spoken here: gRPC, HTTP, TLS.  TLS ends at
the door that leads, so all doors of a group need a certificate with the names of all of them.

Where nobody leads right now, a connection is closed at once: who calls again a moment later finds a
door that has taken over.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from twigcast.broker.addresses import Address
from twigcast.broker.open_files import open_files
from twigcast.broker.peers import peer_of
from twigcast.broker.shares import Shares
from twigcast.errors import ConfigError

_log = logging.getLogger(__name__)

_CHUNK: Final = 2**18
_CONNECT: Final = 2.0
"""Seconds in which the other broker accepts a connection."""
_SHARE: Final = 8
"""One out of how many open files may be a connection from here; each needs another one to there."""


class Forwarder:
    """Listens at an address; ``target`` says where its connections go, if anywhere."""

    def __init__(self, address: Address, target: Callable[[], Address | None]) -> None:
        self._address = address
        self._target = target
        self._shares = Shares(max(1, open_files() // _SHARE))
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to listen; raises ConfigError where another program does."""
        host, port = self._address
        try:
            self._server = await asyncio.start_server(self._accept, host, port)
        except OSError as error:
            reason = error.strerror or error
            raise ConfigError(f"cannot listen at {self._address}: {reason}") from None

    async def close(self) -> None:
        """Listen no more, and cut all connections."""
        if self._server is not None:
            self._server.close()
        self.cut()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def cut(self) -> None:
        """Cut all connections; others may come."""
        for task in self._connections:
            task.cancel()

    def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        peer = peer_of(writer.get_extra_info("peername")[0])
        if not self._shares.enter(peer):
            _log.warning("%s: too many connections from %s", self._address, peer)
            writer.transport.abort()
            return
        try:
            await self._forward(reader, writer)
        finally:
            self._shares.leave(peer)
            writer.transport.abort()

    async def _forward(self, reader: StreamReader, writer: StreamWriter) -> None:
        target = self._target()
        if target is None:
            return
        try:
            async with asyncio.timeout(_CONNECT):
                there, thence = await asyncio.open_connection(*target)
        except (OSError, TimeoutError) as error:
            _log.info("%s: %s does not answer: %s", self._address, target, error)
            return
        try:
            await asyncio.gather(_pipe(reader, thence), _pipe(there, writer))
        finally:
            thence.transport.abort()


async def _pipe(reader: StreamReader, writer: StreamWriter) -> None:
    """Pass on what comes from one side, and that it ends."""
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
        return
    writer.transport.abort()
