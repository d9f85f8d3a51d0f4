"""Where the boxes of a forest go: rows indented below their parents, broken into columns.

    column 0            column 1
    ┌────┐
    │ a  │              … a             a reminder of each parent that is in an earlier column
    └┬───┘               │
     ├─┌────┐            └─┌────┐
     │ │ b  │              │ d  │
     │ └────┘              └────┘
     └─┌────┐            ┌────┐
       │ c  │            │ e  │
       └────┘            └────┘

The number of columns is chosen for a picture half as wide again as it is high.  A column ends near
its share of the rows, where the next row is nearest to the left: between trees if possible.

Cost: linear in the nodes, but for sorting siblings by size where not all of them are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt

BOX_HEIGHT = 20
CHARACTER = 7.2
PADDING = 8

_ROW = 26
_INDENT = 22
_DEEPEST = 24
"""Levels below this one are indented no further."""
_GAP = 64
_MARGIN = 12
_FEWEST_ROWS = 30
_RATIO = 1.5
_REMINDERS = 6


@dataclass(slots=True)
class Row:
    """A node and where its box is; ``hidden`` counts what is below it and not drawn."""

    id: int
    place: int
    column: int
    left: float
    right: float
    middle: float
    hidden: int = 0


@dataclass(slots=True)
class Layout:
    """``rows`` by node, reminders in ``continued``.

    Of each edge the ``elbows`` say the child, where the vertical line is and where it starts.
    """

    rows: dict[int, Row] = field(default_factory=dict)
    continued: list[Row] = field(default_factory=list)
    elbows: list[tuple[Row, float, float]] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


class Forest:
    """Parents, children and the sizes of subtrees."""

    def __init__(self, nodes: Sequence[int], edges: Sequence[tuple[int, int]]) -> None:
        self.parent: dict[int, int] = {}
        self.children: dict[int, list[int]] = {node: [] for node in nodes}
        for above, below in edges:
            if below in self.parent:
                raise ValueError(f"two edges lead to the node {below}; one of them is a shortcut")
            self.children[above].append(below)
            self.parent[below] = above
        self.roots = [node for node in nodes if node not in self.parent]
        self.depth: dict[int, int] = {}
        for node in self._preorder():
            self.depth[node] = self.depth[self.parent[node]] + 1 if node in self.parent else 0
        if len(self.depth) < len(self.children):
            raise ValueError("the edges go round in a circle")
        self.size = dict.fromkeys(self.depth, 1)
        for node in reversed(list(self.depth)):
            if node in self.parent:
                self.size[self.parent[node]] += self.size[node]

    def _preorder(self) -> list[int]:
        found: list[int] = []
        waiting = self.roots[::-1]
        while waiting:
            node = waiting.pop()
            found.append(node)
            waiting.extend(reversed(self.children[node]))
        return found

    def largest(self, limit: int) -> list[int]:
        """So many nodes, parents first: the largest trees, the last of them from its top."""
        if len(self.depth) <= limit:
            return list(self.depth)
        chosen: set[int] = set()
        for root in sorted(self.roots, key=lambda node: -self.size[node]):
            level = [root]
            while level and len(chosen) < limit:
                chosen.update(level[: limit - len(chosen)])
                level = [child for node in level for child in self.children[node]]
                level.sort(key=lambda node: -self.size[node])
        return [node for node in self.depth if node in chosen]


def lay_out(lengths: Mapping[int, int], edges: Sequence[tuple[int, int]], limit: int) -> Layout:
    """Place the nodes, given how many characters each holds."""
    forest = Forest(list(lengths), edges)
    drawn = forest.largest(limit)
    widths = {node: CHARACTER * lengths[node] + 2 * PADDING for node in drawn}
    indents = {node: _INDENT * min(forest.depth[node], _DEEPEST) for node in drawn}
    widest = max((indents[node] + widths[node] for node in drawn), default=0.0)
    layout = Layout()
    left = float(_MARGIN)
    for number, column in enumerate(_break(drawn, forest.depth, _columns(len(drawn), widest))):
        _fill(layout, forest, number, column, left, indents, widths)
        left = max(layout.rows[node].right for node in column) + _GAP
    for node, row in layout.rows.items():
        row.hidden = sum(
            forest.size[child] for child in forest.children[node] if child not in layout.rows
        )
    # The margin on the right leaves room for shortcuts, and for how much is hidden.
    layout.width = left + _GAP
    return layout


def _columns(rows: int, widest: float) -> int:
    height = sqrt(rows * _ROW * (widest + _GAP) / _RATIO)
    return max(1, round(rows / max(_FEWEST_ROWS, height / _ROW)))


def _break(drawn: Sequence[int], depth: Mapping[int, int], columns: int) -> list[Sequence[int]]:
    """The nodes of each column."""
    found: list[Sequence[int]] = []
    start = 0
    for left in range(columns, 1, -1):
        share = (len(drawn) - start) // left
        ends = range(start + share - share // 6, start + share + share // 6 + 1)
        end = min(ends, key=lambda place: (depth[drawn[place]], abs(place - start - share)))
        found.append(drawn[start:end])
        start = end
    return [*found, drawn[start:]] if drawn else []


def _fill(
    layout: Layout,
    forest: Forest,
    number: int,
    column: Sequence[int],
    left: float,
    indents: Mapping[int, float],
    widths: Mapping[int, float],
) -> None:
    """Place one column, reminders first."""
    lineage: list[int] = []
    node = column[0]
    while node in forest.parent and len(lineage) < _REMINDERS:
        node = forest.parent[node]
        lineage.insert(0, node)
    stems: dict[int, float] = {}
    left -= min(indents[node] for node in (*lineage, *column))
    middle = _MARGIN + _ROW / 2
    for place, node in enumerate((*lineage, *column)):
        start = left + indents[node]
        row = Row(node, len(layout.rows), number, start, start + widths[node], middle)
        if node in forest.parent and place > 0:
            parent = forest.parent[node]
            stem = left + indents[parent] + _INDENT / 2
            layout.elbows.append((row, stem, stems.get(parent, float(_MARGIN))))
        if place < len(lineage):
            layout.continued.append(row)
        else:
            layout.rows[node] = row
        stems[node] = middle + BOX_HEIGHT / 2
        middle += _ROW
    layout.height = max(layout.height, middle - _ROW / 2 + _MARGIN)
