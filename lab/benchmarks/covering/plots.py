"""The time of a search against the size of the set, beside what the paper printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lab.benchmarks.charts import Line, Panel, draw_panels
from lab.benchmarks.covering.bench import METHODS, MODE_WORDS, MODES
from lab.benchmarks.results import GrowthPoint
from lab.published.figures import SEARCH_AT_MOST, SEARCH_MILLISECONDS, XSEARCH


def search_panels(points: Sequence[GrowthPoint]) -> list[Panel]:
    """The time of a search against the size of the set, a panel for each mode."""
    largest = max(point.subscriptions for point in points)
    panels = []
    for mode in MODES:
        lines = [
            Line(
                method,
                [
                    (point.subscriptions, point.seconds * 1e3)
                    for point in points
                    if point.method == f"{method}, {mode}"
                ],
                style,
            )
            for style, method in enumerate(METHODS)
        ]
        printed = [*SEARCH_MILLISECONDS[mode].items()]
        lines.append(Line(f"{XSEARCH}, Table 1", printed, 4, published=True))
        # The axis is for what was run: a bound far beyond it would press all else together.
        bound = [(count, limit) for count, limit in SEARCH_AT_MOST.items() if count <= largest]
        lines.append(Line(f"{XSEARCH}, Figure 4 (less than)", bound, 5, published=True))
        title = f"{mode}: {MODE_WORDS[mode]}"
        panels.append(
            Panel(
                title, "patterns", "milliseconds a search", lines, log_across=True, log_upward=True
            )
        )
    return panels


def draw_search_times(points: Sequence[GrowthPoint], folder: Path, note: str = "") -> list[Path]:
    """The time of a search against the size of the set, both logarithmic, beside the paper's."""
    return draw_panels(search_panels(points), folder, "covering-growth", note)
