"""A snapshot of all tables of a network, with which documents are routed as a pure function.

At every broker a document would be matched with that broker's table.  But the tables of all brokers
hold much the same patterns; so a snapshot has one matcher with each pattern once, and notes which
tables it is in::

    /news/body//p   ──►  tables 4 (what rome sent to london), 7 (client desk-7 at rome)

A document is matched once, which says which tables want it.  Then it is followed from broker to
broker: over each next link of its tree whose table wants it, and to the clients whose tables do.

Invariant: deliveries and links are those that the network itself comes to at rest, for a document
that a client publishes at that broker.  (Where producers must advertise and none at that broker
does, only its own clients get it; the network would refuse it.)  Like a broker, a snapshot lets a
document into each broker once on a tree, so one that was taken while brokers disagreed does no
worse than they did.  Where a unit of brokers has parted, a document may enter one tree in two
places; which copy is first at a broker depends on time, and so do the links, but not the clients.
Cost: one match, whatever the size of the overlay, and some microseconds for each broker reached.  A
snapshot is immutable, can be pickled, and is saved as a folder whose matcher is mapped into memory
when it is loaded.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from twigcast.documents import DocumentLimits, Source
from twigcast.errors import DocumentError, NetworkError
from twigcast.matching import Matcher
from twigcast.routing.messages import is_outer
from twigcast.routing.overlay import Link, Overlay
from twigcast.routing.planning import SHARED_TREE, tree_from
from twigcast.routing.router import Router
from twigcast.routing.scopes import depth_of_scope, shared_depth
from twigcast.routing.strategy import Towards

_VERSION: Final = 3
_NO_TABLES: Final[frozenset[int]] = frozenset()
_MATCHER: Final = "matcher"
_TABLES: Final = "tables.json"


class ClientDelivery(NamedTuple):
    """A client that gets a document, at which broker, and for which of its subscriptions."""

    client: str
    broker: str
    subscriptions: tuple[str, ...]


class Crossing(NamedTuple):
    """A document crossing a link."""

    sender: str
    receiver: str


@dataclass(frozen=True, slots=True)
class Route:
    """Where one document goes: the deliveries, and the links it crosses."""

    deliveries: tuple[ClientDelivery, ...]
    crossings: tuple[Crossing, ...]
    """The links that it crosses, each after the one that leads to it."""
    _in_vain: tuple[Crossing, ...]

    def wasted(self) -> tuple[Crossing, ...]:
        """The crossings beyond which nobody gets the document."""
        return self._in_vain


class _Stop(NamedTuple):
    """A router that a document reaches, on a tree."""

    broker: str
    depth: int
    tree: str
    sender: str
    """The neighbour, or leaf, that it comes from."""
    above: _Stop | None
    """The router that it comes from."""


class _Level(NamedTuple):
    """A router of a broker: of the innermost unit, or of one of those around it."""

    hops: dict[str, dict[str, list[int]]]
    """By tree and neighbour, the tables that say what is wanted there."""
    clients: list[int]
    """Tables of clients."""
    leaves: dict[str, tuple[int, str]]
    """By leaf, at which depth of the same broker a document goes on, and as from which leaf."""


class _Tables(NamedTuple):
    """Everything but the matcher; made of what JSON can hold."""

    towards: str
    brokers: dict[str, dict[int, _Level]]
    """By name and depth."""
    clients: dict[int, tuple[str, dict[int, list[str]]]]
    """By table, the client and the ids of its subscriptions by pattern."""
    holders: list[list[int]]
    """By pattern, the tables that it is in."""
    scopes: dict[int, int]
    """By table, the depth of the unit within which something is wanted, where there is one."""


class FrozenNetwork:
    """An immutable snapshot of a network; made by :meth:`twigcast.routing.Network.freeze`."""

    def __init__(self, matcher: Matcher, tables: _Tables) -> None:
        self._matcher = matcher
        self._tables = tables
        # By number of the matcher: which set of neighbours' tables, each set kept once, and the
        # tables of clients with the ids of their subscriptions.
        sets: dict[frozenset[int], int] = {}
        self._set_of: list[int] = []
        self._own: list[list[tuple[int, list[str]]]] = []
        clients = tables.clients
        for pattern, holders in enumerate(tables.holders):
            channels = frozenset(table for table in holders if table not in clients)
            own = [(table, clients[table][1][pattern]) for table in holders if table in clients]
            self._set_of.append(sets.setdefault(channels, len(sets)))
            self._own.append(own)
        self._sets = list(sets)

    @property
    def brokers(self) -> tuple[str, ...]:
        """The brokers, those that were up."""
        return tuple(self._tables.brokers)

    def route(self, document: Source, at: str, *, scope: str = "") -> Route:
        """Where a document goes that a client publishes at a broker, within a unit perhaps.

        Raises :class:`~twigcast.errors.DocumentError` for what is not a document, and
        :class:`~twigcast.errors.NetworkError` where there is no such broker, or it is not in that
        unit.
        """
        self._require(at)
        within = depth_of_scope(at, scope)
        return self._follow(self._matcher.match_numbered(document).numbers(0), at, within)

    def route_batch(
        self, documents: Any, at: str | Sequence[str], *, scope: str = ""
    ) -> Iterator[Route | DocumentError]:
        """The same for many documents, published at one broker or each at its own.

        ``documents`` as for :meth:`twigcast.Matcher.match_batch`; a bad one gives its error.
        """
        matches = self._matcher.match_batch(documents)
        brokers = [at] * len(matches) if isinstance(at, str) else list(at)
        if len(brokers) != len(matches):
            raise ValueError(f"{len(matches)} documents need as many brokers, not {len(brokers)}")
        within: dict[str, int] = {}
        for broker in set(brokers):
            self._require(broker)
            within[broker] = depth_of_scope(broker, scope)
        errors = matches.errors
        return (
            errors.get(number) or self._follow(matches.numbers(number), broker, within[broker])
            for number, broker in enumerate(brokers)
        )

    def _require(self, broker: str) -> None:
        if broker not in self._tables.brokers:
            known = ", ".join(list(self._tables.brokers)[:10])
            raise NetworkError(f"the network has no broker {broker!r}; it has: {known}")

    def _follow(self, matched: list[int], at: str, scope: int = 0) -> Route:
        sets = set(map(self._set_of.__getitem__, matched))
        wanting = frozenset[int]().union(*map(self._sets.__getitem__, sets))
        subscriptions: dict[int, list[str]] = defaultdict(list)
        for own in map(self._own.__getitem__, matched):
            for table, ids in own:
                subscriptions[table] += ids
        levels = self._tables.brokers
        towards = Towards(self._tables.towards)
        tree = at if towards is not Towards.EVERYONE else SHARED_TREE
        start = _Stop(at, max(levels[at]), tree, "", None)
        reached = {start[:3]: start}
        waiting = [start]
        crossings: list[tuple[Crossing, _Stop]] = []
        for stop in waiting:
            broker, depth, tree, sender, _ = stop
            level = levels[broker][depth]
            wanting_here = wanting - self._beyond(at, broker, depth)
            for neighbour, tables in level.hops.get(tree, {}).items():
                if neighbour == sender or wanting_here.isdisjoint(tables):
                    continue
                if scope and scope >= depth and is_outer(neighbour):
                    continue  # it does not leave the unit
                if neighbour in level.leaves:
                    to, leaf = level.leaves[neighbour]
                    following = _Stop(broker, to, tree_from(leaf, towards), leaf, stop)
                else:
                    following = _Stop(neighbour, depth, tree, broker, stop)
                    crossings.append((Crossing(broker, neighbour), following))
                # A document that comes back to where it was published has been everywhere.
                is_back = following[:2] == start[:2]
                is_there = following.depth in levels.get(following.broker, ())
                if is_there and not is_back and following[:3] not in reached:
                    reached[following[:3]] = following
                    waiting.append(following)
        clients = self._tables.clients
        useful: set[int] = set()  # what leads to deliveries, by identity
        deliveries: list[ClientDelivery] = []
        served: set[tuple[str, int]] = set()
        for stop in waiting:
            beyond = self._beyond(at, stop.broker, stop.depth)
            mine: dict[str, list[str]] = {}
            for each in levels[stop.broker][stop.depth].clients:
                if each in subscriptions and each not in beyond:
                    mine.setdefault(clients[each][0], []).extend(subscriptions[each])
            if mine and stop[:2] not in served:
                served.add(stop[:2])
                deliveries += (
                    ClientDelivery(client, stop.broker, tuple(ids)) for client, ids in mine.items()
                )
                current: _Stop | None = stop
                while current is not None and id(current) not in useful:
                    useful.add(id(current))
                    current = current.above
        return Route(
            tuple(deliveries),
            tuple(crossing for crossing, _ in crossings),
            tuple(crossing for crossing, stop in crossings if id(stop) not in useful),
        )

    def _beyond(self, origin: str, broker: str, depth: int) -> frozenset[int]:
        """The tables at a broker that want nothing from as far away as a document's origin."""
        shared = shared_depth(origin, broker) if self._tables.scopes else depth
        if shared >= depth:
            return _NO_TABLES
        return frozenset(each for each, scope in self._tables.scopes.items() if scope > shared)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the snapshot to a folder, which appears whole; one that is there is refused."""
        target = Path(path)
        if target.exists():
            raise FileExistsError(f"{target} is there already; remove it or choose another folder")
        folder = target.with_name(f".{target.name}-{secrets.token_hex(8)}")
        folder.mkdir()
        try:
            self._matcher.save(folder / _MATCHER)
            text = json.dumps({"version": _VERSION, **self._tables._asdict()})
            (folder / _TABLES).write_text(text, encoding="utf-8")
            folder.rename(target)
        except BaseException:
            shutil.rmtree(folder)
            raise

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, limits: DocumentLimits | None = None
    ) -> FrozenNetwork:
        """The snapshot in a folder written by :meth:`save`; processes share the mapped matcher."""
        folder = Path(path)
        matcher = Matcher.load(folder / _MATCHER, limits=limits)
        text = (folder / _TABLES).read_bytes()
        try:
            tables = _read_tables(json.loads(text))
            # The numbers of the matcher are positions in the tables.
            if list(matcher) != [str(number) for number in range(len(tables.holders))]:
                raise ValueError("the matcher is not of this snapshot")
            return cls(matcher, tables)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise NetworkError(f"{folder / _TABLES}: no snapshot of a network: {error}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenNetwork, (self._matcher, self._tables)

    def _repr_svg_(self) -> str:
        from twigcast.drawing import draw_overlay  # for notebooks only

        tables = self._tables.brokers
        pairs = {
            Link.between(name, other)
            for name, levels in tables.items()
            for level in levels.values()
            for neighbours in level.hops.values()
            for other in neighbours
            if other not in level.leaves
        }
        clients = {
            name: len(
                {
                    self._tables.clients[each][0]
                    for level in levels.values()
                    for each in level.clients
                }
            )
            for name, levels in tables.items()
        }
        return draw_overlay(Overlay(tables, sorted(pairs)), clients=clients)

    def __repr__(self) -> str:
        clients = {name for name, _ in self._tables.clients.values()}
        return (
            f"<FrozenNetwork of {len(self.brokers)} brokers, {len(clients)} clients "
            f"and {len(self._tables.holders):,} patterns>"
        )


def freeze(routers: Iterable[Router], limits: DocumentLimits | None = None) -> FrozenNetwork:
    """A snapshot of routers at rest, which have one strategy."""
    matcher = Matcher(limits=limits)
    numbers: dict[str, int] = {}
    tables = _Tables(Towards.EVERYONE.value, {}, {}, [], {})
    count = 0
    brokers = [router.levels for router in routers]
    for router in chain.from_iterable(brokers):
        tables = tables._replace(towards=router.strategy.towards.value)
        table_of: dict[int, int] = {}
        for source, patterns in router.patterns_by_source().items():
            table_of[source] = count
            if router.scope_of(source):
                tables.scopes[count] = router.scope_of(source)
            for pattern in patterns:
                text = str(pattern)
                number = numbers.get(text)
                if number is None:
                    number = numbers[text] = len(numbers)
                    matcher.add(str(number), pattern)
                    tables.holders.append([])
                tables.holders[number].append(count)
            count += 1
        for client in router.clients.values():
            for wants in client.wants:
                ids: dict[int, list[str]] = {}
                for key in wants.subscriptions:
                    ids.setdefault(numbers[str(wants.subscriptions[key])], []).append(key)
                tables.clients[table_of[wants.source]] = (client.name, ids)
        tables.brokers.setdefault(router.name, {})[router.depth] = _Level(
            {
                tree: {
                    neighbour: [table_of[source] for source in sources]
                    for neighbour, sources in hops.items()
                }
                for tree, hops in router.hops().items()
            },
            [
                table_of[wants.source]
                for client in router.clients.values()
                for wants in client.wants
            ],
            {},
        )
    for routers_of_one in brokers:
        for inner, outer in pairwise(routers_of_one):
            outside = next(each for each in inner.link_state.leaves if is_outer(each))
            inside = next(each for each in outer.link_state.leaves if not is_outer(each))
            levels = tables.brokers[inner.name]
            levels[inner.depth].leaves[outside] = outer.depth, inside
            levels[outer.depth].leaves[inside] = inner.depth, outside
    return FrozenNetwork(matcher, tables)


def _read_tables(content: Mapping[str, Any]) -> _Tables:
    """The tables from JSON, whose keys are all text."""
    if content["version"] != _VERSION:
        raise ValueError(f"its version is {content['version']}, not {_VERSION}")
    clients = {
        int(table): (name, {int(pattern): list(keys) for pattern, keys in ids.items()})
        for table, (name, ids) in content["clients"].items()
    }
    brokers = {
        name: {
            int(depth): _Level(
                hops, own, {leaf: (int(to), origin) for leaf, (to, origin) in leaves.items()}
            )
            for depth, (hops, own, leaves) in levels.items()
        }
        for name, levels in content["brokers"].items()
    }
    holders = [[int(table) for table in tables] for tables in content["holders"]]
    scopes = {int(table): int(scope) for table, scope in content["scopes"].items()}
    return _Tables(Towards(content["towards"]).value, brokers, clients, holders, scopes)
