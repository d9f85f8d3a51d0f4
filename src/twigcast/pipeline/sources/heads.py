"""The first bytes of a file, decompressed, as many as are needed; on the driver."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pyspark.sql import SparkSession

from twigcast.errors import PipelineError
from twigcast.pipeline.locations import Location

FIRST_HEAD: Final = 1024 * 1024
LARGEST_HEAD: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Head:
    """The start of a file, or all of it."""

    data: bytes
    is_whole: bool


def read_heads(spark: SparkSession, url: str) -> Iterator[Head]:
    """Ever longer starts of a file, up to all of it or 64 MB; the caller stops when satisfied."""
    location = Location(spark, url)
    size = FIRST_HEAD
    while True:
        data = location.read_head(size + 1)
        head = _head(url, data, size)
        yield head
        if head.is_whole or size >= LARGEST_HEAD:
            return
        size *= 8


def _head(url: str, data: bytes, size: int) -> Head:
    if not url.lower().endswith(".gz"):
        return Head(data[:size], len(data) <= size)
    # A file may be several compressed streams, one after the other.
    parts: list[bytes] = []
    room = size
    while data and room > 0:
        stream = zlib.decompressobj(wbits=31)
        try:
            parts.append(stream.decompress(data, room))
        except zlib.error as error:
            if not any(parts):
                raise PipelineError(f"{url}: it cannot be decompressed: {error}") from None
            break
        room -= len(parts[-1])
        if not stream.eof:
            return Head(b"".join(parts), False)
        data = stream.unused_data
    return Head(b"".join(parts), room > 0)
