"""False positives of imperfect merging: Figure 9 of Li, Hou and Jacobsen.

A merger may match publications that none of the expressions behind it wants.  They are counted in
two settings.  *At one broker*: the publications that its merged table matches and the expressions
themselves do not.  *In a network*: the crossings of links beyond which nobody gets the publication,
where every broker merges what it sends.  No client ever gets one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from lab.benchmarks.charts import Level, Line, Panel
from lab.experiments.broker_tables import (
    covered_table,
    matched,
    merged_table,
    publication_table,
)
from lab.experiments.outcomes import Cell, Experiment, Outcome, Setting, Sheet
from lab.experiments.publications import Publications, generate_publications
from lab.published.expression_sets import PROTEIN, SET_A, SET_B, ExpressionSet, fitted
from lab.published.figures import FALSE_POSITIVES_BELOW, ROUTING
from twigcast.covering import PathCounter
from twigcast.language import Pattern
from twigcast.routing import Network, Overlay, Route, Strategy
from twigcast.schema import Schema
from twigcast.simulation import balanced_tree

_FULL_EXPRESSIONS: Final = 10_000
"""The paper does not say how many it took for this figure."""
_QUICK_EXPRESSIONS: Final = 2_000
_FULL_DEALT: Final = 4_000
_QUICK_DEALT: Final = 1_000
"""The expressions of all subscribers of the network together."""
_FULL_DOCUMENTS: Final = 500
_QUICK_DOCUMENTS: Final = 50
_SIZE: Final = 7_500
_FULL_DEGREES: Final = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
_QUICK_DEGREES: Final = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
_LEVELS: Final = 3
_PRODUCER: Final = "producer"


@dataclass(frozen=True, slots=True)
class _Workload:
    """Expressions of a schema, those for the network, and what is published."""

    name: str
    schema: Schema
    patterns: Sequence[Pattern]
    dealt: Sequence[Pattern]
    publications: Publications


@dataclass(frozen=True, slots=True)
class _Count:
    """What was counted with one degree; ``wasted`` is the part of ``passed`` that nobody wanted."""

    degree: float
    left: int
    """The expressions in the table, or in those of all brokers."""
    passed: int
    """Publications that matched, or crossings."""
    wasted: int

    @property
    def share(self) -> float:
        """The share of false positives."""
        return self.wasted / max(1, self.passed)


def false_positives(setting: Setting) -> Outcome:
    """Merge up to several degrees, and count what passes though nobody wants it."""
    degrees = _FULL_DEGREES if setting.full else _QUICK_DEGREES
    sets, workloads = _workloads(setting)
    single = {each.name: _at_one_broker(setting, each, degrees) for each in workloads}
    network = {each.name: _in_a_network(setting, each, degrees) for each in workloads}
    dealt = len(workloads[0].dealt)
    overlay = _overlay()
    remarks = [
        *(
            f"{chosen.name}: {chosen.count:,} expressions, {chosen.share:.1%} of which others "
            f"cover (W = {chosen.parameters.wildcard:g}, DO = {chosen.parameters.descendant:g})."
            for chosen in sets
        ),
        (
            f"At one broker: false positives are publications that the merged table matches and "
            f"no expression does, as a share of those that it matches; "
            f"{len(workloads[0].publications.paths):,} distinct paths of documents are published "
            f"for Set A and Set B, {len(workloads[-1].publications.paths):,} for proteins."
        ),
        (
            f"In a network: a binary tree of {len(overlay.brokers)} brokers, {dealt:,} of the "
            f"expressions (proteins: {len(workloads[-1].dealt):,}) dealt to the subscribers at its "
            f"leaves, one producer at a broker that the seed chooses; the share is that of "
            f"crossings beyond which nobody wants the publication."
        ),
        (
            "The paper does not say with which expressions, or how many, Figure 9 was measured.  "
            "Where nearly every publication is wanted by somebody, hardly any can be a false "
            "positive."
        ),
    ]
    return Outcome(
        [
            _sheet("one-broker", "Figure 9: at one broker", "publications matched", single),
            _sheet("network", "Figure 9: in a network", "links crossed", network),
        ],
        [_panel("At one broker", single), _panel("In a network", network)],
        remarks,
    )


def _workloads(setting: Setting) -> tuple[list[ExpressionSet], list[_Workload]]:
    count = _FULL_EXPRESSIONS if setting.full else _QUICK_EXPRESSIONS
    dealt = _FULL_DEALT if setting.full else _QUICK_DEALT
    documents = _FULL_DOCUMENTS if setting.full else _QUICK_DOCUMENTS
    news, protein = (
        generate_publications(schema, documents, seed=setting.seed, size=_SIZE)
        for schema in (setting.schema, setting.protein_schema)
    )
    sets = [fitted(wanted, setting.schema, count, setting.progress) for wanted in (SET_A, SET_B)]
    workloads = []
    for chosen in sets:
        patterns = chosen.take(setting.schema, count)
        some = Random(setting.seed).sample(patterns, min(dealt, len(patterns)))
        workloads.append(_Workload(chosen.name, setting.schema, patterns, some, news))
    proteins = PROTEIN.take(setting.protein_schema, PROTEIN.count)
    workloads.append(_Workload(PROTEIN.name, setting.protein_schema, proteins, proteins, protein))
    return [*sets, PROTEIN], workloads


def _at_one_broker(setting: Setting, workload: _Workload, degrees: Sequence[float]) -> list[_Count]:
    covered = covered_table(workload.patterns, workload.name, setting.progress)
    counter = PathCounter(workload.schema)
    paths = workload.publications.paths
    wanted = matched(publication_table(covered), paths)
    counts = []
    for degree in degrees:
        merged = merged_table(covered, counter, degree, workload.name, setting.progress)
        passed = matched(publication_table(merged), paths)
        counts.append(_Count(degree, len(merged), passed, passed - wanted))
    return counts


def _overlay() -> Overlay:
    return balanced_tree(_LEVELS, 2)


def _in_a_network(setting: Setting, workload: _Workload, degrees: Sequence[float]) -> list[_Count]:
    overlay = _overlay()
    leaves = [broker for broker in overlay if len(overlay.neighbours(broker)) == 1]
    origin = Random(setting.seed).choice(list(overlay.brokers))
    counts = []
    for done, degree in enumerate(degrees):
        work = f"{workload.name}: {len(overlay.brokers)} brokers, merging"
        setting.progress(work, done, len(degrees))
        network = Network(overlay, Strategy(merging=degree))
        network.attach(_PRODUCER, origin)
        network.advertise(_PRODUCER, workload.schema.root, workload.schema)
        network.settle()
        for number, leaf in enumerate(leaves):
            client = f"subscriber {number + 1}"
            network.attach(client, leaf)
            own = workload.dealt[number :: len(leaves)]
            network.subscribe_all(client, {str(each): each for each in own})
        network.settle()
        size = sum(router.table_size for router in network.routers.values())
        passed = wasted = 0
        for route in network.freeze().route_batch(workload.publications.paths, origin):
            assert isinstance(route, Route), "paths are documents"
            passed += len(route.crossings)
            wasted += len(route.wasted())
        counts.append(_Count(degree, size, passed, wasted))
    return counts


def _sheet(name: str, title: str, passed: str, counts: Mapping[str, Sequence[_Count]]) -> Sheet:
    rows: list[list[Cell]] = []
    for workload, several in counts.items():
        for each in several:
            bound = FALSE_POSITIVES_BELOW.get(each.degree)
            paper = None if bound is None else f"below {100 * bound:g} %"
            share = f"{100 * each.share:.2f} %"
            rows.append([workload, each.degree, each.left, each.passed, each.wasted, paper, share])
    columns = (
        *("expressions", "D allowed", "left in tables", passed),
        *("false positives", "paper, share", "our share"),
    )
    return Sheet(f"false-positives-{name}", title, columns, rows)


def _panel(title: str, counts: Mapping[str, Sequence[_Count]]) -> Panel:
    lines = [
        Line(name, [(each.degree, 100 * each.share) for each in several], style)
        for style, (name, several) in enumerate(counts.items())
    ]
    levels = [
        Level(f"{ROUTING}: below, for D < {degree:g}", 100 * share)
        for degree, share in FALSE_POSITIVES_BELOW.items()
    ]
    return Panel(title, "degree D allowed", "per cent false positives", lines, levels)


EXPERIMENT: Final = Experiment(
    "false-positives",
    "the share of publications that pass through mergers though nobody wants them",
    f"{ROUTING}, Figure 9",
    false_positives,
    needs_protein=True,
)
