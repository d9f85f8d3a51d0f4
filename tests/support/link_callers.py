"""Callers that speak the protocol of links by hand, and say what they like."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import grpc.aio

from twigcast.broker import RunningBroker
from twigcast.broker.link_codec import encode_frame
from twigcast.wire import PROTOCOL, messages, method


class Caller:
    """A caller that speaks the protocol of links by hand."""

    def __init__(self, call: grpc.aio.StreamStreamCall[bytes, bytes]) -> None:
        self._call = call
        self.sequence = 0
        self.frames: list[bytes] = []

    async def say(self, *items: messages.LinkItem) -> None:
        """Send a frame."""
        self.sequence += 1
        frame = encode_frame(self.sequence, [each.SerializeToString() for each in items])
        self.frames.append(frame)
        await self._call.write(frame)

    async def hear(self) -> messages.LinkItem:
        """The first item of the next frame."""
        data = await self._call.read()
        assert isinstance(data, bytes)
        return messages.LinkBody.FromString(messages.LinkFrame.FromString(data).body).items[0]

    async def link(self, name: str = "x", gateway: str = "") -> None:
        """Bring the link up, as a broker of that name."""
        hello = messages.LinkHello(
            protocol=PROTOCOL,
            broker=name,
            incarnation=1,
            cost=1,
            strategy="covering",
            nonce=b"n",
            message_bytes=10**6,
            gateway=gateway,
        )
        await self.say(messages.LinkItem(hello=hello))
        answer = (await self.hear()).hello
        assert answer.answered == b"n"
        await self.say(messages.LinkItem(hello=messages.LinkHello(answered=answer.nonce)))


@asynccontextmanager
async def calling(running: RunningBroker) -> AsyncIterator[tuple[Caller, object]]:
    """A caller of a broker, and its call."""
    async with grpc.aio.insecure_channel(running.address) as channel:
        calls: grpc.aio.StreamStreamMultiCallable[bytes, bytes]
        calls = channel.stream_stream(method("Link"))
        call = calls()
        try:
            yield Caller(call), call
        finally:
            call.cancel()
