"""Documents of files as they arrive in a folder, as a streaming frame.

The same columns as when the folder is read at once, and the same ids, but that all JSON lines of a
file are counted from its start; Spark keeps in its checkpoint which files were taken.  A file must
come whole, so write it elsewhere and move it in.  One without a byte is taken without a trace.

A stream must know its columns before the first file comes: those of a table are taken from a file
that is there already, or for JSON lines from the options.

Cost: Spark remembers each file for ever, and looks through the folder for each batch.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StringType, StructField, StructType

from twigcast.errors import PipelineError
from twigcast.pipeline.locations import Location
from twigcast.pipeline.sources.blocks import RECORD
from twigcast.pipeline.sources.cells import xml_column
from twigcast.pipeline.sources.documents import Documents
from twigcast.pipeline.sources.files import Reader, fetched, opened
from twigcast.pipeline.sources.heads import json_columns
from twigcast.pipeline.sources.lines import read_lines
from twigcast.pipeline.sources.listing import Reading, list_files
from twigcast.pipeline.sources.names import ENDINGS, escape, kind_of
from twigcast.pipeline.sources.options import (
    CSV,
    DEFAULT_OPTIONS,
    FILES,
    JSON_LINES,
    PARQUET,
    ROWS,
    SourceOptions,
)
from twigcast.pipeline.sources.packed_files import read_file
from twigcast.pipeline.sources.tables import (
    CSV_OPTIONS,
    DAMAGED,
    JSON_OPTIONS,
    damageable_documents,
    line_documents,
    parquet_documents,
    with_damages,
)

_BINARY_FILE: Final = "path string, modificationTime timestamp, length bigint, content binary"
_FOR_EVER: Final = "36500d"
_PARSED: Final = "__twigcast_parsed"
_LINE: Final = "__twigcast_line"
_PROBLEM: Final = "__twigcast_problem"


def stream_documents(
    spark: SparkSession,
    folder: str,
    options: SourceOptions = DEFAULT_OPTIONS,
    max_files: int | None = None,
) -> Documents:
    """The documents of files that are in a folder and that arrive there: one streaming part.

    ``max_files`` bounds how many files one batch takes.  Files stay where they are.
    """
    if options.wanted_format == ROWS:
        raise PipelineError(
            f"{folder}: files that arrive cannot be cut at an element; read them at once instead"
        )
    location = Location(spark, folder)
    if not location.exists():
        raise PipelineError(f"{folder}: nothing is there; make the folder before the stream")
    names = sorted(list_files(spark, [escape(location.url)], options.pattern))
    kind = _kind(folder, names, options)
    there = [name for name in names if options.pattern or kind_of(name) == kind]
    reader = spark.readStream.option("recursiveFileLookup", "true")
    # Otherwise a file with an old time that comes late would never be taken.
    reader = reader.option("maxFileAge", _FOR_EVER)
    reader = reader.option("pathGlobFilter", options.pattern or _any_of(ENDINGS[kind]))
    if max_files is not None:
        reader = reader.option("maxFilesPerTrigger", max_files)
    if kind != FILES:
        return Documents.of(_table(spark, reader, kind, there, location.url, options))
    if options.named_columns:
        option = next(iter(options.named_columns))
        raise PipelineError(f"{folder}: {option} names a column, but files of XML have none")
    return _files(reader, location.url, read_file)


def _files(reader: DataStreamReader, url: str, read: Reader) -> Documents:
    frame = reader.format("binaryFile").schema(_BINARY_FILE).load(escape(url))
    return opened(frame, read) if url.startswith("file:") else fetched(frame, read)


def _table(
    spark: SparkSession,
    reader: DataStreamReader,
    kind: str,
    there: list[str],
    url: str,
    options: SourceOptions,
) -> DataFrame:
    folder = escape(url)
    if kind == JSON_LINES:
        schema = _json_schema(spark, there, url, options)
        lines = _files(reader, url, read_lines).frame()
        return _json_documents(lines, schema, options, url)
    if not there:
        raise PipelineError(
            f"{url}: the columns of a table are taken from its first file, and none is there; "
            "put one there before the stream"
        )
    first = Reading(kind, (escape(there[0]),), (there[0],))
    if kind == PARQUET:
        schema = first.load(spark, PARQUET).schema
        return parquet_documents(reader.format(PARQUET).schema(schema).load(folder), options, url)
    schema = first.load(spark, CSV, options=CSV_OPTIONS).schema
    table = reader.format(CSV).options(**CSV_OPTIONS).schema(with_damages(schema))
    return line_documents(table.load(folder), schema, CSV, options, url)


def _json_documents(
    lines: DataFrame, schema: StructType, options: SourceOptions, url: str
) -> DataFrame:
    """Documents of lines, which come as documents themselves."""
    line = F.col("content").cast("string")
    parsed = F.from_json(line, with_damages(schema), dict(JSON_OPTIONS))
    cells = lines.select(
        F.col("id").alias(RECORD),
        F.col("problem").alias(_PROBLEM),
        line.alias(_LINE),
        parsed.alias(_PARSED),
    ).select(
        RECORD,
        _PROBLEM,
        *(F.col(_PARSED).getField(name).alias(name) for name in schema.names),
        F.coalesce(
            F.col(_PARSED).getField(DAMAGED), F.when(F.col(_PARSED).isNull(), F.col(_LINE))
        ).alias(DAMAGED),
    )
    name = xml_column(schema, options, url)
    return damageable_documents(
        cells, name, F.col(RECORD), JSON_LINES, options, known=F.col(_PROBLEM)
    )


def _json_schema(
    spark: SparkSession, there: list[str], url: str, options: SourceOptions
) -> StructType:
    if there:
        return json_columns(spark, there, options)
    if options.column is None:
        raise PipelineError(
            f"{url}: no file is there yet, so the column with the XML is not known; name it"
        )
    columns = dict.fromkeys(options.named_columns.values())
    return StructType([StructField(name, StringType()) for name in columns])


def _kind(folder: str, names: list[str], options: SourceOptions) -> str:
    if options.wanted_format is not None:
        return options.wanted_format
    if options.pattern is not None:
        return kind_of(options.pattern) or FILES
    kinds = {kind for name in names if (kind := kind_of(name)) is not None}
    if len(kinds) > 1:
        raise PipelineError(
            f"{folder}: it holds files of several formats, {', '.join(sorted(kinds))}; "
            "name the format"
        )
    return kinds.pop() if kinds else FILES


def _any_of(endings: tuple[str, ...]) -> str:
    """A pattern for names with these endings, in small letters or capitals."""
    both = [case for ending in endings for case in (ending, ending.upper())]
    return "{" + ",".join(f"*{ending}" for ending in both) + "}"
