"""What a caller says of a call that fails: gRPC's texts become remedies, a neighbour's stay."""

from __future__ import annotations

import asyncio
from typing import cast

import grpc
import grpc.aio
import pytest

from twigcast.broker.call_stream import CallStream, LinkedError
from twigcast.broker.link_codec import LinkProtocolError

_ALL = "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: "
_REFUSED = f"{_ALL}Failed to connect to remote host: connect: Connection refused (111)"


class _Ended:
    """A call that ends with a status, after so many messages."""

    def __init__(self, code: grpc.StatusCode, details: str, messages: int = 0) -> None:
        self._status = code, details
        self._messages = messages

    async def read(self) -> object:
        self._messages -= 1
        return b"frame" if self._messages >= 0 else grpc.aio.EOF

    async def code(self) -> grpc.StatusCode:
        return self._status[0]

    async def details(self) -> str:
        return self._status[1]


@pytest.mark.parametrize(
    ("code", "details", "messages", "said"),
    [
        ("UNAVAILABLE", _REFUSED, 0, r"^no broker answers \(connect: Connection refused"),
        ("UNAVAILABLE", f"{_ALL}Hostname Verification Check failed.", 0, "as server_name of"),
        ("UNAVAILABLE", f"{_ALL}CERTIFICATE_VERIFY_FAILED", 0, r"correct tls\.ca"),
        ("UNAVAILABLE", f"{_ALL}WRONG_VERSION_NUMBER", 0, "does not use TLS"),
        ("UNAVAILABLE", "Socket closed", 0, r"look at \[tls\] of both"),
        ("UNAVAILABLE", "Socket closed", 1, "^the connection is lost$"),
        ("UNAVAILABLE", "Cancelling all calls", 1, "^the connection is lost$"),
        ("FAILED_PRECONDITION", "both are called 'x'", 0, "^both are called 'x'$"),
    ],
)
def test_a_call_that_fails_has_a_reason_in_our_words(
    code: str, details: str, messages: int, said: str
) -> None:
    async def scenario() -> None:
        call = _Ended(grpc.StatusCode[code], details, messages)
        stream = CallStream(cast("grpc.aio.StreamStreamCall[bytes, bytes]", call))
        for _ in range(messages):
            assert await stream.read() == b"frame"
        with pytest.raises(LinkProtocolError, match=said) as caught:
            await stream.read()
        assert not isinstance(caught.value, LinkedError)

    asyncio.run(scenario())
