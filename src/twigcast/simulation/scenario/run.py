"""One strategy, simulated with a workload, and checked against what every client should have got.

    attach, advertise ──► subscribe ──► publish, while faults last ──► Summary
                                           │
                                           └──► again, once all is whole ──► checked

Every step runs to rest, so a document meets tables that are complete and brokers that are idle.
Only faults are different: they are spread over the time in which the documents are published, one
after another.  What is lost then is counted, and afterwards all documents are published once more,
since everything must be right again.

What clients get is held against :meth:`SimulatedWorkload.expected`, in which no router has a part.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from time import process_time
from typing import Final, Protocol

from twigcast.errors import NetworkError
from twigcast.hierarchy import unit_at
from twigcast.routing import ClientPlan, DocumentId, Link, Strategy
from twigcast.simulation.conditions import FixedTime, MeasuredTime
from twigcast.simulation.faults import Crash, Fault, random_faults
from twigcast.simulation.scenario.workload import (
    Expected,
    SimulatedDocument,
    SimulatedWorkload,
    publishing_scope,
)
from twigcast.simulation.simulation import Simulation
from twigcast.simulation.summary import Summary

_BETWEEN: Final = 0.1
"""The seconds between two documents while there are faults, at least."""
_LATENCIES: Final = 20
"""And so many times the longest latency, that a document can arrive before the next one leaves."""


class Progress(Protocol):
    """Called with the work that is being done and, where that is known, how much of it."""

    def __call__(self, work: str, done: int = 0, total: int = 0) -> None: ...


@dataclass(frozen=True, slots=True)
class Setting:
    """How a workload is simulated."""

    seed: int
    loss: float = 0.0
    faults: tuple[Fault, ...] = ()
    """At times counted from when all have subscribed."""
    measured: bool = False
    one_by_one: bool = False


@dataclass(slots=True)
class StrategyRun:
    """What a strategy came to."""

    summary: Summary
    at_producers: int
    """The patterns of the largest table at a producer's broker."""
    by_link: dict[Link, tuple[int, int]]
    """Messages, and documents that were of no use, on each link."""
    processor_seconds: float
    expected: int
    """Deliveries of all documents."""
    unreachable: int
    """Deliveries that are wanted, and to which no path leads."""
    missed: int = 0
    """Those that did not come, while there were faults."""
    repeated: int = 0
    """Those that came again after a crash of the client's own broker."""
    wrong: list[str] = field(default_factory=list)
    """What must not be: documents that came to too few, or too many, or twice."""


def plan_faults(workload: SimulatedWorkload, count: int, seed: int) -> tuple[Fault, ...]:
    """Faults that all are repaired before the last document is published."""
    until = _moment(workload, len(workload.documents) - 1)
    return tuple(random_faults(workload.overlay, seed, count, until))


def _moment(workload: SimulatedWorkload, number: int) -> float:
    """When a document is published where there are faults, counted as their times are."""
    latencies = (traits.latency for traits in workload.overlay.links.values())
    return (number + 0.5) * max(_BETWEEN, _LATENCIES * max(latencies, default=0.0))


def run_strategy(
    workload: SimulatedWorkload,
    expected: Expected,
    strategy: Strategy,
    setting: Setting,
    show: Progress,
) -> StrategyRun:
    """Simulate a strategy from an empty network on."""
    run = _Run(workload, strategy, setting, show)
    started = process_time()
    run.connect()
    run.publish()
    seconds = process_time() - started
    routers = run.simulation.network.routers
    traffic = run.simulation.traffic
    result = StrategyRun(
        run.simulation.summary(),
        max(routers[each.broker].table_size for each in workload.producers),
        {
            link: (counts.messages, counts.wasted)
            for link in workload.overlay.links
            if (counts := traffic.on_link(link)).envelopes
        },
        seconds,
        expected.deliveries,
        expected.unreachable,
    )
    differences = run.check(expected)
    if setting.faults:
        result.missed = len(differences.missed)
        result.repeated = len(differences.repeated)
        result.wrong = [f"while there are faults, {each}" for each in differences.wrong]
        crashed = {fault.broker for fault in setting.faults if isinstance(fault, Crash)}
        brokers = {client.name: client.broker for client in workload.subscribers}
        result.wrong += [
            f"{said}, and its broker has not crashed"
            for client, said in differences.repeated
            if brokers[client] not in crashed
        ]
        run.publish_again()
        differences = run.check(expected)
    result.wrong += (
        *differences.wrong,
        *differences.missed,
        *(said for _, said in differences.repeated),
    )
    return result


@dataclass(slots=True)
class _Differences:
    """How the deliveries differ from those at rest."""

    missed: list[str] = field(default_factory=list)
    repeated: list[tuple[str, str]] = field(default_factory=list)
    """The client, and the difference in words."""
    wrong: list[str] = field(default_factory=list)
    """What must not be at any time."""


