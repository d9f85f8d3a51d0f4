"""The calling end of a link: a call, and what goes wrong with it, in words of Twigcast's.

What the neighbour says is passed on as it is; what gRPC says of connections is not for operators.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import grpc
import grpc.aio

from twigcast.broker.link_codec import LinkProtocolError
from twigcast.wire import Instead, is_unreachable, short_reason, what_instead

_Code = grpc.StatusCode

LINKED: Final = _Code.ALREADY_EXISTS
"""How a broker answers a call of a neighbour that is linked already."""
_OF_CONNECTIONS: Final = frozenset(
    {_Code.UNAVAILABLE, _Code.CANCELLED, _Code.UNKNOWN, _Code.INTERNAL}
)
"""Statuses that gRPC gives by itself; with the others the neighbour says why."""
_INSTEAD: Final = {
    Instead.NO_HOST: "there is no host of that name; correct the address of the link",
    Instead.NO_LOOKUP: "the name of the host cannot be looked up; is the network there?",
    Instead.OTHER_PORT: "that is no broker's port, an HTTP port perhaps; correct the address",
    Instead.OTHER_NAME: (
        "the certificate there is not made out to the host of the address; write a name that the "
        "certificate has as server_name of the link"
    ),
    Instead.OTHER_AUTHORITY: (
        "the certificate there is not by the authority that is trusted here; correct tls.ca"
    ),
    Instead.NO_TLS: "what listens there does not use TLS; set up [tls] at both brokers, or at none",
    Instead.HUNG_UP: (
        "what listens there hangs up; perhaps only one of both brokers uses TLS, or the other "
        "does not trust the certificate of this one: look at [tls] of both"
    ),
}


class LinkedError(LinkProtocolError):
    """The neighbour is linked already, by a call of its own as a rule."""


class CallStream:
    """The calling end of a stream, for :class:`LinkConnection`."""

    def __init__(self, call: grpc.aio.StreamStreamCall[bytes, bytes]) -> None:
        self._call = call
        self._is_answered = False

    async def read(self) -> bytes | None:
        """The next message; None at the end."""
        with self._in_words():
            data = await self._call.read()
        if isinstance(data, bytes):
            self._is_answered = True
            return data
        # At the end gRPC gives the reason.
        code = await self._call.code()
        if code is not _Code.OK:
            raise self._error(code, await self._call.details() or "")
        return None

    async def write(self, data: bytes) -> None:
        """Send a message."""
        with self._in_words():
            await self._call.write(data)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except grpc.aio.AioRpcError as error:
            raise self._error(error.code(), error.details() or "") from None

    def _error(self, code: grpc.StatusCode, details: str) -> LinkProtocolError:
        if code is LINKED:
            return LinkedError(details)
        if code not in _OF_CONNECTIONS:
            return LinkProtocolError(details or code.name)
        instead = what_instead(details)
        if is_unreachable(details):
            if instead is not None:
                return LinkProtocolError(_INSTEAD[instead])
            return LinkProtocolError(f"no broker answers ({short_reason(details)})")
        if instead is Instead.HUNG_UP and not self._is_answered:
            return LinkProtocolError(_INSTEAD[instead])
        return LinkProtocolError("the connection is lost")
