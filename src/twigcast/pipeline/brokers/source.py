"""The queue of a durable subscription as rows: a stream that grows, or what it has now.

    driver     offsets: sequence numbers ──► ranges ──┐           commit ──► acknowledged
                  ▲ queue_state                       │ one a task            ▲
    broker ───────┴──── queue: 1, 2, 3, … ────────────┼───────────────────────┘
                                   read_queue ▼       │
    executors                       id, content, keys, sequence, …

Spark keeps the sequence that it has reached in its checkpoint; reading changes nothing at the
broker, so a batch that is run again has the same rows in the same partitions.  The documents of a
finished batch are acknowledged, which lets the broker drop them when its retention says so.

The broker knows a subscription from the moment at which the reader first speaks to it.  To attach
takes a durable subscription away from whoever has it, so this is done for a moment only, when the
reader starts, to make the subscription.  Reading and acknowledging go by its name, and disturb
nobody.

Invariant: a sequence number in a range is a row, or its document was never stored; one that
retention has taken fails the query unless ``failOnDataLoss`` is false.  A document that has expired
when it is read is no row: a batch that is run again may have fewer of these, and has no others.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from twigcast.errors import ConnectionFailedError, PipelineError, TwigcastError
from twigcast.pipeline.brokers.options import PATIENCE, QueueOptions
from twigcast.pipeline.columns import arrow_schema, batch_of

if TYPE_CHECKING:
    from twigcast.client import Document, QueueState, SyncClient

_SCHEMA: Final = arrow_schema(
    "id string, content binary, keys array<string>, sequence bigint, published timestamp,"
    " headers map<string,string>, expires timestamp"
)
COLUMNS: Final = from_arrow_schema(_SCHEMA)
PART: Final = 2_000
"""Documents of one task.  The same range is always cut at the same sequences."""

_BATCH: Final = 1_000
_BATCH_BYTES: Final = 8 * 2**20
_PAUSE: Final = 0.25
_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


@dataclass
class QueueRange(InputPartition):
    """Sequence numbers: those of one task, or those without a document."""

    first: int
    last: int


class QueueStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a queue as it grows; one lives beside the driver for each run of a query."""

    def __init__(self, options: QueueOptions) -> None:
        self._options = options
        self._queue: _Queue | None = None
        self._target: int | None = None
        self._last: dict[str, Any] | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where the queue is acknowledged; a query without a checkpoint goes on from there."""
        queue = self._open()
        return queue.offset(queue.state().acknowledged)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._options.max_documents)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Read up to what is there now, and end."""
        self._target = self._open().state().last

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next batch."""
        queue = self._open()
        state = queue.state()
        reached = queue.sequence(start, state)
        self._last = queue.offset(state.last)
        last = state.last if self._target is None else min(state.last, self._target)
        if isinstance(limit, ReadMaxRows):
            # What is lost counts for nothing, where that is allowed to be.
            begin = reached if self._options.fail_on_data_loss else max(reached, state.first - 1)
            last = min(last, begin + limit.max_rows)
        return queue.offset(max(reached, last))

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """How far the queue went when it was last looked at."""
        return self._last

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        queue = self._open()
        state = queue.state()
        first, last = queue.sequence(start, state) + 1, queue.sequence(end, state)
        if first < state.first and first <= last and self._options.fail_on_data_loss:
            raise _lost(self._options.durable, min(state.first, last + 1) - first)
        return ranges(first, last)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The documents of a range; on an executor."""
        assert isinstance(partition, QueueRange)
        return read_range(self._options, partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Acknowledge what is done with; if the broker is away, with the next batch."""
        options = self._options
        try:
            asyncio.run(acknowledge(options, int(end["sequence"])))
        except (ConnectionFailedError, TimeoutError) as error:
            _log.warning("%s is not acknowledged up to %s: %s", options.durable, end, error)
        except TwigcastError as error:
            raise PipelineError(f"{options.durable} cannot be acknowledged: {error}") from error

    def stop(self) -> None:
        if self._queue is not None:
            self._queue.close()
            self._queue = None

    def _open(self) -> _Queue:
        if self._queue is None:
            self._queue = _Queue(self._options)
        return self._queue


class QueueReader(DataSourceReader):
    """Reads what a queue has now; it makes no subscription and acknowledges nothing."""

    def __init__(self, options: QueueOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        try:
            with self._options.broker.connect_sync() as client:
                state = client.queue_state(self._options.durable)
        except TwigcastError as error:
            raise PipelineError(f"the queue cannot be read: {error}") from error
        # Spark makes one of its own where there is none.
        return ranges(state.first, state.last) or [QueueRange(1, 0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The documents of a range; on an executor."""
        assert isinstance(partition, QueueRange)
        return read_range(self._options, partition)


class _Queue:
    """A queue at a broker, as the driver asks for it."""

    def __init__(self, options: QueueOptions) -> None:
        self._options = options
        try:
            self._client = options.broker.connect_sync()
        except TwigcastError as error:
            raise PipelineError(f"there is no stream to read: {error}") from error
        try:
            with self._client.subscribe(
                options.expressions or None,
                durable=options.durable,
                scope=options.scope,
                window=1,
            ):
                pass
            self._broker = self._ask(_broker_name)
        except TwigcastError as error:
            self._client.close()
            raise PipelineError(f"{options.durable} is not available: {error}") from error

    def state(self) -> QueueState:
        return self._ask(lambda client: client.queue_state(self._options.durable))

    def offset(self, sequence: int) -> dict[str, Any]:
        """A sequence as Spark keeps it in its checkpoint."""
        return {"broker": self._broker, "sequence": sequence}

    def sequence(self, offset: dict[str, Any], state: QueueState) -> int:
        """The sequence number of an offset, if it is one in this queue."""
        broker, sequence = offset["broker"], int(offset["sequence"])
        if broker != self._broker:
            raise PipelineError(
                f"the checkpoint is of a queue at the broker {broker!r}, and {self._broker!r} "
                "answers; name that broker, or begin with a new checkpoint"
            )
        if sequence > state.last:
            raise PipelineError(
                f"the checkpoint is at {sequence:,} in the queue of {self._options.durable!r}, "
                f"which ends at {state.last:,}: the subscription was ended and made anew, or the "
                "broker has lost its store; begin with a new checkpoint"
            )
        return sequence

    def close(self) -> None:
        self._client.close()

    def _ask(self, question: Callable[[SyncClient], _Result]) -> _Result:
        """An answer; a broker that is away is waited for."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return question(self._client)
            except ConnectionFailedError as error:
                if time.monotonic() > deadline:
                    raise PipelineError(f"the broker stays away: {error}") from error
                time.sleep(_PAUSE)
            except TwigcastError as error:
                raise PipelineError(f"{self._options.durable}: {error}") from error


def _broker_name(client: SyncClient) -> str:
    name = client.broker
    if name is None:
        raise ConnectionFailedError(client.address, "the connection is lost")
    return name


def ranges(first: int, last: int) -> list[QueueRange]:
    """A range cut into the ranges of tasks; the same cuts whenever a batch is run again."""
    return [
        QueueRange(begin, min(begin + PART - 1, last)) for begin in range(first, last + 1, PART)
    ]


async def acknowledge(options: QueueOptions, upto: int) -> None:
    """Acknowledge all documents up to a sequence number, so that the broker may drop them."""
    async with options.broker.connect() as client:
        async with asyncio.timeout(PATIENCE / 2):
            await client.acknowledge(options.durable, upto)


def read_range(options: QueueOptions, wanted: QueueRange) -> Iterator[pa.RecordBatch]:
    """The rows of a range, as Arrow batches; goes on where it was when the broker was away."""
    following = wanted.first
    gaps: list[QueueRange] = []
    rows: list[Document] = []
    size = 0
    deadline = time.monotonic() + PATIENCE
    while following <= wanted.last:
        try:
            with options.broker.connect_sync() as client:
                for document in client.read_queue(options.durable, following, wanted.last):
                    if document.sequence > following:
                        gaps.append(QueueRange(following, document.sequence - 1))
                    following = document.sequence + 1
                    rows.append(document)
                    size += len(document.content)
                    if len(rows) >= _BATCH or size >= _BATCH_BYTES:
                        yield _to_arrow(rows)
                        rows, size = [], 0
                    deadline = time.monotonic() + PATIENCE
                if following <= wanted.last:
                    gaps.append(QueueRange(following, wanted.last))
                if gaps and options.fail_on_data_loss:
                    _check(options.durable, gaps, client.queue_state(options.durable))
                break
        except ConnectionFailedError as error:
            if time.monotonic() > deadline:
                raise PipelineError(f"the broker stays away: {error}") from error
            time.sleep(_PAUSE)
        except PipelineError:
            raise
        except TwigcastError as error:
            raise PipelineError(f"{options.durable} cannot be read: {error}") from error
    if rows:
        yield _to_arrow(rows)


def _check(durable: str, gaps: Sequence[QueueRange], state: QueueState) -> None:
    """Fail if retention has taken what is not there.

    It takes what is acknowledged, or old.  A later number that is missing was given to a document
    that could not be stored; its publisher got an error.
    """
    taken = max(state.first - 1, state.acknowledged)
    lost = sum(min(gap.last, taken) + 1 - gap.first for gap in gaps if gap.first <= taken)
    if lost:
        raise _lost(durable, lost)


def _lost(durable: str, count: int) -> PipelineError:
    return PipelineError(
        f"retention at the broker has taken {count:,} documents of {durable!r} before they were "
        "read; let the broker keep more ([store] retention_age, retention_size), and go on with "
        'those that are left by .option("failOnDataLoss", "false")'
    )


def _to_arrow(rows: Sequence[Document]) -> pa.RecordBatch:
    now = datetime.now(UTC)
    cells = [
        (row.id, row.content, row.keys, row.sequence, row.published, row.headers, row.expires)
        for row in rows
        if row.expires is None or row.expires > now
    ]
    return batch_of(cells, _SCHEMA)
