"""The options of the commands that run on Spark: Spark itself, documents, what decides."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from twigcast.cli.broker_options import require_scope

if TYPE_CHECKING:
    from twigcast.pipeline import SourceOptions

MASTER = Annotated[
    str | None,
    typer.Option(
        help="Where Spark runs: local[2], spark://host:7077, yarn, …; all cores of this machine by "
        "default."
    ),
]
CONF = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A setting of Spark, such as spark.driver.memory=4g; may be given several times.",
    ),
]
DOCUMENTS = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders, globs or URLs: .xml, .xml.gz, .zip, .tar.gz; Parquet, JSON lines or "
        "CSV with a column of XML; or one huge XML file, with --row-element."
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
    str | None, typer.Option(help="Cut XML files at this element; each of them is a document.")
]
PATTERN = Annotated[
    str | None, typer.Option(help="Which files of a folder are documents, such as '*.nitf'.")
]
SUBSCRIPTIONS = Annotated[
    str | None,
    typer.Option(
        "--subscriptions",
        "-s",
        help="Subscriptions: a text, .csv or .parquet file, or a folder of Parquet.  A stream "
        "takes up what changes in them.",
    ),
]
NETWORK = Annotated[
    str | None, typer.Option(help="A network file: brokers, links, clients, strategy.")
]
AT = Annotated[
    str | None,
    typer.Option(
        help="The broker where documents enter the network; that of its only producer by default."
    ),
]
AT_COLUMN = Annotated[
    str | None, typer.Option(help="The column of a table that names that broker.")
]
SCOPE = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT",
        callback=require_scope,
        help="Keep the documents within a unit that this broker is in: its name, or cluster, "
        "super-cluster or super-super-cluster.",
    ),
]


class OutputFormat(StrEnum):
    """The formats of tables."""

    PARQUET = "parquet"
    JSONL = "jsonl"


OUTPUT_FORMAT = Annotated[OutputFormat, typer.Option("--format", help="The format of the tables.")]


def spark_settings(conf: list[str] | None) -> dict[str, str]:
    """The settings that ``--conf`` gave, by name; the last of a name counts."""
    settings: dict[str, str] = {}
    for given in conf or ():
        name, equals, value = given.partition("=")
        name = name.strip()
        if not equals or not name:
            raise typer.BadParameter(
                f"--conf takes NAME=VALUE, such as spark.driver.memory=4g, not {given!r}"
            )
        if not name.startswith("spark."):
            raise typer.BadParameter(
                f"--conf sets what is Spark's, and its names start with spark.; {name!r} does not"
            )
        settings[name] = value.strip()
    return settings


def source_options(input_format: SourceFormat | None, **named: str | None) -> SourceOptions:
    """The options of the source; ``named`` are the other fields of SourceOptions."""
    from twigcast.pipeline import SourceOptions

    return SourceOptions(format=None if input_format is None else input_format.value, **named)


def check_delivery(
    subscriptions: str | None,
    network: str | None,
    at: str | None,
    at_column: str | None,
    scope: str | None,
) -> None:
    """Refuse options that exclude each other."""
    if subscriptions is None and network is None:
        raise typer.BadParameter("name --subscriptions, a --network, or both")
    if network is None and (at is not None or at_column is not None or scope):
        raise typer.BadParameter("--at, --at-column and --scope go with --network")
