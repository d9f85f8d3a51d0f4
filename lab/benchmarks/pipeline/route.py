"""The rows about routing an archive: beside matching from memory by one thread, and its memory.

The documents are of 2 to 10 KB and lie in Parquet.  The job reads them, decides, and writes who
gets what; the time is that from reading to the finished folder.  The yardstick has the same
documents in memory already, and forgets what it finds.  Both take turns; before that the job has
run on a few of the documents, and the matcher has seen them.

Paths anchored anywhere match some twenty subscriptions a document, and have the goal.  They are the
ends of generated paths, such as ``//body.content/ol/li/money``.  Those with ``*`` and
``//`` match a hundred times as many: writing these down is then most of the work.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from lab.benchmarks.matching.bench import fill
from lab.benchmarks.pipeline.bench import (
    ANYWHERE,
    DENSE,
    ROUTED,
    PipelineBench,
    Readings,
    take_turns,
)
from lab.benchmarks.pipeline.generate import draw_documents
from lab.benchmarks.pipeline.memory import MemoryWatch
from lab.benchmarks.results import Goal, Result
from twigcast.matching import Matcher
from twigcast.pipeline import RouteReport, prepare_route
from twigcast.workload import PathParameters

_JOB: Final = "the job"
_THREAD: Final = "match_batch"
_AT_ONCE: Final = 1_000
_ROW_GROUP_BYTES: Final = 10 << 20
"""Some 2,000 of these documents."""
_MEGABYTE: Final = 1e6


@dataclass(frozen=True, slots=True)
class RoutedFolders:
    """Documents as Parquet: all, those for dense subscriptions, and those for peers."""

    documents: str
    dense: str
    few: str
    fewest: str


def make_documents(bench: PipelineBench, folder: Path) -> RoutedFolders:
    """Make the documents of the rows about routing, in parallel; smaller sets begin larger ones."""
    sizes = bench.sizes
    counts = {
        "documents": sizes.documents,
        "dense": sizes.dense_documents,
        "few": sizes.few_documents,
        "fewest": sizes.fewest_documents,
    }
    with bench.spark() as session:
        for name, count in counts.items():
            bench.progress(f"making {count:,} documents on Spark")
            made = draw_documents(
                session, bench.schema, ROUTED, count, seed=bench.seed, parts=sizes.files
            )
            writer = made.write.option("parquet.block.size", str(_ROW_GROUP_BYTES))
            writer.parquet(str(folder / name))
    return RoutedFolders(**{name: str(folder / name) for name in counts})


@dataclass(frozen=True, slots=True)
class RouteFigures:
    """What the job and the yardstick took with one set of subscriptions."""

    subscriptions: int
    report: RouteReport
    """Of the last round."""
    readings: Readings
    processor: float
    """Seconds of the processor for the yardstick, in the last round."""
    workers: MemoryWatch

    @property
    def documents(self) -> int:
        return self.report.totals.documents

    @property
    def seconds(self) -> float:
        """What the job took."""
        return self.readings.median(_JOB)

    @property
    def pair_seconds(self) -> float:
        """What the job took for a document and a subscription."""
        return self.seconds / (self.documents * self.subscriptions)


def route_figures(
    bench: PipelineBench, folders: RoutedFolders, scratch: Path
) -> list[RouteFigures]:
    """Measure subscriptions anchored anywhere, then dense ones, in one session with new workers."""
    with bench.spark() as session:
        return [
            _measure(bench, session, parameters, (documents, folders.few), scratch / f"{name}-job")
            for name, parameters, documents in (
                ("anywhere", ANYWHERE, folders.documents),
                ("dense", DENSE, folders.dense),
            )
        ]


def _measure(
    bench: PipelineBench,
    session: Any,
    parameters: PathParameters,
    folders: tuple[str, str],
    scratch: Path,
) -> RouteFigures:
    texts = bench.paths(bench.sizes.subscriptions, parameters)
    scratch.mkdir()
    file = scratch / "subscriptions.txt"
    file.write_text(
        "".join(f"s{number}\t{text}\n" for number, text in enumerate(texts)), encoding="utf-8"
    )
    matcher = fill(texts)
    batches, warming = map(batches_of, folders)
    work = f"{len(texts):,} subscriptions, {sum(map(len, batches)):,} documents"
    reports: list[RouteReport] = []
    processor: list[float] = []

    def run_job(documents: str) -> float:
        bench.progress(f"{work}: {_JOB}")
        job = prepare_route(
            session,
            documents,
            subscriptions=str(file),
            output=str(scratch / "routed"),
            overwrite=True,
        )
        reports.append(job.run())
        return reports[-1].run_seconds

    def run_thread(some: list[Any]) -> float:
        bench.progress(f"{work}: {_THREAD}")
        begun, used = time.perf_counter(), time.process_time()
        matches = count_matches(matcher, some)
        seconds = time.perf_counter() - begun
        processor.append(time.process_time() - used)
        deliveries = reports[-1].totals.deliveries
        if matches != deliveries:
            raise AssertionError(f"{deliveries:,} deliveries, but {matches:,} matches")
        return seconds

    with MemoryWatch(os.getpid()) as watch:
        take_turns({_JOB: lambda: run_job(folders[1]), _THREAD: lambda: run_thread(warming)}, 1)
        readings = take_turns(
            {_JOB: lambda: run_job(folders[0]), _THREAD: lambda: run_thread(batches)},
            bench.rounds,
        )
    return RouteFigures(len(texts), reports[-1], readings, processor[-1], watch)


def batches_of(folder: str) -> list[pa.Array]:
    """The documents of a folder, in memory, in batches that lie next to each other."""
    table = pq.read_table(folder, columns=["content"]).combine_chunks()
    return [batch.column(0) for batch in table.to_batches(max_chunksize=_AT_ONCE)]


def count_matches(matcher: Matcher, batches: list[pa.Array]) -> int:
    """How many subscriptions the documents match."""
    return sum(matcher.match_batch(batch).pattern_offsets[-1] for batch in batches)


def route_rows(bench: PipelineBench, figures: list[RouteFigures]) -> Iterator[Result]:
    """How many times as quick as one thread the job is, and the memory of its workers."""
    selective, dense = figures
    sizes = ("subscriptions", "documents")
    yield _speed("route", "paths anchored anywhere", selective, bench.goal(1.5, *sizes, least=True))
    yield _speed("route-dense", "paths with * and //", dense, None)
    yield Result(
        "route-compile",
        f"{selective.subscriptions:,} paths anchored anywhere compiled and brought to workers",
        selective.report.compile_seconds,
        "s",
        details={"with * and //, s": round(dense.report.compile_seconds, 3)},
    )
    seen = {
        name: one.workers.largest_worker / _MEGABYTE
        for name, one in (
            ("paths anchored anywhere, MB", selective),
            ("paths with * and //, MB", dense),
        )
        if one.workers.largest_worker is not None
    }
    if seen:
        yield Result(
            "route-worker-memory",
            "memory of a Python worker beyond the mapped index",
            max(seen.values()),
            "MB",
            goal=bench.goal(300, *sizes),
            details={name: round(size, 1) for name, size in seen.items()},
        )


def _speed(name: str, kind: str, one: RouteFigures, goal: Goal | None) -> Result:
    ratio, noise = one.readings.ratio(_THREAD, _JOB)
    job, thread = one.seconds, one.readings.median(_THREAD)
    size = one.report.totals.bytes / one.documents
    return Result(
        name,
        f"{one.subscriptions:,} {kind}, {one.documents:,} documents: {_JOB} ÷ {_THREAD}",
        ratio,
        "×",
        noise,
        goal,
        one.report.matches_per_document,
        {
            f"{_JOB}, documents a second": round(one.documents / job),
            f"{_THREAD}, documents a second": round(one.documents / thread),
            f"{_JOB}, s": round(job, 3),
            f"{_THREAD}, s": round(thread, 3),
            f"{_THREAD}, s of the processor": round(one.processor, 3),
            "bytes a document": round(size),
            "deliveries": one.report.totals.deliveries,
        },
    )
