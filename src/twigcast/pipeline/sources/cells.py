"""From a table's cells to documents: which column is meant, and how its text becomes bytes.

A string cell is text, whatever encoding its XML declaration names, and travels as UTF-8.  So a
declaration that names another encoding would be a lie about the bytes; its name is replaced by
``UTF-8`` and padded with spaces, which XML allows there, so that positions in error messages stay
right.  That is done by expressions of Spark, and only the first characters of a text are looked at.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the customary name
from pyspark.sql.types import BinaryType, StringType, StructType

from twigcast.errors import PipelineError
from twigcast.pipeline.sources.options import SourceOptions

CUSTOMARY: Final = ("content", "xml", "document", "body")
"""Names of columns that hold XML, the first that is there is meant."""

NO_CELL: Final = "the cell is empty (null)"

_HEAD: Final = 256
DECLARED: Final = (
    "^(\ufeff?<\\?xml\\s+version\\s*=\\s*(?:\"[^\"<>]*\"|'[^'<>]*')\\s+encoding\\s*=\\s*)"
    "(\"[^\"<>]*\"|'[^'<>]*')"
)
"""An XML declaration: what is before the encoding, and the encoding with its quotes."""


def xml_column(schema: StructType, options: SourceOptions, shown: str) -> str:
    """The column that holds the XML, or an error that lists those there are."""
    texts = [field.name for field in schema if isinstance(field.dataType, StringType | BinaryType)]
    if options.column is not None:
        if options.column not in texts:
            raise PipelineError(
                f"{shown}: no string or binary column is named {options.column!r}; "
                f"there are {_listed(texts)}"
            )
        return options.column
    for name in CUSTOMARY:
        if name in texts:
            return name
    if len(texts) == 1:
        return texts[0]
    raise PipelineError(
        f"{shown}: which column holds the XML? There are {_listed(texts)}; name one as the column"
    )


def require_columns(schema: StructType, options: SourceOptions, shown: str) -> None:
    """Raise unless all the columns that the user named are there."""
    for option, name in options.named_columns.items():
        if name not in schema.names:
            raise PipelineError(
                f"{shown}: there is no column {name!r}, which {option} names; "
                f"there are {_listed(schema.names)}"
            )


def content_of(frame: DataFrame, name: str) -> Column:
    """The column as the bytes of documents."""
    column = F.col(quoted(name))
    if isinstance(frame.schema[name].dataType, BinaryType):
        return column
    head = F.substring(column, 1, _HEAD)
    before, declared = (F.regexp_extract(head, DECLARED, group) for group in (1, 2))
    rest = F.substring(column, F.length(before) + F.length(declared) + 1, F.length(column))
    forced = F.rpad(F.lit('"UTF-8"'), F.greatest(F.length(declared), F.lit(7)), " ")
    is_other = F.substring(column, 1, 6).contains("<?xml") & ~F.lower(declared).isin(
        "", '"utf-8"', "'utf-8'"
    )
    return F.when(is_other, F.concat(before, forced, rest)).otherwise(column).cast("binary")


def optional_columns(options: SourceOptions) -> list[Column]:
    """The columns ``at`` and ``time``, where the user named them."""
    columns = []
    if options.at_column is not None:
        columns.append(F.col(quoted(options.at_column)).cast("string").alias("at"))
    if options.time_column is not None:
        # A time that cannot be read is none; it must not end the job.
        columns.append(F.col(quoted(options.time_column)).try_cast("timestamp").alias("time"))
    return columns


def quoted(name: str) -> str:
    """A column's name as an expression, whatever characters it has."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "none"
