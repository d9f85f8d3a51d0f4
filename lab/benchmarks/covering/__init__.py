"""The speed of searching sets of patterns for coverings, and of keeping such sets.

    CoveringBench (patterns, queries, methods to search) ──► covering_speed ──┬──► rows beside goals
                                                                           └──► draw_search_times

The peers are the published algorithm and two linear searches (:mod:`lab.published`).
"""

from __future__ import annotations

from lab.benchmarks.covering.bench import (
    FULL_COVERING,
    QUICK_COVERING,
    CoveringBench,
    CoveringSizes,
)
from lab.benchmarks.covering.plots import draw_search_times
from lab.benchmarks.covering.speed import covering_speed

__all__ = [
    "FULL_COVERING",
    "QUICK_COVERING",
    "CoveringBench",
    "CoveringSizes",
    "covering_speed",
    "draw_search_times",
]
