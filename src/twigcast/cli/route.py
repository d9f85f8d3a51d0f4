"""``twigcast route``: match documents with subscriptions, in bulk, on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from twigcast.cli import spark_options
from twigcast.cli.console import leaving_early, output, print_figures, print_json, print_table, warn
from twigcast.cli.spark_console import spark_session
from twigcast.cli.subscription_argument import SKIP_BAD, report_skipped
from twigcast.hierarchy import depth_of

if TYPE_CHECKING:
    from twigcast.pipeline import LinkTraffic, RouteReport, Totals

_MOST_LINKS = 20


def route(
    documents: spark_options.DOCUMENTS,
    folder: Annotated[str, typer.Option("--output", "-o", help="The folder of the result.")],
    subscriptions: spark_options.SUBSCRIPTIONS = None,
    network: spark_options.NETWORK = None,
    at: spark_options.AT = None,
    at_column: spark_options.AT_COLUMN = None,
    scope: spark_options.SCOPE = None,
    input_format: spark_options.INPUT_FORMAT = None,
    column: spark_options.COLUMN = None,
    id_column: spark_options.ID_COLUMN = None,
    row_element: spark_options.ROW_ELEMENT = None,
    pattern: spark_options.PATTERN = None,
    output_format: spark_options.OUTPUT_FORMAT = spark_options.OutputFormat.PARQUET,
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
    master: spark_options.MASTER = None,
    conf: spark_options.CONF = None,
    json: Annotated[bool, typer.Option("--json", help="The summary as one JSON object.")] = False,
) -> None:
    """Match documents with subscriptions, or route them through a network, on Spark.

    The folder gets the tables deliveries, documents, rejected and, with a network, links; and
    summary.json.  It is there whole or not at all.
    """
    spark_options.check_delivery(subscriptions, network, at, at_column, scope)
    if network is not None and shard_size is not None:
        raise typer.BadParameter("--shard-size does not go with --network")
    settings = spark_options.spark_settings(conf)
    from twigcast.pipeline import SHARD_SIZE, prepare_route

    options = spark_options.source_options(
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
            scope=scope or "",
            options=options,
            format=output_format.value,
            partition_by_subscriber=partition_by_subscriber,
            overwrite=overwrite,
            skip_bad=skip_bad,
            shard_size=shard_size or SHARD_SIZE,
        )
        report_skipped(job.decision.skipped)
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
        print_table((title, unit), rows, numbers=[unit])


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _print_links(totals: Totals) -> None:
    ranked = sorted(totals.links, key=lambda one: (-one.documents, one.sender, one.receiver))
    rows = [
        (
            f"{one.sender} → {one.receiver}",
            one.documents,
            f"{one.bytes / 1e6:,.2f}",
            one.false_positives,
        )
        for one in ranked[:_MOST_LINKS]
    ]
    numbers = ("documents", "MB", "false positives")
    print_table(("link", *numbers), rows, numbers=numbers, total=len(ranked))
    if any(one.unit for one in ranked):
        _print_levels(totals.links, numbers)


def _print_levels(links: Sequence[LinkTraffic], numbers: Sequence[str]) -> None:
    """The traffic inside units, and between units of one unit, by depth."""
    levels: dict[int, list[LinkTraffic]] = {}
    for one in links:
        levels.setdefault(depth_of(one.unit), []).append(one)
    rows = [
        (
            f"inside units of depth {depth}" if depth else "between the outermost units",
            sum(one.documents for one in levels[depth]),
            f"{sum(one.bytes for one in levels[depth]) / 1e6:,.2f}",
            sum(one.false_positives for one in levels[depth]),
        )
        for depth in sorted(levels)
    ]
    names = ("crossings", *numbers[1:])
    print_table(("level", *names), rows, numbers=names)
