"""The HTTP server: what it consists of, starting and stopping."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from functools import partial
from typing import Final

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse

from twigcast.broker.client_sessions import ClientSessions
from twigcast.broker.credentials import server_context
from twigcast.broker.http import (
    administering,
    asking,
    durables,
    letters,
    publishing,
    status,
    subscribing,
)
from twigcast.broker.http.connections import Connection
from twigcast.broker.http.context import Api
from twigcast.broker.http.errors import on_bad_parameters, on_no_endpoint, on_refusal
from twigcast.broker.http.hosts import OnlyKnownHosts
from twigcast.broker.http.listening import listen
from twigcast.broker.http.pages import describe, index_page
from twigcast.errors import TwigcastError

_GRACE: Final = 3
"""For how many seconds requests may go on when the broker stops."""
_KEEP_ALIVE: Final = 30
_PACKED_FROM: Final = 1024
"""From how many bytes on an answer is packed, for who accepts that."""


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
        metrics = self._api.broker.metrics
        sockets = await listen(self._config, partial(metrics.refused, "quota"))
        address = self._config.http_address
        assert address is not None, "there is a port to open"
        self.address = str(address._replace(port=sockets[0].getsockname()[1]))
        self._server = _Server(_settings(make_app(self._api), context))
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
    app.add_middleware(GZipMiddleware, minimum_size=_PACKED_FROM)
    app.add_middleware(OnlyKnownHosts, config=api.broker.config, metrics=api.broker.metrics)
    app.add_exception_handler(TwigcastError, on_refusal)
    app.add_exception_handler(RequestValidationError, on_bad_parameters)
    app.add_exception_handler(HTTPException, on_no_endpoint)
    for module in (publishing, subscribing, durables, letters, asking, status, administering):
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


def _settings(app: FastAPI, context: ssl.SSLContext | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
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
