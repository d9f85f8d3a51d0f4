"""The HTTP server: what it consists of, starting and stopping."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Iterator
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from twigcast.broker.client_session import ClientSessions
from twigcast.broker.config import BrokerConfig
from twigcast.broker.credentials import server_context
from twigcast.broker.http import administering, asking, publishing, status, subscribing
from twigcast.broker.http.context import CERTIFICATE, Api
from twigcast.broker.http.errors import on_bad_parameters, on_no_endpoint, on_refusal
from twigcast.broker.http.pages import describe, index_page
from twigcast.errors import ConfigError, TwigcastError

_GRACE: Final = 3
"""For how many seconds requests may go on when the broker stops."""
_KEEP_ALIVE: Final = 30
_BACKLOG: Final = 1024
_SPARE: Final = 100
"""Connections beyond the clients that a broker serves, so that health checks still get through."""


class HttpServer:
    """The HTTP port of one broker."""

    def __init__(self, sessions: ClientSessions) -> None:
        self._config = sessions.broker.config
        self._api = Api(sessions)
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self.address = ""
        """Where it really listens, as ``host:port``."""

    async def start(self) -> None:
        """Listen; ConfigError where that is not possible."""
        context = server_context(self._config)
        sockets = await _listen(self._config)
        address = self._config.http_address
        assert address is not None, "there is a port to open"
        self.address = str(address._replace(port=sockets[0].getsockname()[1]))
        self._server = _Server(_settings(make_app(self._api), self._config, context))
        self._serving = asyncio.create_task(self._server.serve(sockets), name="HTTP")
        starting = asyncio.create_task(self._server.ready.wait())
        await asyncio.wait((starting, self._serving), return_when=asyncio.FIRST_COMPLETED)
        starting.cancel()
        if self._serving.done():
            self._serving.result()

    async def close(self) -> None:
        """Stop: streams end, other requests are answered."""
        self._api.stopping.set()
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            self._server.stopping.set()
            await self._serving
        self._api.publishers.close()


def make_app(api: Api) -> FastAPI:
    """The endpoints, for one broker."""
    # The pages of FastAPI load programs from elsewhere; ours is below.
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.api = api
    app.add_exception_handler(TwigcastError, on_refusal)
    app.add_exception_handler(RequestValidationError, on_bad_parameters)
    app.add_exception_handler(HTTPException, on_no_endpoint)
    for module in (publishing, subscribing, asking, status, administering):
        app.include_router(module.router)
    document = describe(app)
    page = index_page(document)

    async def openapi(request: Request) -> JSONResponse:
        return JSONResponse(document)

    async def index(request: Request) -> HTMLResponse:
        return HTMLResponse(page, headers={"Content-Security-Policy": _ONLY_OURS})

    app.add_route("/openapi.json", openapi, include_in_schema=False)
    app.add_route("/", index, include_in_schema=False)
    return app


_ONLY_OURS: Final = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


def _settings(app: FastAPI, config: BrokerConfig, context: ssl.SSLContext | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=config.limits.clients + _SPARE,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_GRACE,
        ssl_context_factory=None if context is None else lambda *_: context,
    )


class _Server(uvicorn.Server):
    """A server that leaves signals to the broker, and has events for its start and its stop."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self.stopping = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def main_loop(self) -> None:
        """Keep the date that responses carry; once a second is enough for that."""
        while not self.stopping.is_set():
            await self.on_tick(0)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self.stopping.wait()


class _Protocol(H11Protocol):
    """A connection that passes the names in a client's certificate to the endpoints."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        names = certificate_names(transport.get_extra_info("peercert"))
        if names:
            inner: Any = self.app

            async def app(scope: Scope, receive: Receive, send: Send) -> None:
                scope[CERTIFICATE] = names
                await inner(scope, receive, send)

            self.app = app


def certificate_names(certificate: dict[str, Any] | None) -> tuple[str, ...]:
    """Whom a certificate names, as Python's ssl has it; credentials.py has the same for gRPC."""
    if not certificate:
        return ()
    subject = [pair for part in certificate.get("subject", ()) for pair in part]
    common = tuple(value for kind, value in subject if kind == "commonName" and value)
    return common or tuple(value for _, value in certificate.get("subjectAltName", ()) if value)


async def _listen(config: BrokerConfig) -> list[socket.socket]:
    """Sockets on all addresses that the host of the port has, on one port."""
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
                sockets.append(_open(family, (socket_address[0], port, *socket_address[2:])))
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    raise
                failed = error
            else:
                port = sockets[-1].getsockname()[1]
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


def _open(family: int, address: tuple[Any, ...]) -> socket.socket:
    # asyncio sends without delay only where the protocol is named.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
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
