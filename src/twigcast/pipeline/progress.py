"""The progress of Spark, from its own records: the stages of the jobs of a group.

Jobs are put into a group when work begins; from then on :func:`stages` lists each stage, how many
of its tasks are done and how long it took.  :func:`describe` names the jobs that follow, for
Spark's pages and for whoever shows progress.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pyspark.sql import SparkSession

_PREFIX = "twigcast: "


class Stage(NamedTuple):
    """A stage of a job: a number of tasks that run without waiting for one another."""

    number: int
    work: str
    tasks: int
    done: int
    seconds: float | None
    """How long it took; None while it runs."""


def start_group(spark: SparkSession, group: str) -> None:
    """Put the jobs that this thread starts from now on into a group."""
    spark.sparkContext.setJobGroup(group, group)


def describe(spark: SparkSession, work: str | None) -> None:
    """Name the jobs that this thread starts from now on."""
    text = None if work is None else f"{_PREFIX}{work}"
    spark.sparkContext.setJobDescription(text)  # type: ignore[arg-type]


def stages(spark: SparkSession, group: str) -> list[Stage]:
    """The stages of the jobs of a group that have begun, in the order of their numbers."""
    tracker = spark.sparkContext.statusTracker()
    records: Any = spark._jsc.sc().statusStore()
    numbers: set[int] = set()
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        numbers.update(info.stageIds if info is not None else ())
    begun_stages = []
    for number in sorted(numbers):
        data = _stage_data(records, number)
        if data is None or not data.submissionTime().isDefined():
            continue
        begun = data.submissionTime().get().getTime()
        ended = data.completionTime()
        description = data.description()
        work = str(description.get() if description.isDefined() else data.name())
        begun_stages.append(
            Stage(
                number,
                work.removeprefix(_PREFIX),
                int(data.numTasks()),
                int(data.numCompleteTasks()),
                (ended.get().getTime() - begun) / 1000 if ended.isDefined() else None,
            )
        )
    return begun_stages


def _stage_data(records: Any, number: int) -> Any:
    try:
        return records.lastStageAttempt(number)
    except Exception:  # Spark does not know the stage yet, or no longer
        return None
