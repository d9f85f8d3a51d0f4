"""The delay of a notification by hops and document size: Figures 10 and 11 of Li, Hou and Jacobsen.

A chain of brokers, the producer at one end and the subscriber at the other.  A document goes as its
paths, and each broker is done with all of them before the next one begins; or it goes as a whole.
The delay is what the links take, which is the same for every strategy, and what the brokers take,
which is measured; the paper's brokers were on PlanetLab, and it gives no latencies.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lab.benchmarks.charts import Line, Panel
from lab.experiments.outcomes import Cell, Experiment, Outcome, Setting, Sheet
from lab.experiments.processing_time import change
from lab.experiments.publications import generate_publications
from lab.experiments.simulated_network import SimulatedNetwork
from lab.published.expression_sets import PROTEIN, SET_A, covered_share, fitted
from lab.published.figures import MOST_DELAY_SAVED, ROUTING
from twigcast.language import Pattern
from twigcast.schema import Schema
from twigcast.simulation import chain

LATENCY: Final = 0.02
"""Seconds on a link, as between cities."""
_LINES: Final = (
    ("without", "paths, no covering"),
    ("covering", "paths, covering"),
    ("whole", "whole documents, covering"),
)
"""Times of a point that are drawn."""
_WITHOUT: Final = "advertisements"
_WITH: Final = "advertisements-covering"


@dataclass(frozen=True, slots=True)
class _Sizes:
    expressions: int
    """Of the news DTD; of the protein DTD there are no more than some thousands."""
    proteins: int
    hops: tuple[int, ...]
    characters: tuple[int, ...]
    documents: int


_FULL: Final = _Sizes(10_000, 4_000, (1, 2, 3, 4, 5, 6, 7), (2_000, 10_000, 20_000, 40_000), 20)
_QUICK: Final = _Sizes(1_000, 1_000, (1, 4, 7), (2_000, 20_000), 5)


@dataclass(frozen=True, slots=True)
class _Point:
    """The mean of a document's processing time in the network, in seconds."""

    hops: int
    characters: int
    without: float
    covering: float
    whole_without: float
    whole: float
    """With covering."""


def notification_delay(setting: Setting) -> Outcome:
    """Send documents of several sizes along chains of several lengths."""
    sizes = _FULL if setting.full else _QUICK
    news = fitted(SET_A, setting.schema, sizes.expressions, setting.progress)
    protein = setting.protein_schema
    workloads = {
        "news": (setting.schema, news.take(setting.schema, sizes.expressions)),
        "proteins": (protein, PROTEIN.take(protein, sizes.proteins)),
    }
    points: dict[str, list[_Point]] = {}
    remarks = []
    for name, (schema, patterns) in workloads.items():
        points[name], means = _measure(setting, sizes, name, schema, patterns)
        remarks.append(
            f"{name}: {len(patterns):,} expressions, {covered_share(patterns):.0%} of which others "
            f"cover; {means}."
        )
    remarks += [
        (
            "Processing is what all brokers along the route need; each link adds "
            f"{LATENCY * 1e3:g} ms, in the column of the delay only.  Of each document the best of "
            "several rounds counts, and the mean of documents.  The subscriber's own broker has "
            "all expressions in either case.  The paper gives its best point; the best of ours "
            "would be the one that noise helped most, so the documents of all sizes are taken "
            "together."
        ),
        (
            "Slopes are those of the largest documents.  What a broker needs to find that nobody "
            "beyond wants a path is not part of the delay."
        ),
    ]
    return Outcome(
        [_summary(points), *(_sheet(name, several) for name, several in points.items())],
        [_panel(name, several, sizes) for name, several in points.items()],
        remarks,
    )


def _measure(
    setting: Setting, sizes: _Sizes, name: str, schema: Schema, patterns: Sequence[Pattern]
) -> tuple[list[_Point], str]:
    published = {
        size: generate_publications(schema, sizes.documents, seed=setting.seed, size=size)
        for size in sizes.characters
    }
    points = []
    for number, hops in enumerate(sizes.hops):
        setting.progress(f"{name}: chains", number, len(sizes.hops))
        overlay = chain(hops + 1, latency=0.0)
        first, last = overlay.brokers[0], overlay.brokers[-1]
        networks = {
            strategy: SimulatedNetwork(
                overlay, strategy, schema, first, {last: patterns}, setting.progress
            )
            for strategy in (_WITHOUT, _WITH)
        }
        for size, publications in published.items():
            paths, whole = (
                _times(networks, contents, setting.rounds)
                for contents in (
                    publications.by_document,
                    [[document] for document in publications.documents],
                )
            )
            points.append(
                _Point(hops, size, paths[_WITHOUT], paths[_WITH], whole[_WITHOUT], whole[_WITH])
            )
    means = ", ".join(
        f"{each.mean:.0f} paths in {each.mean_size / 1e3:.0f} kB" for each in published.values()
    )
    return points, f"documents have {means}"


