"""Rows about making a matcher: from text, and from a file."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from lab.benchmarks.matching.bench import MatchingBench, fill
from lab.benchmarks.measure import Clock, spread, timed
from lab.benchmarks.results import Detail, Goal, Result
from twigcast.matching import Matcher


def building_and_files(bench: MatchingBench) -> Iterator[Result]:
    """Subscriptions from their texts; a matcher to a file and back."""
    paths = bench.paths(bench.sizes.paths)
    trees = bench.trees(bench.sizes.trees)
    builds = bench.sizes.builds
    for name, texts, goal in (("paths", paths, bench.goal(3, "paths")), ("trees", trees, None)):
        work = f"add {len(texts):,} {name} from text"
        bench.progress(work)
        call = partial(fill, texts)
        built = _seconds(f"build-{name}", work, call, builds, time.process_time, goal)
        yield built
    # The trees were the last.
    yield Result(
        "compile-tree",
        f"compile a tree pattern from text, the mean of {len(trees):,} added",
        built.value / len(trees) * 1e6,
        "µs",
        built.spread,
        bench.goal(20, "trees"),
    )

    matcher = bench.fill(paths)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "matcher"
        work = f"save {len(paths):,} paths"
        bench.progress(work)
        rounds = bench.rounds
        yield _seconds("save", work, lambda: matcher.save(file), rounds, time.perf_counter)
        size = file.stat().st_size
        work = f"load {len(paths):,} paths"
        bench.progress(work)
        yield _seconds(
            "load",
            work,
            lambda: Matcher.load(file),
            rounds,
            time.perf_counter,
            bench.goal(0.1, "paths"),
            first_document_ms=_first_document(file, bench.documents[0]) * 1e3,
        )
    yield Result(
        "file-size",
        f"file of {len(paths):,} paths",
        size / 1e6,
        "MB",
        details={"bytes_each": round(size / max(1, len(paths)), 1)},
    )


def _first_document(file: Path, document: bytes) -> float:
    """How long the first document takes after loading, when the file is first looked into."""
    matcher = Matcher.load(file)
    return timed(lambda: matcher.match_batch([document]))


def _seconds(
    name: str,
    work: str,
    call: Callable[[], object],
    rounds: int,
    clock: Clock,
    goal: Goal | None = None,
    **details: Detail,
) -> Result:
    times = [timed(call, clock) for _ in range(rounds)]
    return Result(name, work, statistics.median(times), "s", spread(times), goal, None, details)
