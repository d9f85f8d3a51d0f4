"""Columns that are declared once, in the words of Spark, and are the same in Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

_TYPES: Final = {
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<smallint>": pa.list_(pa.int16()),
    "array<string>": pa.list_(pa.field("element", pa.string())),
    "map<string,string>": pa.map_(pa.string(), pa.string()),
}


def arrow_schema(columns: str) -> pa.Schema:
    """The schema in Arrow of columns such as ``id string, size bigint``."""
    pairs = (column.split() for column in columns.split(", "))
    return pa.schema([(name, _TYPES[kind]) for name, kind in pairs])


def batch_of(rows: Sequence[Sequence[object]], schema: pa.Schema) -> pa.RecordBatch:
    """The rows as one batch of Arrow."""
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
