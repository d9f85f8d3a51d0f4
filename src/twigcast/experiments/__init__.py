"""Measurements of our own speed beside peers, in one run.

    measure ──► foundation_speed: parsing, reading, one match, overlap
       │
       └──────► MatchingBench (documents, subscriptions, sizes)
                   │
                   ├──► matching_speed: rows of figures beside goals ──► Result ──┐
                   └──► matching_growth: time against subscriptions ──► GrowthPoint ──► plots

``measure`` times several ways to do the same work in alternating rounds, so that what else the
machine does hits all of them alike, and keeps the spread beside the median.  Ratios within a run
are what counts; absolute times are noisy.  Each module ``matching_*`` is a few rows on one subject;
it states its workload.  The command line prints, stores and draws what they find.
"""

from __future__ import annotations

from twigcast.experiments.foundation_speed import foundation_speed
from twigcast.experiments.machine import machine_facts
from twigcast.experiments.matching_bench import FULL_SIZES, QUICK_SIZES, MatchingBench, Sizes
from twigcast.experiments.matching_growth import matching_growth
from twigcast.experiments.matching_speed import matching_speed
from twigcast.experiments.measure import Measurement, measure
from twigcast.experiments.plots import can_draw, draw_goals, draw_growth, readable
from twigcast.experiments.results import Goal, GrowthPoint, Result

__all__ = [
    "FULL_SIZES",
    "QUICK_SIZES",
    "Goal",
    "GrowthPoint",
    "MatchingBench",
    "Measurement",
    "Result",
    "Sizes",
    "can_draw",
    "draw_goals",
    "draw_growth",
    "foundation_speed",
    "machine_facts",
    "matching_growth",
    "matching_speed",
    "measure",
    "readable",
]
