"""``twigcast route``: match documents with subscriptions, in bulk, on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from twigcast.cli.console import leaving_early, output, print_figures, print_json, warn
from twigcast.cli.delivery_options import (
    AT,
    AT_COLUMN,
    NETWORK,
    OUTPUT_FORMAT,
    SKIP_BAD,
    SUBSCRIPTIONS,
    OutputFormat,
    check_delivery,
)
from twigcast.cli.source_options import (
    COLUMN,
    DOCUMENTS,
    ID_COLUMN,
    INPUT_FORMAT,
    PATTERN,
    ROW_ELEMENT,
    source_options,
)
from twigcast.cli.spark_console import spark_session
from twigcast.cli.spark_options import CONF, MASTER, spark_settings

if TYPE_CHECKING:
    from twigcast.pipeline import RouteReport, Totals

_MOST_LINKS = 20
_MOST_SKIPPED = 10


def route(
    documents: DOCUMENTS,
    folder: Annotated[str, typer.Option("--output", "-o", help="The folder of the result.")],
    subscriptions: SUBSCRIPTIONS = None,
    network: NETWORK = None,
    at: AT = None,
    at_column: AT_COLUMN = None,
    input_format: INPUT_FORMAT = None,
    column: COLUMN = None,
    id_column: ID_COLUMN = None,
    row_element: ROW_ELEMENT = None,
    pattern: PATTERN = None,
    output_format: OUTPUT_FORMAT = OutputFormat.PARQUET,
    partition_by_subscriber: Annotated[
        bool,
        typer.Option(
            "--partition-by-subscriber", help="A folder of deliveries for each subscriber."
        ),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the folder if it is there.")
    ] = False,
    skip_bad: SKIP_BAD = False,
    shard_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The most subscriptions of one index; a larger set is cut into several, each "
            "matched by tasks of its own.",
        ),
    ] = None,
    explain_plan: Annotated[
        bool, typer.Option("--explain-plan", help="Print the plan of Spark, and stop.")
    ] = False,
    master: MASTER = None,
    conf: CONF = None,
    json: Annotated[bool, typer.Option("--json", help="The summary as one JSON object.")] = False,
) -> None:
    """Match documents with subscriptions, or route them through a network, on Spark.

    The folder gets the tables deliveries, documents, rejected and, with a network, links; and
    summary.json.  It is there whole or not at all.
    """
    check_delivery(subscriptions, network, at, at_column)
    if network is not None and shard_size is not None:
        raise typer.BadParameter("--shard-size does not go with --network")
    settings = spark_settings(conf)
    from twigcast.pipeline import SHARD_SIZE, prepare_route

    options = source_options(
        input_format,
        column=column,
        id_column=id_column,
        at_column=at_column,
        row_element=row_element,
        pattern=pattern,
    )
    with spark_session("route", master, settings, quiet=explain_plan) as spark:
        job = prepare_route(
            spark,
            documents,
            output=folder,
            subscriptions=subscriptions,
            network=network,
            at=at,
            options=options,
            format=output_format.value,
            partition_by_subscriber=partition_by_subscriber,
            overwrite=overwrite,
            skip_bad=skip_bad,
            shard_size=shard_size or SHARD_SIZE,
        )
        for error in job.decision.skipped[:_MOST_SKIPPED]:
            warn(f"left out: {error}")
        if len(job.decision.skipped) > _MOST_SKIPPED:
            warn(f"{len(job.decision.skipped):,} subscriptions were left out")
        for warning in job.decision.warnings:
            warn(warning)
        if explain_plan:
            with leaving_early():
                typer.echo(job.explain())
            return
        report = job.run()
    with leaving_early():
        if json:
            print_json(report.as_json())
        else:
            _print_summary(report)


def _print_summary(report: RouteReport) -> None:
    console = output()
    totals = report.totals
    print_figures(_figures(report))
    others = totals.rejected - sum(count for _, count in totals.reasons)
    reasons = [*totals.reasons, *([("other reasons", others)] if others else [])]
    _print_counts("rejected because", "documents", reasons)
    _print_counts("busiest subscribers", "deliveries", totals.busiest)
    if totals.links:
        _print_links(totals)
    console.print(Text(f"written to {report.output}"), soft_wrap=True)


def _figures(report: RouteReport) -> list[tuple[str, str]]:
    totals = report.totals
    shards = f" in {report.shards} shards" if report.shards > 1 else ""
    ready = f"subscriptions{shards}, ready in {_time(report.compile_seconds)}"
    pace = f"{report.documents_per_second:,.0f} a second, {report.megabytes_per_second:,.1f} MB/s"
    return [
        (f"{report.subscriptions:,}", ready),
        (f"{totals.documents:,}", f"documents in {_time(report.run_seconds)}: {pace}"),
        (f"{totals.deliveries:,}", f"deliveries, {report.matches_per_document:,.2f} a document"),
        (f"{totals.unwanted:,}", "documents that nobody wants"),
        (f"{totals.rejected:,}", "rejected"),
    ]


def _print_counts(title: str, unit: str, rows: Sequence[tuple[str, int]]) -> None:
    if rows:
        table = Table(title, unit)
        table.columns[0].overflow = "fold"
        table.columns[1].justify = "right"
        for name, count in rows:
            table.add_row(Text(name), f"{count:,}")
        output().print(table)


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _print_links(totals: Totals) -> None:
    table = Table("link", "documents", "MB", "false positives")
    for column in table.columns[1:]:
        column.justify = "right"
    ranked = sorted(totals.links, key=lambda one: (-one.documents, one.sender, one.receiver))
    for one in ranked[:_MOST_LINKS]:
        table.add_row(
            Text(f"{one.sender} → {one.receiver}"),
            f"{one.documents:,}",
            f"{one.bytes / 1e6:,.2f}",
            f"{one.false_positives:,}",
        )
    console = output()
    console.print(table)
    if len(ranked) > _MOST_LINKS:
        console.print(f"… and {len(ranked) - _MOST_LINKS:,} more")
