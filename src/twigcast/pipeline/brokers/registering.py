"""The format ``twigcast``, and its registration in a Spark session."""

from __future__ import annotations

import uuid

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from twigcast.errors import PipelineError
from twigcast.pipeline.brokers.options import batch_options, publish_options, stream_options
from twigcast.pipeline.brokers.sink import BatchPublisher, StreamPublisher, check_columns
from twigcast.pipeline.brokers.source import COLUMNS, QueueReader, QueueStreamReader

FORMAT = "twigcast"


def register_brokers(spark: SparkSession) -> None:
    """Register ``format("twigcast")`` in a Spark session; may be called again."""
    spark.dataSource.register(BrokerDataSource)
    # Spark looks a format up in the active Spark session of the thread, perhaps a copy.
    active = SparkSession.getActiveSession()
    if active is not None:
        active.dataSource.register(BrokerDataSource)


class BrokerDataSource(DataSource):
    """Queues of durable subscriptions to read, brokers to publish at."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        """The columns of a queue; options are checked here already, when ``load`` is called."""
        stream_options(self.options)
        return COLUMNS

    def reader(self, schema: StructType) -> QueueReader:
        _require_columns(schema)
        return QueueReader(batch_options(self.options))

    def streamReader(self, schema: StructType) -> QueueStreamReader:  # noqa: N802 - Spark's name
        _require_columns(schema)
        return QueueStreamReader(stream_options(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> BatchPublisher:
        _require_append(overwrite, '.mode("append")')
        options = publish_options(self.options)
        check_columns(schema, options.column)
        return BatchPublisher(options, uuid.uuid4().hex)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamPublisher:  # noqa: N802
        _require_append(overwrite, '.outputMode("append")')
        options = publish_options(self.options)
        check_columns(schema, options.column)
        return StreamPublisher(options)


def _require_append(overwrite: bool, remedy: str) -> None:
    if overwrite:
        raise PipelineError(f"what is published cannot be taken back or replaced: {remedy}")


def _require_columns(schema: StructType) -> None:
    if schema != COLUMNS:
        names = ", ".join(COLUMNS.fieldNames())
        raise PipelineError(
            f"the columns of a queue are {names}; leave out .schema(…), and select afterwards"
        )
