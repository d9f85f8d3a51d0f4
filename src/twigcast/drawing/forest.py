"""Trees, and the layout that pictures of overlays and of patterns share.

Reingold and Tilford: each subtree is laid out by itself, then moved beside its elder sibling until
the two stand apart on every level; a parent is above the middle of its children.

Cost: linear in the nodes, times the depth of the tree where subtrees are moved.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


class Forest(Generic[Node]):
    """Parents, children, depths and the sizes of subtrees; ``depth`` has parents first."""

    def __init__(self, nodes: Iterable[Node], edges: Iterable[tuple[Node, Node]]) -> None:
        self.children: dict[Node, list[Node]] = {node: [] for node in nodes}
        self.parent: dict[Node, Node] = {}
        for above, below in edges:
            if below in self.parent:
                raise ValueError(f"two edges lead to the node {below}; one of them is a shortcut")
            self.children[above].append(below)
            self.parent[below] = above
        self.roots = [node for node in self.children if node not in self.parent]
        self.depth: dict[Node, int] = {}
        waiting = self.roots[::-1]
        while waiting:
            node = waiting.pop()
            self.depth[node] = self.depth[self.parent[node]] + 1 if node in self.parent else 0
            waiting.extend(reversed(self.children[node]))
        if len(self.depth) < len(self.children):
            raise ValueError("the edges form a circle; an order has none")
        self.size = dict.fromkeys(self.depth, 1)
        for node in reversed(self.depth):
            if node in self.parent:
                self.size[self.parent[node]] += self.size[node]

    def largest(self, limit: int) -> list[Node]:
        """So many nodes, parents first: the largest trees, the last of them from its top."""
        if len(self.depth) <= limit:
            return list(self.depth)
        chosen: set[Node] = set()
        for root in sorted(self.roots, key=lambda node: -self.size[node]):
            level = [root]
            while level and len(chosen) < limit:
                chosen.update(level[: limit - len(chosen)])
                level = [child for node in level for child in self.children[node]]
                level.sort(key=lambda node: -self.size[node])
        return [node for node in self.depth if node in chosen]

    def spread(self, widths: Mapping[Node, float]) -> tuple[dict[Node, float], float]:
        """The middle of each node of a single tree, from 0 to the width of all, and that width."""
        offsets = dict.fromkeys(self.roots, 0.0)  # from the parent
        outlines: dict[Node, list[tuple[float, float]]] = {}  # of subtrees, level by level
        for node in reversed(self.depth):
            outline: list[tuple[float, float]] = []
            children = self.children[node]
            for child in children:
                own = outlines.pop(child)
                pairs = list(zip(outline, own, strict=False))
                shift = max((right - left for (_, right), (left, _) in pairs), default=0.0)
                offsets[child] = shift
                joined = [(left, right + shift) for (left, _), (_, right) in pairs]
                lower = [(left + shift, right + shift) for left, right in own[len(pairs) :]]
                outline = [*joined, *outline[len(pairs) :], *lower]
            middle = offsets[children[-1]] / 2 if children else 0.0  # the first is at 0
            for child in children:
                offsets[child] -= middle
            half = widths[node] / 2
            below = [(left - middle, right - middle) for left, right in outline]
            outlines[node] = [(-half, half), *below]
        edges = [edge for outline in outlines.values() for edge in outline]
        start = min(left for left, _ in edges)
        sides: dict[Node, float] = {}
        for node in self.depth:
            sides[node] = offsets[node] + (
                sides[self.parent[node]] if node in self.parent else -start
            )
        return sides, max(right for _, right in edges) - start
