"""The tables of a result, read back with the columns that they were written with.

Nothing is inferred: a table without rows has its columns, a column that is always null is there,
and a subscriber "01" stays one where folders are named for subscribers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from twigcast.errors import PipelineError
from twigcast.pipeline.locations import Location
from twigcast.pipeline.sources.names import escape

COLUMNS: Final = {
    "deliveries": "document string, key string, subscriber string",
    "documents": "id string, source string, size bigint, hash string, status string",
    "rejected": "document string, source string, reason string, line int, column int",
    "links": "sender string, receiver string, documents bigint, bytes bigint, "
    "false_positives bigint, unit string",
}
"""The tables of a result; with a network, deliveries have one more column."""
BROKER: Final = "broker string"
_BATCH: Final = "batch"


def read_table(spark: SparkSession, folder: str, name: str) -> DataFrame:
    """A table of a result that :func:`route` or :func:`stream` has written.

    A table of a stream has one more column, ``batch``.
    """
    if name not in COLUMNS:
        raise PipelineError(f"a result has no table {name!r}; it has {', '.join(COLUMNS)}")
    result = Location(spark, folder)
    if result.child(name).exists():
        return _read(spark, [result], name, None)
    # Folders with other names are batches that are being written, and the checkpoint.
    batches = [
        result.child(entry.name)
        for entry in result.entries()
        if entry.name.startswith(f"{_BATCH}=") and result.child(entry.name).child(name).exists()
    ]
    if not batches:
        raise PipelineError(f"{folder} holds no table {name!r}; it is no result of a route")
    return _read(spark, batches, name, result)


def _read(
    spark: SparkSession, results: list[Location], name: str, base: Location | None
) -> DataFrame:
    columns = [COLUMNS[name]]
    if name == "deliveries" and any(one.child("links").exists() for one in results):
        columns.append(BROKER)
    if base is not None:
        columns.append(f"{_BATCH} int")
    schema = ", ".join(columns)
    order = [column.split()[0] for column in schema.split(", ")]
    tables = [one.child(name) for one in results]
    ending = next((end for table in tables for end in _endings(table)), None)
    if ending is None:
        return spark.createDataFrame([], schema)
    reader = spark.read.schema(schema)
    if base is not None:
        reader = reader.option("basePath", base.url)
    frame = reader.format(ending).load([escape(table.url) for table in tables])
    return frame.select(*order)


def _endings(folder: Location) -> Iterator[str]:
    """The formats of the files of a table, which may lie in folders of subscribers."""
    for entry in folder.entries():
        if entry.is_folder:
            yield from _endings(folder.child(entry.name))
        elif entry.name.endswith((".json", ".parquet")):
            yield entry.name.rpartition(".")[2]
