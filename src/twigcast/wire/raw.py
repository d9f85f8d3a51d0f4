"""Messages put together from parts that are serialized already.

A document that goes to many is serialized once; each receiver's message is that, with a few bytes
before it.  In the encoding of protocol buffers a field that holds a message is its number, a length
and the message, so this needs no more than a prefix.
"""

from __future__ import annotations

from collections.abc import Iterable


def field(number: int, payload: bytes) -> bytes:
    """A field with a message, a string or bytes in it."""
    return b"".join((varint(number << 3 | 2), varint(len(payload)), payload))


def fields(number: int, payloads: Iterable[bytes]) -> bytes:
    """A repeated field."""
    tag = varint(number << 3 | 2)
    parts: list[bytes] = []
    for payload in payloads:
        parts += (tag, varint(len(payload)), payload)
    return b"".join(parts)


def varint(value: int) -> bytes:
    """A whole number that is not negative."""
    if value < 0x80:
        return bytes((value,))
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
