"""The time of a search by each method, and a check that all methods give the right answer."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lab.benchmarks.covering.bench import (
    COMPILED,
    LOOP,
    METHODS,
    MODES,
    OURS,
    PUBLISHED,
    CoveringBench,
    spread_evenly,
)
from lab.benchmarks.measure import Measurement, followed, measure, spread, timed
from lab.benchmarks.results import GrowthPoint
from twigcast.covering import CoverIndex, Search
from twigcast.language import Pattern


@dataclass(frozen=True, slots=True)
class IndexTimes:
    """The time of a search through the public index, over all queries, in seconds."""

    mean: float
    median: float
    spread: float
    """That of the means of the rounds."""
    keys: float
    """Keys in an answer, on average."""


@dataclass(frozen=True, slots=True)
class SearchFigures:
    """One mode of search over a set of one size."""

    mode: str
    count: int
    queries: int
    """How many the index was asked."""
    sampled: int
    """How many the published algorithm and the compiled comparison were asked."""
    looped: int
    """How many ``covers`` in a loop was asked; 0 where it was left out."""
    index: IndexTimes
    times: dict[str, Measurement]
    """By method; each has its ratio to ours over the same queries."""
    coverings: int
    """Coverings of the sampled queries."""
    missed: float
    """The share of them that the published algorithm does not find."""

    def points(self) -> Iterator[GrowthPoint]:
        """The time of each method."""
        for method, each in self.times.items():
            coverings = (
                self.coverings * (1 - self.missed if method == PUBLISHED else 1.0) / self.sampled
            )
            yield GrowthPoint(
                f"{method}, {self.mode}",
                self.count,
                each.seconds,
                each.spread,
                each.ratio,
                coverings,
            )


def search_figures(bench: CoveringBench, count: int, *, loop: bool = True) -> list[SearchFigures]:
    """Both modes, over a set of that size.

    Raises RuntimeError where two methods disagree: times of wrong answers mean nothing.
    """
    patterns, queries = bench.patterns(count), bench.queries()
    searches = {
        method: bench.fill(method, patterns) for method in METHODS if loop or method != LOOP
    }
    index = CoverIndex()
    for number, pattern in enumerate(patterns):
        index.add(f"s{number}", pattern)
    sampled = spread_evenly(queries, bench.sizes.sampled)
    looped = spread_evenly(queries, bench.sizes.looped) if loop else []
    figures = []
    for mode in MODES:
        bench.progress(f"{count:,} patterns, {mode}: comparing answers")
        coverings, missed = _agreement(searches, mode, sampled)
        bench.progress(f"{count:,} patterns, {mode}: {len(queries):,} queries")
        through_index = _index_times(index, mode, queries, bench.rounds)
        bench.progress(f"{count:,} patterns, {mode}: {len(sampled):,} queries by three methods")
        times = _sampled_times(searches, mode, sampled, bench.rounds)
        if looped:
            times[LOOP] = _loop_time(bench, searches, mode, looped)
        figures.append(
            SearchFigures(
                mode,
                count,
                len(queries),
                len(sampled),
                len(looped),
                through_index,
                times,
                coverings,
                missed / coverings if coverings else 0.0,
            )
        )
    return figures


def asking(search: Search, mode: str) -> Callable[[Pattern], list[Pattern]]:
    """The search of one mode."""
    return search.covered_by if mode == "covered_by" else search.covering


def _agreement(
    searches: dict[str, Search], mode: str, queries: Sequence[Pattern]
) -> tuple[int, int]:
    """How many coverings there are, and how many of them the published algorithm misses."""
    coverings = missed = 0
    for query in queries:
        ours, compared, published = (
            set(asking(searches[method], mode)(query)) for method in (OURS, COMPILED, PUBLISHED)
        )
        if ours != compared:
            raise _contradiction(COMPILED, mode, query, ours ^ compared)
        if not published <= ours:
            raise _contradiction(PUBLISHED, mode, query, published - ours)
        coverings += len(ours)
        missed += len(ours) - len(published)
    return coverings, missed


def _contradiction(method: str, mode: str, query: Pattern, others: set[Pattern]) -> RuntimeError:
    shown = ", ".join(sorted(map(str, others))[:3])
    return RuntimeError(f"{OURS} and '{method}' contradict each other: {mode} of {query}: {shown}")


def _index_times(
    index: CoverIndex, mode: str, queries: Sequence[Pattern], rounds: int
) -> IndexTimes:
    """Each query timed by itself, in rounds after one that does not count.

    The median of the rounds counts for a query, so that one interruption does not make the mean.
    """
    ask = index.covered_by if mode == "covered_by" else index.covering
    clock = time.perf_counter
    by_round: list[list[float]] = []
    count = 0
    gc.collect()
    for number in range(rounds + 1):
        seconds: list[float] = []
        gc.disable()
        for query in queries:
            start = clock()
            keys = ask(query)
            seconds.append(clock() - start)
            count += len(keys) if not number else 0
        gc.enable()
        if number:
            by_round.append(seconds)
    by_query = [statistics.median(times) for times in zip(*by_round, strict=True)]
    return IndexTimes(
        statistics.fmean(by_query),
        statistics.median(by_query),
        spread([statistics.fmean(seconds) for seconds in by_round]),
        count / len(queries),
    )


def _sampled_times(
    searches: dict[str, Search], mode: str, queries: Sequence[Pattern], rounds: int
) -> dict[str, Measurement]:
    measured = measure(
        mode,
        {
            method: _all_of(searches[method], mode, queries)
            for method in (OURS, PUBLISHED, COMPILED)
        },
        units=len(queries),
        rounds=rounds,
        clock=time.process_time,
    )
    return {each.method: each for each in measured}


def _all_of(search: Search, mode: str, queries: Sequence[Pattern]) -> Callable[[], None]:
    ask = asking(search, mode)

    def run() -> None:
        for query in queries:
            ask(query)

    return run


def _loop_time(
    bench: CoveringBench, searches: dict[str, Search], mode: str, queries: Sequence[Pattern]
) -> Measurement:
    """One reading of ``covers`` in a loop, beside ours over the same queries."""
    loop, ours = asking(searches[LOOP], mode), asking(searches[OURS], mode)
    loop(queries[0])  # what is prepared at the first comparison is not counted
    seconds: list[float] = []
    for query in followed(queries, f"{LOOP}: {mode}", bench.progress):
        start = time.process_time()
        answer = loop(query)
        seconds.append(time.process_time() - start)
        if set(answer) != (expected := set(ours(query))):
            raise _contradiction(LOOP, mode, query, set(answer) ^ expected)
    again = 1 + bench.sizes.sampled // len(queries)
    repeated = _all_of(searches[OURS], mode, [*queries] * again)
    unit = timed(repeated, time.process_time) / (again * len(queries))
    mean = statistics.fmean(seconds)
    return Measurement(mode, LOOP, mean, 0.0, mean / unit, 0.0)
