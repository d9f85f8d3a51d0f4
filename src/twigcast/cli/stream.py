"""``twigcast stream``: documents to whoever's XPath they match, as they arrive, on Spark."""

from __future__ import annotations

import os
import re
import sys
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.text import Text

from twigcast.cli import spark_options
from twigcast.cli.broker_options import noting_signals
from twigcast.cli.console import note, output, print_json, showing_work, warn
from twigcast.cli.subscription_argument import SKIP_BAD

if TYPE_CHECKING:
    from twigcast.pipeline import BatchReport, Stream

_EVERY: Final = 0.2
_PATIENCE: Final = 60.0
"""Seconds that the running batch is given after Ctrl-C."""
_SPAN: Final = re.compile(r"(\d+) *(ms|s|min|h)")
_UNITS: Final = {"ms": "milliseconds", "s": "seconds", "min": "minutes", "h": "hours"}


def stream(
    documents: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER",
            help="Where documents arrive: .xml, .xml.gz, .zip, .tar.gz; Parquet, JSON lines or CSV "
            "with a column of XML.",
        ),
    ],
    folder: Annotated[
        str, typer.Option("--output", "-o", help="The folder to write to, or to go on with.")
    ],
    subscriptions: spark_options.SUBSCRIPTIONS = None,
    network: spark_options.NETWORK = None,
    at: spark_options.AT = None,
    at_column: spark_options.AT_COLUMN = None,
    scope: spark_options.SCOPE = None,
    input_format: spark_options.INPUT_FORMAT = None,
    column: spark_options.COLUMN = None,
    id_column: spark_options.ID_COLUMN = None,
    pattern: spark_options.PATTERN = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="Where Spark records what it has taken; in the output by default."),
    ] = None,
    trigger: Annotated[
        str | None,
        typer.Option(
            metavar="SPAN",
            help="How often to look for documents: 500ms, 10s, 5min, 1h; by default without pause.",
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Take the documents that are there, and end.")
    ] = False,
    max_files: Annotated[
        int | None, typer.Option(min=1, help="The most files of one batch.")
    ] = None,
    output_format: spark_options.OUTPUT_FORMAT = spark_options.OutputFormat.PARQUET,
    skip_bad: SKIP_BAD = False,
    master: spark_options.MASTER = None,
    conf: spark_options.CONF = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a batch.")] = False,
) -> None:
    """Match documents with subscriptions as they arrive, each exactly once.

    Every batch is a folder of the output with the tables of twigcast route, there whole or not at
    all.  Ctrl-C ends after the batch that is running; the same command goes on, also after a crash.
    """
    spark_options.check_delivery(subscriptions, network, at, at_column, scope)
    if once and trigger is not None:
        raise typer.BadParameter("--once and --trigger exclude each other")
    span = None if trigger is None else _span(trigger)
    settings = spark_options.spark_settings(conf)
    from twigcast import pipeline  # starts with pyspark, which other commands do without
    from twigcast.pipeline import stream as start

    options = spark_options.source_options(
        input_format, column=column, id_column=id_column, at_column=at_column, pattern=pattern
    )
    reports: SimpleQueue[BatchReport] = SimpleQueue()
    with showing_work() as show:
        show("starting Spark")
        spark = pipeline.start_session("twigcast stream", master, settings)
    try:
        if "spark.log.level" not in settings:
            # A stream that ends with an error has its stack logged; the error is shown below.
            spark.sparkContext.setLogLevel("FATAL")
        address = pipeline.ui_address(spark)
        if address is not None:
            note(f"Spark shows what it does at {address}")
        with noting_signals(2, lambda number: os._exit(128 + number)) as signals:
            running = start(
                spark,
                documents,
                output=folder,
                checkpoint=checkpoint,
                subscriptions=subscriptions,
                network=network,
                at=at,
                scope=scope or "",
                options=options,
                format=output_format.value,
                trigger=span,
                once=once,
                max_files=max_files,
                skip_bad=skip_bad,
                on_batch=reports.put,
            )
            _follow(running, _Shown(reports, as_json=json), signals)
    finally:
        spark.stop()


def _span(text: str) -> str:
    span = _SPAN.fullmatch(text.strip())
    if span is None or int(span[1]) == 0:
        raise typer.BadParameter(f"--trigger takes a span such as 500ms, 10s or 5min, not {text!r}")
    return f"{span[1]} {_UNITS[span[2]]}"


class _Shown:
    """The reports of batches, which come from another thread, shown by this one."""

    def __init__(self, reports: SimpleQueue[BatchReport], *, as_json: bool) -> None:
        self._reports = reports
        self._as_json = as_json
        self._batches = self._documents = self._deliveries = self._rejected = 0

    def show(self) -> None:
        while True:
            try:
                report = self._reports.get_nowait()
            except Empty:
                return
            self._show(report)

    def _show(self, report: BatchReport) -> None:
        for warning in report.warnings:
            warn(warning)
        totals = report.totals
        if not report.repeated:
            self._batches += 1
            self._documents += totals.documents
            self._deliveries += totals.deliveries
            self._rejected += totals.rejected
        if self._as_json:
            print_json(report.as_json())
        else:
            version = report.version
            line = (
                f"batch {report.batch}: {totals.documents:,} documents, "
                f"{totals.deliveries:,} deliveries, {totals.rejected:,} rejected, by "
                f"{version.subscriptions:,} subscriptions ({version.name}), "
                + ("there already" if report.repeated else f"{report.seconds:.1f} s")
            )
            output().print(Text(line), soft_wrap=True)
        # Whoever reads the lines wants each when it comes.
        sys.stdout.flush()

    def sum_up(self, how: str) -> None:
        note(
            f"{how}: {self._batches:,} batches, {self._documents:,} documents, "
            f"{self._deliveries:,} deliveries, {self._rejected:,} rejected"
        )


def _follow(running: Stream, shown: _Shown, signals: list[int]) -> None:
    """Show what the stream does until it ends, or has been asked to."""
    for warning in running.warnings:
        warn(warning)
    version = running.version
    note(f"{version.subscriptions:,} subscriptions, version {version.name}; Ctrl-C ends")
    try:
        while not running.wait(_EVERY) and not signals:
            shown.show()
        if signals:
            _end(running, shown, signals)
    finally:
        if running.is_active:
            # The reader of our output has gone, say; the next run does what is not published.
            running.stop(0)
        shown.show()
    shown.sum_up("stopped" if signals else "done")


def _end(running: Stream, shown: _Shown, signals: list[int]) -> None:
    deadline = time.monotonic() + _PATIENCE
    if not running.finish(0):
        note("ending after the running batch; Ctrl-C again ends at once")
    while not running.finish(_EVERY) and len(signals) < 2 and time.monotonic() < deadline:
        shown.show()
    running.stop(0)
