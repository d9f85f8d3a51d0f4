"""Rows about subscriptions that come and go between documents."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from itertools import cycle
from random import Random
from typing import Final

from lab.benchmarks.matching.bench import MatchingBench, mean_matches
from lab.benchmarks.measure import spread
from lab.benchmarks.population import Population
from lab.benchmarks.results import Result
from twigcast.matching import Matcher

_BETWEEN_DOCUMENTS: Final = 20


def updates(bench: MatchingBench) -> Iterator[Result]:
    """Updates a second, and what they cost the next document.

    One subscription in fifty is kept out.  Each update ends one that is there or adds one that is
    not, in turn, so their number stays.  A document follows every twenty updates and is then
    matched twice more: the last time is what it takes when nothing has changed.
    """
    texts = bench.paths(bench.sizes.paths)
    random = Random(bench.seed)
    matcher = bench.fill(texts)
    population = Population(texts, random)
    for key in population.absent:
        matcher.remove(key)
    matches = mean_matches(matcher, bench.documents)
    bench.progress(f"{bench.sizes.updates:,} updates")
    chunks: list[float] = []
    after: list[float] = []
    ratios: list[float] = []
    clock = time.process_time
    documents = cycle(bench.documents)
    for _ in range(bench.sizes.updates // _BETWEEN_DOCUMENTS):
        plan = [population.exchange() for _ in range(_BETWEEN_DOCUMENTS // 2)]
        start = clock()
        for gone, come, text in plan:
            matcher.remove(gone)
            matcher.add(come, text)
        chunks.append((clock() - start) / (2 * len(plan)))
        batch = [next(documents)]
        first, _, last = (_timed_match(matcher, batch) for _ in range(3))
        after.append(first)
        ratios.append(first / last)
    rate = 1 / statistics.mean(chunks)
    yield Result(
        "updates",
        f"updates of {len(matcher):,} paths",
        rate,
        "a second",
        spread(chunks),
        bench.goal(20_000, "paths", least=True),
        None,
        {"updates": len(chunks) * _BETWEEN_DOCUMENTS},
    )
    work = f"the document after {_BETWEEN_DOCUMENTS} updates of {len(matcher):,} paths"
    median = statistics.median(ratios)
    details = {"documents": len(ratios), "median, µs": round(statistics.median(after) * 1e6, 2)}
    yield Result(
        "after-update",
        f"{work}, median",
        median,
        "× warm",
        spread(ratios),
        bench.goal(10, "paths"),
        matches,
        details,
    )
    yield Result(
        "after-update-95",
        f"{work}, 95th percentile",
        statistics.quantiles(ratios, n=20)[-1],
        "× warm",
        goal=bench.goal(10, "paths"),
        matches=matches,
        details=details,
    )


def _timed_match(matcher: Matcher, batch: list[bytes]) -> float:
    start = time.process_time()
    matcher.match_batch(batch)
    return time.process_time() - start