def _times(
    networks: Mapping[str, SimulatedNetwork], several: Sequence[Sequence[bytes]], rounds: int
) -> dict[str, float]:
    """The mean time that the brokers of each network need for a document, given as its parts.

    The networks take turns, so that what else the machine does hits all of them alike.
    """
    for network in networks.values():
        network.carry(several[0][0])  # brings the tables up to date
    best: dict[str, list[float]] = {name: [] for name in networks}
    for parts in several:
        times: dict[str, list[float]] = {name: [] for name in networks}
        for _ in range(rounds):
            for name, network in networks.items():
                times[name].append(sum(map(network.carry, parts)))
        for name, each in times.items():
            best[name].append(min(each))
    return {name: statistics.fmean(each) for name, each in best.items()}


def _slope(points: Sequence[_Point], kind: str) -> tuple[float, float]:
    """The straight line through times by hops: its slope in seconds, and the share explained."""
    hops = [point.hops for point in points]
    times = [getattr(point, kind) for point in points]
    slope = statistics.linear_regression(hops, times).slope
    return slope, statistics.correlation(hops, times) ** 2


def _summary(points: Mapping[str, Sequence[_Point]]) -> Sheet:
    rows: list[list[Cell]] = []
    for name, several in points.items():
        for kind, fields in (
            ("by paths", ("without", "covering")),
            ("whole documents", ("whole_without", "whole")),
        ):
            most = max(each.hops for each in several)
            farthest = [each for each in several if each.hops == most]
            paper = f"up to {change(1 - MOST_DELAY_SAVED)}" if kind == "by paths" else None
            for chosen, where in ((farthest, f"at {most} hops"), (several, "at all hops")):
                without, covering = (
                    sum(getattr(each, field) for each in chosen) for field in fields
                )
                row = f"{name}, {kind}: processing with covering, {where}, all sizes"
                rows.append(
                    [row, paper if chosen is farthest else None, change(covering / without)]
                )
        largest = [each for each in several if each.characters == several[-1].characters]
        for kind, label in _LINES:
            slope, explained = _slope(largest, kind)
            paper = "linear" if kind in ("without", "covering") else None
            growth = f"{slope * 1e3:.3f} ms (R² = {explained:.2f})"
            rows.append([f"{name}, {label}: processing for a further hop", paper, growth])
    title = "Figures 10 and 11: what covering gains, and how the delay grows"
    return Sheet("notification-delay-summary", title, ("what", "paper", "twigcast"), rows)


def _sheet(name: str, points: Sequence[_Point]) -> Sheet:
    rows: list[list[Cell]] = [
        [
            point.characters,
            point.hops,
            (point.hops * LATENCY + point.covering) * 1e3,
            point.without * 1e3,
            point.covering * 1e3,
            point.covering / point.without,
            point.whole_without * 1e3,
            point.whole * 1e3,
            point.whole / point.whole_without,
        ]
        for point in sorted(points, key=lambda point: (point.characters, point.hops))
    ]
    columns = (
        *("characters", "hops", "delay, covering, ms"),
        *("by paths: processing, no covering, ms", "covering, ms", "ratio"),
        *("whole: processing, no covering, ms", "whole, covering, ms", "whole, ratio"),
    )
    title = f"Figures 10 and 11, {name}: delay of a document"
    return Sheet(f"notification-delay-{name}", title, columns, rows)


def _panel(name: str, points: Sequence[_Point], sizes: _Sizes) -> Panel:
    lines = []
    ends = (sizes.characters[0], sizes.characters[-1])
    for number, size in enumerate(ends):
        chosen = [point for point in points if point.characters == size]
        for style, (kind, label) in enumerate(_LINES):
            lines.append(
                Line(
                    f"{label}, {size / 1e3:g} kB",
                    [(point.hops, getattr(point, kind) * 1e3) for point in chosen],
                    len(_LINES) * number + style,
                )
            )
    return Panel(name, "hops", "milliseconds of processing", lines)


EXPERIMENT: Final = Experiment(
    "notification-delay",
    "the delay of a notification by hops and document size, with and without covering",
    f"{ROUTING}, Figures 10 and 11",
    notification_delay,
    needs_protein=True,
)
