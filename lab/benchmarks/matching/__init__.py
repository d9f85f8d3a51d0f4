"""The speed of matching documents with many subscriptions.

    MatchingBench (documents, subscriptions, sizes) ──┬──► matching_speed: rows beside goals
                                                      └──► matching_growth ──► draw_growth

The yardstick is bare expat.
"""

from __future__ import annotations

from lab.benchmarks.matching.bench import FULL_SIZES, QUICK_SIZES, MatchingBench, Sizes
from lab.benchmarks.matching.growth import matching_growth
from lab.benchmarks.matching.plots import draw_growth
from lab.benchmarks.matching.speed import matching_speed

__all__ = [
    "FULL_SIZES",
    "QUICK_SIZES",
    "MatchingBench",
    "Sizes",
    "draw_growth",
    "matching_growth",
    "matching_speed",
]
