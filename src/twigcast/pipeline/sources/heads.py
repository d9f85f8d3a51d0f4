"""The first bytes of a file, decompressed, as many as are needed; on the driver.

From them come the columns of JSON lines.  Spark would read all lines to find the types; the first
megabyte is enough to know which field holds the XML.  All fields are then read as text.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from twigcast.errors import PipelineError
from twigcast.pipeline.locations import Location
from twigcast.pipeline.sources.cells import xml_column
from twigcast.pipeline.sources.options import SourceOptions

FIRST_HEAD: Final = 1024 * 1024
LARGEST_HEAD: Final = 64 * 1024 * 1024
_LINES: Final = 100
_FILES: Final = 20


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


def json_columns(spark: SparkSession, urls: Sequence[str], options: SourceOptions) -> StructType:
    """The columns to read, all as text: the one with the XML and those the user named."""
    url, fields = urls[0], {}
    # Files of a table may be empty; one of the first few has lines.
    for url in urls[:_FILES]:
        heads = (_fields(head.data, head.is_whole) for head in read_heads(spark, url))
        fields = next(filter(None, heads), {})
        if fields:
            break
    else:
        raise PipelineError(
            f"{urls[0]}: none of its first lines is a JSON object; JSON lines have one in each line"
        )
    for option, name in options.named_columns.items():
        if name not in fields:
            raise PipelineError(
                f"{url}: no JSON object in its first lines has {name!r}, which {option} names; "
                f"there are {', '.join(fields)}"
            )
    texts = StructType([StructField(name, StringType()) for name, text in fields.items() if text])
    name = xml_column(texts, options, url)
    needed = dict.fromkeys([name, *options.named_columns.values()])
    return StructType([StructField(column, StringType()) for column in needed])


def _fields(data: bytes, is_whole: bool) -> dict[str, bool]:
    """The names of the first lines' fields, each with whether a text was seen in it."""
    lines = data.split(b"\n", _LINES)
    if not is_whole or len(lines) > _LINES:
        lines.pop()
    fields: dict[str, bool] = {}
    for line in lines:
        try:
            value_of_line = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value_of_line, dict):
            for name, value in value_of_line.items():
                fields[name] = fields.get(name, False) or isinstance(value, str)
    return fields
