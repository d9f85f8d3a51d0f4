"""What a broker should send to its neighbours, from the trees and the advertisements.

For each tree the planner knows to which neighbours the broker sends what is wanted of the tree, and
from which channels; and to which neighbours it sends the advertisements of the tree's root.  When
something has changed that concerns some trees, the planner plans these trees anew, and the channels
to the neighbours that they lead to; when the links have changed, all.

Each neighbour and each channel computes the difference to what it last sent
(:mod:`~twigcast.routing.neighbour`, :mod:`~twigcast.routing.channels`).

Cost: for a tree, as many steps as the broker has neighbours in it; for a neighbour, as many as
trees lead to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from twigcast.routing.channels import Course
from twigcast.routing.clients import Client
from twigcast.routing.interests import Interests
from twigcast.routing.link_states import LinkStates
from twigcast.routing.messages import OUTER, is_outer
from twigcast.routing.neighbour import Advertised, Neighbour
from twigcast.routing.promises import ANYTHING, Promise
from twigcast.routing.strategy import Towards

SHARED_TREE: Final = ""
"""The name of the tree that all documents take where producers are not known."""
SHARED_FROM_OUTSIDE: Final = OUTER
"""That of the same tree for those that come from an outer leaf, and go to none."""


def tree_from(leaf: str, towards: Towards) -> str:
    """The tree that documents take which come from a leaf."""
    if towards is not Towards.EVERYONE:
        return leaf
    return SHARED_FROM_OUTSIDE if is_outer(leaf) else SHARED_TREE


SHARED_TREES: Final = (SHARED_TREE, SHARED_FROM_OUTSIDE)


class _TreePlan(NamedTuple):
    back: Mapping[str, frozenset[int]]
    """The neighbours to send what is wanted to, and the sources of it for each."""
    on: tuple[str, ...]
    """The neighbours to send advertisements to."""
    advertised: Advertised


_NO_PLAN = _TreePlan({}, (), {})


class Plan(NamedTuple):
    """What is to be sent, where that may have changed."""

    advertised: list[tuple[str, str, Advertised]]
    """A neighbour, an origin, and what the neighbour should know of it."""
    courses: dict[str, list[Course]]
    """By neighbour, the channels that should lead to it."""


class Planner:
    """Says what a broker should send; it reads the broker's tables and changes none of them."""

    def __init__(
        self,
        name: str,
        towards: Towards,
        link_states: LinkStates,
        clients: Mapping[str, Client],
        neighbours: Mapping[str, Neighbour],
        interests: Interests,
        depth: int,
    ) -> None:
        self._name = name
        self._towards = towards
        self._link_states = link_states
        self._clients = clients
        self._neighbours = neighbours
        self._interests = interests
        self._depth = depth
        self._scopes = interests.client_scopes  # as of the last plan
        self._plans: dict[str, _TreePlan] = {}
        self._inputs: dict[str, dict[str, frozenset[int]]] = {}  # by neighbour and tree

    @property
    def advertised(self) -> dict[str, Advertised]:
        """The advertisements that hold, by origin, as of the last plan."""
        return {origin: plan.advertised for origin, plan in self._plans.items()}

    def onward(self, tree: str, link: str) -> tuple[str, ...]:
        """The brokers to which a document of a tree may go next, having come on a link."""
        view = self._link_states.view
        if tree in SHARED_TREES:
            return tuple(name for name in self._around(tree) if name != link)
        return view.tree(tree).below(self._name)

    @property
    def is_outdated(self) -> bool:
        """Whether clients want something within other scopes than at the last plan."""
        return self._scopes != self._interests.client_scopes

    def plan(self, stale: Collection[str] | None) -> Plan:
        """What is to be sent, now that these trees have changed; None stands for all."""
        trees = self._all_trees() if stale is None else sorted(stale)
        touched: dict[str, None] = {}
        if self.is_outdated:
            self._scopes = self._interests.client_scopes
            touched.update(dict.fromkeys(self._inputs))
        sent: list[tuple[str, str, Advertised]] = []
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
                sent += [(name, tree, now.advertised) for name in now.on]
                sent += [(name, tree, {}) for name in before.on if name not in now.on]
        return Plan(sent, {name: self._courses(name) for name in touched})

    def rename(self, before: str, now: str) -> None:
        """Go on with a neighbour under another name."""
        self._inputs[now] = self._inputs.pop(before, {})
        for tree, plan in self._plans.items():
            back = {now if name == before else name: plan.back[name] for name in plan.back}
            on = tuple(now if name == before else name for name in plan.on)
            self._plans[tree] = plan._replace(back=back, on=on)

    def _all_trees(self) -> list[str]:
        if self._towards is Towards.EVERYONE:
            from_outside = any(map(is_outer, self._link_states.view.leaves))
            return [SHARED_TREE, *([SHARED_FROM_OUTSIDE] if from_outside else self._plans)]
        origins = {self._name, *self._plans}
        for neighbour in self._neighbours.values():
            origins.update(neighbour.origins)
        return sorted(origins)

    def _plan_tree(self, name: str) -> _TreePlan:
        if (name in SHARED_TREES) != (self._towards is Towards.EVERYONE):
            return _NO_PLAN
        if name in SHARED_TREES:
            return self._plan_shared(name)
        view = self._link_states.view
        tree = view.tree(name)
        advertised = self._advertised(name, tree.parent(self._name))
        if not advertised:
            return _NO_PLAN
        below = tree.below(self._name)
        parent = tree.parent(self._name)
        back = {} if parent is None else {parent: self._serving(name, below)}
        return _TreePlan(back, below, advertised)

    def _plan_shared(self, name: str) -> _TreePlan:
        """Everybody sends everybody else what all others want."""
        serving = {
            to: self._serving(name, (to,)) for to in self._around(name) if to in self._neighbours
        }
        everything = frozenset[int]().union(*serving.values())
        view = self._link_states.view
        back = {to: everything - own for to, own in serving.items() if not view.is_outer(to)}
        if name == SHARED_FROM_OUTSIDE:
            back |= {leaf: everything for leaf in self._link_states.own.leaves if is_outer(leaf)}
        return _TreePlan(back, (), {})

    def _around(self, tree: str) -> tuple[str, ...]:
        view = self._link_states.view
        around = view.shared_tree(self._name).around(self._name)
        if tree == SHARED_TREE:
            return around
        return tuple(name for name in around if not view.is_outer(name))

    def _advertised(self, origin: str, parent: str | None) -> Advertised:
        """The advertisements of an origin that hold: those that came by its tree."""
        if origin == self._name:
            return {
                key: promise
                for client in self._clients.values()
                for key, promise in client.advertisements(origin).items()
            }
        neighbour = None if parent is None else self._neighbours.get(parent)
        return {} if neighbour is None else neighbour.advertised_from(origin)

    def _serving(self, tree: str, names: Collection[str]) -> frozenset[int]:
        neighbours = (self._neighbours.get(name) for name in names)
        return frozenset[int]().union(*(each.serving(tree) for each in neighbours if each))

    def _courses(self, neighbour: str) -> list[Course]:
        """The channels there should be to a neighbour: one for all trees with the same inputs.

        Each scope has its own.
        """
        groups: dict[tuple[int, frozenset[int]], list[str]] = {}
        for tree, inputs in self._inputs.get(neighbour, {}).items():
            for key in self._by_scope(tree, inputs):
                groups.setdefault(key, []).append(tree)
        return [
            Course(frozenset(trees), inputs, self._promises(trees), scope)
            for (scope, inputs), trees in groups.items()
        ]

    def _by_scope(self, tree: str, inputs: frozenset[int]) -> list[tuple[int, frozenset[int]]]:
        """The inputs of a tree, by scope; what is wanted within a unit draws nothing into it."""
        if not self._interests.has_scopes:
            return [(0, inputs)]
        scopes = self._scopes.union(map(self._interests.scope, inputs))
        return [
            (scope, frozenset(each for each in inputs if self._interests.scope(each) == scope))
            for scope in sorted(scopes)
            if not (scope and scope >= self._depth and is_outer(tree))
        ]

    def _promises(self, trees: Collection[str]) -> frozenset[Promise]:
        if self._towards is not Towards.ADVERTISEMENTS:
            return frozenset((ANYTHING,))
        return frozenset(
            promise for tree in trees for promise in self._plans[tree].advertised.values()
        )
