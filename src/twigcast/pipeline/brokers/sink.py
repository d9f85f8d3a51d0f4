"""A column of documents, published at a broker: by a stream, or by a job that ends.

    rows ──Arrow batches──► id of each ──► publish, many at a time ──► answers, in order ──► count
                             │
         query, batch, partition, digest of the content, how manyth of its kind

Every document has a publication id that a second run of its batch gives it again, and the broker
drops what it has stored under an id.  So durable subscribers get each row once, whatever is killed
and run again; to ephemeral ones it may come twice.

A row keeps its id if it comes in the same partition again; the order of rows does not matter.  A
row that comes in another partition gets another id and is delivered twice.  If rows were numbered
instead, two rows that have changed their order could each be taken for the other, and one be lost.

Cost: a connection for each task; some tens of microseconds for each document, and memory for the
digests of a partition, about a hundred bytes a row.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import BinaryType, StringType, StructType

from twigcast.errors import ConnectionFailedError, PipelineError, RefusedError, TwigcastError
from twigcast.pipeline.brokers.options import PATIENCE, PublishOptions

if TYPE_CHECKING:
    from twigcast.client import Client

_UNANSWERED: Final = 1_024
_UNANSWERED_BYTES: Final = 16 * 2**20
_OF_THE_DOCUMENT: Final = frozenset({"malformed", "too-large"})
"""Codes of refusals that only the document is to blame for."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PartitionPublished(WriterCommitMessage):
    """The report on a partition: how many were published and refused; one of the reasons."""

    published: int
    refused: int
    reason: str


