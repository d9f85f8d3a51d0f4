"""The sockets of the HTTP port, which share connections out among those who call.

A connection counts from the moment that it is accepted to its end, so also while nothing but TLS
goes on.  Whoever holds too many already (:mod:`~twigcast.broker.shares`) is turned away at once.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from twigcast.broker.config import BrokerConfig
from twigcast.broker.open_files import open_files
from twigcast.broker.peers import peer_of
from twigcast.broker.shares import Shares
from twigcast.errors import ConfigError

_log = logging.getLogger(__name__)

_BACKLOG: Final = 1024
_SPARE: Final = 100
"""Connections beyond the clients that a broker serves, so that health checks still get through."""
_SHARE: Final = 4
"""One out of how many open files may be a connection to the HTTP port."""


class _Connection(socket.socket):
    """A connection that says when it is closed."""

    on_close: Callable[[], None] | None = None

    def close(self) -> None:
        super().close()
        on_close, self.on_close = self.on_close, None
        if on_close is not None:
            on_close()


class _Listening(socket.socket):
    """A socket that turns away whoever has too many connections."""

    shares: Shares
    on_refused: Callable[[], None]

    def accept(self) -> tuple[socket.socket, Any]:
        accepted, address = super().accept()
        peer = peer_of(address[0])
        if not self.shares.enter(peer):
            accepted.close()
            self.on_refused()
            _log.warning(
                "%s has as many connections to the HTTP port as are free (%d are open): one more "
                "was closed; let the process open more files if they are wanted",
                *(peer, len(self.shares)),
            )
            raise ConnectionAbortedError
        connection = _Connection(
            accepted.family, accepted.type, accepted.proto, fileno=accepted.detach()
        )
        connection.on_close = partial(self.shares.leave, peer)
        return connection, address


async def listen(config: BrokerConfig, on_refused: Callable[[], None]) -> list[socket.socket]:
    """Sockets on all addresses that the host of the port has, on one port.

    ``on_refused`` is called for each connection that is turned away.  Raises ConfigError.
    """
    shares = Shares(min(2 * (config.limits.clients + _SPARE), open_files() // _SHARE))
    address = config.http_address
    assert address is not None, "there is a port to open"
    port = address.port
    sockets: list[socket.socket] = []
    failed: OSError | None = None
    try:
        choices = await asyncio.get_running_loop().getaddrinfo(
            address.host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, _, _, _, socket_address in dict.fromkeys(choices):
            try:
                opened = _open(family, (socket_address[0], port, *socket_address[2:]))
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    raise
                failed = error
            else:
                opened.shares, opened.on_refused = shares, on_refused
                sockets.append(opened)
                port = opened.getsockname()[1]
        if failed is not None and not sockets:
            raise failed
    except OSError as error:
        for each in sockets:
            each.close()
        raise ConfigError(
            f"cannot listen at {address}: {error.strerror or error}", where="http"
        ) from None
    return sockets


_NOT_HERE: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""A name may have addresses of a kind that a machine does not use."""


def _open(family: int, address: tuple[Any, ...]) -> _Listening:
    # asyncio sends without delay only where the protocol is named.
    opened = _Listening(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setblocking(False)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind(address)
        opened.listen(_BACKLOG)
    except BaseException:
        opened.close()
        raise
    return opened
