"""The batches of a stream, one after the other: decided, written, published, reported."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from twigcast.errors import PipelineError, TwigcastError
from twigcast.pipeline.failures import reason_of
from twigcast.pipeline.locations import Location
from twigcast.pipeline.progress import describe
from twigcast.pipeline.route.decisions import Decision
from twigcast.pipeline.route.results import Format, LinkTraffic, Totals, write_result
from twigcast.pipeline.sources.documents import Documents
from twigcast.pipeline.stream.output import BATCH_FILE, StreamOutput
from twigcast.pipeline.stream.versions import SubscriptionVersions, Version


@dataclass(frozen=True)
class BatchReport:
    """The report on a batch; its ``batch.json`` has the same."""

    batch: int
    stream: str
    """The id that output and checkpoint share."""
    version: Version
    totals: Totals
    seconds: float
    warnings: tuple[str, ...] = ()
    """Warnings from the start of the batch, such as a version that cannot be used."""
    repeated: bool = False
    """Whether the batch was published already when Spark asked for it, after a kill."""

    def as_json(self) -> dict[str, Any]:
        """The report as ``batch.json`` has it."""
        return asdict(self)

    @classmethod
    def of_json(cls, fields: dict[str, Any]) -> BatchReport:
        """The report from what :meth:`as_json` gave, or from a ``batch.json``."""
        totals = dict(fields["totals"])
        for name in ("reasons", "busiest"):
            totals[name] = tuple((text, count) for text, count in totals[name])
        totals["links"] = tuple(LinkTraffic(**one) for one in totals["links"])
        parts = {
            "version": Version(**fields["version"]),
            "totals": Totals(**totals),
            "warnings": tuple(fields["warnings"]),
        }
        return cls(**(fields | parts))


class _StoppedError(Exception):
    """The stream is ending, so this batch is left to the next run."""


class StreamBatches:
    """What Spark calls with each batch: rows of the streaming frame that ``documents`` has."""

    def __init__(
        self,
        spark: SparkSession,
        documents: Documents,
        output: StreamOutput,
        versions: SubscriptionVersions,
        format: Format,  # noqa: A002 - as Spark's own writer calls it
        on_batch: Callable[[BatchReport], None] | None,
    ) -> None:
        self.output = output
        self.versions = versions
        self.is_interrupted = False
        self._spark = spark
        self._documents = documents
        self._format = format
        self._on_batch = on_batch
        self._running = threading.Lock()
        self._is_finishing = False
        self._failure: tuple[int, Exception] | None = None

    def __call__(self, frame: DataFrame, number: int) -> None:
        with self._running:
            if self._is_finishing:
                # If this returned, Spark would count the batch as done.
                raise _StoppedError
            try:
                report = self._run(frame, number)
                if self._on_batch is not None:
                    self._on_batch(report)
            except Exception as error:
                if not self.is_interrupted:
                    self._failure = number, error
                raise

    def finish(self, timeout: float | None) -> bool:
        self._is_finishing = True
        if self._running.acquire(timeout=-1 if timeout is None else timeout):
            self._running.release()
            return True
        return False

    def raise_failure(self, error: StreamingQueryException) -> None:
        """Raise the error that ended the stream, unless the stream was asked to end."""
        if self._failure is not None:
            number, cause = self._failure
            if isinstance(cause, TwigcastError):
                raise cause
            raise PipelineError(
                f"the stream ended in batch {number}: {reason_of(cause)}"
            ) from cause
        if not self._is_finishing:
            raise PipelineError(f"the stream ended: {reason_of(error)}") from error

    def _run(self, frame: DataFrame, number: int) -> BatchReport:
        self.output.check()
        batch = self.output.batch(number)
        if batch.exists():
            # A run was killed after it had published the batch and before Spark noted that.
            return self._repeated(batch)
        started = time.perf_counter()
        warnings = self.versions.renew()
        version, decision = self.versions.version, self.versions.decision
        with self.output.writing(number) as staging:
            totals = self._write(frame, number, decision, staging)
            seconds = round(time.perf_counter() - started, 3)
            report = BatchReport(number, self.output.stream, version, totals, seconds, warnings)
            text = json.dumps(report.as_json(), indent=2) + "\n"
            staging.child(BATCH_FILE).write_text(text)
        return report

    def _repeated(self, batch: Location) -> BatchReport:
        report = BatchReport.of_json(json.loads(batch.child(BATCH_FILE).read_text()))
        if report.stream != self.output.stream:
            raise PipelineError(f"{batch.url} was written by another stream; take it away")
        return replace(report, repeated=True)

    def _write(
        self, frame: DataFrame, number: int, decision: Decision, staging: Location
    ) -> Totals:
        describe(self._spark, f"batch {number}: matching documents, writing tables")
        (part,) = self._documents.parts
        documents = replace(self._documents, parts=(replace(part, frame=frame),))
        return write_result(self._spark, documents, decision, staging, format=self._format)
