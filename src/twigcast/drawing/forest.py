"""Trees, and the tidy layout that pictures of overlays and of patterns share.

Reingold and Tilford: each subtree is laid out by itself, then moved beside its elder sibling until
the two stand apart on every level; a parent is above the middle of its children.

Cost: linear in the nodes, times the depth of the tree where subtrees are moved.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)

_COUSINS: Final = 1.25
"""How much further apart nodes with different parents are."""


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


def tidy(
    tree: Forest[Node], apart: Sequence[float], widths: Mapping[Node, float] | None = None
) -> dict[Node, float]:
    """How far to the side each node of a single tree is, ``apart`` giving the gap by level.

    Small subtrees between large ones lean to the side on which they were added.  So the result is
    the mean of both directions: what stands apart in both stands apart in the mean.
    """
    widths = widths or {}
    one = _tidy_from(tree, apart, widths, 1)
    other = _tidy_from(tree, apart, widths, -1)
    return {node: (one[node] - other[node]) / 2 for node in one}


def _tidy_from(
    tree: Forest[Node], apart: Sequence[float], widths: Mapping[Node, float], step: int
) -> dict[Node, float]:
    offsets: dict[Node, float] = {}
    outlines: dict[Node, tuple[list[float], list[float]]] = {}  # of subtrees, level by level
    for node in reversed(tree.depth):
        below = tree.depth[node] + 1
        left: list[float] = []
        right: list[float] = []
        children = tree.children[node][::step]
        shifts: list[float] = []
        for child in children:
            child_left, child_right = outlines.pop(child)
            shift = 0.0
            for level, (edge, own) in enumerate(zip(right, child_left, strict=False)):
                gap = apart[below + level] * (_COUSINS if level else 1)
                shift = max(shift, edge - own + gap)
            shifts.append(shift)
            left += [shift + each for each in child_left[len(left) :]]
            right[: len(child_right)] = [shift + each for each in child_right]
        middle = (shifts[0] + shifts[-1]) / 2 if shifts else 0.0
        offsets |= {child: shift - middle for child, shift in zip(children, shifts, strict=True)}
        half = widths.get(node, 0.0) / 2
        outlines[node] = (
            [-half, *(each - middle for each in left)],
            [half, *(each - middle for each in right)],
        )
    sides: dict[Node, float] = {}
    for node in tree.depth:
        sides[node] = sides[tree.parent[node]] + offsets[node] if node in tree.parent else 0.0
    return sides
