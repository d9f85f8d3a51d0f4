"""The columns of JSON lines, from the first of them.

Spark would read all lines to find the types; the first megabyte is enough to know which field
holds the XML.  All fields are then read as text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from twigcast.errors import PipelineError
from twigcast.pipeline.sources.cells import xml_column
from twigcast.pipeline.sources.heads import read_heads
from twigcast.pipeline.sources.options import SourceOptions

_LINES: Final = 100
_FILES: Final = 20


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