class _Run:
    """A simulation in progress."""

    def __init__(
        self, workload: SimulatedWorkload, strategy: Strategy, setting: Setting, show: Progress
    ) -> None:
        self._workload = workload
        self._strategy = strategy
        self._setting = setting
        self._show = show
        self._numbers: Counter[tuple[str, int]] = Counter()
        self._documents: dict[DocumentId, int] = {}
        self._seen: Counter[str] = Counter()  # deliveries of each client that were checked
        self._clients = {client.name: client for client in workload.plan.clients}
        self.simulation = Simulation(
            workload.overlay,
            strategy,
            seed=setting.seed,
            processing=MeasuredTime() if setting.measured else FixedTime(),
            loss=setting.loss,
        )

    # --- what happens -----------------------------------------------------------------------------

    def connect(self) -> None:
        """Let clients attach, advertise and subscribe."""
        simulation, subscribers = self.simulation, self._workload.subscribers
        for client in self._clients.values():
            simulation.attach(client.name, client.broker)
            for key, promise in client.advertisements.items():
                scope = client.advertised_within.get(key, "")
                simulation.advertise(client.name, key, promise, scope=scope)
        simulation.run()
        for number, client in enumerate(subscribers):
            self._report("subscribers", number, len(subscribers))
            self._subscribe(client)
            simulation.run()

    def _subscribe(self, client: ClientPlan) -> None:
        if not self._setting.one_by_one:
            self.simulation.subscribe_all(client.name, client.subscriptions, scope=client.scope)
            return
        for key, pattern in client.subscriptions.items():
            self.simulation.subscribe(client.name, key, pattern, scope=client.scope)
            self.simulation.run()  # or brokers would gather them

    def publish(self) -> None:
        """Publish every document, at rest or while faults happen."""
        if not self._setting.faults:
            self.publish_again()
            return
        simulation = self.simulation
        start = simulation.now
        for fault in self._setting.faults:
            simulation.at(start + fault.time, partial(fault.apply, simulation))
        total = len(self._workload.documents)
        for number, document in enumerate(self._workload.documents):
            self._report("documents", number, total)
            simulation.run(until=start + _moment(self._workload, number))
            self._publish(number, document)
        simulation.run()

    def publish_again(self) -> None:
        """Publish every document, each at rest."""
        total = len(self._workload.documents)
        for number, document in enumerate(self._workload.documents):
            self._report("documents", number, total)
            self._publish(number, document)
            self.simulation.run()

    def _publish(self, number: int, document: SimulatedDocument) -> None:
        """Publish a document, and note under which id it will travel.

        A broker numbers what it takes in; what it does not take in, because it crashes before, is
        what was published last in that life of the broker.
        """
        producer = self._clients[document.producer]
        broker = producer.broker
        scope = unit_at(broker, publishing_scope(producer))
        try:
            self.simulation.publish(document.producer, document.content, scope=scope)
        except NetworkError:  # the broker is down
            if not self._setting.faults:
                raise
            return
        incarnation = self.simulation.network.routers[broker].incarnation
        identity = DocumentId(broker, incarnation, self._numbers[broker, incarnation])
        self._numbers[broker, incarnation] += 1
        self._documents[identity] = number

    def _report(self, work: str, done: int = 0, total: int = 0) -> None:
        self._show(f"{self._strategy.name}: {work}", done, total)

    # --- what came of it --------------------------------------------------------------------------

    def check(self, expected: Expected) -> _Differences:
        """Hold what clients have got since the last time against what they want."""
        differences = _Differences()
        got = self._collect(differences)
        for number, wanted in enumerate(expected.wanted):
            name = self._workload.documents[number].name
            for client, ids in wanted.items():
                times = got.pop((number, client), [])
                if not times:
                    differences.missed.append(f"{client} does not get {name}")
                if len(times) > 1:
                    differences.repeated.append(
                        (client, f"{client} gets {name} {len(times)} times")
                    )
                if any(each != ids for each in times):
                    differences.wrong.append(
                        f"{client} gets {name} for other subscriptions than match"
                    )
        for number, client in got:
            name = self._workload.documents[number].name
            differences.wrong.append(f"{client} gets {name} and does not want it")
        return differences

    def _collect(self, differences: _Differences) -> dict[tuple[int, str], list[frozenset[str]]]:
        """By document and client, the subscriptions for which it came, each time that it came."""
        got: dict[tuple[int, str], list[frozenset[str]]] = {}
        for name, client in self.simulation.network.clients.items():
            for delivery in client.deliveries[self._seen[name] :]:
                number = self._documents.get(delivery.id)
                if number is None:
                    differences.wrong.append(f"{name} gets {delivery.id}, which nobody published")
                else:
                    got.setdefault((number, name), []).append(frozenset(delivery.subscriptions))
            self._seen[name] = len(client.deliveries)
        return got
