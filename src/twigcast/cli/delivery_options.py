"""The options of the commands that deliver documents: by what, and in which form."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

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
SKIP_BAD = Annotated[
    bool, typer.Option("--skip-bad", help="Leave bad subscriptions out instead of stopping.")
]


class OutputFormat(StrEnum):
    """What tables are written in."""

    PARQUET = "parquet"
    JSONL = "jsonl"


OUTPUT_FORMAT = Annotated[
    OutputFormat, typer.Option("--format", help="What the tables are written in.")
]


def check_delivery(
    subscriptions: str | None, network: str | None, at: str | None, at_column: str | None
) -> None:
    """Refuse what does not go together."""
    if subscriptions is None and network is None:
        raise typer.BadParameter("name --subscriptions, a --network, or both")
    if network is None and (at is not None or at_column is not None):
        raise typer.BadParameter("--at and --at-column go with --network")
