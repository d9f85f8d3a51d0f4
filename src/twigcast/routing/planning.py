"""What a broker should tell its neighbours, from the trees and the advertisements.

Everything here is computed from what is known now; what is different from what was told before,
those find out who tell it (:mod:`~twigcast.routing.neighbour`, :mod:`~twigcast.routing.channels`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from twigcast.routing.channels import Course
from twigcast.routing.clients import Client
from twigcast.routing.link_states import LinkStates
from twigcast.routing.messages import AdvertisementKey
from twigcast.routing.neighbour import Neighbour
from twigcast.routing.promises import ANYTHING, Promise
from twigcast.routing.strategy import Towards

SHARED_TREE: Final = ""
"""The name of the tree that all documents take where producers are not known."""

Advertised: TypeAlias = dict[AdvertisementKey, Promise]


class Plan(NamedTuple):
    """What to tell, by neighbour."""

    advertisements: Mapping[str, Advertised]
    courses: Mapping[str, list[Course]]


class Planner:
    """Looks at what a broker knows; changes nothing."""

    def __init__(
        self,
        name: str,
        towards: Towards,
        link_states: LinkStates,
        clients: Mapping[str, Client],
        neighbours: Mapping[str, Neighbour],
    ) -> None:
        self._name = name
        self._towards = towards
        self._link_states = link_states
        self._clients = clients
        self._neighbours = neighbours

    def plan(self) -> Plan:
        """What each neighbour should know of advertisements, and which channels lead to it."""
        advertised = self.advertised()
        to_tell: dict[str, Advertised] = {}
        if self._towards is not Towards.EVERYONE:
            view = self._link_states.view
            for origin, promises in advertised.items():
                for child in view.tree(origin).below(self._name):
                    to_tell.setdefault(child, {}).update(promises)
        return Plan(to_tell, self._courses(advertised))

    def advertised(self) -> dict[str, Advertised]:
        """The advertisements that hold, by origin: those that came by the tree of the origin."""
        found: dict[str, Advertised] = {}
        for client in self._clients.values():
            for key, promise in client.advertised.items():
                own = AdvertisementKey(self._name, client.name, key)
                found.setdefault(self._name, {})[own] = promise
        view = self._link_states.view
        for neighbour in self._neighbours.values():
            for told, promise in neighbour.advertised.items():
                if view.tree(told.origin).parent(self._name) == neighbour.name:
                    found.setdefault(told.origin, {})[told] = promise
        return found

    def ways_on(self, tree: str, link: str) -> tuple[str, ...]:
        """The brokers to which a document of a tree may go next, having come on a link."""
        view = self._link_states.view
        if tree == SHARED_TREE:
            around = view.shared_tree(self._name).around(self._name)
            return tuple(name for name in around if name != link)
        return view.tree(tree).below(self._name)

    def _courses(self, advertised: Mapping[str, Advertised]) -> dict[str, list[Course]]:
        """The channels there should be: one for all trees with the same inputs."""
        groups: dict[str, dict[frozenset[int], set[str]]] = {}
        for tree, to, others in self._ways_back(advertised):
            inputs = frozenset(
                source
                for other in others
                if other in self._neighbours
                for source in self._neighbours[other].serving(tree)
            )
            groups.setdefault(to, {}).setdefault(inputs, set()).add(tree)
        return {
            to: [
                Course(frozenset(trees), inputs, self._promises(advertised, trees))
                for inputs, trees in group.items()
            ]
            for to, group in groups.items()
        }

    def _ways_back(self, origins: Iterable[str]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """For each tree, whom to tell what is wanted of it, and from whom that is known."""
        view = self._link_states.view
        if self._towards is Towards.EVERYONE:
            around = view.shared_tree(self._name).around(self._name)
            for to in around:
                yield SHARED_TREE, to, tuple(other for other in around if other != to)
            return
        for origin in origins:
            tree = view.tree(origin)
            parent = tree.parent(self._name)
            if parent is not None:
                yield origin, parent, tree.below(self._name)

    def _promises(
        self, advertised: Mapping[str, Advertised], trees: Iterable[str]
    ) -> frozenset[Promise]:
        if self._towards is not Towards.ADVERTISEMENTS:
            return frozenset((ANYTHING,))
        return frozenset(promise for tree in trees for promise in advertised[tree].values())
