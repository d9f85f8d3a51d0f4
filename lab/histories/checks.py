"""Holds a network at rest against what the oracle says: its tables, and where documents went.

Each function gives what is wrong, in words, and nothing where all is as it should be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from lab.histories.oracle import ExpectedChannel, Oracle
from lab.histories.units import UnitsOracle, wrong_route_in_units, wrong_tables_in_units
from lab.histories.witness import Publication
from twigcast.covering import covers
from twigcast.hierarchy import unit_at
from twigcast.language import Pattern
from twigcast.routing import Network, Router, Strategy


def wrong_at_rest(
    network: Network, oracle: Oracle, publications: Collection[Publication]
) -> Iterator[str]:
    """What is wrong with a network at rest, and with what became of documents published at rest."""
    yield from wrong_routes(publications, oracle)
    # In a unit that has parted a document may enter a tree twice, and whichever is first goes on.
    is_whole = not isinstance(oracle, UnitsOracle) or oracle.is_whole
    yield from wrong_frozen(publications, network, judges_crossings=is_whole)
    if isinstance(oracle, UnitsOracle):
        yield from wrong_tables_in_units(network, oracle.world)
    else:
        yield from wrong_tables(network, oracle)


# --- tables --------------------------------------------------------------------------------------


def wrong_tables(network: Network, oracle: Oracle) -> Iterator[str]:
    """What is wrong with what brokers know, and with what they have sent each other."""
    if set(network.routers) != set(oracle.costs):
        yield f"the brokers {sorted(network.routers)} are up, not {sorted(oracle.costs)}"
        return
    for broker, router in network.routers.items():
        wrong = _wrong_knowledge(router, oracle)
        for each in wrong:
            yield f"{broker}: {each}"
    for receiver in oracle.costs:
        for sender in oracle.costs[receiver]:
            for each in _wrong_channels(network, oracle, sender, receiver):
                yield f"{sender} to {receiver}: {each}"


def _wrong_knowledge(router: Router, oracle: Oracle) -> Iterator[str]:
    attached = {
        name: party for name, party in oracle.world.clients.items() if party.broker == router.name
    }
    if set(router.clients) != set(attached):
        yield f"has the clients {sorted(router.clients)} instead of {sorted(attached)}"
    for name, party in attached.items():
        client = router.clients.get(name)
        if client is not None:
            if client.advertised != party.promises:
                yield f"{name} advertises {client.advertised} instead of {party.promises}"
            subscribed = {
                key: each.subscriptions[key] for each in client.wants for key in each.subscriptions
            }
            if subscribed != party.subscriptions or client.subscription_count != len(subscribed):
                yield f"{name} subscribes to {subscribed} instead of {party.subscriptions}"
    advertised = router.advertisements()
    expected = oracle.advertisements(router.name)
    if Counter(advertised) != Counter(expected):
        yield f"knows the advertisements {advertised} instead of {list(expected)}"
    if set(router.neighbours) != set(oracle.costs[router.name]):
        yield f"has links to {sorted(router.neighbours)}"
    for name, neighbour in router.neighbours.items():
        keys = {entry.key for entry in expected if entry.last_hop == name}
        if set(neighbour.advertised) != keys:
            yield f"{name} has sent it of {sorted(neighbour.advertised)} instead of {sorted(keys)}"
        if any(channel.has_news for channel in neighbour.outgoing.values()):
            yield f"has something to send to {name}, and does not"
    remembered = router.remembered()
    if remembered.keys() & router.neighbours.keys():
        yield f"remembers links to {sorted(remembered)}, and some of these are up"
    patterns = {entry.pattern for entry in router.subscriptions()}.union(*remembered.values())
    if len(patterns) != router.table_size:
        yield f"matches {router.table_size} patterns, and knows of {len(patterns)}"


def _wrong_channels(network: Network, oracle: Oracle, sender: str, receiver: str) -> Iterator[str]:
    outgoing = network.routers[sender].neighbours[receiver].outgoing
    incoming = network.routers[receiver].neighbours[sender].incoming
    expected = {channel.trees: channel for channel in oracle.channels(sender, receiver)}
    ours = {number: channel.course.trees for number, channel in outgoing.items()}
    theirs = {number: channel.trees for number, channel in incoming.items()}
    if ours != theirs:
        yield f"the sender has the channels {ours}, the receiver {theirs}"
    if Counter(ours.values()) != Counter(list(expected)):
        yield f"has channels for the trees {_trees(ours.values())}, not {_trees(expected)}"
    known: dict[frozenset[str] | None, set[Pattern]] = {}
    for entry in network.routers[receiver].subscriptions():
        if entry.last_hop == sender:
            known.setdefault(entry.trees, set()).add(entry.pattern)
    for channel in outgoing.values():
        wanted = expected.get(channel.course.trees)
        if wanted is None:
            continue
        where = f"of {_trees([wanted.trees])}"
        if known.get(wanted.trees, set()) != set(channel.sent):
            yield f"{where} is known {_shown(known.get(wanted.trees, ()))}, not what was sent"
        reason = _wrong_sent(oracle, wanted, channel.sent)
        if reason is None and oracle.world.strategy.merging is not None:
            reason = _wrong_size(network, oracle, wanted, channel.sent, sender, receiver)
        if reason is not None:
            yield f"{where} is sent {_shown(channel.sent)}: {reason}"


def _wrong_sent(oracle: Oracle, channel: ExpectedChannel, sent: tuple[Pattern, ...]) -> str | None:
    strategy = oracle.world.strategy
    everything = oracle.subscriptions(channel)
    wanted = [each for each in everything if channel.admits(each)]
    if not strategy.covering:
        if Counter(sent) == Counter(wanted):
            return None
        return f"wanted is {_shown(wanted)}"
    if len(set(sent)) < len(sent):
        return "something twice"
    # What covers a pattern and cannot match shows that the pattern cannot match either, though
    # ``overlaps``, which is sharp for paths only, may not see that.
    hopeless = [each for each in everything if not channel.admits(each)]
    missed = [
        each for each in wanted if not any(covers_once(one, each) for one in (*sent, *hopeless))
    ]
    if missed:
        return f"wanted is {_shown(missed)}, too"
    if strategy.merging is None:
        surplus = set(sent).difference(wanted)
        if surplus:
            return f"nobody wants {_shown(surplus)}"
        if len(maximal(sent)) < len(sent):
            return f"{_shown(maximal(sent))} would do"
    return None


def _wrong_size(
    network: Network,
    oracle: Oracle,
    channel: ExpectedChannel,
    sent: tuple[Pattern, ...],
    sender: str,
    receiver: str,
) -> str | None:
    """Mergers must not be more than what they stand for: what clients want and others send."""
    tree = min(channel.trees)
    wanted = [
        entry.pattern
        for entry in network.routers[sender].subscriptions()
        if entry.trees is None or (tree in entry.trees and entry.last_hop != receiver)
    ]
    enough = maximal(each for each in wanted if channel.admits(each))
    return f"{_shown(enough)} would do" if len(sent) > len(enough) else None


def maximal(patterns: Iterable[Pattern]) -> list[Pattern]:
    """Those that no other one covers, and the first of equivalent ones."""
    largest: list[Pattern] = []
    for pattern in dict.fromkeys(patterns):
        if not any(covers_once(other, pattern) for other in largest):
            largest = [other for other in largest if not covers_once(pattern, other)]
            largest.append(pattern)
    return largest


@lru_cache(maxsize=2**14)
def covers_once(one: Pattern, other: Pattern) -> bool:
    """Whether one pattern covers another, computed once."""
    return covers(one, other)


def _shown(patterns: Iterable[Pattern]) -> str:
    return "[" + ", ".join(sorted(map(str, patterns))) + "]"


def _trees(groups: Iterable[frozenset[str]]) -> list[list[str]]:
    return sorted(sorted(group) for group in groups)


# --- documents -----------------------------------------------------------------------------------


def wrong_routes(publications: Collection[Publication], oracle: Oracle) -> Iterator[str]:
    """What is wrong with the routes of documents that were published at rest and have arrived."""
    for publication in publications:
        if publication.is_refusable:
            if publication.refusals != 1 or publication.got or publication.crossings:
                yield f"{publication.content!r} is to be refused, once, and to go nowhere"
        elif publication.is_promised:
            for each in _wrong_route(publication, oracle):
                yield f"{publication.content!r} of {publication.client}: {each}"
    if not isinstance(oracle, UnitsOracle) or oracle.is_whole:
        yield from _wrong_order(publications)


def _wrong_route(publication: Publication, oracle: Oracle) -> Iterator[str]:
    if isinstance(oracle, UnitsOracle):
        yield from wrong_route_in_units(publication, oracle)
        return
    wanted = oracle.wanted(publication.content, publication.origin)
    needed = oracle.crossings(publication.origin, wanted)
    crossed = set(publication.crossings)
    if not needed <= crossed:
        yield f"does not cross {sorted(needed - crossed)}"
    if not crossed <= _allowed(oracle, publication.origin, needed):
        yield f"crosses {sorted(crossed)} instead of {sorted(needed)}"
    expected = {client: [ids] for client, ids in wanted.items()}
    if publication.got != expected:
        yield f"goes to {publication.got} instead of {expected}"
    if any(times > 1 for times in publication.crossings.values()):
        yield f"crosses a link twice: {publication.crossings}"


def _allowed(
    oracle: Oracle, origin: str, needed: frozenset[tuple[str, str]]
) -> frozenset[tuple[str, str]]:
    """Mergers that are not perfect let documents go further than anybody wants them."""
    strategy: Strategy = oracle.world.strategy
    return oracle.outwards(origin) if strategy.merging else needed


def wrong_frozen(
    publications: Collection[Publication], network: Network, *, judges_crossings: bool = True
) -> Iterator[str]:
    """Where a snapshot of the network sends documents elsewhere than it did itself."""
    sound = [each for each in publications if not each.is_refusable]
    frozen = network.freeze() if sound else None
    for publication in sound:
        assert frozen is not None
        unit = unit_at(publication.origin, publication.scope)
        route = frozen.route(publication.content, at=publication.origin, scope=unit)
        got = {each.client: [tuple(sorted(each.subscriptions))] for each in route.deliveries}
        is_elsewhere = judges_crossings and Counter(route.crossings) != publication.crossings
        if got != publication.got or is_elsewhere:
            yield f"{publication.content!r} of {publication.client}: when frozen goes to {got}"


def _wrong_order(publications: Collection[Publication]) -> Iterator[str]:
    """On a tree at rest nothing overtakes anything, so documents arrive as they were published."""
    last: dict[tuple[str, str], int] = {}
    for publication in publications:
        for client, turn in publication.turns.items():
            pair = (publication.client, client)
            if turn < last.get(pair, -1):
                yield f"{client} gets {publication.id} of {publication.client} too late"
            last[pair] = turn
