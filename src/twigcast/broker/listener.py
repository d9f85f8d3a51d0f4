"""gRPC at one address, for as long as the broker serves.

    bind ──► port ──serve──► gRPC's server ──it gives up──► a new one at the same port

gRPC's server for asyncio gives up as a whole when the name of a method is no UTF-8: its loop ends
with the error, the port is closed and nobody is told.  Whoever reaches the port can send such a
call, and a bad line can make one.  So the listener watches that loop, which is the task that
``start`` makes, and begins again with a new server.  Those who were connected are cut off and call
again, as after any lost connection.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from types import CoroutineType
from typing import Any, Final

import grpc.aio

from twigcast.broker.config import BrokerConfig
from twigcast.broker.credentials import server_credentials
from twigcast.broker.open_files import open_files
from twigcast.errors import ConfigError
from twigcast.wire import channel_options

_log = logging.getLogger(__name__)

_SHARE: Final = 2
"""One out of how many open files may be a connection to gRPC's port."""
_HANDSHAKE_MS: Final = 10_000
"""How long, in milliseconds, a connection may take to begin: TLS, and the first frame."""
_IDLE_MS: Final = 60_000
"""How long, in milliseconds, a connection may go without a call; clients connect again."""
_AGAIN: Final = 0.1
"""How long, in seconds, between two tries to listen at a port that is still being closed."""


class Listener:
    """Serves calls of gRPC at the address of a configuration."""

    def __init__(self, config: BrokerConfig) -> None:
        self._address = config.listen_address
        self._credentials = server_credentials(config)
        self._options: list[tuple[str, Any]] = [
            *channel_options(config.limits.message_bytes),
            ("grpc.so_reuseport", 0),
            ("grpc.max_concurrent_streams", config.limits.clients + 100),
            ("grpc.max_allowed_incoming_connections", max(1, open_files() // _SHARE)),
            ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
            ("grpc.max_connection_idle_ms", _IDLE_MS),
        ]
        self._handlers: grpc.GenericRpcHandler | None = None
        self._renewal: asyncio.Task[None] | None = None
        self._is_closed = False

    def bind(self) -> int:
        """Take the address; the port, which may have been left to the system."""
        self._server = grpc.aio.server(options=self._options)
        address = str(self._address)
        try:
            port = (
                self._server.add_insecure_port(address)
                if self._credentials is None
                else self._server.add_secure_port(address, self._credentials)
            )
        except RuntimeError:
            port = 0
        if not port:
            raise ConfigError(f"cannot listen at {address}: another program does, perhaps")
        self._address = self._address._replace(port=port)
        return port

    async def serve(self, handlers: grpc.GenericRpcHandler) -> None:
        """Answer calls; returns once clients can connect."""
        self._handlers = handlers
        self._server.add_generic_rpc_handlers((handlers,))
        before = asyncio.all_tasks()
        await self._server.start()
        for task in asyncio.all_tasks() - before:
            # gRPC's own are compiled coroutines.
            if not isinstance(task.get_coro(), CoroutineType):
                task.add_done_callback(self._look_at)

    async def close(self, grace: float) -> None:
        """Cut everybody off, after some seconds for what is under way."""
        self._is_closed = True
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.wait([self._renewal])
        await self._server.stop(grace)

    def _look_at(self, task: asyncio.Task[Any]) -> None:
        if self._is_closed or task.cancelled() or self._renewal is not None:
            return
        error = task.exception()
        if error is not None:
            _log.error("gRPC at %s gave up: %s; serving anew", self._address, error)
            self._renewal = asyncio.get_running_loop().create_task(self._serve_anew())

    async def _serve_anew(self) -> None:
        assert self._handlers is not None, "it has been served before"
        with suppress(Exception):  # what made it give up is raised here once more
            await self._server.stop(None)
        while True:
            try:
                self.bind()
            except ConfigError:
                await asyncio.sleep(_AGAIN)
            else:
                break
        self._renewal = None
        await self.serve(self._handlers)
