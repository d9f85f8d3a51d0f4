"""Drivers of jobs that tests disturb; each runs in a process of its own.

Documents are made by tasks that tell when they have begun and then wait for a sign, so that a test
can do its worst while they are at work, without a guess at how long anything takes.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
from quick_spark import QUICK_JAVA

from twigcast.language import Subscription, parse
from twigcast.pipeline import start_session
from twigcast.pipeline.route.job import prepare_route
from twigcast.pipeline.sources.documents import DocumentPart, Documents

DOCUMENTS = 400
PARTITIONS = 8
FAILING = (1, 5)
"""The partitions whose first try fails half-way, where that is asked for."""
_DEADLINE = 180.0


def document(number: int) -> bytes:
    """A document of its own for each number."""
    items = "".join(f"<item n='{number % modulus}'>{modulus}</item>" for modulus in range(2, 9))
    return f"<list><id>{number}</id>{items}</list>".encode()


def documents() -> dict[str, bytes]:
    """All of them by id."""
    return {str(number): document(number) for number in range(DOCUMENTS)}


def subscriptions() -> list[Subscription]:
    """Some that many documents match, some that few do."""
    texts = [f"//item[.={modulus}][@n={rest}]" for modulus in range(2, 9) for rest in range(3)]
    texts += [f"/list[id={number}]" for number in range(0, DOCUMENTS, 7)]
    texts += ["/list", "//nothing"]
    return [
        Subscription(f"k{number}", parse(text), f"client-{number % 5}")
        for number, text in enumerate(texts)
    ]


@dataclass(frozen=True)
class MakeDocuments:
    """A task: makes its documents, tells that it has begun, waits for the sign."""

    folder: str
    fails_at_first: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        number, attempt = context.partitionId(), context.attemptNumber()
        for batch in batches:
            ids = batch.column(0).to_pylist()
            half = len(ids) // 2
            yield _batch(ids[:half])
            self._tell(f"{number}-{attempt}")
            if self.fails_at_first and attempt == 0 and number in FAILING:
                raise RuntimeError("the first try fails")
            self._wait()
            yield _batch(ids[half:])

    def _tell(self, task: str) -> None:
        """Leave a file with the process, whole or not at all."""
        draft = Path(self.folder, f".{task}")
        draft.write_text(str(os.getpid()))
        draft.rename(Path(self.folder, f"began-{task}"))

    def _wait(self) -> None:
        end = time.monotonic() + _DEADLINE
        while not Path(self.folder, "go").exists():
            if time.monotonic() > end:
                raise TimeoutError("the sign to go on did not come")
            time.sleep(0.02)  # not to take a processor for asking


def _batch(numbers: list[int]) -> pa.RecordBatch:
    names = [str(number) for number in numbers]
    contents = [document(number) for number in numbers]
    return pa.RecordBatch.from_pydict({"id": names, "source": names, "content": contents})


def run(
    spark: SparkSession, folder: str, name: str, *, fails_at_first: bool = False, **settings: Any
) -> dict[str, Any]:
    """A job on documents that are made right where they are decided on and written.

    Out of another Python worker they would come some time after they were made.
    """
    nothing = spark.createDataFrame([], "id string, content binary")
    wanted = subscriptions()
    job = prepare_route(spark, nothing, subscriptions=wanted, output=f"{folder}/{name}", **settings)
    numbers = spark.range(0, DOCUMENTS, 1, PARTITIONS)
    made = DocumentPart(numbers, MakeDocuments(folder, fails_at_first))
    return replace(job, documents=Documents((made,))).run().totals.as_json()


def main(master: str, folder: str) -> None:
    """One job that loses a machine, then two with tasks that fail at first."""
    spark = start_session(
        master=master,
        conf={
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.sql.shuffle.partitions": "2",
            "spark.executor.extraJavaOptions": QUICK_JAVA,
        },
    )
    told = [
        run(spark, folder, "lost"),
        run(spark, folder, "tried", fails_at_first=True),
        run(spark, folder, "by-spark", fails_at_first=True, format="jsonl"),
    ]
    sys.stdout.write(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    # Functions are sent to workers by the name of their module, which they must find.
    import cluster_driver

    cluster_driver.main(*sys.argv[1:])
