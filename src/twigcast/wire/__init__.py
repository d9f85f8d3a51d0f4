"""The wire: what brokers and clients say to each other, as ``twigcast.proto`` defines it.

``twigcast_pb2`` is made from that file by ``tools/generate_wire.py``; a test makes it anew and
compares.  The services are called by name, without further generated code.
"""

from __future__ import annotations

from typing import Final

from twigcast.wire import raw
from twigcast.wire import twigcast_pb2 as messages
from twigcast.wire.instead import Instead, is_unreachable, short_reason, what_instead
from twigcast.wire.tls_files import TlsFileError, TlsFiles, read_tls_files

PROTOCOL: Final = 2
"""The version of the protocol; brokers and clients of different ones do not talk."""

SERVICE: Final = "twigcast.v1.Broker"


def method(name: str) -> str:
    """The path of a method of the service, as gRPC wants it."""
    return f"/{SERVICE}/{name}"


def channel_options(message_bytes: int) -> list[tuple[str, int]]:
    """Options of either end of a connection on which messages of that size pass."""
    return [
        ("grpc.max_receive_message_length", message_bytes + MESSAGE_SLACK),
        ("grpc.max_send_message_length", -1),  # whoever makes a message sees to its size
        ("grpc.keepalive_time_ms", 20_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.http2.ping_timeout_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.enable_http_proxy", 0),
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", 1024 * 1024),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ]


MESSAGE_SLACK: Final = 256 * 1024
"""What a message may have beside the contents of its documents."""

__all__ = [
    "MESSAGE_SLACK",
    "PROTOCOL",
    "SERVICE",
    "Instead",
    "TlsFileError",
    "TlsFiles",
    "channel_options",
    "is_unreachable",
    "messages",
    "method",
    "raw",
    "read_tls_files",
    "short_reason",
    "what_instead",
]
