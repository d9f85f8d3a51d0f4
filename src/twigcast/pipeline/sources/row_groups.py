"""Parquet files that workers read themselves, row group by row group.

Spark would turn each row into one of its own, and that into Arrow again, which takes longer than
matching plain paths does.  Files that workers see are read straight into Arrow instead; a task gets
row groups of some megabytes together.  Documents, ids and sources are those that Spark would give;
where that is not certain (folders named for the values of columns, ids that are neither text nor
whole numbers, times), Spark reads the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, ByteType, IntegerType, LongType, ShortType, StringType

from twigcast.pipeline.locations import Location
from twigcast.pipeline.sources.cells import DECLARED, NO_CELL, require_columns, xml_column
from twigcast.pipeline.sources.documents import SCHEMA, Batches, DocumentPart, Documents
from twigcast.pipeline.sources.listing import Reading
from twigcast.pipeline.sources.options import PARQUET, SourceOptions

TASK_BYTES: Final = 64 * 2**20
"""Bytes of documents that one task reads, unless a row group is larger."""
_BATCH_ROWS: Final = 1_000
_BATCH_BYTES: Final = 16 * 2**20
_IDS: Final = (StringType, ByteType, ShortType, IntegerType, LongType)
_DECLARES: Final = r"^\x{feff}?<\?xml\s[^>]*encoding"


def open_row_groups(
    spark: SparkSession, reading: Reading, options: SourceOptions, task_bytes: int = TASK_BYTES
) -> Documents | None:
    """The documents of local Parquet files, where workers can read them as Spark would."""
    frame = reading.load(spark, PARQUET)
    shown = reading.files[0]
    require_columns(frame.schema, options, shown)
    column = xml_column(frame.schema, options, shown)
    kinds = {field.name: field.dataType for field in frame.schema}
    chosen = [name for name in (options.id_column, options.at_column) if name is not None]
    if (
        reading.is_partitioned
        or options.time_column is not None
        or not all(isinstance(kinds[name], _IDS) for name in chosen)
        or not isinstance(kinds[column], StringType | BinaryType)
    ):
        return None
    files = [(str(Location(spark, url).local_path), url) for url in reading.files]
    try:
        tasks = plan_tasks(files, task_bytes)
    except (OSError, pa.ArrowException):
        return None  # Spark says what is wrong with a file, or can read it
    if not tasks:
        return Documents.of(spark.createDataFrame([], SCHEMA))
    numbers = spark.range(0, len(tasks), 1, len(tasks))
    opening = ReadRowGroups(tasks, column, options.id_column, options.at_column)
    schema = SCHEMA if options.at_column is None else f"{SCHEMA}, at string"
    return Documents.of(DocumentPart(numbers, opening, schema))


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Some row groups of one file."""

    path: str
    url: str
    groups: tuple[int, ...]
    first_row: int
    """The rows of the file before them."""
    batch_rows: int
    """So many rows are some megabytes, on average."""


def plan_tasks(
    files: Iterable[tuple[str, str]], task_bytes: int = TASK_BYTES
) -> tuple[RowGroups, ...]:
    """The row groups of files (path and URL), a task for some megabytes of them."""
    tasks: list[RowGroups] = []
    for path, url in files:
        metadata = pq.read_metadata(path)
        row = first = size = 0
        groups: list[int] = []
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            groups.append(number)
            row += group.num_rows
            size += group.total_byte_size
            if size >= task_bytes or number + 1 == metadata.num_row_groups:
                rows = max(1, min(_BATCH_ROWS, _BATCH_BYTES * (row - first) // max(size, 1)))
                tasks.append(RowGroups(path, url, tuple(groups), first, rows))
                groups, size, first = [], 0, row
    return tuple(tasks)


@dataclass(frozen=True, slots=True)
class ReadRowGroups:
    """Opens documents: each row of the input is the number of one of the tasks."""

    tasks: tuple[RowGroups, ...]
    column: str
    id_column: str | None = None
    at_column: str | None = None

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self._read(self.tasks[number])

    def _read(self, task: RowGroups) -> Iterator[pa.RecordBatch]:
        named = (self.column, self.id_column, self.at_column)
        wanted = sorted({name for name in named if name is not None})
        row = task.first_row
        with pq.ParquetFile(task.path, memory_map=True) as file:
            # A column that a file lacks is null there, as for Spark.
            present = [name for name in wanted if name in file.schema_arrow.names]
            for batch in file.iter_batches(
                batch_size=task.batch_rows,
                row_groups=list(task.groups),
                columns=present,
                use_threads=False,
            ):
                yield self._documents(batch, task.url, row)
                row += len(batch)

    def _documents(self, batch: pa.RecordBatch, url: str, row: int) -> pa.RecordBatch:
        names = [f"{url}#{row + number}" for number in range(1, len(batch) + 1)]
        source = pa.array(names, pa.string())
        ids = source
        if self.id_column is not None:
            ids = pc.coalesce(_text(batch, self.id_column), source)
        content = _content(batch, self.column)
        empty = pc.is_null(content)
        problem = pc.if_else(empty, pa.scalar(NO_CELL), pa.scalar(None, pa.string()))
        columns = {"id": ids, "source": source, "content": content, "problem": problem}
        if self.at_column is not None:
            columns["at"] = _text(batch, self.at_column)
        return pa.RecordBatch.from_pydict(columns)


def _text(batch: pa.RecordBatch, name: str) -> pa.Array:
    if name not in batch.schema.names:
        return pa.nulls(len(batch), pa.string())
    return batch.column(name).cast(pa.string())


def _content(batch: pa.RecordBatch, name: str) -> pa.Array:
    """The documents as bytes; text is UTF-8, whatever encoding it declares."""
    if name not in batch.schema.names:
        return pa.nulls(len(batch), pa.binary())
    column = batch.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        declaring = pc.match_substring_regex(column, _DECLARES)
        if pc.any(declaring).as_py():
            column = pa.array([_as_declared(one) for one in column.to_pylist()], pa.string())
    return column.cast(pa.binary())


def _as_declared(text: str | None) -> str | None:
    """A text whose declaration says UTF-8 where it says anything, at the same length at least."""
    declared = re.match(DECLARED, text) if text else None
    if text is None or declared is None or declared[2][1:-1].lower() == "utf-8":
        return text
    return declared[1] + '"UTF-8"'.ljust(len(declared[2])) + text[declared.end() :]
