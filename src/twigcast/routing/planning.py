"""What a broker should tell its neighbours, from the trees and the advertisements.

For each tree the planner knows whom the broker tells what is wanted of it, and from which channels
that is known; and whom it tells of the advertisements that the tree is there for.  When something
has changed that concerns some trees, these are planned anew, and the channels to those neighbours
that they lead to; when the links have changed, all.

What of this is different from what was told before, those find out who tell it
(:mod:`~twigcast.routing.neighbour`, :mod:`~twigcast.routing.channels`).

Cost: for a tree, as many steps as the broker has neighbours in it; for a neighbour, as many as
trees lead to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from twigcast.routing.channels import Course
from twigcast.routing.clients import Client
from twigcast.routing.link_states import LinkStates
from twigcast.routing.messages import AdvertisementKey
from twigcast.routing.neighbour import Advertised, Neighbour
from twigcast.routing.promises import ANYTHING, Promise
from twigcast.routing.strategy import Towards

SHARED_TREE: Final = ""
"""The name of the tree that all documents take where producers are not known."""


class _TreePlan(NamedTuple):
    back: Mapping[str, frozenset[int]]
    """Whom to tell what is wanted, and the sources from which that is known."""
    on: tuple[str, ...]
    """Whom to tell what is advertised."""
    advertised: Advertised


_NO_PLAN = _TreePlan({}, (), {})


class Plan(NamedTuple):
    """What is to be told, where that may have changed."""

    advertised: list[tuple[str, str, Advertised]]
    """A neighbour, an origin, and what the neighbour should know of it."""
    courses: dict[str, list[Course]]
    """By neighbour, the channels that should lead to it."""


class Planner:
    """Knows what a broker should tell; looks at what the broker knows and changes nothing of it."""

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
        self._plans: dict[str, _TreePlan] = {}
        self._inputs: dict[str, dict[str, frozenset[int]]] = {}  # by neighbour and tree

    @property
    def advertised(self) -> dict[str, Advertised]:
        """The advertisements that hold, by origin, as of the last plan."""
        return {origin: plan.advertised for origin, plan in self._plans.items()}

    def ways_on(self, tree: str, link: str) -> tuple[str, ...]:
        """The brokers to which a document of a tree may go next, having come on a link."""
        view = self._link_states.view
        if tree == SHARED_TREE:
            around = view.shared_tree(self._name).around(self._name)
            return tuple(name for name in around if name != link)
        return view.tree(tree).below(self._name)

    def plan(self, stale: Collection[str] | None) -> Plan:
        """What is to be told, now that these trees are not what they were; None stands for all."""
        trees = self._all_trees() if stale is None else sorted(stale)
        touched: dict[str, None] = {}
        told: list[tuple[str, str, Advertised]] = []
        for tree in trees:
            before, now = self._plans.pop(tree, _NO_PLAN), self._plan_tree(tree)
            if now is not _NO_PLAN:
                self._plans[tree] = now
            if now == before:
                continue
            for name in before.back:
                del self._inputs[name][tree]
            for name, inputs in now.back.items():
                self._inputs.setdefault(name, {})[tree] = inputs
            touched.update(dict.fromkeys((*before.back, *now.back)))
            if before[1:] != now[1:]:
                told += [(name, tree, now.advertised) for name in now.on]
                told += [(name, tree, {}) for name in before.on if name not in now.on]
        return Plan(told, {name: self._courses(name) for name in touched})

    def _all_trees(self) -> list[str]:
        if self._towards is Towards.EVERYONE:
            return [SHARED_TREE]
        origins = {self._name, *self._plans}
        for neighbour in self._neighbours.values():
            origins.update(neighbour.origins)
        return sorted(origins)

    def _plan_tree(self, name: str) -> _TreePlan:
        if (name == SHARED_TREE) != (self._towards is Towards.EVERYONE):
            return _NO_PLAN
        view = self._link_states.view
        if name == SHARED_TREE:
            around = view.shared_tree(self._name).around(self._name)
            serving = {to: self._serving(name, (to,)) for to in around if to in self._neighbours}
            everything = frozenset[int]().union(*serving.values())
            return _TreePlan({to: everything - own for to, own in serving.items()}, (), {})
        tree = view.tree(name)
        advertised = self._advertised(name, tree.parent(self._name))
        if not advertised:
            return _NO_PLAN
        below = tree.below(self._name)
        parent = tree.parent(self._name)
        back = {} if parent is None else {parent: self._serving(name, below)}
        return _TreePlan(back, below, advertised)

    def _advertised(self, origin: str, parent: str | None) -> Advertised:
        """The advertisements of an origin that hold: those that came by its tree."""
        if origin == self._name:
            return {
                AdvertisementKey(origin, client.name, key): promise
                for client in self._clients.values()
                for key, promise in client.advertised.items()
            }
        neighbour = None if parent is None else self._neighbours.get(parent)
        return {} if neighbour is None else neighbour.advertised_from(origin)

    def _serving(self, tree: str, names: Collection[str]) -> frozenset[int]:
        neighbours = (self._neighbours.get(name) for name in names)
        return frozenset[int]().union(*(each.serving(tree) for each in neighbours if each))

    def _courses(self, neighbour: str) -> list[Course]:
        """The channels there should be to a neighbour: one for all trees with the same inputs."""
        groups: dict[frozenset[int], list[str]] = {}
        for tree, inputs in self._inputs.get(neighbour, {}).items():
            groups.setdefault(inputs, []).append(tree)
        return [
            Course(frozenset(trees), inputs, self._promises(trees))
            for inputs, trees in groups.items()
        ]

    def _promises(self, trees: Collection[str]) -> frozenset[Promise]:
        if self._towards is not Towards.ADVERTISEMENTS:
            return frozenset((ANYTHING,))
        return frozenset(
            promise for tree in trees for promise in self._plans[tree].advertised.values()
        )
