"""What Spark says at length, in one line."""

from __future__ import annotations

import pytest

from twigcast.errors import PipelineError

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from twigcast.pipeline.failures import reason_of

WORKER = """Job aborted due to stage failure: Task 0 in stage 5.0 failed 1 times, the last:
 Lost task 0.0: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
OSError: [Errno 28] No space left on device

	at org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
"""
QUERY = (
    "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Multiple streaming "
    "queries are concurrently using file:/out/_checkpoint/offsets SQLSTATE: XXKST"
)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PipelineError("one\nand two"), "one\nand two"),
        (RuntimeError(WORKER), "OSError: [Errno 28] No space left on device"),
        (
            RuntimeError(QUERY),
            "Multiple streaming queries are concurrently using file:/out/_checkpoint/offsets",
        ),
        (
            RuntimeError("\norg.apache.hadoop.fs.PathIsNotEmptyException: `x'\n\tat java.lang.X"),
            "PathIsNotEmptyException: `x'",
        ),
        (KeyError(), "KeyError"),
    ],
)
def test_the_reason_is_told_without_stacks(error: Exception, said: str) -> None:
    assert reason_of(error) == said
