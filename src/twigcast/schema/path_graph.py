"""The graph of label paths: declarations with the same label and the same parents become one node.

In a DTD each name has one declaration, and this is the element graph itself.  In an XSD an element
may have several, of which a document chooses (``xsi:type``); a path that two of them have is one
path.  So a node is a set of declarations that one label path leads to, the subset construction::

    a ─┬─► b        ─► c                 a ──► {b, b #2} ─┬─► c
       └─► b #2     ─► c, d                               └─► d

Invariant: two nodes that follow one node have different labels, so each path is one walk.  (A
wildcard is a label of its own.)  Cost: each node and its edges once.  Where sets would become many
more than the declarations are, the element graph serves instead, and some paths count twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from twigcast.language import NodeTest
from twigcast.schema.graph import Graph

_GROWTH = 4


@dataclass(frozen=True, slots=True)
class PathGraph:
    """The nodes are keys of declarations, the first of each set; ``leaves`` may end a path."""

    roots: tuple[str, ...]
    children: Graph
    leaves: frozenset[str]
    label: Callable[[str], NodeTest]


def path_graph(
    roots: tuple[str, ...],
    graph: Graph,
    leaves: Collection[str],
    label: Callable[[str], NodeTest],
) -> PathGraph:
    """The label paths that start at the roots."""
    labels = {key: label(key) for key in graph}
    if len(set(labels.values())) == len(labels):
        return PathGraph(roots, graph, frozenset(leaves), label)
    names: dict[frozenset[str], str] = {}
    used: set[str] = set()
    waiting: list[frozenset[str]] = []

    def nodes_of(keys: Iterable[str]) -> tuple[str, ...]:
        by_label: dict[NodeTest, list[str]] = {}
        for key in keys:
            by_label.setdefault(labels[key], []).append(key)
        result = []
        for members in by_label.values():
            node = frozenset(members)
            if node not in names:
                spelled = next((key for key in members if key not in used), f"{members[0]}'")
                while spelled in used:
                    spelled += "'"
                labels.setdefault(spelled, labels[members[0]])
                used.add(spelled)
                names[node] = spelled
                waiting.append(node)
            result.append(names[node])
        return tuple(result)

    starts = nodes_of(roots)
    children: dict[str, tuple[str, ...]] = {}
    ends = set()
    while waiting:
        node = waiting.pop()
        if len(names) > _GROWTH * len(graph):
            return PathGraph(roots, graph, frozenset(leaves), label)
        below = dict.fromkeys(child for key in sorted(node) for child in graph[key])
        children[names[node]] = nodes_of(below)
        if any(key in leaves for key in node):
            ends.add(names[node])
    return PathGraph(starts, children, frozenset(ends), labels.__getitem__)
