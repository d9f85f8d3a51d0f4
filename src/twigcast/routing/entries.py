"""Rows of the tables of a broker, to look at: the papers' routing tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from twigcast.language import Pattern
from twigcast.routing.clients import Client
from twigcast.routing.interests import Interests
from twigcast.routing.messages import AdvertisementKey
from twigcast.routing.neighbour import Neighbour
from twigcast.routing.planning import Planner
from twigcast.routing.promises import Promise
from twigcast.routing.trees import View


class AdvertisementEntry(NamedTuple):
    """A row of the subscription routing table."""

    key: AdvertisementKey
    promise: Promise
    last_hop: str


class SubscriptionEntry(NamedTuple):
    """A row of the publication routing table."""

    pattern: Pattern
    last_hop: str
    trees: frozenset[str] | None
    """The trees whose documents it is for; None for a client, who takes all."""
    scope: int = 0


def advertisement_entries(
    broker: str,
    clients: Mapping[str, Client],
    advertised: Mapping[str, Mapping[AdvertisementKey, Promise]],
    view: View,
) -> list[AdvertisementEntry]:
    """What is advertised, by clients and by other brokers, and which link leads there."""
    entries = [
        AdvertisementEntry(key, promise, client.name)
        for client in clients.values()
        for key, promise in client.advertisements(broker).items()
    ]
    for origin, theirs in advertised.items():
        parent = view.tree(origin).parent(broker)
        if parent is not None:
            entries += [AdvertisementEntry(key, promise, parent) for key, promise in theirs.items()]
    return entries


def subscription_entries(
    clients: Mapping[str, Client], neighbours: Mapping[str, Neighbour], interests: Interests
) -> list[SubscriptionEntry]:
    """What is wanted, and on which links."""
    entries = [
        SubscriptionEntry(pattern, client.name, None, wants.scope)
        for client in clients.values()
        for wants in client.wants
        for pattern in interests.patterns(wants.source)
    ]
    for neighbour in neighbours.values():
        for channel in neighbour.incoming.values():
            entries += [
                SubscriptionEntry(
                    pattern, neighbour.name, channel.trees, interests.scope(channel.source)
                )
                for pattern in interests.patterns(channel.source)
            ]
    return entries


def patterns_by_source(
    clients: Mapping[str, Client], neighbours: Mapping[str, Neighbour], interests: Interests
) -> dict[int, Mapping[Pattern, int]]:
    """What each source wants: the clients, and the channels of neighbours."""
    sources = [wants.source for client in clients.values() for wants in client.wants]
    for neighbour in neighbours.values():
        sources += [channel.source for channel in neighbour.incoming.values()]
    return {source: interests.patterns(source) for source in sources}


def hops(
    neighbours: Mapping[str, Neighbour], planner: Planner
) -> dict[str, dict[str, tuple[int, ...]]]:
    """By tree and next neighbour, the sources that say what is wanted there."""
    return {
        tree: {
            name: tuple(sorted(neighbours[name].serving(tree)))
            for name in planner.onward(tree, "")
            if name in neighbours
        }
        for tree in sorted(planner.advertised)
    }
