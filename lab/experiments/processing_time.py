"""The time to process an arriving expression: Figure 8 of Li, Hou and Jacobsen.

Without covering, an expression is matched against all advertisements.  With it, the table is
searched first, and only an expression that nothing in it covers is matched.

Two methods of matching are timed: one advertisement after the other, as the paper does, and by the
automaton of the schema (``Schema.overlaps``), which knows all of them at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from lab.benchmarks.charts import Line, Panel
from lab.benchmarks.measure import followed
from lab.experiments.outcomes import Cell, Experiment, Outcome, Setting, Sheet
from lab.published.expression_sets import PROTEIN, find_setting
from lab.published.figures import (
    ADVERTISEMENTS_RATIO,
    MOST_TIME_SAVED,
    PROTEIN_COVERED,
    ROUTING,
)
from twigcast.covering import CoveringTable
from twigcast.language import Pattern
from twigcast.schema import Advertisement, Schema

_FULL_EXPRESSIONS: Final = 5_000
_QUICK_EXPRESSIONS: Final = 500
_BATCHES: Final = 10
_PRINTED: Final = 5
"""One batch of so many is printed."""
_SEEN: Final = 400_000
"""Advertisements that are made at most, to choose from."""
_NEWS_SHARE: Final = 0.5

ONE_BY_ONE: Final = "one by one"
AUTOMATON: Final = "automaton"


@dataclass(frozen=True, slots=True)
class _Batch:
    """Mean seconds for an expression of a batch, and how many of them were covered."""

    without: float
    covering: float
    covered: int
    size: int

    @property
    def ratio(self) -> float:
        """The time with covering as a multiple of that without."""
        return self.covering / self.without


def processing_time(setting: Setting) -> Outcome:
    """Process expressions of both schemas, batch by batch, by each method."""
    count = _FULL_EXPRESSIONS if setting.full else _QUICK_EXPRESSIONS
    news = find_setting(setting.schema, _NEWS_SHARE, count, name="news", progress=setting.progress)
    protein = setting.protein_schema
    workloads = {
        "news": (setting.schema, news.take(setting.schema, count)),
        "proteins": (protein, PROTEIN.take(protein, count)),
    }
    proteins = protein.advertisements()
    asked = {
        "news": chosen_advertisements(
            setting.schema, ADVERTISEMENTS_RATIO * proteins.count(), setting
        ),
        "proteins": list(proteins.take(_SEEN)),
    }
    batches = {}
    for name, (schema, patterns) in workloads.items():
        for method, match in (
            (ONE_BY_ONE, _one_by_one(asked[name])),
            (AUTOMATON, schema.overlaps),
        ):
            work = f"{name}: matching {method}"
            batches[name, method] = _process(setting, patterns, match, work)
    remarks = [
        (
            f"News: {len(workloads['news'][1]):,} expressions, {news.share:.0%} of which are "
            f"covered (W = DO = {news.parameters.wildcard:g}); the paper does not say its share.  "
            f"{len(asked['news']):,} advertisements, spread evenly over the first "
            f"{min(_SEEN, setting.schema.advertisements().count()):,} of the DTD's "
            f"{setting.schema.advertisements().count():,}: {ADVERTISEMENTS_RATIO} times as many as "
            "those of proteins, as in the paper."
        ),
        (
            f"Proteins: {len(workloads['proteins'][1]):,} expressions, all "
            f"{len(asked['proteins']):,} advertisements."
        ),
        (
            "The first expressions are covered by few; the gain comes as the table fills.  One "
            f"batch of {_PRINTED} is printed; the files have all."
        ),
    ]
    return Outcome(
        [_summary(batches), _sheet(batches)],
        [_panel(name, batches) for name in workloads],
        remarks,
    )


def chosen_advertisements(schema: Schema, most: int, setting: Setting) -> list[Advertisement]:
    """At most so many of the schema's advertisements, from beginning to end as far as it goes."""
    there = schema.advertisements()
    seen = min(_SEEN, there.count())
    setting.progress(f"making {seen:,} advertisements")
    return list(islice(there, 0, seen, max(1, seen // most)))[:most]


def _one_by_one(advertisements: Sequence[Advertisement]) -> Callable[[Pattern], object]:
    """All of them are asked: each that overlaps names a neighbour to forward to."""
    return lambda pattern: [each for each in advertisements if each.overlaps(pattern)]


def _process(
    setting: Setting,
    patterns: Sequence[Pattern],
    match: Callable[[Pattern], object],
    work: str,
) -> list[_Batch]:
    size = max(1, len(patterns) // _BATCHES)
    table = CoveringTable()
    match(patterns[0])  # what is made at the first use is not counted
    clock = time.process_time
    batches = []
    starts = range(0, len(patterns) - size + 1, size)
    for start in followed(starts, work, setting.progress):
        batch = patterns[start : start + size]
        begin = clock()
        for pattern in batch:
            match(pattern)
        middle = clock()
        covered = 0
        for number, pattern in enumerate(batch, start):
            if table.add(str(number), pattern):
                match(pattern)
            else:
                covered += 1
        end = clock()
        batches.append(_Batch((middle - begin) / size, (end - middle) / size, covered, size))
    return batches


def _sheet(batches: dict[tuple[str, str], list[_Batch]]) -> Sheet:
    rows: list[list[Cell]] = []
    for name in ("news", "proteins"):
        done = 0
        for both in zip(batches[name, ONE_BY_ONE], batches[name, AUTOMATON], strict=True):
            done += both[0].size
            row: list[Cell] = [name, done, 100 * both[0].covered / both[0].size]
            for batch in both:
                row += [batch.without * 1e3, batch.covering * 1e3, batch.ratio]
            rows.append(row)
    columns = (
        *("schema", "up to expression", "covered, %"),
        *(f"{ONE_BY_ONE}, ms", f"{ONE_BY_ONE}, covering, ms", f"{ONE_BY_ONE}, ratio"),
        *(f"{AUTOMATON}, ms", f"{AUTOMATON}, covering, ms", f"{AUTOMATON}, ratio"),
    )
    title = "Figure 8: mean time of an expression, by batch"
    return Sheet("processing-time", title, columns, rows, every=_PRINTED)


def change(ratio: float) -> str:
    """How much shorter or longer a time is that is so many times another one."""
    return f"{100 * abs(1 - ratio):.1f} % {'shorter' if ratio <= 1 else 'longer'}"


def _summary(batches: dict[tuple[str, str], list[_Batch]]) -> Sheet:
    rows: list[list[Cell]] = []
    for (name, method), several in batches.items():
        paper = change(1 - MOST_TIME_SAVED) if (name, method) == ("news", ONE_BY_ONE) else None
        best = min(batch.ratio for batch in several)
        rows.append([f"{name}, {method}: with covering, in the best batch", paper, change(best)])
    for name in ("news", "proteins"):
        several = batches[name, ONE_BY_ONE]
        share = sum(batch.covered for batch in several) / sum(batch.size for batch in several)
        rows.append(
            [
                f"{name}: covered when they arrive",
                f"{100 * PROTEIN_COVERED:.0f} %" if name == "proteins" else None,
                f"{100 * share:.1f} %",
            ]
        )
    title = "Figure 8: what covering gains"
    return Sheet("processing-time-summary", title, ("what", "paper", "twigcast"), rows)


def _panel(name: str, batches: dict[tuple[str, str], list[_Batch]]) -> Panel:
    lines = []
    for style, method in enumerate((ONE_BY_ONE, AUTOMATON)):
        several = batches[name, method]
        ends = [batch.size * number for number, batch in enumerate(several, 1)]
        without = [batch.without * 1e3 for batch in several]
        covering = [batch.covering * 1e3 for batch in several]
        lines.append(
            Line(f"{method}, no covering", list(zip(ends, without, strict=True)), 2 * style)
        )
        lines.append(
            Line(f"{method}, covering", list(zip(ends, covering, strict=True)), 2 * style + 1)
        )
    return Panel(name, "expressions", "milliseconds an expression", lines, log_upward=True)


EXPERIMENT: Final = Experiment(
    "processing-time",
    "the time to process an expression that arrives, with and without covering",
    f"{ROUTING}, Figure 8",
    processing_time,
    needs_protein=True,
)
