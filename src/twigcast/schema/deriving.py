"""The advertisements of a schema, made one by one as they are asked for.

The element graph falls into strongly connected components, and a root-to-leaf path is a row of
walks: into a component, around in it, and out to the next.  Components without a cycle give a
name.  The walks from an entry ``u`` to an exit ``v`` of a cyclic one become a short list of
expressions, each with its ``+`` groups::

    an element that contains itself       (/u)+
    a cycle u → x → y → u, left at u      /u            /u(/x/y/u)+
    all contain all                       /u/v          /u(/u|/x|/v)+/v
    anything else, while it stays small   by elimination of elements, as automata become
                                          regular expressions
    the rest                              as if all contained all: too many paths, never too few

The advertisements of a schema are the products of these lists along the rows.  There may be very
many; the automaton of the schema says the same in little space.

Cost: constant work for each advertisement, beside its length; the lists are made once for each
pair of entry and exit.  Counting takes the number of edges, not of advertisements.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator
from functools import cached_property
from itertools import islice

from twigcast.schema.advertisement import Advertisement
from twigcast.schema.graph import Graph, strong_components
from twigcast.schema.path_graph import PathGraph
from twigcast.schema.walks import Row, Walks, walks

_LARGE_COMPONENT = 50
"""In components with more elements, exact walks are not tried again once they were too complex."""


class Advertisements(ABC):
    """The advertisements of a schema: iterate lazily, as often as wanted.

    They are ``exact`` if together they promise the schema's root-to-leaf paths and no others,
    ``complete`` if they promise every one of these paths.
    """

    def __init__(self, paths: PathGraph) -> None:
        self._roots = paths.roots
        self._graph = paths.children
        self._leaves = paths.leaves
        self._label = paths.label

    @property
    @abstractmethod
    def exact(self) -> bool: ...

    @property
    @abstractmethod
    def complete(self) -> bool: ...

    @abstractmethod
    def count(self) -> int:
        """How many there are, counted without making them."""

    @abstractmethod
    def __iter__(self) -> Iterator[Advertisement]: ...

    def __repr__(self) -> str:
        exact = "" if self.exact else ", promising more paths than there are"
        return f"<{self.count():,} advertisements{exact if self.complete else ', to a depth'}>"

    def take(self, limit: int) -> list[Advertisement]:
        """The first ``limit`` of them."""
        return list(islice(self, limit))


class RecursiveAdvertisements(Advertisements):
    """Every path of the schema, with ``+`` groups for cycles."""

    def __init__(self, paths: PathGraph) -> None:
        super().__init__(paths)
        self._components = strong_components(paths.children, paths.roots)
        self._home = {
            name: index for index, component in enumerate(self._components) for name in component
        }
        self._walks: dict[tuple[str, str], Walks] = {}
        self._inexact: set[int] = set()  # the large components that were too complex once

    @property
    def complete(self) -> bool:
        return True

    @cached_property
    def exact(self) -> bool:
        """Whether every cyclic component was small or plain enough to be written exactly."""
        entries = set(self._roots)
        for name, children in self._graph.items():
            if name in self._home:
                entries.update(child for child in children if self._home[child] != self._home[name])
        return all(
            self._between(entry, end).exact for entry in entries for end in self._exits(entry)
        )

    def count(self) -> int:
        onward: dict[str, int] = {}
        for component in self._components:  # those further from the root come first
            after = {
                end: (end in self._leaves) + sum(onward[child] for child in self._outward(end))
                for end in component
            }
            for entry in component:
                onward[entry] = sum(
                    len(self._between(entry, end).rows) * after[end]
                    for end in component
                    if after[end]
                )
        return sum(onward[root] for root in self._roots)

    def __iter__(self) -> Iterator[Advertisement]:
        # A stack of its own: a DTD may be nested deeper than Python's calls.
        stack: list[tuple[Row, Iterator[tuple[Row, str | None]]]] = [
            ((), self._rows_from(root)) for root in reversed(self._roots)
        ]
        while stack:
            before, onward = stack[-1]
            for row, child in onward:
                if child is None:
                    yield Advertisement(before + row)
                else:
                    stack.append((before + row, self._rows_from(child)))
                    break
            else:
                stack.pop()

    def _rows_from(self, entry: str) -> Iterator[tuple[Row, str | None]]:
        """The rows through the component of ``entry``, each with the child entered next or None."""
        for end in self._exits(entry):
            for row in self._between(entry, end).rows:
                if end in self._leaves:
                    yield row, None
                for child in self._outward(end):
                    yield row, child

    def _exits(self, entry: str) -> Iterator[str]:
        """The elements of the component at which a path can end or go on to another component."""
        for end in self._components[self._home[entry]]:
            if end in self._leaves or any(True for _ in self._outward(end)):
                yield end

    def _outward(self, name: str) -> Iterator[str]:
        home = self._home[name]
        return (child for child in self._graph[name] if self._home[child] != home)

    def _between(self, entry: str, end: str) -> Walks:
        known = self._walks.get((entry, end))
        if known is None:
            component = self._components[self._home[entry]]
            inside = frozenset(component)
            edges = {
                name: tuple(child for child in self._graph[name] if child in inside)
                for name in component
            }
            tries_exact = self._home[entry] not in self._inexact
            known = self._walks[entry, end] = walks(edges, entry, end, self._label, tries_exact)
            if not known.exact and len(component) > _LARGE_COMPONENT:
                self._inexact.add(self._home[entry])
        return known


class AdvertisementsToDepth(Advertisements):
    """Every root-to-leaf path of at most ``depth`` names, each an advertisement without groups."""

    def __init__(self, paths: PathGraph, depth: int) -> None:
        super().__init__(paths)
        self._depth = depth
        self._shortest = self._measure_shortest()

    @property
    def exact(self) -> bool:
        return self.complete

    @cached_property
    def complete(self) -> bool:
        """Whether no path of the schema is longer."""
        # Every element can be completed, so a path that goes on beyond the depth ends there too.
        level = set(self._roots)
        for _ in range(self._depth):
            level = {child for name in level for child in self._graph[name]}
        return not level

    def count(self) -> int:
        return count_paths(self._roots, self._graph, self._depth, self._leaves)

    def __iter__(self) -> Iterator[Advertisement]:
        path: list[str] = []
        stack = [iter(self._roots)]
        while stack:
            for child in stack[-1]:
                if len(path) + self._shortest[child] > self._depth:
                    continue
                path.append(child)
                stack.append(iter(self._graph[child]))
                if child in self._leaves:
                    yield Advertisement(map(self._label, path))
                break
            else:
                stack.pop()
                if path:
                    path.pop()

    def _measure_shortest(self) -> dict[str, int]:
        """For each element the names on the shortest path down to a leaf, its own included.

        Without it the iteration would wander about below the last leaf within the depth.
        """
        shortest = {name: 1 for name in self._graph if name in self._leaves}
        above: dict[str, list[str]] = {}
        for name, children in self._graph.items():
            for child in children:
                above.setdefault(child, []).append(name)
        level = list(shortest)
        while level:
            reached = []
            for child in level:
                for name in above.get(child, ()):
                    if name not in shortest:
                        shortest[name] = shortest[child] + 1
                        reached.append(name)
            level = reached
        return shortest


def count_paths(
    roots: Iterable[str], graph: Graph, depth: int, ends: Container[str] | None = None
) -> int:
    """The number of label paths from the roots with at most ``depth`` names, level by level.

    With ``ends``, only of those that end at one of these elements.
    """
    total = 0
    level = dict.fromkeys(roots, 1)
    for _ in range(depth):
        total += sum(count for name, count in level.items() if ends is None or name in ends)
        following: dict[str, int] = {}
        for name, count in level.items():
            for child in graph[name]:
                following[child] = following.get(child, 0) + count
        if not following:
            break
        level = following
    return total
