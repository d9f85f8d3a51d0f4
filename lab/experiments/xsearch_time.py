"""The time of a search against the size of the set: Table 1 and Figure 4 of Chand and Felber."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from lab.benchmarks.covering.bench import (
    COMPILED,
    FULL_COVERING,
    LOOP,
    METHODS,
    MODES,
    OURS,
    PUBLISHED,
    CoveringBench,
)
from lab.benchmarks.covering.plots import search_panels
from lab.benchmarks.covering.search import SearchFigures, search_figures
from lab.experiments.outcomes import Cell, Experiment, Outcome, Setting, Sheet
from lab.published.figures import SEARCH_AT_MOST, SEARCH_MILLISECONDS, XSEARCH

# All methods get the same queries, so that the times of a row can be divided by each other.
_FULL: Final = replace(
    FULL_COVERING,
    patterns=(1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000),
    sampled=50,
    looped=50,
)
_QUICK: Final = replace(_FULL, name="quick", patterns=(1_000, 2_000, 5_000, 10_000))


def xsearch_time(setting: Setting) -> Outcome:
    """Search sets of growing size in both modes, by four methods."""
    bench = CoveringBench(
        setting.schema,
        _FULL if setting.full else _QUICK,
        seed=setting.seed,
        rounds=setting.rounds,
        progress=setting.progress,
    )
    figures = [one for count in bench.counts for one in search_figures(bench, count)]
    sheets = [_sheet(mode, [one for one in figures if one.mode == mode]) for mode in MODES]
    points = [point for one in figures for point in one.points()]
    asked = figures[0]
    return Outcome(
        sheets,
        search_panels(points),
        [
            (
                "Milliseconds are the mean of a search.  All four methods were timed with the same "
                f"{asked.sampled:,} queries, and table, plot and ratios are of these; only the "
                f"column 'all' is CoverIndex, keys included, with all {asked.queries:,} queries."
            ),
            (
                f"XSEARCH is '{PUBLISHED}', compiled here as ours is; Linear is '{COMPILED}', and "
                f"loop is '{LOOP}'.  'coverings' are those of a query, 'missed' those of them "
                "that XSEARCH does not find."
            ),
            (
                "The paper's times are of another machine and another time; XSEARCH beside ours is "
                "what can be compared."
            ),
            (f"The answers of {OURS}, {COMPILED} and {LOOP} were compared and are equal."),
        ],
    )


def _sheet(mode: str, figures: list[SearchFigures]) -> Sheet:
    rows: list[list[Cell]] = []
    for one in figures:
        ours, published, compiled, loop = (one.times[method].seconds * 1e3 for method in METHODS)
        limit = SEARCH_AT_MOST.get(one.count)
        printed: Cell = SEARCH_MILLISECONDS[mode].get(one.count)
        rows.append(
            [
                one.count,
                printed if limit is None else f"< {limit:g}",
                one.index.mean * 1e3,
                *(ours, published, compiled, loop),
                *(published / ours, loop / ours),
                one.coverings / one.sampled,
                one.missed * 100,
            ]
        )
    columns = (
        "patterns",
        "paper, ms",
        *("all, ms", "ours, ms", "XSEARCH, ms", "Linear, ms", "loop, ms"),
        *("XSEARCH ÷ ours", "loop ÷ ours"),
        *("coverings", "missed, %"),
    )
    return Sheet(f"xsearch-{mode.replace('_', '-')}", f"Table 1, {mode}", columns, rows)


EXPERIMENT: Final = Experiment(
    "xsearch-time",
    "the time of a search for coverings as the set grows",
    f"{XSEARCH}, Table 1 and Figure 4",
    xsearch_time,
)
