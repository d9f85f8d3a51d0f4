"""An observer who knows everything, and says what a network must have come to at rest.

A broker sees its links; the observer sees who is attached where, what each client wants and
promises, and which links are up.  From that alone, and from nothing that happened before, follows
where a document goes and what each broker has been sent:

* a document goes to exactly those clients whose own subscriptions match it, among those that can be
  reached, and crosses a link of its tree exactly where one of them is beyond;
* on a channel stands what is wanted beyond it, as far as it may match what is promised for the
  trees of the channel;
* trees share a channel exactly where everything beyond the link hangs together alike.

Nothing here is taken from the router.  Trees are computed by relaxing until nothing changes,
patterns are asked one by one, and what is beyond a link is looked up by walking there.  What both
have in common lies below routing: whether a promise ``overlaps`` a pattern, and whether one pattern
``covers`` another (:mod:`~lab.histories.checks`).  All of it is slow, and meant for small networks;
one observer serves one moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from twigcast.documents import read_document
from twigcast.errors import DocumentError
from twigcast.language import Pattern
from twigcast.routing import (
    SHARED_TREE,
    AdvertisementEntry,
    AdvertisementKey,
    Link,
    Network,
    Overlay,
    Promise,
    Strategy,
    Towards,
)

Edges = Mapping[str, frozenset[str]]
"""A tree: the brokers beside each one, in either direction."""
Wanted = Mapping[str, tuple[str, ...]]
"""The clients that a document is for, and the ids of their subscriptions that it matches."""
Crossings = frozenset[tuple[str, str]]
"""Links, from sender to receiver."""


@dataclass(slots=True)
class Party:
    """A client: where it is, what it wants and what it promises."""

    broker: str
    subscriptions: dict[str, Pattern] = field(default_factory=dict)
    promises: dict[str, Promise] = field(default_factory=dict)
    scopes: dict[str, int] = field(default_factory=dict)
    """The depths of units that subscriptions are kept within."""
    promised_within: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class World:
    """Everything that is true of a network and is not the outcome of messages."""

    overlay: Overlay
    strategy: Strategy
    clients: dict[str, Party] = field(default_factory=dict)
    cut: set[Link] = field(default_factory=set)
    """Those of a broker that is down may be among them."""
    down: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, network: Network) -> World:
        """A network as it is: what clients have asked for and what is up, not what routers know."""
        return cls(
            network.overlay,
            network.strategy,
            {
                name: Party(client.broker, dict(client.subscriptions), dict(client.advertisements))
                for name, client in network.clients.items()
            },
            cut=set(network.overlay.links).difference(network.links_up()),
            down=set(network.overlay).difference(network.routers),
        )

    def costs(self) -> dict[str, dict[str, float]]:
        """The brokers that are up, and what the links between them cost."""
        costs: dict[str, dict[str, float]] = {
            broker: {} for broker in self.overlay if broker not in self.down
        }
        for link, traits in self.overlay.links.items():
            if link not in self.cut and not self.down.intersection(link):
                costs[link.first][link.second] = traits.cost
                costs[link.second][link.first] = traits.cost
        return costs


class ExpectedChannel(NamedTuple):
    """What one broker should have sent another: for which trees, and from which brokers."""

    trees: frozenset[str]
    brokers: frozenset[str]
    promises: frozenset[Promise] | None
    """None where everything is sent, whatever is promised."""

    def admits(self, pattern: Pattern) -> bool:
        """Whether something that is promised may match a pattern."""
        return self.promises is None or any(each.overlaps(pattern) for each in self.promises)


class Oracle:
    """What follows from a world as it is now."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.costs = world.costs()
        self._towards = world.strategy.towards

    # --- trees ------------------------------------------------------------------------------------

    @cached_property
    def parents(self) -> dict[str, dict[str, str]]:
        """By root, the next broker on the route to it from each that can reach it."""
        return {root: least_cost_parents(self.costs, root) for root in self.costs}

    def reachable(self, broker: str) -> frozenset[str]:
        """The brokers that can be reached from one, which is among them."""
        return frozenset((broker, *self.parents[broker]))

    def tree_of(self, origin: str) -> tuple[str, Edges]:
        """The tree that documents take which are published at a broker, and its name."""
        if self._towards is not Towards.EVERYONE:
            return origin, _edges(self.parents[origin])
        members = self.reachable(origin)
        centre = min(members, key=lambda each: (-len(self.costs[each]), each))
        return SHARED_TREE, _edges(self.parents[centre])

    # --- documents --------------------------------------------------------------------------------

    def wanted(self, content: bytes, origin: str) -> Wanted:
        """Who gets a document that is published at a broker."""
        members = self.reachable(origin)
        ids_by_client = {
            name: tuple(
                sorted(key for key, each in party.subscriptions.items() if matches(each, content))
            )
            for name, party in self.world.clients.items()
            if party.broker in members
        }
        return {name: ids for name, ids in ids_by_client.items() if ids}

    def outwards(self, origin: str) -> Crossings:
        """The links that a document that everybody wants crosses."""
        return frozenset(_outwards(self.tree_of(origin)[1], origin))

    def crossings(self, origin: str, wanted: Wanted) -> Crossings:
        """The links that a document crosses to reach those who want it."""
        _, edges = self.tree_of(origin)
        brokers = {self.world.clients[name].broker for name in wanted}
        return frozenset(
            (sender, receiver)
            for sender, receiver in _outwards(edges, origin)
            if brokers & beyond(edges, sender, receiver)
        )

    # --- tables -----------------------------------------------------------------------------------

    @cached_property
    def _promises(self) -> dict[str, dict[tuple[str, str], Promise]]:
        """By broker that is up, what its clients promise."""
        promises: dict[str, dict[tuple[str, str], Promise]] = {}
        for name, party in self.world.clients.items():
            for key, promise in party.promises.items():
                if party.broker in self.costs:
                    promises.setdefault(party.broker, {})[name, key] = promise
        return promises

    def advertisements(self, broker: str) -> set[AdvertisementEntry]:
        """The subscription routing table of a broker."""
        return {
            AdvertisementEntry(
                AdvertisementKey(origin, client, key),
                promise,
                client if origin == broker else self.parents[origin][broker],
            )
            for origin, promises in self._promises.items()
            if origin == broker
            or (self._towards is not Towards.EVERYONE and broker in self.parents[origin])
            for (client, key), promise in promises.items()
        }

    def channels(self, sender: str, receiver: str) -> list[ExpectedChannel]:
        """What one broker should have sent a neighbour that it has a link to."""
        shapes: dict[object, set[str]] = {}
        edges: dict[str, Edges] = {}
        for origin in self._origins(sender, receiver):
            tree, edges_of_tree = self.tree_of(origin)
            edges[tree] = edges_of_tree
            shapes.setdefault(_shape(edges_of_tree, receiver, sender), set()).add(tree)
        return [
            ExpectedChannel(
                frozenset(trees),
                beyond(edges[min(trees)], receiver, sender),
                self._promised(trees),
            )
            for trees in shapes.values()
        ]

    def _origins(self, sender: str, receiver: str) -> list[str]:
        """Brokers whose documents may come over a link: all but one speak for a tree each."""
        if self._towards is Towards.EVERYONE:
            _, edges = self.tree_of(sender)
            return [sender] if receiver in edges.get(sender, ()) else []
        return [origin for origin in self._promises if self.parents[origin].get(sender) == receiver]

    def _promised(self, trees: set[str]) -> frozenset[Promise] | None:
        if self._towards is not Towards.ADVERTISEMENTS:
            return None
        return frozenset(promise for origin in trees for promise in self._promises[origin].values())

    def subscriptions(self, channel: ExpectedChannel) -> list[Pattern]:
        """Everything that is wanted beyond a channel, by whomever and as often."""
        return [
            pattern
            for party in self.world.clients.values()
            if party.broker in channel.brokers
            for pattern in party.subscriptions.values()
        ]


