"""Queries between a broker and Spark, and a driver of them that a test kills.

    orders ──► queue of "kept" ────► batches ──► Parquet
       └─────► queue of "passed" ──► batches ──► published again as <seen> ──► queue of "seen"

The driver comes to a halt in the midst of a batch, with part of it published, and tells so.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from twigcast.pipeline import register_brokers, start_session

BATCH = 500
HALT_AT = BATCH + 200
"""The document before which the driver halts."""
_DEADLINE = 120
_PADDING = "<line/>" * 300


def order(number: int) -> bytes:
    # Large enough for some of them to pass the buffers between Python and Java.
    return f"<order><n>{number}</n>{_PADDING}</order>".encode()


def number_of(content: bytes) -> int:
    found = re.search(rb"<n>([0-9]+)</n>", content)
    assert found is not None
    return int(found[1])


def queue(spark: SparkSession, address: str, durable: str, **options: str) -> DataFrame:
    """The queue of a durable subscription to orders, as a stream."""
    reader = spark.readStream.format("twigcast").option("broker", address)
    reader = reader.option("durable", durable).option("xpath", "/order")
    return reader.options(**options).load()


@dataclass(frozen=True)
class Halt:
    """A task: passes rows on, and waits in the midst of them for its end."""

    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers = [number_of(content) for content in batch.column("content").to_pylist()]
            if HALT_AT in numbers:
                Path(self.folder, "halted").touch()
                end = time.monotonic() + _DEADLINE
                while time.monotonic() < end:
                    time.sleep(0.1)  # not to take a processor for waiting
                raise TimeoutError("nobody kills the driver")
            yield batch


def start(
    spark: SparkSession, address: str, folder: Path, *, once: bool, halts: bool = False
) -> list[StreamingQuery]:
    """Start both queries; with ``once`` they take what is there and end."""
    kept = queue(spark, address, "kept", maxDocuments="300")
    passed = queue(spark, address, "passed", maxDocuments=str(BATCH)).select("content")
    if halts:
        passed = passed.mapInArrow(Halt(str(folder)), passed.schema)
    seen = passed.selectExpr("replace(string(content), 'order', 'seen') AS content")
    writers = [
        kept.writeStream.format("parquet").option("path", str(folder / "kept")),
        seen.writeStream.format("twigcast").option("broker", address),
    ]
    for number, writer in enumerate(writers):
        writer.option("checkpointLocation", str(folder / f"checkpoint-{number}"))
        if once:
            writer.trigger(availableNow=True)
    return [writer.start() for writer in writers]


def main(address: str, folder: str) -> None:
    """Run until killed."""
    spark = start_session(
        master="local[2]",
        conf={
            "spark.ui.enabled": "false",
            # So that what comes before the halt is published.
            "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
        },
    )
    register_brokers(spark)
    for query in start(spark, address, Path(folder), once=False, halts=True):
        query.awaitTermination(_DEADLINE)


if __name__ == "__main__":
    # Functions are sent to workers by the name of their module, which they must find.
    import broker_stream_driver

    broker_stream_driver.main(*sys.argv[1:])
