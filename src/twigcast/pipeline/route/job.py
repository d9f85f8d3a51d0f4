"""The batch job: documents are matched with all subscriptions, or routed through a network."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Required, TypedDict, Unpack

from pyspark.sql import DataFrame, SparkSession

from twigcast.errors import PipelineError, SubscriptionFileError
from twigcast.keywords import refuse_unknown, require
from twigcast.pipeline.locations import Location
from twigcast.pipeline.progress import describe
from twigcast.pipeline.route.decisions import Decision, decide
from twigcast.pipeline.route.indexes import SHARD_SIZE
from twigcast.pipeline.route.results import (
    FORMATS,
    Format,
    Totals,
    can_write_by_workers,
    tables,
    write_result,
)
from twigcast.pipeline.sources import SourceOptions, as_documents, find_documents
from twigcast.pipeline.sources.documents import Documents
from twigcast.pipeline.subscriptions import Subscriptions
from twigcast.routing import NetworkPlan

SUMMARY = "summary.json"


@dataclass(frozen=True)
class RouteReport:
    """What a job did."""

    output: str
    subscriptions: int
    shards: int
    skipped: tuple[SubscriptionFileError, ...]
    warnings: tuple[str, ...]
    totals: Totals
    compile_seconds: float
    """Reading and compiling the subscriptions, or making the network."""
    run_seconds: float
    """Reading, deciding and writing."""

    @property
    def documents_per_second(self) -> float:
        """Documents divided by the seconds of reading, deciding and writing."""
        return self.totals.documents / self.run_seconds

    @property
    def megabytes_per_second(self) -> float:
        """Megabytes of XML divided by the same seconds."""
        return self.totals.bytes / 1e6 / self.run_seconds

    @property
    def matches_per_document(self) -> float:
        """The mean number of deliveries of a document that was not rejected."""
        good = self.totals.documents - self.totals.rejected
        return self.totals.deliveries / good if good else 0.0

    def as_json(self) -> dict[str, Any]:
        """The report as ``summary.json`` has it."""
        fields = asdict(self)
        fields["skipped"] = [str(error) for error in self.skipped]
        fields["documents_per_second"] = self.documents_per_second
        fields["megabytes_per_second"] = self.megabytes_per_second
        fields["matches_per_document"] = self.matches_per_document
        return fields


@dataclass(frozen=True)
class RouteJob:
    """A job that is ready to run: the documents, the decision, the folder of the result."""

    spark: SparkSession
    documents: Documents
    decision: Decision
    output: Location
    format: Format
    partition_by_subscriber: bool
    overwrite: bool
    compile_seconds: float

    def explain(self) -> str:
        """Spark's own description of the plans."""
        if can_write_by_workers(
            self.decision, self.output, self.format, self.partition_by_subscriber
        ):
            folder = str(self.output.local_path)
            plans = {"all tables": self.decision.written(self.documents, folder)}
        else:
            plans = tables(self.decision.verdicts(self.documents), self.decision)
        jvm: Any = self.spark._jvm
        explain = jvm.PythonSQLUtils.explainString
        return "\n".join(
            f"== {name} ==\n{explain(frame._jdf.queryExecution(), 'formatted')}"
            for name, frame in plans.items()
        )

    def run(self) -> RouteReport:
        """Run the job; the result is there when this returns."""
        started = time.perf_counter()
        try:
            with self.output.staged(overwrite=self.overwrite) as staging:
                describe(self.spark, "matching documents, writing tables")
                totals = write_result(
                    self.spark,
                    self.documents,
                    self.decision,
                    staging,
                    format=self.format,
                    partition_by_subscriber=self.partition_by_subscriber,
                )
                report = RouteReport(
                    self.output.url,
                    self.decision.subscriptions,
                    len(self.decision.shards),
                    self.decision.skipped,
                    self.decision.warnings,
                    totals,
                    self.compile_seconds,
                    time.perf_counter() - started,
                )
                staging.child(SUMMARY).write_text(json.dumps(report.as_json(), indent=2) + "\n")
            return report
        finally:
            describe(self.spark, None)


