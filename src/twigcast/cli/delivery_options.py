"""The options of ``route`` and ``stream``: what decides, and the format of the result."""

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
    """The formats of tables."""

    PARQUET = "parquet"
    JSONL = "jsonl"


OUTPUT_FORMAT = Annotated[OutputFormat, typer.Option("--format", help="The format of the tables.")]


def check_delivery(
    subscriptions: str | None, network: str | None, at: str | None, at_column: str | None
) -> None:
    """Refuse options that exclude each other."""
    if subscriptions is None and network is None:
        raise typer.BadParameter("name --subscriptions, a --network, or both")
    if network is None and (at is not None or at_column is not None):
        raise typer.BadParameter("--at and --at-column go with --network")
