"""The columns of an archive's tables, and how they are written.

Documents lie in files, each in a folder of its own (``file=0``), so that those without a shape that
is asked for are not even opened.  Within, they are sorted by ``shape``, a number that follows the
order of root and skeleton, then by time.  So documents of one shape, and of similar ones, lie
together, and the least and the greatest number of every row group and every page say what may be
skipped.  Row groups and pages are small for that reason: a page holds some tens of documents.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from twigcast.errors import PipelineError
from twigcast.pipeline.archive.folder import Part
from twigcast.pipeline.locations import Location
from twigcast.pipeline.sources.names import escape

DOCUMENTS: Final = "documents"
SHAPES: Final = "shapes"
REJECTED: Final = "rejected"
_FILE: Final = "file="

_SCHEMAS: Final = {
    # id: SHA-256 of the content, in hexadecimal; size: of the content, in bytes.
    DOCUMENTS: (
        "id string, source string, time timestamp, size long, root string, shape long, "
        "content binary"
    ),
    # skeleton: null where it would be too large; fingerprint: of the skeleton, the same in every
    # part, while a shape's number is of this part alone; file and last_file: where its documents
    # are.
    SHAPES: (
        "shape long, fingerprint string, root string, skeleton binary, documents long, bytes long, "
        "first timestamp, last timestamp, file int, last_file int"
    ),
    REJECTED: "source string, reason string, line int, column int, time timestamp",
}

_OPTIONS: Final = {
    "compression": "zstd",
    "parquet.compression.codec.zstd.level": "1",
    "parquet.block.size": str(4 << 20),
    "parquet.page.size": str(128 << 10),
    # The pages of all columns end together often enough for the shape to decide which to skip.
    "parquet.page.row.count.limit": "64",
    "parquet.page.size.row.check.min": "16",
    "parquet.statistics.truncate.length": "64",
    # No two rows are alike in these.
    "parquet.enable.dictionary#content": "false",
    "parquet.enable.dictionary#skeleton": "false",
    "parquet.enable.dictionary#id": "false",
}


def read_part_tables(spark: SparkSession, parts: Iterable[Part], name: str) -> DataFrame:
    """The table of this name of one or more parts, as one frame."""
    if name == DOCUMENTS:
        return read_files(spark, parts, None)
    return _read(spark, name, *(part.table(name) for part in parts))


def read_files(
    spark: SparkSession, parts: Iterable[Part], numbers: Collection[int] | None
) -> DataFrame:
    """The documents of the files with these numbers, or all."""
    # Each folder is named: where several parts have some, Spark takes their names for a mistake.
    folders: list[str] = []
    for part in parts:
        entries = part.location.child(DOCUMENTS).entries()
        if not entries:  # otherwise its documents would be missing without notice
            raise PipelineError(f"{part.location.url} has lost its documents")
        folders.extend(
            entry.url
            for entry in entries
            if entry.name.startswith(_FILE)
            and (numbers is None or int(entry.name.removeprefix(_FILE)) in numbers)
        )
    if not folders:  # a shape's documents need not reach into all files that it has room in
        return spark.createDataFrame([], _SCHEMAS[DOCUMENTS])
    return _read(spark, DOCUMENTS, *folders)


def read_staged(spark: SparkSession, staging: Location, name: str) -> DataFrame:
    """A table that is written, but not yet that of a part."""
    return _read(spark, name, staging.child(name).url)


def _read(spark: SparkSession, name: str, *folders: str) -> DataFrame:
    # The schema is given: to infer it would take a job.
    return spark.read.schema(_SCHEMAS[name]).parquet(*map(escape, folders))


def table_columns(name: str) -> list[str]:
    """The columns of a table, in order."""
    return [column.split()[0] for column in _SCHEMAS[name].split(", ")]


def table_writer(frame: DataFrame, name: str) -> DataFrameWriter:
    """A writer of the table of this name."""
    columns = table_columns(name)
    if name != DOCUMENTS:
        return frame.select(*columns).write.options(**_OPTIONS)
    return frame.select(*columns, "file").write.options(**_OPTIONS).partitionBy("file")
