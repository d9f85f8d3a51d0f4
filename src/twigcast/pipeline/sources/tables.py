"""Tables with a column of XML: Parquet, JSON lines, CSV.

An id is taken from a column, or it is the file and the number of the row::

    parquet        URL#n        row n, which Parquet knows
    jsonl, csv     URL#n        row n of the file, counted as it is read
    jsonl, large   URL#b.n      row n of the block that starts at byte b

A CSV file is one block however large it is, since a line break in it may be one within quotes.
Columns of JSON lines are known from the first lines of the first file, those of CSV from its
header; no table is read twice to find out its types.

Invariant: a line that cannot be read is a row with a problem; no row is lost.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name
from pyspark.sql.types import StringType, StructField, StructType

from twigcast.pipeline.sources.blocks import RECORD, load_in_blocks, numbered
from twigcast.pipeline.sources.cells import (
    NO_CELL,
    content_of,
    optional_columns,
    quoted,
    require_columns,
    xml_column,
)
from twigcast.pipeline.sources.heads import json_columns
from twigcast.pipeline.sources.listing import Reading
from twigcast.pipeline.sources.options import CSV, JSON_LINES, PARQUET, SourceOptions

DAMAGED: Final = "__twigcast_damaged"
"""The column into which Spark puts a line that it cannot read."""

CSV_OPTIONS: Final = {
    "header": "true",
    "quote": '"',
    "escape": '"',
    "multiLine": "true",
    # Else columns are taken by position, also in a file that has them in another order.
    "enforceSchema": "false",
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": DAMAGED,
}
JSON_OPTIONS: Final = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": DAMAGED}

_DAMAGES: Final = {
    JSON_LINES: "the line is not one JSON object with fitting values",
    CSV: "the row does not have the columns of the header, or its quotes are wrong",
}


def read_table_documents(
    spark: SparkSession, reading: Reading, options: SourceOptions
) -> DataFrame:
    """The documents of these tables."""
    shown = reading.files[0]
    if reading.format == PARQUET:
        return parquet_documents(reading.load(spark, PARQUET), options, shown)
    if reading.format == JSON_LINES:
        schema = json_columns(spark, reading.files, options)
        frame = load_in_blocks(
            spark, lambda apart: reading.load(apart, "json", with_damages(schema), JSON_OPTIONS)
        )
    else:
        # Without wishes on types Spark looks at the header alone.
        schema = reading.load(spark, CSV, options=CSV_OPTIONS).schema
        frame = reading.load(spark, CSV, with_damages(schema), CSV_OPTIONS)
    return line_documents(frame, schema, reading.format, options, shown)


def parquet_documents(frame: DataFrame, options: SourceOptions, shown: str) -> DataFrame:
    """The documents of a frame over Parquet files."""
    require_columns(frame.schema, options, shown)
    name = xml_column(frame.schema, options, shown)
    record = F.concat(file_url(), F.lit("#"), (F.col("_metadata.row_index") + 1).cast("string"))
    return table_documents(frame, name, record, F.lit(None), options)


def line_documents(
    frame: DataFrame, schema: StructType, kind: str, options: SourceOptions, shown: str
) -> DataFrame:
    """The documents of a frame over files of lines; ``schema`` is without :data:`DAMAGED`."""
    require_columns(schema, options, shown)
    name = xml_column(schema, options, shown)
    needed = dict.fromkeys([name, DAMAGED, *options.named_columns.values()])
    rows = numbered(frame, list(needed))
    return damageable_documents(rows, name, F.col(RECORD), kind, options)


def damageable_documents(
    frame: DataFrame,
    name: str,
    record: Column,
    kind: str,
    options: SourceOptions,
    known: Column | None = None,
) -> DataFrame:
    """The documents of a frame with the column :data:`DAMAGED`, and problems known before."""
    problem = F.when(F.col(DAMAGED).isNotNull(), F.lit(_DAMAGES[kind]))
    if known is not None:
        problem = F.coalesce(known, problem)
    return table_documents(frame, name, record, problem, options)


def table_documents(
    frame: DataFrame, name: str, record: Column, problem: Column, options: SourceOptions
) -> DataFrame:
    """The documents of a frame, by expressions for what depends on its kind."""
    content = content_of(frame, name)
    identity = record
    if options.id_column is not None:
        identity = F.coalesce(F.col(quoted(options.id_column)).cast("string"), record)
    return frame.select(
        identity.alias("id"),
        record.alias("source"),
        F.when(problem.isNull(), content).alias("content"),
        F.coalesce(problem, F.when(content.isNull(), F.lit(NO_CELL))).alias("problem"),
        *optional_columns(options),
    )


def with_damages(schema: StructType) -> StructType:
    """The columns, and one for lines that cannot be read."""
    return StructType([*schema.fields, StructField(DAMAGED, StringType())])


def file_url() -> Column:
    """The file of a row as Hadoop writes it; Spark's metadata have it percent-encoded."""
    plus_kept = F.replace(F.col("_metadata.file_path"), F.lit("+"), F.lit("%2B"))
    return F.url_decode(plus_kept)
