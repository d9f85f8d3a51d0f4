"""The layout of an order: rows indented below their parents, broken into columns.

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
from typing import Final

from twigcast.drawing.forest import Forest

BOX_HEIGHT: Final = 20

_ROW: Final = 26
_INDENT: Final = 22
_DEEPEST: Final = 24
"""Levels below this one are indented no further."""
_GAP: Final = 64
_MARGIN: Final = 12
_FEWEST_ROWS: Final = 30
_RATIO: Final = 1.5
_REMINDERS: Final = 6


@dataclass(slots=True)
class Row:
    """A node and where its box is; ``number`` counts rows, ``hidden`` the nodes left out below."""

    id: int
    number: int
    column: int
    left: float
    right: float
    middle: float
    hidden: int = 0


@dataclass(slots=True)
class Layout:
    """``rows`` by node, and the reminders in ``continued``.

    For each edge, ``elbows`` has the row of the child, and where the vertical line is and starts.
    """

    rows: dict[int, Row] = field(default_factory=dict)
    continued: list[Row] = field(default_factory=list)
    elbows: list[tuple[Row, float, float]] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


def lay_out(widths: Mapping[int, float], edges: Sequence[tuple[int, int]], limit: int) -> Layout:
    """The rows of a forest, given the width of each box."""
    forest = Forest(widths, edges)
    drawn = forest.largest(limit)
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
    broken: list[Sequence[int]] = []
    start = 0
    for left in range(columns, 1, -1):
        share = (len(drawn) - start) // left
        ends = range(start + share - share // 6, start + share + share // 6 + 1)
        end = min(ends, key=lambda row: (depth[drawn[row]], abs(row - start - share)))
        broken.append(drawn[start:end])
        start = end
    return [*broken, drawn[start:]] if drawn else []


def _fill(
    layout: Layout,
    forest: Forest[int],
    number: int,
    column: Sequence[int],
    left: float,
    indents: Mapping[int, float],
    widths: Mapping[int, float],
) -> None:
    """Add one column to the layout, reminders first."""
    lineage: list[int] = []
    node = column[0]
    while node in forest.parent and len(lineage) < _REMINDERS:
        node = forest.parent[node]
        lineage.insert(0, node)
    stems: dict[int, float] = {}
    left -= min(indents[node] for node in (*lineage, *column))
    middle = _MARGIN + _ROW / 2
    for line, node in enumerate((*lineage, *column)):
        start = left + indents[node]
        row = Row(node, len(layout.rows), number, start, start + widths[node], middle)
        if node in forest.parent and line > 0:
            parent = forest.parent[node]
            stem = left + indents[parent] + _INDENT / 2
            layout.elbows.append((row, stem, stems.get(parent, float(_MARGIN))))
        if line < len(lineage):
            layout.continued.append(row)
        else:
            layout.rows[node] = row
        stems[node] = middle + BOX_HEIGHT / 2
        middle += _ROW
    layout.height = max(layout.height, middle - _ROW / 2 + _MARGIN)
