"""The rows about covering on Spark: one core against two, and the memory that it takes.

The expressions are drawn without regard to distinctness, half of them linear with ``*`` and ``//``,
half of them trees.  Those with fewer than five names are left out, some two thirds with NITF: among
so many there are ``/*`` and others that cover nearly everything, and nothing would be left to
search.  Each measurement is a process of its own with a session of its own, so that
neither has what the other left in memory; before the time is taken, a few expressions have been
covered.  Memory is that of the process and all below it (driver, Java, workers), looked at every
second from outside.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from lab.benchmarks.pipeline.bench import DENSE, PipelineBench, own_session
from lab.benchmarks.pipeline.generate import draw_expressions
from lab.benchmarks.pipeline.memory import MemoryWatch
from lab.benchmarks.results import Result
from twigcast.pipeline import cover
from twigcast.workload import TreeParameters

_DRAWN: Final = 4
"""So many are drawn for each that is wanted; what is left of them is reported."""
_NAME: Final = "[a-zA-Z][a-zA-Z0-9.-]*"
_FEWEST_NAMES: Final = 5
_ONE: Final = "local[1]"
_TWO: Final = "local[2]"
_MEMORY: Final = "3g"
_WARMING: Final = 1_000
_GIGABYTE: Final = 1e9


@dataclass(frozen=True, slots=True)
class CoverRun:
    """What covering took, and its result."""

    seconds: float
    expressions: int
    distinct: int
    forwarded: int


@dataclass(frozen=True, slots=True)
class CoverFigures:
    """A run, and the memory that it took, where the system reports it."""

    run: CoverRun
    bytes: int | None


def cover_figures(bench: PipelineBench, folder: Path) -> dict[str, CoverFigures]:
    """Make the expressions in parallel and cover them, with one core and with two."""
    file = folder / "expressions.parquet"
    count = bench.sizes.expressions
    with bench.spark() as session:
        bench.progress(f"making {count:,} expressions on Spark")
        kinds = (DENSE, TreeParameters())
        made = draw_expressions(
            session, bench.schema, kinds, _DRAWN * count, seed=bench.seed, parts=bench.sizes.files
        )
        made.where(f"regexp_count(xpath, '{_NAME}') >= {_FEWEST_NAMES}").write.parquet(str(file))
    figures = {}
    for master in (_ONE, _TWO):
        bench.progress(f"covering {count:,} expressions, {master}")
        if bench.session is None:
            figures[master] = run_apart(file, master)
        else:
            with MemoryWatch(os.getpid(), 1.0, whole_tree=True) as watch:
                run = _run(bench.session, file)
            figures[master] = CoverFigures(run, watch.largest_tree)
    one, two = (figures[master].run for master in (_ONE, _TWO))
    if (one.distinct, one.forwarded) != (two.distinct, two.forwarded):
        raise AssertionError(f"{_ONE} and {_TWO} do not find the same: {one}, {two}")
    return figures


def run_apart(file: Path, master: str) -> CoverFigures:
    """Cover in a process of its own, watched."""
    command = f"from {__name__} import run_here; run_here()"
    arguments = [sys.executable, "-c", command, str(file), master]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        try:
            with MemoryWatch(process.pid, 1.0, whole_tree=True) as watch:
                output, _ = process.communicate()
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return CoverFigures(CoverRun(**json.loads(output)), watch.largest_tree)


def run_here() -> None:
    """Cover the file of the first argument on the master of the second; write the run as JSON."""
    file, master = Path(sys.argv[1]), sys.argv[2]
    with own_session(master, file.parent, _MEMORY) as session:
        few = session.read.parquet(str(file)).limit(_WARMING)
        cover(session, few, output=str(file.with_name("few")), overwrite=True)
        sys.stdout.write(json.dumps(asdict(_run(session, file))))


def _run(session: Any, file: Path) -> CoverRun:
    output = str(file.with_name("covered"))
    begun = time.perf_counter()
    result = cover(session, str(file), output=output, overwrite=True)
    seconds = time.perf_counter() - begun
    return CoverRun(seconds, result.subscriptions, result.distinct, result.forwarded)


def cover_rows(bench: PipelineBench, figures: dict[str, CoverFigures]) -> Iterator[Result]:
    """How many times as quick two cores are as one, and the memory."""
    one, two = figures[_ONE].run, figures[_TWO].run
    work = f"covering {two.expressions:,} expressions"
    counts: dict[str, float | int | str] = {"distinct": two.distinct, "forwarded": two.forwarded}
    yield Result(
        "cover-cores",
        f"{work}: {_TWO} ÷ {_ONE}",
        one.seconds / two.seconds,
        "×",
        goal=bench.goal(1.5, "expressions", least=True),
        details={
            f"{_ONE}, s": round(one.seconds, 2),
            f"{_TWO}, s": round(two.seconds, 2),
            **counts,
        },
    )
    yield Result(
        "cover-pace",
        f"{work}: {_TWO}",
        two.expressions / two.seconds,
        "expressions a second",
        details=counts,
    )
    peaks = {master: one.bytes / _GIGABYTE for master, one in figures.items() if one.bytes}
    if peaks:
        yield Result(
            "cover-memory",
            f"{work}: memory of all processes",
            max(peaks.values()),
            "GB",
            goal=bench.goal(8, "expressions"),
            details={f"{master}, GB": round(peak, 2) for master, peak in peaks.items()},
        )