class StreamPublisher(DataSourceStreamArrowWriter):
    """Publishes the batches of a query."""

    def __init__(self, options: PublishOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartitionPublished:
        """Publish a partition; on an executor."""
        context = _task()
        query = context.getLocalProperty("sql.streaming.queryId")
        batch = context.getLocalProperty("streaming.sql.batchId")
        if not query or not batch:
            raise PipelineError(
                "Spark does not say which batch this is, so a second run of it would look like "
                "another batch; publish from foreachBatch with df.write instead"
            )
        return publish(self._options, iterator, f"{query}-{batch}", context.partitionId())

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        log_refused(f"batch {batchId}", messages)


class BatchPublisher(DataSourceArrowWriter):
    """Publishes a DataFrame; tasks that are run again publish nothing twice."""

    def __init__(self, options: PublishOptions, run: str) -> None:
        self._options = options
        self._run = run

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartitionPublished:
        """Publish a partition; on an executor."""
        return publish(self._options, iterator, self._run, _task().partitionId())

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        log_refused("published", messages)


def check_column(schema: StructType, column: str) -> None:
    """Refuse a frame without a column of documents."""
    types = {each.name: each.dataType for each in schema.fields}
    kind = types.get(column)
    if kind is None:
        raise PipelineError(
            f"there is no column {column!r} to publish; there are {', '.join(types)}: "
            'name the one with the documents, .option("column", …)'
        )
    if not isinstance(kind, BinaryType | StringType):
        raise PipelineError(
            f"the column {column!r} is {kind.simpleString()}; documents are binary or string"
        )


def log_refused(what: str, messages: Sequence[WriterCommitMessage | None]) -> None:
    """Write one line to the log of the driver, if documents were refused."""
    parts = [each for each in messages if isinstance(each, PartitionPublished)]
    refused = sum(each.refused for each in parts)
    if refused:
        total = refused + sum(each.published for each in parts)
        reason = next(each.reason for each in parts if each.refused)
        counts = f"{refused:,} of {total:,} documents"
        _log.warning("%s: %s were refused and skipped; one: %s", what, counts, reason)


def publish(
    options: PublishOptions, batches: Iterator[pa.RecordBatch], run: str, partition: int
) -> PartitionPublished:
    """Publish all rows of a partition, each under an id that is the same in every run."""
    publishing = _Publishing(options, f"spark-{run}-{partition}")
    try:
        return asyncio.run(publishing.run(batches))
    except PipelineError:
        raise
    except (TwigcastError, TimeoutError) as error:
        reason = str(error) or f"the broker does not answer for {PATIENCE:g} seconds"
        raise PipelineError(f"documents cannot be published: {reason}") from error


class _Publishing:
    """The publication of one partition."""

    def __init__(self, options: PublishOptions, prefix: str) -> None:
        self._options = options
        self._prefix = prefix
        self._seen: Counter[bytes] = Counter()
        self._unanswered: deque[tuple[int, int, asyncio.Task[str]]] = deque()
        self._bytes = 0
        self._rows = 0
        self._published = 0
        self._refused = 0
        self._reason = ""

    async def run(self, batches: Iterator[pa.RecordBatch]) -> PartitionPublished:
        # A partition without rows needs no connection.
        batch = await asyncio.to_thread(next, batches, None)
        if batch is not None:
            async with await _connected(self._options) as client:
                try:
                    while batch is not None:
                        await self._publish_batch(client, batch)
                        # Answers come in meanwhile.
                        batch = await asyncio.to_thread(next, batches, None)
                    await self._settle_all()
                finally:
                    await self._give_up()
        return PartitionPublished(self._published, self._refused, self._reason)

    async def _publish_batch(self, client: Client, batch: pa.RecordBatch) -> None:
        for value in batch.column(batch.schema.get_field_index(self._options.column)):
            content = value.as_py()
            row, self._rows = self._rows, self._rows + 1
            if content is None:
                await self._settle_all()
                self._refuse(row, "there is no document in the row (null)")
                continue
            # A text is sent as such, since the client knows what to do about its declaration.
            octets = content.encode() if isinstance(content, str) else content
            size = len(octets)
            while self._unanswered and (
                len(self._unanswered) >= _UNANSWERED or self._bytes + size > _UNANSWERED_BYTES
            ):
                await self._settle_oldest()
            task = asyncio.create_task(client.publish(content, id=self._identity(octets)))
            self._unanswered.append((row, size, task))
            self._bytes += size

    def _identity(self, content: bytes) -> str:
        digest = blake2b(content, digest_size=16).digest()
        self._seen[digest] += 1
        return f"{self._prefix}-{digest.hex()}-{self._seen[digest]}"

    async def _settle_all(self) -> None:
        while self._unanswered:
            await self._settle_oldest()

    async def _settle_oldest(self) -> None:
        row, size, task = self._unanswered[0]
        try:
            if not task.done():
                async with asyncio.timeout(PATIENCE):
                    await task
            task.result()
            self._published += 1
        except RefusedError as error:
            if error.code not in _OF_THE_DOCUMENT:
                raise
            self._refuse(row, str(error))
        self._unanswered.popleft()
        self._bytes -= size

    def _refuse(self, row: int, reason: str) -> None:
        self._refused += 1
        self._reason = self._reason or f"row {row:,} of {self._prefix}: {reason}"
        if self._options.on_refused == "fail":
            raise PipelineError(
                f"a document is refused, {self._reason}; "
                '.option("onRefused", "skip") passes over such documents'
            )

    async def _give_up(self) -> None:
        """Cancel the publications that are not answered; after a failure."""
        tasks = [task for _, _, task in self._unanswered]
        for task in tasks:
            task.cancel()
        if tasks:
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks, return_exceptions=True)


async def _connected(options: PublishOptions) -> Client:
    """A client at work; a broker that is away is waited for."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    while True:
        client = options.broker.connect()
        try:
            await client.open()
            if options.advertises:
                await client.advertise(options.promised)
            return client
        except ConnectionFailedError:
            await client.close()
            if loop.time() > deadline:
                raise
            await asyncio.sleep(0.25)
        except BaseException:
            await client.close()
            raise


def _task() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "documents are published by tasks"
    return context
