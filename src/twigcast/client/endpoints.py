"""Where brokers are, and how to speak with them: addresses, TLS and the token.

An :class:`Endpoint` is made once from what a caller gives and opens a gRPC channel to any of its
addresses.  Each channel has connections of its own: the pool that channels otherwise share would
also share how long gRPC waits before it tries a dead address again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final

import grpc

from twigcast.errors import ConnectionFailedError
from twigcast.wire import TlsFileError, channel_options, read_tls_files

TOKEN_VARIABLE: Final = "TWIGCAST_TOKEN"

_LARGEST_MESSAGE: Final = 256 * 2**20
"""What a client takes in one message; a broker says what it takes only when it is connected."""

_ADDRESS: Final = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\],]+):(\d{1,5})")


class Endpoint:
    """One or several addresses of brokers, with what it takes to be let in.

    ``addresses`` is a text such as ``127.0.0.1:7400`` or ``a:7400,b:7400``, or a list of such.
    """

    __slots__ = ("_credentials", "addresses", "metadata")

    def __init__(
        self,
        addresses: str | Iterable[str],
        *,
        token: str | None = None,
        ca: str | os.PathLike[str] | None = None,
        certificate: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        tls: bool = False,
    ) -> None:
        self.addresses = _read_addresses(addresses)
        token = os.environ.get(TOKEN_VARIABLE) if token is None else token
        self.metadata = (("authorization", f"Bearer {_checked(token)}"),) if token else ()
        if (certificate is None) != (key is None):
            raise ValueError("certificate and key go together; give both, or neither")
        self._credentials: grpc.ChannelCredentials | None = None
        if tls or ca is not None or certificate is not None:
            try:
                files = read_tls_files(ca, certificate, key)
            except TlsFileError as problem:
                raise ConnectionFailedError(str(self), str(problem)) from None
            self._credentials = grpc.ssl_channel_credentials(files.ca, files.key, files.certificate)

    def __str__(self) -> str:
        return ",".join(self.addresses)

    def open_channel(self, address: str) -> grpc.aio.Channel:
        """A channel to one of the addresses; it connects when it is first used."""
        options = [
            *channel_options(_LARGEST_MESSAGE),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.enable_retries", 0),
        ]
        if self._credentials is None:
            return grpc.aio.insecure_channel(address, options=options)
        return grpc.aio.secure_channel(address, self._credentials, options=options)


def _read_addresses(addresses: str | Iterable[str]) -> tuple[str, ...]:
    texts = [addresses] if isinstance(addresses, str) else list(addresses)
    parts = [part.strip() for text in texts for part in text.split(",")]
    if not parts:
        raise ConnectionFailedError("", "no address is given; give one such as 127.0.0.1:7400")
    for part in parts:
        match = _ADDRESS.fullmatch(part)
        if match is None or not 0 < int(match[1]) < 65536:
            raise ConnectionFailedError(
                part, "an address is a host and a port, such as 127.0.0.1:7400 or [::1]:7400"
            )
    return tuple(dict.fromkeys(parts))


def _checked(token: str) -> str:
    """A token as it may stand in a header."""
    token = token.strip()
    if not token.isascii() or not token.isprintable():
        raise ValueError("a token consists of printable ASCII characters")
    return token
