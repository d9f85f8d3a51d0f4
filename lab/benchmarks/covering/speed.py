"""The speed of covering: all its rows, in one run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Final

from lab.benchmarks.covering.bench import (
    COMPILED,
    LOOP,
    MODE_WORDS,
    MODES,
    PUBLISHED,
    CoveringBench,
)
from lab.benchmarks.covering.search import SearchFigures, search_figures
from lab.benchmarks.covering.updates import index_updates, table_updates
from lab.benchmarks.results import GrowthPoint, Result
from lab.published import PublishedSearch
from twigcast.covering import PatternSearch
from twigcast.language import Axis, Pattern

_MILLISECONDS: Final = (0.05, 0.3, 3.0)
"""What a search may take on average, for the three sizes of the benchmark."""


def covering_speed(bench: CoveringBench) -> tuple[list[Result], list[GrowthPoint]]:
    """Every row, in the order in which people read them, and the time of each method by size."""
    figures = [one for count in bench.counts for one in search_figures(bench, count)]
    results = [
        *_search_times(bench, figures),
        *_growth(bench, figures),
        *_ratios(bench, figures),
        *_answers(figures),
        *_tree_size(bench),
        *index_updates(bench),
        *table_updates(bench),
    ]
    return results, [point for one in figures for point in one.points()]


def _search_times(bench: CoveringBench, figures: Sequence[SearchFigures]) -> Iterator[Result]:
    counts = sorted({one.count for one in figures})
    bounds = dict(zip(counts, _MILLISECONDS, strict=False))
    for one in figures:
        work = f"{MODE_WORDS[one.mode]}, {one.count:,} patterns"
        details = {"queries": one.queries}
        yield Result(
            f"search-{one.mode}-{one.count}",
            f"{work}: mean",
            one.index.mean * 1e3,
            "ms",
            one.index.spread,
            bench.goal(bounds[one.count], "patterns"),
            one.index.keys,
            details,
        )
        yield Result(
            f"search-{one.mode}-{one.count}-median",
            f"{work}: median",
            one.index.median * 1e3,
            "ms",
            matches=one.index.keys,
            details=details,
        )


def _growth(bench: CoveringBench, figures: Sequence[SearchFigures]) -> Iterator[Result]:
    for mode in MODES:
        points = [(one.count, one.index.mean) for one in figures if one.mode == mode]
        counts = [count for count, _ in points]
        if len(counts) < 2:
            continue
        yield Result(
            f"growth-{mode}",
            f"{MODE_WORDS[mode]}: exponent x of time ~ |R|^x, {min(counts):,} to {max(counts):,}",
            exponent(points),
            "",
            goal=bench.goal(1.0, "patterns"),
        )


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the straight line through the points, both scales being logarithmic."""
    xs, ys = ([math.log(point[axis]) for point in points] for axis in (0, 1))
    return statistics.linear_regression(xs, ys).slope


def _ratios(bench: CoveringBench, figures: Sequence[SearchFigures]) -> Iterator[Result]:
    largest = max(one.count for one in figures)
    for one in (one for one in figures if one.count == largest):
        for method, name, asked, goal in (
            (LOOP, "loop", one.looped, bench.goal(1_000, "patterns", least=True)),
            (COMPILED, "compiled", one.sampled, None),
            (PUBLISHED, "published", one.sampled, bench.goal(5, "patterns", least=True)),
        ):
            times = {f"{each}, µs": round(t.seconds * 1e6, 2) for each, t in one.times.items()}
            yield Result(
                f"{name}-{one.mode}",
                f"{MODE_WORDS[one.mode]}, {largest:,}: {method} ÷ ours ({asked:,} queries)",
                one.times[method].ratio,
                "× ours",
                one.times[method].ratio_spread,
                goal,
                one.coverings / one.sampled,
                {"queries": asked, **times},
            )


def _answers(figures: Sequence[SearchFigures]) -> Iterator[Result]:
    """The share that the published algorithm misses; that ours misses none was checked before."""
    largest = max(one.count for one in figures)
    for one in (one for one in figures if one.count == largest):
        yield Result(
            f"missed-{one.mode}",
            f"{MODE_WORDS[one.mode]}, {largest:,}: coverings that {PUBLISHED} misses",
            one.missed * 100,
            "%",
            matches=one.coverings / one.sampled,
            details={"queries": one.sampled, "coverings": one.coverings},
        )


def _tree_size(bench: CoveringBench) -> Iterator[Result]:
    """The nodes of the factorization tree as a share of those of all patterns."""
    patterns = bench.patterns(max(bench.counts))
    nodes, descents = count_nodes(patterns)
    ours, theirs = PatternSearch(), PublishedSearch()
    for pattern in patterns:
        ours.add(pattern)
        theirs.add(pattern)
    work = f"nodes of the factorization tree ÷ nodes of {len(patterns):,} patterns"
    yield Result(
        "tree-size",
        work,
        100 * ours.trie_nodes / nodes,
        "%",
        goal=bench.goal(11.3, "patterns"),
        details={"tree": ours.trie_nodes, "patterns": nodes},
    )
    yield Result(
        "tree-size-published",
        f"{work}, {PUBLISHED}, // being a node",
        100 * theirs.trie_nodes / (nodes + descents),
        "%",
        details={"tree": theirs.trie_nodes, "patterns": nodes + descents},
    )


def count_nodes(patterns: Sequence[Pattern]) -> tuple[int, int]:
    """The steps of all patterns, and how many of them stand behind ``//``."""
    steps = descents = 0
    for pattern in patterns:
        for step in pattern.steps():
            steps += 1
            descents += step.axis is Axis.DESCENDANT
    return steps, descents
