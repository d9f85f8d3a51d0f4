"""The ceiling of the transport: the same batches sent to a bare gRPC server, which sends them back.

    echo ──batches of documents, as bytes──► serve_echo
         ◄──the same bytes──────────────────

Both ends are ``grpc.aio`` as in broker and client, with the same options; nothing is read in what
passes.  As many documents are in transit as a publisher may have unanswered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle, islice
from typing import Any, Final

import grpc
import grpc.aio

from twigcast.wire import channel_options, messages

_UNANSWERED: Final = 1_024
_MESSAGE_BYTES: Final = 4_000_000
_SERVICE: Final = "twigcast.bench.Echo"
_METHOD: Final = "Echo"


@asynccontextmanager
async def serve_echo() -> AsyncIterator[str]:
    """A server that sends back what comes; its address."""

    async def send_back(frames: AsyncIterator[bytes], context: Any) -> None:
        async for frame in frames:
            await context.write(frame)

    methods: dict[str, Any] = {_METHOD: grpc.stream_stream_rpc_method_handler(send_back)}
    server = grpc.aio.server(options=channel_options(_MESSAGE_BYTES))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


async def echo(address: str, documents: Sequence[bytes], count: int, batch: int) -> float:
    """Send so many documents, ``batch`` a message, and get them back; how long it took."""
    frames = [_frame(list(islice(cycle(documents), n, n + batch))) for n in range(len(documents))]
    room = asyncio.Semaphore(max(1, _UNANSWERED // batch))
    options = channel_options(_MESSAGE_BYTES)
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        start: Any = channel.stream_stream(f"/{_SERVICE}/{_METHOD}")
        call = start()

        async def send() -> None:
            for frame in islice(cycle(frames), count // batch):
                await room.acquire()
                await call.write(frame)
            await call.done_writing()

        began = time.monotonic()
        sending = asyncio.create_task(send())
        while await call.read() is not grpc.aio.EOF:
            room.release()
        await sending
        return time.monotonic() - began


def _frame(documents: Sequence[bytes]) -> bytes:
    frame = messages.ClientFrame()
    for document in documents:
        frame.publish.publications.add(content=document)
    return frame.SerializeToString()
