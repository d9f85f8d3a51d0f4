"""Measurements of our own speed beside peers, and the papers' tables and figures run again.

    measure ──► foundation_speed: parsing, reading, one match, overlap
       │
       ├──────► MatchingBench (documents, subscriptions, sizes)
       │           ├──► matching_speed: rows of figures beside goals ──► Result ──┐
       │           └──► matching_growth: time against subscriptions ─► GrowthPoint ──► plots
       │                                                                          │
       ├──────► CoveringBench (patterns, queries, ways to search)                 │
       │           └──► covering_speed: rows, and time against patterns ──────────┤
       │                                                                          │
       ├──────► PipelineBench (documents, subscriptions, sessions of Spark)       │
       │           └──► pipeline_speed: rows of routing, asking, covering ────────┤
       │                                                                          │
       ├──────► BrokerBench (networks of processes, publishers, subscribers)      │
       │           └──► broker_speed: throughput, latency, memory ────────────────┘
       │
       └──────► EXPERIMENTS: each runs with a Setting and gives an Outcome: sheets, panels, remarks

``measure`` times several ways to do the same work in alternating rounds, so that what else the
machine does hits all of them alike, and keeps the spread beside the median.  Ratios within a run
are what counts; absolute times are noisy.  Each module ``matching_*``, ``covering_*``,
``pipeline_*`` or ``broker_*`` is a few rows on one subject; it states its workload.  Those of the
pipeline need Spark, those of brokers gRPC, and both are imported when they run.  An experiment is a
module of its own, named for what it shows, and the papers' figures are in ``published``.  The
command line prints, stores and draws what they find.
"""

from __future__ import annotations

from twigcast.experiments.catalogue import EXPERIMENTS
from twigcast.experiments.charts import can_draw
from twigcast.experiments.covering_bench import (
    FULL_COVERING,
    QUICK_COVERING,
    CoveringBench,
    CoveringSizes,
)
from twigcast.experiments.covering_plots import draw_search_times
from twigcast.experiments.covering_speed import covering_speed
from twigcast.experiments.foundation_speed import foundation_speed
from twigcast.experiments.machine import machine_facts
from twigcast.experiments.matching_bench import FULL_SIZES, QUICK_SIZES, MatchingBench, Sizes
from twigcast.experiments.matching_growth import matching_growth
from twigcast.experiments.matching_speed import matching_speed
from twigcast.experiments.measure import Measurement, measure
from twigcast.experiments.outcomes import Experiment, Outcome, Setting, Sheet
from twigcast.experiments.pipeline_bench import (
    FULL_PIPELINE,
    QUICK_PIPELINE,
    PipelineBench,
    PipelineSizes,
)
from twigcast.experiments.pipeline_speed import pipeline_speed
from twigcast.experiments.plots import draw_goals, draw_growth
from twigcast.experiments.results import Goal, GrowthPoint, Result, readable

__all__ = [
    "EXPERIMENTS",
    "FULL_COVERING",
    "FULL_PIPELINE",
    "FULL_SIZES",
    "QUICK_COVERING",
    "QUICK_PIPELINE",
    "QUICK_SIZES",
    "CoveringBench",
    "CoveringSizes",
    "Experiment",
    "Goal",
    "GrowthPoint",
    "MatchingBench",
    "Measurement",
    "Outcome",
    "PipelineBench",
    "PipelineSizes",
    "Result",
    "Setting",
    "Sheet",
    "Sizes",
    "can_draw",
    "covering_speed",
    "draw_goals",
    "draw_growth",
    "draw_search_times",
    "foundation_speed",
    "machine_facts",
    "matching_growth",
    "matching_speed",
    "measure",
    "pipeline_speed",
    "readable",
]
