"""A workload: an overlay with its clients, the documents, and who is to get what.

A workload is made once and is the same for all strategies, so their figures can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from twigcast.hierarchy import reachable, units_of
from twigcast.language import Pattern
from twigcast.matching import Matcher
from twigcast.routing import (
    ClientPlan,
    NetworkPlan,
    Overlay,
    depth_of_scope,
    shared_depth,
)


def publishing_scope(producer: ClientPlan) -> int:
    """How deep the unit lies that the documents of a producer do not leave.

    It is the innermost one that an advertisement is kept within, so that whoever should get a
    document hears of every promise that it may keep.
    """
    units = producer.advertised_within.values()
    return max((depth_of_scope(producer.broker, each) for each in units), default=0)


class SimulatedDocument(NamedTuple):
    """A document, who publishes it, and its name for people."""

    name: str
    producer: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Expected:
    """Who is to get what."""

    wanted: Sequence[Mapping[str, frozenset[str]]]
    """For each document the clients that want it and can be reached, and the ids of their
    subscriptions that match."""
    unreachable: int
    """The deliveries to clients that want a document and are in another part of the overlay."""

    @property
    def deliveries(self) -> int:
        """How many there are to be."""
        return sum(map(len, self.wanted))


@dataclass(frozen=True)
class SimulatedWorkload:
    """An overlay with its clients, and documents in the order of publishing."""

    plan: NetworkPlan
    documents: Sequence[SimulatedDocument]

    @property
    def overlay(self) -> Overlay:
        """The overlay of the plan."""
        return self.plan.overlay

    @property
    def producers(self) -> tuple[ClientPlan, ...]:
        """The clients that advertise something."""
        return tuple(client for client in self.plan.clients if client.advertisements)

    @property
    def subscribers(self) -> tuple[ClientPlan, ...]:
        """The clients that subscribe to something."""
        return tuple(client for client in self.plan.clients if client.subscriptions)

    @property
    def patterns(self) -> list[Pattern]:
        """What all subscribers subscribe to, a pattern as often as it is subscribed to."""
        return [each for client in self.subscribers for each in client.subscriptions.values()]

    def brokers_of(self, clients: Iterable[ClientPlan]) -> dict[str, int]:
        """How many of the clients are at each broker."""
        counts: dict[str, int] = {}
        for client in clients:
            counts[client.broker] = counts.get(client.broker, 0) + 1
        return counts

    def expected(self) -> Expected:
        """Who is to get what, by one matcher for all subscriptions and without a router.

        Where the overlay is in several parts, nothing gets from one to the other; nor does anything
        get through a unit from outside to outside, nor out of a unit that it is kept within.
        """
        matcher = Matcher()
        holders: dict[str, list[tuple[str, str]]] = {}
        for client in self.subscribers:
            for key, pattern in client.subscriptions.items():
                holder = holders.setdefault(str(pattern), [])
                if not holder:
                    matcher.add(str(pattern), pattern)
                holder.append((client.name, key))
        overlay = self.overlay
        units = {broker: units_of(broker, overlay.gateways.get(broker)) for broker in overlay}
        links = {broker: overlay.neighbours(broker) for broker in overlay}
        broker_of = {client.name: client.broker for client in self.plan.clients}
        clients = {client.name: client for client in self.plan.clients}
        within = {
            client.name: depth_of_scope(client.broker, client.scope) for client in self.subscribers
        }

        @cache
        def reached_from(producer: str, scope: int) -> frozenset[str]:
            return reachable(clients[producer].broker, links, units, scope)

        def reaches(producer: str, subscriber: str) -> bool:
            publisher, scope = clients[producer], within[subscriber]
            broker = broker_of[subscriber]
            return shared_depth(publisher.broker, broker) >= scope and broker in reached_from(
                producer, max(scope, publishing_scope(publisher))
            )

        matches = matcher.match_batch([document.content for document in self.documents])
        within_reach = []
        unreachable = 0
        for document, texts in zip(self.documents, matches, strict=True):
            wanted: dict[str, set[str]] = {}
            for text in texts:
                for client_name, key in holders[text]:
                    wanted.setdefault(client_name, set()).add(key)
            producer = document.producer
            within_reach.append(
                {name: frozenset(keys) for name, keys in wanted.items() if reaches(producer, name)}
            )
            brokers = reached_from(producer, 0)
            unreachable += sum(broker_of[name] not in brokers for name in wanted)
        return Expected(within_reach, unreachable)
