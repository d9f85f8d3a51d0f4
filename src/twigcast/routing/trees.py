"""Shortest-path trees over the links that a broker knows of.

Every broker computes the trees by itself.  Brokers that know the same links compute the same trees,
for paths of equal cost are ordered by names; that is all the agreement that routing needs.

Cost: a tree takes one search by Dijkstra, some milliseconds for a thousand brokers.  It is made
when it is first asked for, and brokers in one process that know the same share it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from heapq import heappop, heappush
from itertools import chain
from math import inf
from typing import NamedTuple
from weakref import WeakValueDictionary

from twigcast.routing.messages import LinkState, is_outer

Graph = Mapping[str, Mapping[str, float]]
"""The neighbours of each broker, and what the links to them cost."""


class Tree(NamedTuple):
    """The brokers that can be reached from a root, each below the one that it is reached from."""

    root: str
    parents: Mapping[str, str]
    children: Mapping[str, tuple[str, ...]]

    def parent(self, broker: str) -> str | None:
        """The next broker on the path to the root; None for the root and what cannot be reached."""
        return self.parents.get(broker)

    def below(self, broker: str) -> tuple[str, ...]:
        """The next brokers on the paths from the root, in the order of their names."""
        return self.children.get(broker, ())

    def around(self, broker: str) -> tuple[str, ...]:
        """The brokers that one is linked to by the tree, in either direction."""
        parent = self.parents.get(broker)
        return self.below(broker) if parent is None else (parent, *self.below(broker))

    def __contains__(self, broker: object) -> bool:
        return broker == self.root or broker in self.parents


def shortest_path_tree(graph: Graph, root: str, leaves: Collection[str] = ()) -> Tree:
    """The tree of least costs; of two paths that cost the same, the one by the lesser name.

    No path leads through one of the leaves, nor from an outer leaf to another.
    """
    from_outside = root in leaves and is_outer(root)
    distances = {root: 0.0}
    parents: dict[str, str] = {}
    waiting = [(0.0, root)]
    done: set[str] = set()
    while waiting:
        distance, broker = heappop(waiting)
        if broker in done:
            continue
        done.add(broker)
        if broker in leaves and broker != root:
            continue
        for neighbour, cost in graph[broker].items():
            if neighbour in done or (from_outside and is_outer(neighbour)):
                continue
            reached = distance + cost
            known = distances.get(neighbour)
            if known is None or reached < known:
                distances[neighbour] = reached
                parents[neighbour] = broker
                heappush(waiting, (reached, neighbour))
            elif reached == known and broker < parents[neighbour]:
                parents[neighbour] = broker
    below: dict[str, list[str]] = {}
    for broker, parent in parents.items():
        below.setdefault(parent, []).append(broker)
    return Tree(root, parents, {parent: tuple(sorted(each)) for parent, each in below.items()})


class View:
    """The overlay as a set of link states describes it: a link is there when both ends say so."""

    def __init__(self, states: Iterable[LinkState]) -> None:
        states = tuple(states)
        said = {state.broker: dict(state.links) for state in states}
        self.leaves: dict[str, list[str]] = {}
        """The brokers that each leaf hangs on, in the order of their names."""
        self.brokers = sorted({*said, *chain.from_iterable(said.values())})
        """All that are known, also those that only others speak of so far."""
        graph = {
            broker: {
                # Both ends must come to the same cost.
                neighbour: max(cost, said[neighbour][broker])
                for neighbour, cost in links.items()
                if broker in said.get(neighbour, ())
            }
            for broker, links in said.items()
        }
        for state in sorted(states):
            for leaf in state.leaves:
                self.leaves.setdefault(leaf, []).append(state.broker)
                graph[state.broker][leaf] = 0.0
                graph.setdefault(leaf, {})[state.broker] = 0.0
        self.graph: Graph = graph
        self._trees: dict[str, Tree] = {}
        self._centres: dict[str, str] = {}

    def is_outer(self, name: str) -> bool:
        """Whether something is a leaf that stands for all that is outside."""
        return name in self.leaves and is_outer(name)

    def tree(self, root: str) -> Tree:
        """The shortest-path tree from a broker; one that is not known stands alone."""
        tree = self._trees.get(root)
        if tree is None:
            if root not in self.graph:
                return Tree(root, {}, {})
            tree = self._trees[root] = shortest_path_tree(self.graph, root, self.leaves)
        return tree

    def distance(self, root: str, broker: str) -> float:
        """What a path between two brokers costs; infinite where there is none."""
        parents, graph = self.tree(root).parents, self.graph
        cost = 0.0
        while broker != root:
            parent = parents.get(broker)
            if parent is None:
                return inf
            cost += graph[parent][broker]
            broker = parent
        return cost

    def shared_tree(self, broker: str) -> Tree:
        """One tree for all brokers that can reach each other: from the one with the most links."""
        centre = self._centres.get(broker)
        if centre is None:
            members = [broker, *self.tree(broker).parents]
            brokers = [each for each in members if each not in self.leaves]
            centre = min(brokers, key=lambda each: (-len(self.graph.get(each, ())), each))
            self._centres.update(dict.fromkeys(members, centre))
        return self.tree(centre)


_views: WeakValueDictionary[frozenset[LinkState], View] = WeakValueDictionary()


def view_of(states: frozenset[LinkState]) -> View:
    """The view that these states give; the same object as long as it is in use."""
    view = _views.get(states)
    if view is None:
        view = _views[states] = View(states)
    return view
