"""Rows about what is decided with the matches of a document: a broker's table, a frozen network."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from lab.benchmarks.matching.bench import EXPAT, OURS, MatchingBench, mean_matches, parse_all
from lab.benchmarks.measure import measure
from lab.benchmarks.results import Result, ratio_result
from twigcast import FrozenNetwork, Network, Strategy
from twigcast.language import Pattern, parse
from twigcast.routing import Interests
from twigcast.simulation import chain

_CLIENTS: Final = 10


def decisions(bench: MatchingBench) -> Iterator[Result]:
    """A routing table with ten clients, and a frozen chain of three brokers with the same."""
    texts = bench.trees(bench.sizes.few)
    documents = bench.documents
    matches = mean_matches(bench.fill(texts), documents)
    patterns = [parse(text) for text in texts]
    table, frozen = _table(patterns), _frozen_chain(patterns)

    def ratio(name: str, what: str, decide: Callable[[], object]) -> Result:
        work = f"{len(texts):,} trees of {_CLIENTS} clients, {what}"
        bench.progress(work)
        measurements = measure(
            work,
            {EXPAT: lambda: parse_all(documents), OURS: decide},
            units=len(documents),
            rounds=bench.quick_rounds,
            clock=time.process_time,
        )
        return ratio_result(name, work, measurements, OURS, matches=matches)

    yield ratio("routing-table", "a broker's table", lambda: list(map(table.match, documents)))
    routed = frozen.route_batch
    yield ratio("frozen-network", "a frozen chain", lambda: list(routed(documents, at="b1")))


def _table(patterns: list[Pattern]) -> Interests:
    table = Interests()
    clients = [table.open(is_client=True) for _ in range(_CLIENTS)]
    for number, pattern in enumerate(patterns):
        table.add(clients[number % _CLIENTS], pattern)
    return table


def _frozen_chain(patterns: list[Pattern]) -> FrozenNetwork:
    network = Network(chain(3), Strategy.named("covering"))
    brokers = network.overlay.brokers
    for number in range(_CLIENTS):
        client = f"client-{number}"
        network.attach(client, brokers[number % len(brokers)])
        own = patterns[number::_CLIENTS]
        network.subscribe_all(client, {str(key): each for key, each in enumerate(own)})
    network.settle()
    return network.freeze()
