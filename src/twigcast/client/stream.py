"""One stream to one broker, from Hello to its end.

How it ends is returned, not raised: an exception would keep its frames, and with them the stream
and its socket, alive until the next collection of garbage.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

import grpc
from google.protobuf.message import DecodeError

from twigcast.client.endpoints import Endpoint
from twigcast.client.failures import BrokenStreamError, own_cancellation, translated
from twigcast.errors import ConnectionFailedError, RefusedError, TwigcastError
from twigcast.wire import PROTOCOL, messages, method

_Call: TypeAlias = "grpc.aio.StreamStreamCall[messages.ClientFrame, bytes]"


async def open_stream(
    endpoint: Endpoint, address: str, *, name: str, timeout: float
) -> Stream | TwigcastError:
    """A stream on which the broker has said Welcome, or why there is none."""
    stream = Stream(endpoint, address)
    problem: TwigcastError | None = None
    try:
        async with asyncio.timeout(timeout):
            hello = messages.Hello(protocol=PROTOCOL, client=name)
            await stream.write(messages.ClientFrame(hello=hello))
            problem = await stream.read_welcome()
    except TimeoutError:
        reason = f"no broker answers within {timeout:g} seconds; is the address right?"
        problem = ConnectionFailedError(address, reason)
    except BaseException:
        await stream.close()
        raise
    if problem is not None:
        await stream.close()
        return problem
    return stream


class Stream:
    """A channel to an address and the client session on it; made by :func:`open_stream`."""

    __slots__ = ("_call", "_is_greeted", "address", "channel", "welcome")

    def __init__(self, endpoint: Endpoint, address: str) -> None:
        self.address = address
        self.channel = endpoint.open_channel(address)
        self.welcome = messages.Welcome()
        self._is_greeted = False
        # Answers are parsed below, where bytes that are no frame can be refused.
        start: Any = self.channel.stream_stream(
            method("Connect"), messages.ClientFrame.SerializeToString
        )
        self._call: _Call = start(metadata=endpoint.metadata)

    async def write(self, frame: messages.ClientFrame) -> bool:
        """Send a frame; False if the stream is over, for reasons that :meth:`read` returns."""
        try:
            with own_cancellation():
                await self._call.write(frame)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError, BrokenStreamError):
            return False
        return True

    async def end_writing(self) -> None:
        """Say that nothing more will be sent; the broker ends the stream when it has read all."""
        await self._call.done_writing()

    async def read(self) -> messages.BrokerFrame | TwigcastError:
        """The next frame, or why there will be none."""
        try:
            with own_cancellation():
                data: Any = await self._call.read()
                if data is grpc.aio.EOF:
                    return ConnectionFailedError(self.address, "the broker ended the connection")
            return messages.BrokerFrame.FromString(data)
        except grpc.aio.AioRpcError as error:
            return translated(error, self.address, is_greeted=self._is_greeted)
        except BrokenStreamError as error:
            return ConnectionFailedError(self.address, str(error))
        except DecodeError:
            return ConnectionFailedError(self.address, "the broker sends what is no frame")

    async def read_welcome(self) -> TwigcastError | None:
        """Read the first frame; what is wrong with it, if anything is."""
        frame = await self.read()
        if isinstance(frame, TwigcastError):
            return frame
        if not frame.HasField("welcome"):
            return ConnectionFailedError(self.address, "what answers there is no Twigcast broker")
        self.welcome = frame.welcome
        self._is_greeted = True
        if self.welcome.protocol != PROTOCOL:
            return RefusedError(
                f"the broker at {self.address} speaks protocol {self.welcome.protocol}, this "
                f"client {PROTOCOL}; install the release of Twigcast that the broker has",
                "invalid",
            )
        return None

    async def close(self) -> None:
        """End it at once."""
        self._call.cancel()
        await self.channel.close()
