"""The tables of a result, made from verdicts, and their totals.

``deliveries``  document, key, subscriber; with a network also the broker
``documents``   id, source, size, hash, status: delivered, unwanted or rejected
``rejected``    document, source, reason, line, column
``links``       sender, receiver, documents, bytes, false_positives; with a network only
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from twigcast.errors import PipelineError
from twigcast.pipeline.locations import Location
from twigcast.pipeline.progress import describe
from twigcast.pipeline.route.decisions import Decision
from twigcast.pipeline.route.reading import read_table
from twigcast.pipeline.route.verdicts import DELIVERED, REJECTED, UNWANTED
from twigcast.pipeline.route.writing import Written, busiest_subscribers, write_empty, write_links
from twigcast.pipeline.sources.documents import Documents

Format = Literal["parquet", "jsonl"]
FORMATS: Final[tuple[Format, ...]] = ("parquet", "jsonl")
_TRIES: Final = "_tries"
_MOST_REASONS: Final = 10
_MOST_SUBSCRIBERS: Final = 10


@dataclass(frozen=True, slots=True)
class LinkTraffic:
    """What a link carried in one direction."""

    sender: str
    receiver: str
    documents: int
    bytes: int
    false_positives: int
    """Documents that no client beyond the link received."""
    unit: str
    """The innermost unit that both are in; empty for the whole network."""


@dataclass(frozen=True)
class Totals:
    """The totals of all verdicts."""

    documents: int = 0
    bytes: int = 0
    deliveries: int = 0
    delivered: int = 0
    unwanted: int = 0
    rejected: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    """The commonest reasons for which documents were rejected."""
    busiest: tuple[tuple[str, int], ...] = ()
    """The subscribers with the most deliveries."""
    links: tuple[LinkTraffic, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The totals as the summary has them."""
        return asdict(self)


def tables(verdicts: DataFrame, decision: Decision) -> dict[str, DataFrame]:
    """The tables of a result, by name."""
    documents = verdicts.select(
        "id", "source", "size", "hash", "status", "reason", "line", "column"
    )
    if decision.is_sharded:
        facts = [name for name in documents.columns if name != "status"]
        is_delivered = F.max(F.col("status") == DELIVERED)
        documents = documents.groupBy(*facts).agg(is_delivered.alias("is_delivered"))
        status = (
            F.when(F.col("reason").isNotNull(), REJECTED)
            .when(F.col("is_delivered"), DELIVERED)
            .otherwise(UNWANTED)
        )
        documents = documents.withColumn("status", status)
    result = {
        "deliveries": verdicts.select(F.col("id").alias("document"), F.inline("deliveries")),
        "documents": documents.select("id", "source", "size", "hash", "status"),
        "rejected": documents.where(F.col("reason").isNotNull()).select(
            F.col("id").alias("document"), "source", "reason", "line", "column"
        ),
    }
    if decision.network is not None:
        result["links"] = _links(verdicts, decision)
    return result


def _links(verdicts: DataFrame, decision: Decision) -> DataFrame:
    """The traffic of all links, also of those that carried nothing."""
    crossed = (
        verdicts.select("size", F.inline("crossings"))
        .groupBy("sender", "receiver")
        .agg(
            F.count("*").alias("documents"),
            F.sum("size").alias("bytes"),
            F.sum(F.col("wasted").cast("bigint")).alias("false_positives"),
        )
    )
    spark = verdicts.sparkSession
    every = spark.createDataFrame(
        list(decision.links), "sender string, receiver string, unit string"
    )
    joined = F.broadcast(crossed)
    return (
        every.join(joined, ["sender", "receiver"], "left")
        .na.fill(0)
        .select("sender", "receiver", "documents", "bytes", "false_positives", "unit")
        .orderBy("sender", "receiver")
        .coalesce(1)
    )


def write_tables(
    frames: Mapping[str, DataFrame],
    folder: Location,
    *,
    format: Format = "parquet",  # noqa: A002 - as Spark's own writer calls it
    partition_by_subscriber: bool = False,
) -> None:
    """Write each table to a folder of its name."""
    for name, frame in frames.items():
        describe(frame.sparkSession, f"writing {name}")
        if name == "deliveries" and partition_by_subscriber:
            writer = frame.repartition("subscriber").write.partitionBy("subscriber")
        else:
            writer = frame.write
        target = folder.child(name).url
        if format == "parquet":
            writer.parquet(target)
        else:
            writer.json(target)


