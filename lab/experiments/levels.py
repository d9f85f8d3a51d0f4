"""A network in units beside the same network without: what brokers know, and what they send.

The same brokers, links, clients, subscriptions and documents; once every broker knows all links,
once brokers are in clusters of the square root of their number, or, of the largest network, in
clusters of clusters.  Every delivery is held against a matcher that has all subscriptions.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Final

from lab.benchmarks.charts import Line, Panel
from lab.benchmarks.measure import followed
from lab.experiments.outcomes import Cell, Experiment, Outcome, Setting, Sheet
from lab.published.figures import NARADA
from twigcast.hierarchy import Network
from twigcast.language import Pattern
from twigcast.matching import Matcher
from twigcast.routing import Overlay, Strategy
from twigcast.simulation import Counts, Traffic, hierarchy
from twigcast.workload import (
    DocumentParameters,
    PathParameters,
    generate_documents,
    generate_subscriptions,
)

_QUICK: Final = (4, 8)
_FULL: Final = (8, 16, 32)
"""Clusters, and brokers in each."""
_PRODUCERS: Final = 20
_BUDGETS: Final = (None, 100, 25)
_LARGE: Final = (32, 32, 32)
_LARGE_BUDGET: Final = 200


@dataclass(frozen=True, slots=True)
class _Workload:
    """What clients want and publish, and the numbers of their brokers."""

    wanted: Mapping[int, Mapping[str, Pattern]]
    producers: Sequence[int]
    documents: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class _Cost:
    """What came of a network."""

    name: str
    brokers: int
    known: int
    """The brokers whose links an ordinary broker knows."""
    control: int
    """Advertisements, subscriptions, their ends, channels and link states between brokers."""
    greatest: int
    """The patterns of the largest table."""
    patterns: int
    """Those of all tables together."""
    crossings: int
    in_vain: int
    of_a_link: int
    """Messages between brokers when a link that no gateway has fails and returns."""
    elsewhere: int
    """Those of them that arrive outside the cluster."""
    deliveries: int
    wrong: int
    """Clients that did not get exactly what they want."""
    seconds: float
    """Of all this, on one core."""


def levels(setting: Setting) -> Outcome:
    """Run networks of growing size, flat and in units."""
    costs: list[_Cost] = []
    for side in _FULL if setting.full else _QUICK:
        units = hierarchy((side, side))
        workload = _workload(setting, len(units), 5 * len(units), 50)
        costs.append(_run(setting, "flat", flattened(units), workload, None))
        costs += [
            _run(setting, f"units, {_budget(most)}", units, workload, most) for most in _BUDGETS
        ]
    if setting.full:
        units = hierarchy(_LARGE)
        workload = _workload(setting, len(units), 100_000, 100)
        name = f"units of units, {_budget(_LARGE_BUDGET)}"
        costs.append(_run(setting, name, units, workload, _LARGE_BUDGET))
    return Outcome([_sheet(costs)], _panels(costs), _remarks(costs))


def flattened(overlay: Overlay) -> Overlay:
    """The same brokers and links, without units."""
    names = {name: name.replace("/", ".") for name in overlay}
    links = {(names[one], names[other]): each for (one, other), each in overlay.links.items()}
    return Overlay(names.values(), links)


def _budget(most: int | None) -> str:
    return "everything climbs" if most is None else f"at most {most} patterns climb"


def _workload(setting: Setting, brokers: int, wanted: int, documents: int) -> _Workload:
    random = Random(setting.seed)
    setting.progress(f"{brokers:,} brokers: generating {wanted:,} subscriptions")
    # The last broker has no clients.
    patterns = generate_subscriptions(setting.schema, PathParameters(), seed=setting.seed)
    by_broker: dict[int, dict[str, Pattern]] = {}
    for number, pattern in enumerate(islice(patterns, wanted)):
        by_broker.setdefault(random.randrange(brokers - 1), {})[f"s{number}"] = pattern
    contents = generate_documents(setting.schema, DocumentParameters(), seed=setting.seed)
    return _Workload(
        by_broker,
        [random.randrange(brokers - 1) for _ in range(_PRODUCERS)],
        list(islice(contents, documents)),
    )


def _run(
    setting: Setting, name: str, overlay: Overlay, workload: _Workload, most: int | None
) -> _Cost:
    work = f"{len(overlay):,} brokers, {name}"
    setting.progress(f"{work}: advertising")
    began = time.perf_counter()
    brokers = overlay.brokers
    traffic = Traffic()
    network = Network(overlay, Strategy(most_patterns=most), observer=traffic)
    for number, at in enumerate(workload.producers):
        network.attach(f"p{number}", brokers[at])
        network.advertise(f"p{number}", "all", setting.schema)
    network.settle()
    for at in followed(tuple(workload.wanted), f"{work}: subscribing", setting.progress):
        network.attach(f"c{at}", brokers[at])
        network.subscribe_all(f"c{at}", workload.wanted[at])
    network.settle()
    control = _control(traffic, overlay)
    before = traffic.total
    for number, content in enumerate(
        followed(workload.documents, f"{work}: publishing", setting.progress)
    ):
        network.publish(f"p{number % _PRODUCERS}", content)
        network.settle()
    after = traffic.total
    of_a_link, elsewhere = _messages_of_a_link(network, traffic)
    levels_of_all = [level for router in network.routers.values() for level in router.levels]
    ordinary = [router for router in network.routers.values() if len(router.levels) == 1]
    return _Cost(
        name,
        len(overlay),
        max(len(router.documents.view.brokers) for router in ordinary),
        control,
        max(router.table_size for router in levels_of_all),
        sum(router.table_size for router in levels_of_all),
        after.publish - before.publish - len(workload.documents),
        after.wasted - before.wasted,
        of_a_link,
        elsewhere,
        traffic.deliveries,
        _wrong(network, workload),
        time.perf_counter() - began,
    )


def _control(traffic: Traffic, overlay: Overlay) -> int:
    return _sum(counts for (sender, _), counts in traffic.by_direction.items() if sender in overlay)


def _sum(several: Iterable[Counts]) -> int:
    return sum(
        each.advertise
        + each.unadvertise
        + each.subscribe
        + each.unsubscribe
        + each.channels
        + each.link_states
        for each in several
    )


def _messages_of_a_link(network: Network, traffic: Traffic) -> tuple[int, int]:
    """Messages when the link of the last broker fails and returns, and those in other clusters."""
    *_, last = network.overlay
    [neighbour] = network.overlay.neighbours(last)
    link = network.overlay.link(last, neighbour)
    counted = {direction: _sum([counts]) for direction, counts in traffic.by_direction.items()}
    network.cut(*link)
    network.settle()
    network.heal(*link)
    network.settle()
    news = {
        direction: _sum([counts]) - counted.get(direction, 0)
        for direction, counts in traffic.by_direction.items()
    }
    elsewhere = sum(
        count for (_, receiver), count in news.items() if _cluster(receiver) != _cluster(link.first)
    )
    return sum(news.values()), elsewhere


def _cluster(broker: str) -> str:
    return broker.replace(".", "/").rpartition("/")[0]


def _wrong(network: Network, workload: _Workload) -> int:
    matcher = Matcher()
    owners: dict[str, list[tuple[int, str]]] = {}
    for at, wanted in workload.wanted.items():
        for key, pattern in wanted.items():
            owners.setdefault(str(pattern), []).append((at, key))
    for text in owners:
        matcher.add(text, text)
    expected: dict[int, list[list[str]]] = {at: [] for at in workload.wanted}
    for texts in matcher.match_batch(workload.documents):
        got: dict[int, list[str]] = {}
        for text in texts:
            for at, key in owners[text]:
                got.setdefault(at, []).append(key)
        for at, keys in got.items():
            expected[at].append(sorted(keys))
    return sum(
        sorted(sorted(each.subscriptions) for each in network.client(f"c{at}").deliveries)
        != sorted(keys)
        for at, keys in expected.items()
    )


_COLUMNS: Final = (
    *("network", "brokers", "links known of", "control messages", "largest table", "all tables"),
    *("crossings", "in vain", "messages of a link", "elsewhere", "deliveries", "wrong"),
    "seconds",
)


def _sheet(costs: Sequence[_Cost]) -> Sheet:
    rows: list[list[Cell]] = [
        [
            *(one.name, one.brokers, one.known, one.control, one.greatest, one.patterns),
            *(one.crossings, one.in_vain, one.of_a_link, one.elsewhere),
            *(one.deliveries, one.wrong, one.seconds),
        ]
        for one in costs
    ]
    return Sheet("levels", "The same networks, flat and in units", _COLUMNS, rows)


def _panels(costs: Sequence[_Cost]) -> list[Panel]:
    names = list(dict.fromkeys(one.name for one in costs if one.brokers <= _LARGE[0] ** 2))

    def panel(title: str, unit: str, value: str) -> Panel:
        lines = [
            Line(
                name,
                [
                    (float(one.brokers), float(getattr(one, value)))
                    for one in costs
                    if one.name == name
                ],
                number,
            )
            for number, name in enumerate(names)
        ]
        return Panel(title, "brokers", unit, lines, log_across=True, log_upward=True)

    return [
        panel("Control messages", "messages", "control"),
        panel("Largest table", "patterns", "greatest"),
        panel("Documents over links", "crossings", "crossings"),
    ]


def _remarks(costs: Sequence[_Cost]) -> list[str]:
    workload = (
        f"{_PRODUCERS} producers at random brokers advertise the schema; there are five "
        "subscriptions for each broker, at random brokers.  The link that fails and returns leads "
        "to a broker without clients."
    )
    remarks = [workload]
    largest = max(one.brokers for one in costs if one.name == "flat")
    flat, *others = [one for one in costs if one.brokers == largest]
    remarks += [
        f"{largest:,} brokers, {one.name}, ÷ flat: control messages "
        f"{one.control / flat.control:.3f}, largest table {one.greatest / flat.greatest:.3f}, "
        f"crossings {one.crossings / flat.crossings:.3f}."
        for one in others
    ]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    remarks.append(f"The process had up to {memory / 1e9:.1f} GB of memory.")
    return remarks


EXPERIMENT: Final = Experiment(
    "levels",
    "what a network costs in units and without: tables, messages, crossings",
    f"{NARADA}, section 3",
    levels,
)
