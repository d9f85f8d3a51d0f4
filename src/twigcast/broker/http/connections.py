"""One connection to the HTTP port: who is at its other end, and how long it may say nothing.

    connected ──headers──► a request is answered ──► kept for the next one
        └── PATIENCE ──┐                                  └── the next begins to come: PATIENCE
                       ▼
                    closed

uvicorn waits for ever for a request that has begun, or never begins.  Here the whole head of a
request comes in time, however slowly its bytes come one by one.  While a request is answered, the
endpoint decides: an event stream goes on, and a body may fail to come for a while
(:mod:`~twigcast.broker.http.bodies`).
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from twigcast.broker.http.context import CERTIFICATE

PATIENCE: float = 10.0
"""For how many seconds a connection may go without a whole request."""
_LINGER: Final = 5.0
"""For how many seconds what was written last may wait to be read, before the connection is cut."""


class Connection(H11Protocol):
    """A connection that passes the names in a client's certificate to the endpoints."""

    _ending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()
        names = certificate_names(transport.get_extra_info("peercert"))
        if names:
            inner: Any = self.app

            async def app(scope: Scope, receive: Receive, send: Send) -> None:
                scope[CERTIFICATE] = names
                await inner(scope, receive, send)

            self.app = app

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unwatch()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self.loop.call_later(_LINGER, self.transport.abort)

    def _watch(self) -> None:
        """Wait for a request for a while, unless one is being answered."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        if cycle is not None and not cycle.response_complete:
            self._unwatch()
        elif self._ending is None:
            self._ending = self.loop.call_later(PATIENCE, self.timeout_keep_alive_handler)

    def _unwatch(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None


def certificate_names(certificate: dict[str, Any] | None) -> tuple[str, ...]:
    """Whom a certificate names, as Python's ssl has it; credentials.py has the same for gRPC."""
    if not certificate:
        return ()
    subject = [pair for part in certificate.get("subject", ()) for pair in part]
    common = tuple(value for kind, value in subject if kind == "commonName" and value)
    return common or tuple(value for _, value in certificate.get("subjectAltName", ()) if value)
