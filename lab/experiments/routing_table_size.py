"""The size of a routing table by strategy: Figures 6 and 7 of Li, Hou and Jacobsen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from lab.benchmarks.charts import Line, Panel
from lab.benchmarks.measure import followed
from lab.experiments.outcomes import Cell, Experiment, Outcome, Setting, Sheet
from lab.published.expression_sets import PROTEIN, SET_A, SET_B, ExpressionSet, fitted
from lab.published.figures import COVERED_SHARE, MERGED_SHARE, PROTEIN_SHARE, ROUTING
from twigcast.covering import CoveringTable, MergedSet, PathCounter
from twigcast.language import Pattern

_FULL: Final = tuple(range(10_000, 100_001, 10_000))
_QUICK: Final = (500, 1_000, 1_500, 2_000)
_FULL_DEGREES: Final = (0.0, 0.05, 0.1, 0.2, 0.3)
_QUICK_DEGREES: Final = (0.0, 0.1, 0.3)
_DRAWN: Final = tuple(MERGED_SHARE)
"""The degrees that the paper draws as lines."""


@dataclass(slots=True)
class _Sizes:
    """The sizes of the table with so many expressions; ``merged`` by degree."""

    expressions: int
    covering: int
    merged: dict[float, int] = field(default_factory=dict)


def routing_table_size(setting: Setting) -> Outcome:
    """Let expressions arrive, and count what is left by covering and by merging."""
    counts = _FULL if setting.full else _QUICK
    degrees = _FULL_DEGREES if setting.full else _QUICK_DEGREES
    counter = PathCounter(setting.schema)
    sets = [
        fitted(wanted, setting.schema, counts[-1], setting.progress) for wanted in (SET_A, SET_B)
    ]
    grown = {chosen.name: _grow(setting, chosen, counts, degrees, counter) for chosen in sets}
    protein = PROTEIN.take(setting.protein_schema, PROTEIN.count)
    table = CoveringTable()
    for number, pattern in enumerate(protein):
        table.add(str(number), pattern)
    sheets = [
        *(_growth_sheet(name, sizes, degrees) for name, sizes in grown.items()),
        _summary(grown, degrees, len(table.forwarded), len(table)),
    ]
    remarks = [
        *(
            f"{chosen.name}: {chosen.count:,} expressions with W = DO = "
            f"{chosen.parameters.wildcard:g}, {chosen.share:.1%} of which others cover."
            for chosen in sets
        ),
        f"Proteins: {len(protein):,} expressions with DO = {PROTEIN.parameters.descendant:g}.",
        (
            "Merging is done anew at each point, on what covering leaves; D is counted over the "
            f"DTD's paths of at most {counter.depth} elements."
        ),
    ]
    if not setting.full:
        remarks.append(
            f"With {counts[-1]:,} expressions instead of {_FULL[-1]:,}, * and // must be more "
            "frequent for the same shares to be covered (with NITF and all of them, W = DO = "
            f"{SET_A.parameters.wildcard:g} and {SET_B.parameters.wildcard:g}).  Of Set A, "
            "covering then leaves few and wide expressions, and imperfect mergers soon cover most "
            "of them: with D above 0, less is left than in the paper."
        )
    return Outcome(sheets, _panels(grown, degrees), remarks)


def _grow(
    setting: Setting,
    chosen: ExpressionSet,
    counts: Sequence[int],
    degrees: Sequence[float],
    counter: PathCounter,
) -> list[_Sizes]:
    patterns = chosen.take(setting.schema, counts[-1])
    table = CoveringTable()
    rows = []
    for done, count in pairwise((0, *counts)):
        added = patterns[done:count]
        work = f"{chosen.name}: up to {count:,} expressions"
        for number, pattern in enumerate(followed(added, work, setting.progress), done):
            table.add(str(number), pattern)
        sizes = _Sizes(len(table), len(table.forwarded))
        for degree in degrees:
            work = f"{chosen.name}, {count:,} expressions: merging, D ≤ {degree:g}"
            sizes.merged[degree] = _merged_size(setting, table.forwarded, counter, degree, work)
        rows.append(sizes)
    return rows


def _merged_size(
    setting: Setting,
    forwarded: Sequence[Pattern],
    counter: PathCounter,
    degree: float,
    work: str,
) -> int:
    merged = MergedSet(counter, degree)
    merged.update(forwarded, ())
    merged.merge(lambda done, total: setting.progress(work, done, total))
    return len(merged.forwarded)


def _strategies(degrees: Sequence[float]) -> list[str]:
    return ["perfect merging" if not degree else f"merging, D ≤ {degree:g}" for degree in degrees]


def _growth_sheet(name: str, sizes: Sequence[_Sizes], degrees: Sequence[float]) -> Sheet:
    rows: list[list[Cell]] = [
        [each.expressions, each.expressions, each.covering, *each.merged.values()] for each in sizes
    ]
    return Sheet(
        f"table-size-{name.lower().replace(' ', '-')}",
        f"Figure 6, {name}: expressions in the table",
        ("expressions", "no covering", "covering", *_strategies(degrees)),
        rows,
    )


def _summary(
    grown: dict[str, list[_Sizes]], degrees: Sequence[float], left: int, proteins: int
) -> Sheet:
    rows: list[list[Cell]] = []
    for name, sizes in grown.items():
        last = sizes[-1]
        share = f"{1 - COVERED_SHARE[name]:.0%}".replace("%", " %")
        rows.append(
            [f"{name}: covering leaves, of all", share, _percent(last.covering, last.expressions)]
        )
        for degree, strategy in zip(degrees, _strategies(degrees), strict=True):
            printed = MERGED_SHARE.get(degree) if name == SET_A.name else None
            rows.append(
                [
                    f"{name}: {strategy} leaves, of what covering leaves",
                    None if printed is None else f"{printed:.0%}".replace("%", " %"),
                    _percent(last.merged[degree], last.covering),
                ]
            )
    printed_protein = f"{PROTEIN_SHARE:.0%}".replace("%", " %")
    rows.append(["proteins: covering leaves, of all", printed_protein, _percent(left, proteins)])
    title = "Figures 6 and 7: what is left of a table"
    return Sheet("table-size", title, ("what", "paper", "twigcast"), rows)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.1f} %"


def _panels(grown: dict[str, list[_Sizes]], degrees: Sequence[float]) -> list[Panel]:
    panels = []
    for name, sizes in grown.items():
        lines = [
            Line("no covering", [(each.expressions, each.expressions) for each in sizes], 0),
            Line("covering", [(each.expressions, each.covering) for each in sizes], 1),
        ]
        lines += [
            Line(label, [(each.expressions, each.merged[degree]) for each in sizes], style)
            for style, (degree, label) in enumerate(
                zip(_DRAWN, _strategies(_DRAWN), strict=True), 2
            )
        ]
        panels.append(Panel(name, "expressions", "expressions in the table", lines))
    merged = [
        Line(
            f"{name}, merged",
            [(degree, 100 * sizes[-1].merged[degree] / sizes[-1].covering) for degree in degrees],
            style,
        )
        for style, (name, sizes) in enumerate(grown.items(), 4)
    ]
    printed = [(degree, 100 * share) for degree, share in MERGED_SHARE.items()]
    merged.append(Line(f"{ROUTING}: Set A, merged", printed, 0, published=True))
    title = "Merging, of what covering leaves"
    panels.append(Panel(title, "degree D allowed", "per cent left", merged))
    return panels


EXPERIMENT: Final = Experiment(
    "routing-table-size",
    "the size of a routing table without covering, with it, and with merging",
    f"{ROUTING}, Figures 6 and 7",
    routing_table_size,
    needs_protein=True,
)
