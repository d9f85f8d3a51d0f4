"""A column of documents, published at a broker: by a stream, or by a job that ends.

    rows ──Arrow batches──► id of each ──► publish, many at a time ──► answers, in order ──► count
                             │
         query, batch, partition, digest of the row, how manyth of its kind

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
import json
import logging
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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

HEADERS: Final = "headers"
"""The column with what is said beside each document, where there is one."""
EXPIRES: Final = "expires"
"""The column with the time from which on nobody wants a document, where there is one."""
TO: Final = "to"
"""The column with the durable subscriptions that a document is addressed to, where there is one."""
_SAID: Final = {HEADERS: "map<string,string>", EXPIRES: "timestamp", TO: "array<string>"}

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PartitionPublished(WriterCommitMessage):
    """The report on a partition: how many were published and refused; one of the reasons.

    ``expired`` had no time left: nobody wants them, and they were passed over.
    """

    published: int
    refused: int
    reason: str
    expired: int


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


def check_columns(schema: StructType, column: str) -> None:
    """Refuse a frame without a column of documents, or one that says something of another type."""
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
    for name, expected in _SAID.items():
        said = types.get(name)
        if said is not None and said.simpleString() != expected:
            raise PipelineError(
                f"the column {name!r} is {said.simpleString()}; {name} is {expected}: rename the "
                "column, or cast it"
            )


def log_refused(what: str, messages: Sequence[WriterCommitMessage | None]) -> None:
    """Write a line each to the log of the driver, if documents were refused, or had expired."""
    parts = [each for each in messages if isinstance(each, PartitionPublished)]
    refused, expired = sum(each.refused for each in parts), sum(each.expired for each in parts)
    total = f"{refused + expired + sum(each.published for each in parts):,} documents"
    if refused:
        reason = next(each.reason for each in parts if each.refused)
        _log.warning(
            "%s: %s of %s were refused and skipped; one: %s", what, f"{refused:,}", total, reason
        )
    if expired:
        _log.warning("%s: %s of %s had expired, and were skipped", what, f"{expired:,}", total)


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
        self._expired = 0

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
        return PartitionPublished(self._published, self._refused, self._reason, self._expired)

    async def _publish_batch(self, client: Client, batch: pa.RecordBatch) -> None:
        for content, headers, expires, to in _cells(batch, self._options.column):
            row, self._rows = self._rows, self._rows + 1
            if content is None:
                await self._settle_all()
                self._refuse(row, "there is no document in the row (null)")
                continue
            if None in to:
                await self._settle_all()
                self._refuse(row, "a destination in the column to is null")
                continue
            if expires is not None and expires <= datetime.now(UTC):
                self._expired += 1  # in time at first, perhaps, and this is another run
                continue
            # A text is sent as such, since the client knows what to do about its declaration.
            octets = content.encode() if isinstance(content, str) else content
            size = len(octets)
            while self._unanswered and (
                len(self._unanswered) >= _UNANSWERED or self._bytes + size > _UNANSWERED_BYTES
            ):
                await self._settle_oldest()
            task = asyncio.create_task(
                client.publish(
                    content,
                    id=self._identity(octets, headers, expires, to),
                    headers=headers,
                    expires=expires,
                    scope=self._options.scope,
                    to=to,
                )
            )
            self._unanswered.append((row, size, task))
            self._bytes += size

    def _identity(
        self,
        content: bytes,
        headers: dict[str, str] | None,
        expires: datetime | None,
        to: Sequence[str],
    ) -> str:
        until = None if expires is None else expires.timestamp()
        said = [sorted((headers or {}).items()), until, *to]
        digest = blake2b(json.dumps(said).encode() + content, digest_size=16).digest()
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


class _Cells(NamedTuple):
    """A document of a batch, and what is said beside it."""

    content: bytes | str | None
    headers: dict[str, str] | None
    expires: datetime | None
    to: list[Any]
    """Texts; None where one is null."""


def _cells(batch: pa.RecordBatch, column: str) -> Iterator[_Cells]:
    """The documents of a batch; a header without a value is none."""
    columns = (_values(batch, each) for each in (column, HEADERS, EXPIRES, TO))
    for content, pairs, expires, to in zip(*columns, strict=True):
        headers = {name: text for name, text in pairs if text is not None} if pairs else None
        yield _Cells(content, headers, expires, to or [])


def _values(batch: pa.RecordBatch, column: str) -> Iterator[Any]:
    """The values of a column; None for each row where there is no such column."""
    index = batch.schema.get_field_index(column)
    if index < 0:
        return repeat(None, batch.num_rows)
    return (each.as_py() for each in batch.column(index))


async def _connected(options: PublishOptions) -> Client:
    """A client at work; a broker that is away is waited for."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    while True:
        client = options.broker.connect()
        try:
            await client.open()
            if options.advertises:
                await client.advertise(options.promised, scope=options.scope)
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
