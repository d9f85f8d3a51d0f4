"""Reading the body of a request, and writing one that goes on: neither is held in memory whole.

A body is read up to a limit, which counts the bytes that a packed one unpacks to.  What comes
beyond it is passed over for a while, so that a client that does not listen before it has sent
everything still hears why it was refused.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Final, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from twigcast.broker.http.errors import explain
from twigcast.errors import RefusedError, TwigcastError

_log = logging.getLogger(__name__)

PATIENCE: Final = 30.0
"""For how many seconds the rest of a body may fail to come."""
_PASSED_OVER: Final = 64 * 2**20
_SMALL: Final = 2**20
_GZIP: Final = 16 + zlib.MAX_WBITS
"""What tells zlib that gzip is to come."""

Model = TypeVar("Model", bound=BaseModel)
Result = TypeVar("Result")


async def read_body(request: Request, most: int, limit: str) -> bytes:
    """The body of a request; RefusedError if it has more than ``most`` bytes, or does not come.

    ``limit`` names the key of the configuration that says so.
    """
    reason = f"more than the {most:,} bytes that this broker takes at once ({limit})"
    gzip = _gzip(request, most)
    declared = request.headers.get("content-length", "")
    is_too_large = declared.isdecimal() and int(declared) > most
    if is_too_large and "expect" in request.headers:
        raise RefusedError(
            reason, "too-large"
        )  # the client waits for this before it sends anything
    body = bytearray()
    passed_over = 0
    while True:
        try:
            async with asyncio.timeout(PATIENCE):
                message = await request.receive()
        except TimeoutError:
            raise RefusedError("the rest of the request does not come", "timeout") from None
        if message["type"] == "http.disconnect":
            raise RefusedError("the client has gone in the midst of its request", "invalid")
        part = message.get("body", b"")
        if not is_too_large:
            body += part if gzip is None else gzip.unpack(part)
            is_too_large = len(body) > most
        if is_too_large:
            passed_over += len(part)
            body.clear()
        if not message.get("more_body", False) or passed_over > _PASSED_OVER:
            break
    if is_too_large:
        raise RefusedError(reason, "too-large")
    if gzip is not None:
        gzip.end()
    return bytes(body)


def _gzip(request: Request, most: int) -> _Gzip | None:
    """What unpacks the body of a request, if it is packed."""
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding == "identity":
        return None
    if coding not in ("gzip", "x-gzip"):
        raise RefusedError(
            f"the body is packed as {coding[:100]!r}; this broker unpacks gzip only", "invalid"
        )
    return _Gzip(most)


class _Gzip:
    """Unpacks a body as it comes: never much more than ``most`` bytes of it at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._member = zlib.decompressobj(_GZIP)

    def unpack(self, part: bytes) -> bytes:
        unpacked = bytearray()
        while part and len(unpacked) <= self._most:
            if self._member.eof:  # what follows is packed by itself
                self._member = zlib.decompressobj(_GZIP)
            try:
                unpacked += self._member.decompress(part, self._most + 1)
            except zlib.error as error:
                raise RefusedError(f"the body is no gzip: {error}", "invalid") from None
            part = self._member.unused_data
        return bytes(unpacked)

    def end(self) -> None:
        """Raise RefusedError where more should have come."""
        if not self._member.eof:
            raise RefusedError("the body breaks off: its gzip has no end", "invalid")


async def read_model(request: Request, model: type[Model], most: int = _SMALL) -> Model:
    """The body of a request, which is JSON; an empty one stands for ``{}``."""
    return parse_model(await read_body(request, most, "a request of this kind"), model)


def parse_model(body: bytes, model: type[Model]) -> Model:
    """A value out of JSON; RefusedError if it is none, or not of this form."""
    try:
        return model.model_validate_json(body or b"{}")
    except ValidationError as error:
        reason = explain(error.errors(include_url=False, include_input=False))
        raise RefusedError(f"the body is not what it should be: {reason}", "invalid") from None


def body_of(model: type[BaseModel], *, required: bool) -> dict[str, Any]:
    """A body that :func:`read_model` reads, as the description of an endpoint has it."""
    reference = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"required": required, "content": {"application/json": {"schema": reference}}}


class StreamedResponse(Response):
    """A response that goes on until its end, its reader goes, or the broker stops.

    ``chunks`` is asked for the next only when the one before was written and the reader is still
    there; ``on_end`` is called in any case.
    """

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        media_type: str,
        stopping: asyncio.Event,
        on_end: Callable[[], None] | None = None,
    ) -> None:
        self._chunks = chunks
        self._stopping = stopping
        self._on_end = on_end
        self.status_code = 200
        self.media_type = media_type
        self.background = None
        # A proxy that gathers what comes would hold documents back.
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write it."""
        gone = asyncio.create_task(_until_gone(receive))
        stop = asyncio.create_task(self._stopping.wait())
        writing = asyncio.create_task(self._write(send, gone))
        tasks = (gone, stop, writing)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if stop.done() and not gone.done() and not writing.done():
                writing.cancel()
                await asyncio.wait((writing,))
                await _send(send, b"", more=False)
        finally:
            for task in tasks:
                task.cancel()
            if self._on_end is not None:
                self._on_end()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._chunks.aclose()
        if not writing.cancelled():
            writing.result()

    async def _write(self, send: Send, gone: asyncio.Task[None]) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        try:
            async for chunk in self._chunks:
                await _send(send, chunk, more=True)
                # The server does not say that nobody reads; it takes a turn of the loop to know.
                await asyncio.sleep(0)
                if gone.done():
                    return
        except TwigcastError as error:
            # The status is out; the client sees that the response has no proper end.
            _log.error("a response breaks off: %s", error)
            return
        await _send(send, b"", more=False)


async def unless_gone(
    request: Request, work: Coroutine[Any, Any, Result], stopping: asyncio.Event
) -> Result:
    """What a piece of work gives; it is cancelled if the caller goes, or the broker stops.

    Then RefusedError is raised.  The body of the request is not read any more.
    """
    working = asyncio.create_task(work)
    gone = asyncio.create_task(_until_gone(request.receive))
    stop = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait((working, gone, stop), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            working.cancel()
            await asyncio.wait((working,))
        if working.cancelled():
            reason = "the broker stops" if stop.done() else "the client has gone"
            raise RefusedError(reason, "unavailable")
        return working.result()
    finally:
        for task in (working, gone, stop):
            task.cancel()
        await asyncio.gather(working, gone, stop, return_exceptions=True)


async def _send(send: Send, body: bytes, *, more: bool) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
