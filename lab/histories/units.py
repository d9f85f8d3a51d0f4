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
from collections.abc import Callable, Iterator
from functools import cached_property

from lab.histories.oracle import Oracle, Party, World, matches
from lab.histories.witness import Publication
from twigcast import hierarchy
from twigcast.hierarchy import unit_at
from twigcast.routing import Network, Overlay, Router, Strategy, shared_depth


class UnitsOracle(Oracle):
    """What follows from a world whose brokers stand in units."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        gateways = world.overlay.gateways
        self.units = {
            broker: hierarchy.units_of(broker, gateways.get(broker)) for broker in self.costs
        }

    def reachable(self, broker: str, scope: int = 0) -> frozenset[str]:
        return hierarchy.reachable(broker, self.costs, self.units, scope)

    def kept_within(self, publication: Publication) -> dict[str, tuple[str, ...]]:
        """Who must get a document: no scope of it or of a subscription is in the way."""
        return self._chosen(
            publication,
            lambda party, scope: (
                shared_depth(publication.origin, party.broker) >= scope
                and party.broker
                in self.reachable(publication.origin, max(scope, publication.scope))
            ),
        )

    def allowed(self, publication: Publication) -> dict[str, tuple[str, ...]]:
        """Who may get a document.

        If a unit has parted, a document may come from one part to the other from outside.
        """
        return self._chosen(
            publication,
            lambda party, scope: (
                party.broker in self.reachable(publication.origin, publication.scope)
                and shared_depth(publication.origin, party.broker) >= scope
            ),
        )

    def _chosen(
        self, publication: Publication, is_for: Callable[[Party, int], bool]
    ) -> dict[str, tuple[str, ...]]:
        chosen = {
            name: tuple(
                sorted(
                    key
                    for key, each in party.subscriptions.items()
                    if is_for(party, party.scopes.get(key, 0))
                    and matches(each, publication.content)
                )
            )
            for name, party in self.world.clients.items()
        }
        return {name: ids for name, ids in chosen.items() if ids}

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
    wanted, allowed = oracle.kept_within(publication), oracle.allowed(publication)
    if oracle.is_whole and wanted != allowed:
        yield f"ought to go to {wanted}, and may go to {allowed}"
    got = {client: set(ids) for client, [*each] in publication.got.items() for ids in each}
    if any(len(each) != 1 for each in publication.got.values()):
        yield f"comes twice: {publication.got}"
    must = {client: set(ids) for client, ids in wanted.items()}
    if not (_is_among(must, got) and _is_among(got, {c: set(ids) for c, ids in allowed.items()})):
        yield f"goes to {publication.got} instead of {wanted}, at most {allowed}"
    unit = unit_at(publication.origin, publication.scope)
    for crossing in publication.crossings:
        if any(unit_at(each, publication.scope) != unit for each in crossing):
            yield f"leaves {unit} over {crossing}"
    if publication.scope:
        return  # others outside may draw it as far as the gateway
    useful = {oracle.world.clients[client].broker for client in wanted}
    useless = set(publication.crossings)
    while found := {each for each in useless if each[1] in useful}:
        useless -= found
        useful |= {sender for sender, _ in found}
    if useless and oracle.is_whole and not is_loose(oracle.world.strategy):
        yield f"crosses {sorted(useless)} in vain"


def _is_among(some: dict[str, set[str]], others: dict[str, set[str]]) -> bool:
    return all(ids <= others.get(client, set()) for client, ids in some.items())


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
        scopes = {each.scope for each in router.subscriptions()}
        scopes.update(each.key.scope for each in router.advertisements())
        if max(scopes, default=0) > depth:
            yield f"{name} at depth {depth} knows of what is kept within units: {scopes}"
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
        "wanted": Counter(
            (str(each.pattern), each.last_hop, each.scope) for each in router.subscriptions()
        ),
        "advertised": Counter(
            (*entry.key[:2], entry.key.scope, str(entry.promise), entry.last_hop)
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
                within = unit_at(party.broker, party.promised_within.get(key, 0))
                network.advertise(name, key, promise, scope=within)
            for key, pattern in party.subscriptions.items():
                within = unit_at(party.broker, party.scopes.get(key, 0))
                network.subscribe_all(name, {key: pattern}, scope=within)
    network.settle()
    return network
