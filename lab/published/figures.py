"""The figures that the papers print, to stand beside ours.

Chand and Felber measured XSEARCH in C++ on a Pentium IV of 1.5 GHz; Li, Hou and Jacobsen their
broker in C++ on a Xeon of 2.4 GHz; NaradaBrokering its matching in Java, with Xalan, at 1.2 GHz.
"""

from __future__ import annotations

from typing import Final

XSEARCH: Final = "Chand and Felber"
ROUTING: Final = "Li, Hou and Jacobsen"
NARADA: Final = "NaradaBrokering"

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

ROUTED_DOCUMENTS: Final = 500
ROUTED_PUBLICATIONS: Final = 23_098
"""Table 1: what is routed at a broker with 100,000 expressions."""
PUBLICATION_MILLISECONDS: Final[dict[str, dict[str, float]]] = {
    "Set A": {
        "no covering": 13.96,
        "covering": 2.15,
        "perfect merging": 1.87,
        "imperfect merging": 1.27,
    },
    "Set B": {
        "no covering": 14.23,
        "covering": 7.47,
        "perfect merging": 6.88,
        "imperfect merging": 6.38,
    },
}
"""Table 1: the mean time to route a publication, by set and what is done with the table."""

NETWORK_PUBLICATIONS: Final = 4_182
"""Tables 2 and 3: the publications of 50 documents."""
NETWORK_MESSAGES: Final[dict[int, dict[str, int]]] = {
    7: {
        "flooding": 58_138,
        "covering": 50_931,
        "advertisements": 39_849,
        "advertisements-covering": 38_492,
        "perfect-merging": 25_789,
        "imperfect-merging": 26_146,
    },
    127: {
        "flooding": 654_871,
        "covering": 572_890,
        "advertisements": 398_810,
        "advertisements-covering": 326_796,
        "perfect-merging": 254_900,
        "imperfect-merging": 257_567,
    },
}
"""Tables 2 and 3: the messages that all brokers receive, by brokers and strategy."""
NETWORK_MILLISECONDS: Final[dict[int, dict[str, float]]] = {
    7: {
        "flooding": 29.02,
        "covering": 7.50,
        "advertisements": 28.9,
        "advertisements-covering": 7.45,
        "perfect-merging": 5.15,
        "imperfect-merging": 3.92,
    },
    127: {
        "flooding": 97.82,
        "covering": 20.74,
        "advertisements": 98.09,
        "advertisements-covering": 20.89,
        "perfect-merging": 16.78,
        "imperfect-merging": 12.24,
    },
}
"""Tables 2 and 3: the mean delay of a notification."""

FALSE_POSITIVES_BELOW: Final[dict[float, float]] = {0.1: 0.02}
"""Figure 9: the share of false positives that a degree below that keeps to."""
MOST_DELAY_SAVED: Final = 0.74
"""Figures 10 and 11: how much shorter covering makes the delay of a notification at most."""

NARADA_DESTINATIONS: Final = 32
"""Figure 2: over so many destinations the profiles are spread."""
NARADA_MATCH_MILLISECONDS: Final = 3.0
"""Section 6: what it takes to match a document with one profile."""
NARADA_SKIPPING_MILLISECONDS: Final = (120.0, 170.0)
"""Figure 2: the least and the most with skipping, however many profiles there are."""
NARADA_DOCUMENT: Final = b"""<?xml version="1.0" encoding="ISO-8859-1"?>
<menu>
<softdrinks>
<brand>Minute Maid</brand>
<fruit>Apple</fruit>
<source>Brazil</source>
<company>Coca Cola</company>
<price>2.90</price>
<year>2003</year>
</softdrinks>
</menu>
"""
"""Figure 4: the document."""