def sum_up(verdicts: DataFrame, frames: Mapping[str, DataFrame]) -> Totals:
    """The totals, from persisted verdicts and from tables that are written."""
    spark = verdicts.sparkSession
    describe(spark, "summing up")
    by_status = {
        row.status: (row.documents, row.bytes or 0)
        for row in frames["documents"]
        .groupBy("status")
        .agg(F.count("*").alias("documents"), F.sum("size").alias("bytes"))
        .collect()
    }
    counted = verdicts.agg(F.sum(F.size("deliveries"))).first()
    deliveries = int((counted and counted[0]) or 0)
    reasons = _top(frames["rejected"], "reason", _MOST_REASONS) if REJECTED in by_status else ()
    busiest = _top(frames["deliveries"], "subscriber", _MOST_SUBSCRIBERS) if deliveries else ()
    links = frames["links"].collect() if "links" in frames else []
    return Totals(
        documents=sum(count for count, _ in by_status.values()),
        bytes=sum(size for _, size in by_status.values()),
        deliveries=deliveries,
        delivered=by_status.get(DELIVERED, (0, 0))[0],
        unwanted=by_status.get(UNWANTED, (0, 0))[0],
        rejected=by_status.get(REJECTED, (0, 0))[0],
        reasons=reasons,
        busiest=busiest,
        links=tuple(LinkTraffic(**row.asDict()) for row in links),
    )


def _top(frame: DataFrame, column: str, most: int) -> tuple[tuple[str, int], ...]:
    """The values that a column has most often, with how often."""
    counts = frame.groupBy(column).count().orderBy(F.desc("count"), column)
    return tuple((str(row[0]), int(row[1])) for row in counts.take(most))


def _take(tries: Path, root: Path, name: str) -> Path:
    """Move a file of the task that Spark counted to its table."""
    target = root / name
    target.parent.mkdir(exist_ok=True)
    try:
        return (tries / name).rename(target)
    except FileNotFoundError:
        raise PipelineError(
            f"{tries / name} is not there, though a worker wrote it: the folder must have the "
            "same path on all machines, and no other job may write to it"
        ) from None


def can_write_by_workers(
    decision: Decision,
    folder: Location,
    format: Format,  # noqa: A002 - as Spark's own writer calls it
    partition_by_subscriber: bool,
) -> bool:
    """Whether workers can write the tables themselves, without handing verdicts to Spark."""
    return (
        folder.local_path is not None
        and format == "parquet"
        and not partition_by_subscriber
        and not decision.is_sharded
    )


def write_result(
    spark: SparkSession,
    documents: Documents,
    decision: Decision,
    folder: Location,
    *,
    format: Format = "parquet",  # noqa: A002 - as Spark's own writer calls it
    partition_by_subscriber: bool = False,
) -> Totals:
    """Decide on documents and write all tables to a folder; by the workers where they can."""
    if can_write_by_workers(decision, folder, format, partition_by_subscriber):
        return write_by_workers(spark, documents, decision, folder)
    # All tables come from the persisted verdicts, so that documents are matched once.
    verdicts = decision.verdicts(documents).persist()
    try:
        frames = tables(verdicts, decision)
        write_tables(frames, folder, format=format, partition_by_subscriber=partition_by_subscriber)
        written = read_table(spark, folder.url, "deliveries")
        return sum_up(verdicts, frames | {"deliveries": written})
    finally:
        verdicts.unpersist()


def write_by_workers(
    spark: SparkSession, documents: Documents, decision: Decision, folder: Location
) -> Totals:
    """Let workers write the tables to a folder that they see; keep the files of counted tasks."""
    root = Path(str(folder.local_path))
    tries = root / _TRIES
    tries.mkdir(parents=True)
    written = Written()
    for row in decision.written(documents, str(tries)).collect():
        written.merge(Written.of_text(row.written))
    counted = [_take(tries, root, name) for name in written.files]
    shutil.rmtree(tries)
    for table in ("deliveries", "documents", "rejected"):
        if not any(path.parent.name == table for path in counted):
            write_empty(root / table, table, routed=decision.network is not None)
    links = tuple(
        LinkTraffic(sender, receiver, *written.link(sender, receiver), unit)
        for sender, receiver, unit in sorted(decision.links)
    )
    if decision.network is not None:
        write_links(root / "links", [astuple(one) for one in links])
    deliveries = sorted(path for path in counted if path.parent.name == "deliveries")
    return Totals(
        documents=written.statuses.total(),
        bytes=written.bytes,
        deliveries=written.deliveries,
        delivered=written.statuses[DELIVERED],
        unwanted=written.statuses[UNWANTED],
        rejected=written.statuses[REJECTED],
        reasons=tuple(
            sorted(written.reasons.items(), key=lambda one: (-one[1], one[0]))[:_MOST_REASONS]
        ),
        busiest=tuple(busiest_subscribers(deliveries, _MOST_SUBSCRIBERS)),
        links=links,
    )
