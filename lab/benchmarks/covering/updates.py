"""Rows about sets of patterns that change: the index, and the table that is kept minimal."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from random import Random
from typing import Final

from lab.benchmarks.covering.bench import CoveringBench
from lab.benchmarks.measure import followed, spread
from lab.benchmarks.population import Population
from lab.benchmarks.results import Result
from lab.published.expression_sets import SET_A, SET_B, ExpressionSet, fitted
from twigcast.covering import CoverIndex, CoveringTable

_TOGETHER: Final = 100


def index_updates(bench: CoveringBench) -> Iterator[Result]:
    """Additions and removals a second with many patterns present; parsing is not in it."""
    patterns = bench.patterns(max(bench.counts))
    population = Population(patterns, Random(bench.seed))
    absent = set(population.absent)
    index = CoverIndex()
    for number, pattern in enumerate(patterns):
        if f"s{number}" not in absent:
            index.add(f"s{number}", pattern)
    chunks: list[float] = []
    parts = range(max(2, bench.sizes.updates // (2 * _TOGETHER)))
    for _ in followed(parts, f"updates of {len(index):,} patterns", bench.progress):
        plan = [population.exchange() for _ in range(_TOGETHER)]
        start = time.process_time()
        for gone, come, pattern in plan:
            index.remove(gone)
            index.add(come, pattern)
        chunks.append((time.process_time() - start) / (2 * _TOGETHER))
    yield Result(
        "covering-updates",
        f"add and remove with {len(index):,} patterns present, parsing not counted",
        1 / statistics.fmean(chunks),
        "a second",
        spread(chunks),
        bench.goal(10_000, "patterns", least=True),
        details={"operations": 2 * _TOGETHER * len(chunks)},
    )


def table_updates(bench: CoveringBench) -> Iterator[Result]:
    """All expressions of a set into a covering table, and out of it in random order."""
    for wanted in (SET_A, SET_B):
        chosen = fitted(wanted, bench.schema, bench.sizes.expressions, bench.progress)
        yield _table_result(bench, chosen)


def _table_result(bench: CoveringBench, chosen: ExpressionSet) -> Result:
    bench.progress(f"{chosen.name}: making {chosen.count:,} expressions")
    patterns = chosen.take(bench.schema, chosen.count)
    keys = [f"s{number}" for number in range(len(patterns))]
    table = CoveringTable()
    clock = time.process_time
    start = clock()
    work = followed(patterns, f"{chosen.name}: adding", bench.progress)
    for key, pattern in zip(keys, work, strict=True):
        table.add(key, pattern)
    adding = clock() - start
    forwarded = len(table.forwarded)
    Random(bench.seed).shuffle(keys)
    start = clock()
    for key in followed(keys, f"{chosen.name}: removing", bench.progress):
        table.remove(key)
    removing = clock() - start
    if table.forwarded:
        raise RuntimeError("a table that everybody has left still forwards something")
    return Result(
        f"table-{chosen.name.lower().replace(' ', '-')}",
        f"covering table, {len(keys):,} of {chosen.name} ({chosen.share:.0%} covered) in and out",
        2 * len(keys) / (adding + removing),
        "a second",
        goal=bench.goal(5_000, "expressions", least=True),
        details={
            "additions a second": round(len(keys) / adding),
            "removals a second": round(len(keys) / removing),
            "forwarded": forwarded,
            "W and DO": chosen.parameters.wildcard,
        },
    )
