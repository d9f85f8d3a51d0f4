"""Write an archive of the classes that Spark loads, so that the JVMs of tests start quicker.

    archive_spark_classes.py FILE

Java calls this class data sharing: a JVM that ends writes what it has loaded, and later ones map
that file.  A small job runs first, so that the classes of jobs are in the archive as well.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from twigcast.pipeline import start_session


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def main(file: Path) -> None:
    """Start Spark, let it work, and end it."""
    partial = file.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    options = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ArchiveClassesAtExit={partial}"
    session = start_session(
        master="local[2]",
        conf={
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.extraJavaOptions": f"{options} -Xlog:disable",
        },
    )
    with tempfile.TemporaryDirectory() as folder:
        numbers = session.range(100).selectExpr("id", "string(id) AS text")
        numbers.mapInArrow(_same, numbers.schema).write.parquet(f"{folder}/table")
        table = session.read.parquet(f"{folder}/table")
        table.groupBy("text").count().orderBy("text").collect()
        query = (
            session.readStream.schema(table.schema)
            .parquet(f"{folder}/table")
            .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
            .trigger(availableNow=True)
            .start(f"{folder}/stream", "parquet")
        )
        query.awaitTermination()
    gateway = session.sparkContext._gateway
    session.stop()
    assert gateway is not None
    gateway.shutdown()
    process = gateway.proc
    process.stdin.close()  # the JVM ends with it, and writes the archive
    process.wait()
    partial.replace(file)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
