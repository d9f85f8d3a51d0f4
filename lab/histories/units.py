"""What a network of units must have come to at rest.

The observer knows in which units each broker takes part, and which links each unit has.  A document
goes everywhere in the unit where it is published; by its gateways it goes on to the unit around it,
and so on; and wherever it comes, by the gateways of the units inside it, down to their brokers.
It does not climb where it has come down.  From that follows who gets what.

A document must not cross a link in vain, as long as no unit has parted.  Tables are compared with
those of another network, in which nothing ever happened but what is still true.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from lab.histories.oracle import Oracle, World
from lab.histories.witness import Publication
from twigcast import hierarchy
from twigcast.hierarchy import unit_at
from twigcast.routing import Network, Overlay, Router, Strategy


class UnitsOracle(Oracle):
    """What follows from a world whose brokers stand in units."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        gateways = world.overlay.gateways
        self.units = {
            broker: hierarchy.units_of(broker, gateways.get(broker)) for broker in self.costs
        }

    def reachable(self, broker: str) -> frozenset[str]:
        return hierarchy.reachable(broker, self.costs, self.units)

    @cached_property
    def is_whole(self) -> bool:
        """Whether the brokers of each unit can reach each other inside it."""
        members: dict[str, set[str]] = {}
        for broker, units in self.units.items():
            for unit in units:
                members.setdefault(unit, set()).add(broker)
        return all(self._hangs_together(unit, each) for unit, each in members.items())

    def _hangs_together(self, unit: str, members: set[str]) -> bool:
        reached = [min(members)]
        for broker in reached:
            reached += [
                other
                for other in self.costs[broker]
                if other in members and other not in reached and unit in self.units[other]
            ]
        return len(reached) == len(members)


def wrong_route_in_units(publication: Publication, oracle: UnitsOracle) -> Iterator[str]:
    """What is wrong with where a document went, and over which links."""
    wanted = oracle.wanted(publication.content, publication.origin)
    expected = {client: [ids] for client, ids in wanted.items()}
    if publication.got != expected:
        yield f"goes to {publication.got} instead of {expected}"
    useful = {oracle.world.clients[client].broker for client in wanted}
    useless = set(publication.crossings)
    while found := {each for each in useless if each[1] in useful}:
        useless -= found
        useful |= {sender for sender, _ in found}
    if useless and oracle.is_whole and not is_loose(oracle.world.strategy):
        yield f"crosses {sorted(useless)} in vain"


def is_loose(strategy: Strategy) -> bool:
    """Whether documents may go further than anybody wants them."""
    return bool(strategy.merging) or strategy.most_patterns is not None


def wrong_tables_in_units(network: Network, world: World) -> Iterator[str]:
    """What is wrong with what brokers know in each unit."""
    for (name, depth), router in _levels(network).items():
        strangers = [
            each
            for each in router.documents.view.brokers
            if unit_at(each, depth) != unit_at(name, depth)
        ]
        if strangers:
            yield f"{name} at depth {depth} knows of {strangers}, which are in other units"
        is_empty = not (_wanted(router) or router.advertisements())
        if not world.clients and not is_empty:
            yield f"{name} at depth {depth} keeps {router} when everybody has gone"
    if world.strategy.merging is not None or world.strategy.most_patterns is not None:
        return  # what is merged or cut depends on what came first
    fresh = _anew(world)
    fresh_levels = _levels(fresh)
    levels = _levels(network)
    if levels.keys() != fresh_levels.keys():
        yield f"takes part: {sorted(levels)} instead of {sorted(fresh_levels)}"
        return
    for level, router in levels.items():
        ours, expected = _tables(router), _tables(fresh_levels[level])
        for what, have in ours.items():
            if have != expected[what]:
                surplus = have - expected[what]
                yield f"{level}: {what}: too much {surplus}, too little {expected[what] - have}"


def _levels(network: Network) -> dict[tuple[str, int], Router]:
    return {
        (name, level.depth): level
        for name, router in network.routers.items()
        for level in router.levels
    }


def _tables(router: Router) -> dict[str, Counter[object]]:
    return {
        "wanted": Counter((str(each.pattern), each.last_hop) for each in router.subscriptions()),
        "advertised": Counter(
            (entry.key.origin, entry.key.client, str(entry.promise), entry.last_hop)
            for entry in router.advertisements()
        ),
        "neighbours": Counter(list(router.neighbours)),
        "patterns": Counter({"all": _wanted(router)}),
    }


def _wanted(router: Router) -> int:
    """The patterns in a router's tables, but for those that it only remembers."""
    kept = {entry.pattern for entry in router.subscriptions()}
    return router.table_size - len(frozenset().union(*router.remembered().values()) - kept)


def _anew(world: World) -> Network:
    """A network in which nothing happened but what is true now."""
    costs = Oracle(world).costs
    links = {
        link: traits
        for link, traits in world.overlay.links.items()
        if link.second in costs.get(link.first, ())
    }
    gateways = {at: unit for at, unit in world.overlay.gateways.items() if at in costs}
    network = hierarchy.Network(Overlay(costs, links, gateways), world.strategy)
    for name, party in world.clients.items():
        if party.broker in costs:
            network.attach(name, party.broker)
            for key, promise in party.promises.items():
                network.advertise(name, key, promise)
            network.subscribe_all(name, party.subscriptions)
    network.settle()
    return network
