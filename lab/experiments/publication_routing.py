"""The time to route a publication at one broker: Table 1 of Li, Hou and Jacobsen.

A broker's table is filled with what each strategy leaves of a set of expressions, and the path
publications of generated documents are matched with it, one by one, as the paper does.  Beside it
stands what we do instead: the document is matched as a whole, once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from lab.benchmarks.charts import Line, Panel
from lab.benchmarks.measure import Measurement, measure
from lab.experiments.broker_tables import (
    covered_table,
    matched,
    merged_table,
    publication_table,
)
from lab.experiments.outcomes import Cell, Experiment, Outcome, Setting, Sheet
from lab.experiments.publications import Publications, generate_publications
from lab.published.expression_sets import SET_A, SET_B, ExpressionSet, fitted
from lab.published.figures import (
    COVERED_SHARE,
    MERGED_SHARE,
    PUBLICATION_MILLISECONDS,
    ROUTED_DOCUMENTS,
    ROUTED_PUBLICATIONS,
    ROUTING,
)
from twigcast.covering import PathCounter
from twigcast.language import Pattern

_FULL_EXPRESSIONS: Final = 100_000
_QUICK_EXPRESSIONS: Final = 3_000
_QUICK_DOCUMENTS: Final = 50
_SIZE: Final = 7_500
"""Characters of a document; then one of NITF has some 46 distinct paths, as in the paper."""
_DEGREE: Final = 0.1


@dataclass(frozen=True, slots=True)
class _Routed:
    """What a strategy leaves of the table, and the seconds to route with it."""

    name: str
    size: int
    publication: Measurement
    document: Measurement


def publication_routing(setting: Setting) -> Outcome:
    """Fill tables by each strategy and route the same publications with all of them."""
    count = _FULL_EXPRESSIONS if setting.full else _QUICK_EXPRESSIONS
    documents = ROUTED_DOCUMENTS if setting.full else _QUICK_DOCUMENTS
    sets = [fitted(wanted, setting.schema, count, setting.progress) for wanted in (SET_A, SET_B)]
    publications = generate_publications(setting.schema, documents, seed=setting.seed, size=_SIZE)
    counter = PathCounter(setting.schema)
    routed = {chosen.name: _route(setting, chosen, count, publications, counter) for chosen in sets}
    remarks = [
        *(
            f"{chosen.name}: {chosen.count:,} expressions with W = DO = "
            f"{chosen.parameters.wildcard:g}, {chosen.share:.1%} of which others cover."
            for chosen in sets
        ),
        (
            f"{documents:,} documents of {publications.mean_size:,.0f} bytes on average have "
            f"{len(publications.paths):,} distinct paths, {publications.mean:.1f} each; the "
            f"paper's {ROUTED_DOCUMENTS} have {ROUTED_PUBLICATIONS:,}, "
            f"{ROUTED_PUBLICATIONS / ROUTED_DOCUMENTS:.1f} each."
        ),
        (
            "Ratios are to no covering.  Here all expressions of a table are matched in one pass "
            "over the publication, whose time hardly depends on how many there are, so a smaller "
            "table gains less than in the paper.  A whole document is read once instead of all "
            "its paths."
        ),
    ]
    return Outcome(
        [_sheet(name, several, publications.mean) for name, several in routed.items()],
        [_panel(name, several, publications.mean) for name, several in routed.items()],
        remarks,
    )


def _route(
    setting: Setting,
    chosen: ExpressionSet,
    count: int,
    publications: Publications,
    counter: PathCounter,
) -> list[_Routed]:
    patterns = chosen.take(setting.schema, count)
    covered = covered_table(patterns, chosen.name, setting.progress)
    perfect, imperfect = (
        merged_table(covered, counter, degree, chosen.name, setting.progress)
        for degree in (0.0, _DEGREE)
    )
    names = PUBLICATION_MILLISECONDS[chosen.name]
    left: dict[str, Sequence[Pattern]] = dict(
        zip(names, (patterns, covered, perfect, imperfect), strict=True)
    )
    tables = {name: publication_table(each) for name, each in left.items()}
    times = {}
    for work, items in (("paths", publications.paths), ("documents", publications.documents)):
        setting.progress(f"{chosen.name}: routing {len(items):,} {work}")
        times[work] = measure(
            f"{chosen.name}: {work}",
            {name: partial(matched, table, items) for name, table in tables.items()},
            units=len(items),
            rounds=setting.rounds,
            clock=time.process_time,
        )
    return [
        _Routed(name, len(left[name]), path, document)
        for name, path, document in zip(names, times["paths"], times["documents"], strict=True)
    ]


def _sheet(name: str, several: Sequence[_Routed], mean: float) -> Sheet:
    printed = PUBLICATION_MILLISECONDS[name]
    yardstick = printed[several[0].name]
    rows: list[list[Cell]] = [
        [
            one.name,
            one.size,
            printed[one.name],
            printed[one.name] / yardstick,
            one.publication.seconds * 1e6,
            one.publication.ratio,
            one.document.seconds * 1e6,
            one.document.ratio,
            one.document.seconds * 1e6 / mean,
        ]
        for one in several
    ]
    columns = (
        *("table", "expressions left", "paper, ms", "paper, ratio"),
        *("a publication, µs", "ratio"),
        *("a whole document, µs", "its ratio", "for each of its paths, µs"),
    )
    title = f"Table 1, {name}: mean time to route"
    return Sheet(f"publication-routing-{name.lower().replace(' ', '-')}", title, columns, rows)


def _panel(name: str, several: Sequence[_Routed], mean: float) -> Panel:
    by_path = [(one.size, one.publication.seconds * 1e6) for one in several]
    whole = [(one.size, one.document.seconds * 1e6 / mean) for one in several]
    covered = (1 - COVERED_SHARE[name]) * _FULL_EXPRESSIONS
    sizes = [float(_FULL_EXPRESSIONS), covered]
    if name == SET_A.name:  # of Set B the paper does not say what merging leaves
        sizes += [covered * share for share in MERGED_SHARE.values()]
    printed = [each * 1e3 for each in PUBLICATION_MILLISECONDS[name].values()]
    lines = [
        Line("a publication", sorted(by_path), 0),
        Line("whole documents, for each path", sorted(whole), 1),
        Line(f"{ROUTING}: a publication", sorted(zip(sizes, printed, strict=False)), 2, True),
    ]
    return Panel(
        name, "expressions in the table", "microseconds", lines, log_across=True, log_upward=True
    )


EXPERIMENT: Final = Experiment(
    "publication-routing",
    "the time to route a publication at a broker, by what is done with its table",
    f"{ROUTING}, Table 1",
    publication_routing,
)
