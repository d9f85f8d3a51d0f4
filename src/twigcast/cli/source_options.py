"""The options of the commands that read documents on Spark."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from twigcast.pipeline import SourceOptions

DOCUMENTS = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders, globs or URLs: .xml, .xml.gz, .zip, .tar.gz; Parquet, JSON lines or "
        "CSV with a column of XML; or one huge XML file, with --row-element.",
    ),
]


class SourceFormat(StrEnum):
    """The formats of sources."""

    FILES = "files"
    PARQUET = "parquet"
    JSONL = "jsonl"
    CSV = "csv"
    ROWS = "rows"


INPUT_FORMAT = Annotated[
    SourceFormat | None,
    typer.Option(help="The format of the documents; by default that of the file names."),
]
COLUMN = Annotated[
    str | None, typer.Option(help="The column of a table that holds the XML, if several might.")
]
ID_COLUMN = Annotated[
    str | None, typer.Option(help="The column of a table with the ids of the documents.")
]
ROW_ELEMENT = Annotated[
    str | None,
    typer.Option(help="Cut XML files at this element; each of them is a document."),
]
PATTERN = Annotated[
    str | None, typer.Option(help="Which files of a folder are documents, such as '*.nitf'.")
]


def source_options(input_format: SourceFormat | None, **named: str | None) -> SourceOptions:
    """The options of the source; ``named`` are the other fields of SourceOptions."""
    from twigcast.pipeline import SourceOptions

    return SourceOptions(format=None if input_format is None else input_format.value, **named)
