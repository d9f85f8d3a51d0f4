"""Messages and delays in a network, by strategy: Tables 2 and 3 of Li, Hou and Jacobsen.

Binary trees of brokers, a subscriber with distinct expressions of the protein DTD at each leaf, one
producer at a broker that the seed chooses.  Documents are published as their paths, repeated ones
included, and once more as wholes.  The paper counts the messages that all brokers receive,
advertisements, subscriptions and publications; so do we, and cancellations among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from lab.benchmarks.charts import Line, Panel
from lab.experiments.outcomes import Cell, Experiment, Outcome, Setting, Sheet
from lab.experiments.publications import generate_publications
from lab.experiments.simulated_network import (
    ControlMessages,
    Sent,
    SimulatedNetwork,
    draw,
    sent_once,
)
from lab.published.expression_sets import PROTEIN, covered_share
from lab.published.figures import (
    NETWORK_MESSAGES,
    NETWORK_MILLISECONDS,
    NETWORK_PUBLICATIONS,
    ROUTING,
)
from twigcast.language import Pattern
from twigcast.routing import GATHERING, PAPER_STRATEGIES, Overlay
from twigcast.simulation import balanced_tree, draft_tree

LATENCY: Final = 0.0001
"""Seconds on a link, as in a local network."""
_SIZE: Final = 3_400
"""Characters of a document; then 50 have some 4,182 paths, repeated ones included."""


@dataclass(frozen=True, slots=True)
class _Case:
    """An overlay and what is subscribed to and published in it."""

    name: str
    overlay: Overlay
    printed: int
    """The brokers of the table in the paper to compare with."""
    expressions: int
    """Of each subscriber."""
    documents: int


def _tree(levels: int) -> Overlay:
    return balanced_tree(levels, 2, latency=LATENCY)


_FULL: Final = (
    _Case("7 brokers", _tree(3), 7, 1_000, 50),
    _Case("8 brokers of the draft", draft_tree(latency=LATENCY), 7, 1_000, 50),
    _Case("127 brokers", _tree(7), 127, 1_000, 50),
)
_QUICK: Final = (
    _Case("7 brokers", _tree(3), 7, 250, 12),
    _Case("31 brokers", _tree(5), 127, 60, 3),
)
_GATHERED: Final = (0.0, 0.001, GATHERING, 0.025, 0.1, 0.25, 1.0)
"""For how many seconds brokers gather, where that is compared."""
_INTERVAL: Final = 0.001
"""Seconds between two expressions there."""
_GATHERING: Final = ("advertisements-covering", "perfect-merging", "imperfect-merging")
_POOL: Final = 2
"""Times as many expressions as a subscriber has are there to choose from."""


@dataclass(frozen=True, slots=True)
class _Row:
    """What a strategy came to."""

    control: ControlMessages
    paths: Sent
    whole: Sent
    sent_once: int | None

    @property
    def messages(self) -> int:
        """The network traffic, with documents published by paths."""
        return self.control.messages + self.paths.messages

    @property
    def processing(self) -> float:
        """The part of the delay that brokers need, in seconds."""
        return self.paths.delay - self.paths.hops * LATENCY


def network_traffic(setting: Setting) -> Outcome:
    """Let each strategy spread the same subscriptions, and route the same publications."""
    schema = setting.protein_schema
    cases = _FULL if setting.full else _QUICK
    largest = _POOL * max(case.expressions for case in cases)
    setting.progress(f"making {largest:,} expressions")
    pool = PROTEIN.take(schema, largest)
    sheets, remarks, by_case = [], [], {}
    for case in cases:
        rows, remark = _run(setting, case, pool[: _POOL * case.expressions])
        by_case[case.name] = rows
        remarks.append(remark)
        sheets += [_sheet(case, rows), _parts(case, rows)]
    sheets.append(_gathered(setting, cases[0], pool[: _POOL * cases[0].expressions]))
    remarks += [
        (
            f"Expressions with DO = {PROTEIN.parameters.descendant:g}; subscribers take turns, one "
            "expression after the other, each when the network is at rest.  So brokers gather "
            "nothing but what comes of one expression, except in the last table, where one comes "
            f"every {_INTERVAL * 1e3:g} ms."
        ),
        (
            f"The schema is advertised at once and counts as its "
            f"{schema.advertisements().count()} advertisements at each broker."
        ),
        (
            f"Delays: publications are in transit one at a time, {LATENCY * 1e3:g} ms on each "
            "link and what each broker needs on this machine; the latter is the column "
            "“processing”.  The papers' delays are from machines of 2.4 GHz."
        ),
        (
            "“Sent once” is what brokers would receive if an expression were sent once over a "
            "link, however many subscribers have it; with covering that is so."
        ),
    ]
    return Outcome(sheets, _panels(cases, by_case), remarks)


def _run(setting: Setting, case: _Case, pool: Sequence[Pattern]) -> tuple[dict[str, _Row], str]:
    schema, overlay = setting.protein_schema, case.overlay
    origin = Random(setting.seed).choice(overlay.brokers)
    wanted = draw(pool, overlay.leaves, case.expressions, setting.seed)
    publications = generate_publications(
        schema, case.documents, seed=setting.seed, size=_SIZE, distinct=False
    )
    rows = {}
    for strategy in PAPER_STRATEGIES:
        network = SimulatedNetwork(overlay, strategy, schema, origin, wanted, setting.progress)
        paths = network.publish(publications.paths, f"{strategy}, paths", setting.progress)
        whole = network.publish(publications.documents, f"{strategy}, wholes", setting.progress)
        once = None
        if strategy in ("flooding", "advertisements"):
            towards = None if strategy == "flooding" else origin
            once = network.control.advertise + sent_once(overlay, wanted, towards) + paths.messages
        rows[strategy] = _Row(network.control, paths, whole, once)
    share = covered_share(next(iter(wanted.values())))
    remark = (
        f"{case.name}: {len(wanted)} subscribers with {case.expressions:,} of {len(pool):,} "
        f"expressions each, {share:.0%} of a subscriber's own covered; the producer is at "
        f"{origin}; {len(publications.paths):,} publications of {case.documents} documents (the "
        f"paper: {NETWORK_PUBLICATIONS:,} of 50)."
    )
    return rows, remark


def _sheet(case: _Case, by_strategy: Mapping[str, _Row]) -> Sheet:
    messages, delays = NETWORK_MESSAGES[case.printed], NETWORK_MILLISECONDS[case.printed]
    first = next(iter(by_strategy.values()))
    rows: list[list[Cell]] = []
    for strategy, row in by_strategy.items():
        whole = row.control.messages + row.whole.messages
        rows.append(
            [
                strategy,
                messages[strategy],
                messages[strategy] / messages["flooding"],
                row.messages,
                row.messages / first.messages,
                row.sent_once,
                whole,
                delays[strategy],
                row.paths.delay * 1e3,
                row.processing * 1e3,
                row.whole.delay * 1e3,
            ]
        )
    table = 2 if case.printed == 7 else 3
    columns = (
        *("strategy", "paper, messages", "paper, ratio", "our messages", "our ratio"),
        *("sent once", "with whole documents", "paper, ms", "our ms", "processing, ms"),
        "whole document, ms",
    )
    return Sheet(
        f"network-traffic-{_file(case)}",
        f"Table {table} ({case.printed} brokers) beside {case.name}: messages received, and delay",
        columns,
        rows,
    )


def _parts(case: _Case, by_strategy: Mapping[str, _Row]) -> Sheet:
    rows: list[list[Cell]] = [
        [
            strategy,
            row.control.advertise,
            row.control.subscribe,
            row.control.unsubscribe,
            row.control.between,
            row.paths.messages,
            row.paths.wasted,
            row.whole.messages,
            row.control.table,
        ]
        for strategy, row in by_strategy.items()
    ]
    columns = (
        *("strategy", "advertisements", "subscriptions", "cancellations"),
        *("of both, between brokers", "publications", "of these in vain", "whole documents"),
        "largest table",
    )
    title = f"{case.name}: our messages by kind"
    return Sheet(f"network-traffic-{_file(case)}-kinds", title, columns, rows)


def _gathered(setting: Setting, case: _Case, pool: Sequence[Pattern]) -> Sheet:
    """What brokers say to each other, by how long they gather."""
    schema, overlay = setting.protein_schema, case.overlay
    origin = Random(setting.seed).choice(overlay.brokers)
    wanted = draw(pool, overlay.leaves, case.expressions, setting.seed)
    rows: list[list[Cell]] = []
    for seconds in _GATHERED:
        between = [
            SimulatedNetwork(
                *(overlay, strategy, schema, origin, wanted, setting.progress),
                gathering=seconds,
                interval=_INTERVAL,
            ).control.between
            for strategy in _GATHERING
        ]
        rows.append([seconds * 1e3, *between, *(each / between[0] for each in between[1:])])
    columns = ("gathering, ms", *_GATHERING, "perfect, ratio", "imperfect, ratio")
    title = f"{case.name}: subscriptions and cancellations between brokers that gather"
    return Sheet(f"network-traffic-{_file(case)}-gathering", title, columns, rows)


def _file(case: _Case) -> str:
    return case.name.replace(" ", "-")


def _panels(cases: Sequence[_Case], by_case: Mapping[str, Mapping[str, _Row]]) -> list[Panel]:
    """Strategies stand side by side, in the order of the table."""
    panels = []
    for case in cases:
        rows = list(by_case[case.name].values())
        ours = [100 * row.messages / rows[0].messages for row in rows]
        whole = [row.control.messages + row.whole.messages for row in rows]
        printed = list(NETWORK_MESSAGES[case.printed].values())
        panels.append(
            Panel(
                case.name,
                "",
                "per cent of the messages of flooding",
                [
                    Line("by paths", list(enumerate(ours, 1)), 0),
                    Line(
                        "whole documents",
                        list(enumerate((100 * each / rows[0].messages for each in whole), 1)),
                        1,
                    ),
                    Line(
                        f"{ROUTING}, {case.printed} brokers",
                        list(enumerate((100 * each / printed[0] for each in printed), 1)),
                        2,
                        published=True,
                    ),
                ],
                ticks=tuple(by_case[case.name]),
            )
        )
    return panels


EXPERIMENT: Final = Experiment(
    "network-traffic",
    "the messages that all brokers receive and the delay of a notification, by strategy",
    f"{ROUTING}, Tables 2 and 3",
    network_traffic,
    needs_protein=True,
)
