"""The continuous job: what a caller says, and the handle on what runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from pyspark.errors import IllegalArgumentException, PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from twigcast.errors import PipelineError
from twigcast.pipeline.failures import reason_of
from twigcast.pipeline.locations import Location
from twigcast.pipeline.route.job import JobSettings, check_settings
from twigcast.pipeline.sources import SourceOptions, as_documents, stream_documents
from twigcast.pipeline.sources.documents import Documents
from twigcast.pipeline.stream.batches import BatchReport, StreamBatches
from twigcast.pipeline.stream.output import StreamOutput
from twigcast.pipeline.stream.versions import SubscriptionVersions, Version


class Stream:
    """A stream that runs; made by :func:`stream`."""

    def __init__(self, query: StreamingQuery, batches: StreamBatches) -> None:
        self.query = query
        """Spark's own handle."""
        self._batches = batches

    def __repr__(self) -> str:
        state = "runs" if self.is_active else "has ended"
        return f"<Stream to {self.output}: {self.version.subscriptions:,} subscriptions, {state}>"

    @property
    def output(self) -> str:
        """The URL of the output."""
        return self._batches.output.folder.url

    @property
    def checkpoint(self) -> str:
        """The URL of the checkpoint."""
        return self._batches.output.checkpoint.url

    @property
    def version(self) -> Version:
        """The subscriptions that are in use."""
        return self._batches.versions.version

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings from before the first batch."""
        return self._batches.versions.warnings

    @property
    def is_active(self) -> bool:
        """Whether it has not ended."""
        return bool(self.query.isActive)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most ``timeout`` seconds; returns whether the stream has ended.

        A stream that failed raises a :class:`~twigcast.errors.TwigcastError` that says why.
        """
        try:
            # Spark takes fractions of a second, which its annotation does not say, but no zero.
            limit: Any = None if timeout is None else max(timeout, 0.001)
            ended = self.query.awaitTermination(limit)
        except StreamingQueryException as error:
            self._batches.raise_failure(error)
            return True
        return ended is not False

    def finish(self, timeout: float | None = None) -> bool:
        """Begin no further batch, and wait for the running one; returns whether it has ended."""
        return self._batches.finish(timeout)

    def stop(self, timeout: float | None = None) -> None:
        """End after the batch that is running, or within it after ``timeout`` seconds.

        The next run does what is not published then.
        """
        if not self.finish(timeout):
            self._batches.is_interrupted = True
        self.query.stop()
        self.wait()


class StreamSettings(JobSettings, total=False):
    """The settings of a stream, beside its documents."""

    checkpoint: str | None
    """The folder where Spark records which documents it has taken; by default in the output."""
    trigger: str | None
    """How often to look for documents, such as ``10 seconds``; by default without a pause."""
    once: bool
    """Take the documents that are there, and end."""
    max_files: int | None
    """The most files of one batch."""
    on_batch: Callable[[BatchReport], None] | None
    """Called after each batch, by a thread of its own; at least once, also after a crash."""


def stream(
    spark: SparkSession, documents: str | DataFrame, **settings: Unpack[StreamSettings]
) -> Stream:
    """Match documents as they arrive, and write who gets what, until the stream is stopped.

    ``documents`` is a folder (see :func:`~twigcast.pipeline.sources.stream_documents`) or any
    streaming DataFrame with a column of XML.  ``settings`` are those of :class:`StreamSettings`: at
    least ``output``, and ``subscriptions`` or a ``network``.  Where these are files that change,
    each batch goes by the newest version.  Settings that cannot work are an error before any work.
    """
    format = check_settings(settings, StreamSettings, "stream()")  # noqa: A001
    output = StreamOutput(spark, settings["output"], settings.get("checkpoint"))
    incoming = _documents(spark, documents, output, settings)
    (part,) = incoming.parts
    versions = SubscriptionVersions(
        spark,
        settings.get("subscriptions"),
        settings.get("network"),
        at=settings.get("at"),
        names_broker=incoming.names_broker,
        scope=settings.get("scope", ""),
        skip_bad=settings.get("skip_bad", False),
    )
    writer = part.frame.writeStream.queryName(f"twigcast stream to {output.folder.url}")
    writer = _triggered(writer, settings.get("trigger"), settings.get("once", False))
    writer = writer.option("checkpointLocation", output.checkpoint.url)
    output.claim(format)
    batches = StreamBatches(spark, incoming, output, versions, format, settings.get("on_batch"))
    try:
        return Stream(writer.foreachBatch(batches).start(), batches)
    except PySparkException as error:
        raise PipelineError(f"the stream does not start: {reason_of(error)}") from error


def _documents(
    spark: SparkSession, given: str | DataFrame, output: StreamOutput, settings: StreamSettings
) -> Documents:
    options, max_files = settings.get("options", SourceOptions()), settings.get("max_files")
    if isinstance(given, str):
        source = Location(spark, given).url.rstrip("/") + "/"
        for folder in (output.folder, output.checkpoint):
            if f"{folder.url}/".startswith(source):
                raise PipelineError(
                    f"{folder.url} is within {given}, so that the stream would read what it "
                    "writes; choose a folder outside"
                )
        return stream_documents(spark, given, options, max_files)
    if not given.isStreaming:
        raise PipelineError("the documents are no stream, but all there; route them instead")
    if max_files is not None:
        raise PipelineError("max_files is for a folder; a frame has limits of its own source")
    return Documents.of(as_documents(given, options))


def _triggered(writer: DataStreamWriter, every: str | None, once: bool) -> DataStreamWriter:
    if once and every is not None:
        raise PipelineError("once and trigger exclude each other; leave one out")
    try:
        if once:
            return writer.trigger(availableNow=True)
        return writer if every is None else writer.trigger(processingTime=every)
    except (IllegalArgumentException, ValueError) as error:
        raise PipelineError(
            f"{every!r} is no span of time; say it as in '10 seconds': {reason_of(error)}"
        ) from None