class JobSettings(TypedDict, total=False):
    """The settings that :func:`route` and a stream share."""

    output: Required[str]
    """The folder of the result, which the job makes; a stream that was stopped goes on there."""
    subscriptions: Subscriptions | None
    network: str | NetworkPlan | None
    at: str | None
    """The broker where a document enters the network, unless its own column says it."""
    scope: str
    """The unit that documents do not leave: one that this broker is in, or ``"cluster"`` …"""
    options: SourceOptions
    format: Format
    skip_bad: bool
    """Leave bad subscriptions out, rather than refuse all of them."""


class RouteSettings(JobSettings, total=False):
    """The settings of a job, beside its documents."""

    partition_by_subscriber: bool
    overwrite: bool
    shard_size: int
    """The most subscriptions of one index; a larger set is cut into several."""


def check_settings(given: JobSettings, known: type, what: str) -> Format:
    """The format.  Refuses settings that are not keys of a TypedDict, and the lack of an output."""
    fields = [field.name for field in dataclasses.fields(SourceOptions)]
    remedies = {name: f"options=SourceOptions({name}=…)" for name in fields if name != "format"}
    refuse_unknown(given, known.__annotations__, what, remedies)
    require(given, {"output": 'output="deliveries"'}, what)
    format = given.get("format", "parquet")  # noqa: A001 - as Spark's own writer calls it
    if format not in FORMATS:
        raise PipelineError(f"the format {format!r} is not known; choose one of {FORMATS}")
    return format


def prepare_route(
    spark: SparkSession,
    documents: str | Sequence[str] | DataFrame,
    **settings: Unpack[RouteSettings],
) -> RouteJob:
    """Check the settings and compile the subscriptions, as :func:`route` does before it runs."""
    format = check_settings(settings, RouteSettings, "route()")  # noqa: A001
    overwrite = settings.get("overwrite", False)
    subscriptions, network = settings.get("subscriptions"), settings.get("network")
    output = Location(spark, settings["output"])
    if not overwrite and output.exists():
        raise PipelineError(
            f"{output.url} is there already; choose another folder, or overwrite it"
        )
    if overwrite:
        inputs = [documents] if isinstance(documents, str) else documents
        read = [*([] if isinstance(inputs, DataFrame) else inputs), subscriptions, network]
        output.require_replaceable(
            [each for each in read if isinstance(each, str) and each != "-"],
            lambda folder: folder.child(SUMMARY).exists(),
        )
    chosen = settings.get("options", SourceOptions())
    if isinstance(documents, DataFrame):
        incoming = Documents.of(as_documents(documents, chosen))
    else:
        incoming = find_documents(spark, documents, chosen)
    started = time.perf_counter()
    decision = decide(
        spark,
        subscriptions,
        network,
        at=settings.get("at"),
        names_broker=incoming.names_broker,
        scope=settings.get("scope", ""),
        skip_bad=settings.get("skip_bad", False),
        shard_size=settings.get("shard_size", SHARD_SIZE),
    )
    compile_seconds = time.perf_counter() - started
    return RouteJob(
        spark,
        incoming,
        decision,
        output,
        format,
        settings.get("partition_by_subscriber", False),
        overwrite,
        compile_seconds,
    )


def route(
    spark: SparkSession,
    documents: str | Sequence[str] | DataFrame,
    **settings: Unpack[RouteSettings],
) -> RouteReport:
    """Match documents with subscriptions, or route them through a network; write who gets what.

    ``documents`` are paths, globs or URLs (see :func:`~twigcast.pipeline.sources.read_documents`)
    or a DataFrame.  ``settings`` are those of :class:`RouteSettings`: at least ``output``, and
    ``subscriptions`` or a ``network``.  The result is a folder with the tables of
    ``pipeline/route/results.py`` and ``summary.json``, there whole or not at all.
    """
    return prepare_route(spark, documents, **settings).run()
