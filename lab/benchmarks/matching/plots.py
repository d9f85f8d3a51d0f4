"""The time to match a document against the number of subscriptions, as a plot."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lab.benchmarks.charts import Level, Line, Panel, draw_panels
from lab.benchmarks.matching.bench import EXPAT
from lab.benchmarks.matching.growth import LXML_PATHS, PATHS, TREES
from lab.benchmarks.results import GrowthPoint

_METHODS: Final = (PATHS, TREES, LXML_PATHS)


def draw_growth(points: Sequence[GrowthPoint], folder: Path, note: str = "") -> list[Path]:
    """The time for a document against the number of subscriptions, both logarithmic."""
    lines = [
        Line(
            method,
            [(p.subscriptions, p.seconds * 1e6) for p in points if p.method == method],
            style,
        )
        for style, method in enumerate(_METHODS)
    ]
    yardstick = [point.seconds * 1e6 for point in points if point.method == EXPAT]
    levels = []
    if yardstick:
        level = statistics.median(yardstick)
        levels.append(Level(f"{EXPAT}: {level:,.0f} µs", level))
    panel = Panel(
        "Time to match a document of 4,000 bytes",
        "subscriptions",
        "microseconds a document",
        lines,
        levels,
        log_across=True,
        log_upward=True,
    )
    return draw_panels([panel], folder, "growth", note)
