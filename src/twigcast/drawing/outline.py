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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Final, NamedTuple

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


class Row(NamedTuple):
    """A node and where its box is; ``hidden`` counts the nodes left out below it."""

    id: int
    column: int
    left: float
    right: float
    middle: float
    hidden: int


@dataclass(slots=True)
class Layout:
    """``rows`` by node, the reminders in ``continued``, and a path for each edge in ``elbows``."""

    rows: dict[int, Row] = field(default_factory=dict)
    continued: list[Row] = field(default_factory=list)
    elbows: list[str] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


def lay_out(widths: Mapping[int, float], edges: Sequence[tuple[int, int]], limit: int) -> Layout:
    """The rows of a forest, given the width of each box."""
    forest = Forest(widths, edges)
    drawn = forest.largest(limit)
    shown = set(drawn)
    indents = {node: _INDENT * min(forest.depth[node], _DEEPEST) for node in drawn}
    layout = Layout()
    edge = float(_MARGIN)  # where the column begins
    for number, column in enumerate(_break(drawn, forest, indents, widths)):
        lineage: list[int] = []
        above = forest.parent.get(column[0])
        while above is not None and len(lineage) < _REMINDERS:
            lineage.insert(0, above)
            above = forest.parent.get(above)
        left = edge - min(indents[node] for node in (*lineage, *column))
        bottoms: dict[int, float] = {}
        middle = _MARGIN + _ROW / 2
        for line, node in enumerate((*lineage, *column)):
            start = left + indents[node]
            hidden = sum(
                forest.size[child] for child in forest.children[node] if child not in shown
            )
            row = Row(node, number, start, start + widths[node], middle, hidden)
            if node in forest.parent and line:
                parent = forest.parent[node]
                stem = left + indents[parent] + _INDENT / 2
                top = bottoms.get(parent, _MARGIN)
                layout.elbows.append(f"M{stem:g},{top:g} V{middle:g} H{max(stem, start):g}")
            if line < len(lineage):
                layout.continued.append(row)
            else:
                layout.rows[node] = row
                edge = max(edge, row.right)
            bottoms[node] = middle + BOX_HEIGHT / 2
            middle += _ROW
        edge += _GAP
        layout.height = max(layout.height, middle - _ROW / 2 + _MARGIN)
    # The margin on the right leaves room for shortcuts, and for how much is hidden.
    layout.width = edge + _GAP
    return layout


def _break(
    drawn: Sequence[int],
    forest: Forest[int],
    indents: Mapping[int, float],
    widths: Mapping[int, float],
) -> list[Sequence[int]]:
    """The nodes of each column."""
    widest = max((indents[node] + widths[node] for node in drawn), default=0.0)
    height = sqrt(len(drawn) * _ROW * (widest + _GAP) / _RATIO)
    columns = max(1, round(len(drawn) / max(_FEWEST_ROWS, height / _ROW)))
    broken: list[Sequence[int]] = []
    start = 0
    for left in range(columns, 1, -1):
        share = (len(drawn) - start) // left
        ends = range(start + share - share // 6, start + share + share // 6 + 1)
        end = min(ends, key=lambda row: (forest.depth[drawn[row]], abs(row - start - share)))
        broken.append(drawn[start:end])
        start = end
    return [*broken, drawn[start:]] if drawn else []
