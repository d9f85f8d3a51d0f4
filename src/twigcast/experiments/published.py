"""The figures that the papers print, to stand beside ours.

Chand and Felber measured XSEARCH in C++ on a Pentium IV of 1.5 GHz; Li, Hou and Jacobsen their
broker in C++ on a Xeon of 2.4 GHz.
"""

from __future__ import annotations

from typing import Final

XSEARCH: Final = "Chand and Felber"
ROUTING: Final = "Li, Hou and Jacobsen"

SEARCH_MILLISECONDS: Final[dict[str, dict[int, float]]] = {
    "covered_by": {1_000: 0.23, 2_000: 0.45, 5_000: 1.17, 10_000: 2.41},
    "covering": {1_000: 0.28, 2_000: 0.53, 5_000: 1.30, 10_000: 2.57},
}
"""Table 1: the mean time of a search by the size of the set."""

SEARCH_AT_MOST: Final[dict[int, float]] = {100_000: 50.0}
"""Figure 4: what a search of the largest set stays below, in milliseconds."""

PATTERN_NODES: Final[dict[int, int]] = {
    1_000: 7_600,
    2_000: 15_800,
    5_000: 42_100,
    10_000: 88_100,
    20_000: 183_300,
    50_000: 481_800,
    100_000: 998_600,
}
"""Table 2: the nodes of all patterns of a set, Σ|s|."""

TREE_NODES: Final[dict[int, int]] = {
    1_000: 1_900,
    2_000: 3_600,
    5_000: 8_200,
    10_000: 15_100,
    20_000: 28_100,
    50_000: 62_100,
    100_000: 112_600,
}
"""Table 2: the nodes of their factorization tree, |T(R)|."""

COVERED_SHARE: Final[dict[str, float]] = {"Set A": 0.9, "Set B": 0.5}
"""What others of the set cover."""
MERGED_SHARE: Final[dict[float, float]] = {0.0: 0.87, 0.1: 0.67}
"""Figure 7: what merging leaves of the covered table of Set A, by the degree allowed."""
PROTEIN_SHARE: Final = 0.06
"""What covering leaves of a table of PSD expressions."""

MOST_TIME_SAVED: Final = 0.492
"""Figure 8: how much shorter covering makes the processing of an NITF expression at most."""
PROTEIN_COVERED: Final = 0.9
"""Figure 8: the share of the PSD expressions that are covered."""
ADVERTISEMENTS_RATIO: Final = 35
"""How many times as many advertisements NITF has as PSD."""