def least_cost_parents(costs: Mapping[str, Mapping[str, float]], root: str) -> dict[str, str]:
    """The next broker on the cheapest route to the root; of several, the one of the least name."""
    distances = {root: 0.0}
    changed = True
    while changed:
        changed = False
        for broker, links in costs.items():
            for neighbour, cost in links.items():
                through = distances.get(neighbour, float("inf")) + cost
                if through < distances.get(broker, float("inf")):
                    distances[broker] = through
                    changed = True
    return {
        broker: min(
            neighbour
            for neighbour, cost in costs[broker].items()
            if distances[neighbour] + cost == distance
        )
        for broker, distance in distances.items()
        if broker != root
    }


def beyond(edges: Edges, sender: str, receiver: str) -> frozenset[str]:
    """The brokers that are reached over an edge of a tree."""
    brokers = {receiver}
    for other in edges.get(receiver, frozenset()) - {sender}:
        brokers |= beyond(edges, receiver, other)
    return frozenset(brokers)


def _edges(parents: Mapping[str, str]) -> Edges:
    edges: dict[str, set[str]] = {}
    for broker, parent in parents.items():
        edges.setdefault(broker, set()).add(parent)
        edges.setdefault(parent, set()).add(broker)
    return {broker: frozenset(others) for broker, others in edges.items()}


def _outwards(edges: Edges, root: str, above: str | None = None) -> Iterator[tuple[str, str]]:
    for other in edges.get(root, frozenset()) - {above}:
        yield root, other
        yield from _outwards(edges, other, root)


def _shape(edges: Edges, above: str, broker: str) -> object:
    """How everything beyond a link hangs together."""
    return frozenset(
        (other, _shape(edges, broker, other)) for other in edges.get(broker, frozenset()) - {above}
    )


@lru_cache(maxsize=2**14)
def matches(pattern: Pattern, content: bytes) -> bool:
    """Whether one pattern, asked alone, matches a document."""
    return pattern.matches(content)


@lru_cache(maxsize=2**10)
def is_document(content: bytes) -> bool:
    """Whether something can be read."""
    try:
        read_document(content)
    except DocumentError:
        return False
    return True
