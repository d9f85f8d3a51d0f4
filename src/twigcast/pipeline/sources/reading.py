"""Documents of files, folders and patterns, or of any DataFrame, as one frame."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name
from pyspark.sql.types import StringType

from twigcast.errors import PipelineError
from twigcast.keywords import exact_keywords
from twigcast.pipeline.sources.cells import (
    NO_CELL,
    content_of,
    optional_columns,
    quoted,
    require_columns,
    xml_column,
)
from twigcast.pipeline.sources.documents import Documents
from twigcast.pipeline.sources.files import read_files
from twigcast.pipeline.sources.listing import Reading, find_readings
from twigcast.pipeline.sources.options import (
    DEFAULT_OPTIONS,
    FILES,
    PARQUET,
    ROWS,
    TABLES,
    SourceOptions,
)
from twigcast.pipeline.sources.row_groups import open_row_groups
from twigcast.pipeline.sources.rows import read_rows
from twigcast.pipeline.sources.tables import read_table_documents


@exact_keywords
def read_documents(
    spark: SparkSession, inputs: str | Sequence[str], options: SourceOptions = DEFAULT_OPTIONS
) -> DataFrame:
    """The documents of the inputs as a frame: ``id``, ``source``, ``content``, ``problem``.

    An input is a path or URL of a file or folder, or a pattern of such with ``*``, ``?``, ``[…]``
    and ``{…}``; inputs may be of several formats.  There is a column ``at`` or ``time`` where the
    options name one.  What cannot be read is a row with a problem; what cannot be understood at
    all (nothing is there, no column holds XML) is a :class:`~twigcast.errors.PipelineError` now.
    """
    return find_documents(spark, inputs, options).frame()


def find_documents(
    spark: SparkSession, inputs: str | Sequence[str], options: SourceOptions = DEFAULT_OPTIONS
) -> Documents:
    """The documents of the inputs, to be opened by the workers that work on them."""
    given = [inputs] if isinstance(inputs, str) else list(inputs)
    if not given:
        raise PipelineError("no input is given; name a file, a folder or a pattern")
    readings = find_readings(spark, given, options)
    if options.named_columns and not any(reading.format in TABLES for reading in readings):
        option, name = next(iter(options.named_columns.items()))
        raise PipelineError(
            f"{given[0]}: {option} names the column {name!r}, but no input is a table; leave it out"
        )
    return Documents.joined(_read(spark, reading, options) for reading in readings)


def _read(spark: SparkSession, reading: Reading, options: SourceOptions) -> Documents:
    if reading.format == FILES:
        return read_files(spark, reading)
    if reading.format == ROWS:
        return read_rows(spark, reading, options)
    if reading.format == PARQUET and reading.is_local:
        opened = open_row_groups(spark, reading, options)
        if opened is not None:
            return opened
    return Documents.of(read_table_documents(spark, reading, options))


def as_documents(frame: DataFrame, options: SourceOptions = DEFAULT_OPTIONS) -> DataFrame:
    """The documents of any frame with a column of XML, text or binary; it may be streaming.

    The id is the column that the options name, or the column ``id``, or where there is neither the
    SHA-256 of the content; then the same content is the same document.  The source is the column
    ``source``, or the id.  A column ``problem`` is kept, so that documents come out as they are.
    """
    shown = "the frame"
    require_columns(frame.schema, options, shown)
    name = xml_column(frame.schema, options, shown)
    content = content_of(frame, name)
    known = options.id_column or ("id" if "id" in frame.columns else None)
    identity = F.sha2(F.coalesce(content, F.lit(b"")), 256)
    if known is not None:
        identity = F.coalesce(F.col(quoted(known)).cast("string"), identity)
    problem = F.when(content.isNull(), F.lit(NO_CELL))
    if "problem" in frame.columns and isinstance(frame.schema["problem"].dataType, StringType):
        problem = F.coalesce(F.col("problem"), problem)
    has_source = "source" in frame.columns and name != "source"
    optional = optional_columns(options)
    for column, kind in (("at", "string"), ("time", "timestamp")):
        if column in frame.columns and getattr(options, f"{column}_column") is None:
            optional.append(F.col(column).try_cast(kind).alias(column))
    return frame.select(
        identity.alias("id"),
        (F.coalesce(F.col("source").cast("string"), identity) if has_source else identity).alias(
            "source"
        ),
        F.when(problem.isNull(), content).alias("content"),
        problem.alias("problem"),
        *optional,
    )
