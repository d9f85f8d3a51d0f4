"""Pictures of an order: what covers what, as text for Graphviz or as SVG.

A :class:`Diagram` is all that is known of the order: nodes, edges that form a forest, and shortcuts
across it.  Hundreds of patterns side by side make a layered drawing too wide to read, so the SVG is
laid out like an outline (:mod:`twigcast.drawing.outline`).  Edges are solid and run along the
indentation; shortcuts are dashed curves from box to box, behind the boxes.  The full text of a
shortened label shows when the pointer rests on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from twigcast.drawing import svg
from twigcast.drawing.labels import columns, distinct_labels, printable, shorten
from twigcast.drawing.outline import BOX_HEIGHT, Layout, Row, lay_out

_LONGEST_LABEL: Final = 44
_LONGEST_NOTE: Final = 16
_PADDING: Final = 8
_SHORTCUTS_A_NODE: Final = 2
_BULGE: Final = 90.0
_COLOURS: Final = ("#b4530a", "#0b7285", "#7048e8", "#c2255c", "#2b8a3e", "#5c6b00")
"""Dark enough on white, and distinct to most eyes; shortcuts from one node share one."""


@dataclass(frozen=True)
class DiagramNode:
    """A box: ``note`` stands behind the label, set back."""

    id: int
    label: str
    note: str = ""

    @property
    def title(self) -> str:
        """The label and the note, whole."""
        return f"{self.label}  {self.note}" if self.note else self.label


@dataclass(frozen=True)
class Diagram:
    """An order to draw.  ``edges`` lead from parent to child, to each node one at most.

    ``caption`` explains the notes.
    """

    nodes: Sequence[DiagramNode]
    edges: Sequence[tuple[int, int]]
    shortcuts: Sequence[tuple[int, int]] = ()
    caption: str = ""


def to_dot(diagram: Diagram) -> str:
    """The diagram in the language of Graphviz: edges solid, shortcuts dashed."""
    lines = [
        "digraph covering {",
        "  rankdir=LR;",
        '  node [shape=box, style=rounded, fontname="monospace"];',
    ]
    lines += [f'  n{node.id} [label="{_escape_dot(node.title)}"];' for node in diagram.nodes]
    lines += [f"  n{above} -> n{below};" for above, below in diagram.edges]
    lines += [
        f"  n{above} -> n{below} [style=dashed, constraint=false];"
        for above, below in diagram.shortcuts
    ]
    return "\n".join([*lines, "}", ""])


def _escape_dot(text: str) -> str:
    # Graphviz reads backslash sequences and the entities of HTML in a label.
    return printable(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


def to_svg(diagram: Diagram, limit: int = 300) -> str:
    """The diagram as a picture of no more than ``limit`` nodes: the largest trees, from the top."""
    if limit < 1:
        raise ValueError(f"a picture has one node at least, not {limit}; give a higher limit")
    nodes = {node.id: node for node in diagram.nodes}
    notes = {node.id: shorten(node.note, _LONGEST_NOTE) for node in diagram.nodes}
    labels, layout = _lay_out(diagram, notes, limit)
    rows = layout.rows
    shortcuts = [
        (rows[above], rows[below])
        for above, below in diagram.shortcuts
        if above in rows and below in rows
    ][: _SHORTCUTS_A_NODE * limit]
    legend = svg.Legend((), list(_lines(diagram, len(rows), len(shortcuts))))
    width = max(layout.width, legend.least_width)
    foot, height = legend.draw(layout.height - 6, width)
    shapes = [
        _arrows(),
        *(_shortcut(above, below, len(shortcuts)) for above, below in shortcuts),
        _elbows(layout),
        *(_box(row, labels[row.id], notes[row.id], nodes[row.id]) for row in rows.values()),
        # A reminder, at the head of a column, of a parent in an earlier one.
        *(
            svg.text(row.left, row.middle + 4, f"… {labels[row.id]}", svg.PALE, halo=True)
            for row in layout.continued
        ),
        *foot,
    ]
    return svg.page(width, height, shapes)


def _lay_out(
    diagram: Diagram, notes: Mapping[int, str], limit: int
) -> tuple[dict[int, str], Layout]:
    """The labels and the layout of their boxes.

    Labels are cut to the same length first, which gives the width of each column.  Labels that
    could be longer without making their column wider are then cut again, to what fits.
    """
    texts = {node.id: node.label for node in diagram.nodes}
    behind = {node: 1 + columns(note) if note else 0 for node, note in notes.items()}

    def cut(longest: dict[int, int]) -> tuple[dict[int, str], Layout]:
        labels = distinct_labels(texts, longest)
        widths = {
            node: svg.text_width(label + " " * behind[node]) + 2 * _PADDING
            for node, label in labels.items()
        }
        return labels, lay_out(widths, diagram.edges, limit)

    longest = dict.fromkeys(texts, _LONGEST_LABEL)
    labels, layout = cut(longest)
    ends: dict[int, float] = {}
    for row in layout.rows.values():
        ends[row.column] = max(ends.get(row.column, 0.0), row.right)
    for row in layout.rows.values():
        fitting = int((ends[row.column] - row.left - 2 * _PADDING) / svg.text_width(" "))
        longest[row.id] = max(_LONGEST_LABEL, fitting - behind[row.id])
    if all(labels[node] == printable(texts[node]) for node in layout.rows):
        return labels, layout
    return cut(longest)


def _lines(diagram: Diagram, nodes: int, shortcuts: int) -> Iterator[str]:
    """The line that explains, and the one that counts what is left out."""
    if diagram.caption:
        yield diagram.caption
    if not diagram.nodes:
        yield "nothing to draw"
    missing = [
        f"{there - drawn:,} of {there:,} {what}"
        for what, drawn, there in (
            ("nodes", nodes, len(diagram.nodes)),
            ("shortcuts", shortcuts, len(diagram.shortcuts)),
        )
        if drawn < there
    ]
    if missing:
        yield f"left out: {' and '.join(missing)}"


def _arrows() -> str:
    arrows = (
        f'<marker id="twigcast-arrow-{number}" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="6" markerHeight="6" orient="auto">'
        f"{svg.shape('path', d='M0,0.5 L8,4 L0,7.5 Z', fill=colour)}</marker>"
        for number, colour in enumerate(_COLOURS)
    )
    return f"<defs>{''.join(arrows)}</defs>"


def _shortcut(above: Row, below: Row, count: int) -> str:
    """A dashed curve: from right to right within a column, across the gap between columns."""
    top, bottom = above.middle, below.middle
    start, end = above.right, below.left
    first, second = start + _BULGE, end - _BULGE
    if above.column == below.column:
        end = below.right
        first = second = max(start, end) + min(_BULGE, 26.0 + 0.22 * abs(bottom - top))
    elif above.column > below.column:
        start, end = above.left, below.right
        first, second = start - _BULGE, end + _BULGE
    colour = above.number % len(_COLOURS)
    return svg.line(
        f"M{start:.1f},{top:.1f} C{first:.1f},{top:.1f} {second:.1f},{bottom:.1f} "
        f"{end:.1f},{bottom:.1f}",
        _COLOURS[colour],
        1.1,
        stroke_opacity=max(0.35, 0.8 - count / 500),  # the more there are, the paler
        stroke_dasharray="4 3",
        marker_end=f"url(#twigcast-arrow-{colour})",
    )


def _elbows(layout: Layout) -> str:
    """One path for all edges of the forest."""
    lines = [
        f"M{stem:.1f},{start:.1f} V{row.middle:.1f} H{max(stem, row.left):.1f}"
        for row, stem, start in layout.elbows
    ]
    return svg.line(" ".join(lines), "#868e96", 1.2) if lines else ""


def _box(row: Row, label: str, note: str, node: DiagramNode) -> str:
    top, base = row.middle - BOX_HEIGHT / 2, row.middle + 4
    box = svg.shape(
        "rect",
        x=row.left,
        y=top,
        width=row.right - row.left,
        height=BOX_HEIGHT,
        rx=5,
        fill=svg.BOX,
        stroke=svg.SOFT,
    )
    words = svg.text(row.left + _PADDING, base, label, svg.INK)
    behind = svg.text(row.right - _PADDING - svg.text_width(note), base, note, "#1864ab")
    more = f"+ {row.hidden:,} below" if row.hidden else ""
    return svg.titled(
        node.title, box, words, behind, svg.text(row.right + 8, base, more, svg.PALE, halo=True)
    )
