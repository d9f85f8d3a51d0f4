"""Pictures of an order: what covers what, as text for Graphviz or as SVG.

A :class:`Diagram` is all that is known of the order: nodes, edges that form a forest, and shortcuts
across it.  Hundreds of patterns side by side make a layered drawing too wide to read, so the SVG is
laid out like an outline (:mod:`twigcast.drawing.outline`).  Edges are solid and run along the
indentation; shortcuts are dashed curves from box to box, behind the boxes.  The full text of a
shortened label shows when the pointer rests on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from twigcast.drawing import svg
from twigcast.drawing.labels import distinct_labels, printable, shorten
from twigcast.drawing.outline import BOX_HEIGHT, Row, lay_out

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
    labels = distinct_labels((node.label for node in diagram.nodes), _LONGEST_LABEL)
    layout = lay_out(
        {node.id: _width(labels[node.label], node) for node in diagram.nodes}, diagram.edges, limit
    )
    rows = layout.rows
    shortcuts = [
        (rows[above], rows[below])
        for above, below in diagram.shortcuts
        if above in rows and below in rows
    ][: _SHORTCUTS_A_NODE * limit]
    order = {node: number for number, node in enumerate(rows)}
    drawing = [
        _arrows(),
        *(
            _shortcut(above, below, order[above.id] % len(_COLOURS), len(shortcuts))
            for above, below in shortcuts
        ),
        svg.line(" ".join(layout.elbows), "#868e96", 1.2) if layout.elbows else "",
        *(_box(row, labels[nodes[row.id].label], nodes[row.id]) for row in rows.values()),
        # A reminder, at the head of a column, of a parent in an earlier one.
        *(
            svg.text(row.left, row.middle, f"… {labels[nodes[row.id].label]}", svg.PALE, halo=True)
            for row in layout.continued
        ),
    ]
    lines = list(_lines(diagram, len(rows), len(shortcuts)))
    # An order starts at the left, also above a longer line.
    width = max([layout.width, *(svg.text_width(line) + 32 for line in lines)])
    return svg.page(drawing, width, layout.height - 6, lines=lines)


def _note(node: DiagramNode) -> str:
    return shorten(node.note, _LONGEST_NOTE)


def _width(label: str, node: DiagramNode) -> float:
    return svg.text_width(f"{label} {_note(node)}" if node.note else label) + 2 * _PADDING


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


def _shortcut(above: Row, below: Row, colour: int, count: int) -> str:
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
    return svg.line(
        f"M{start:.1f},{top:.1f} C{first:.1f},{top:.1f} {second:.1f},{bottom:.1f} "
        f"{end:.1f},{bottom:.1f}",
        _COLOURS[colour],
        1.1,
        stroke_opacity=max(0.35, 0.8 - count / 500),  # the more there are, the paler
        stroke_dasharray="4 3",
        marker_end=f"url(#twigcast-arrow-{colour})",
    )


def _box(row: Row, label: str, node: DiagramNode) -> str:
    note, width = _note(node), row.right - row.left
    more = f"+ {row.hidden:,} below" if row.hidden else ""
    return svg.titled(
        node.title,
        svg.box(row.left + width / 2, row.middle, width, BOX_HEIGHT),
        svg.text(row.left + _PADDING, row.middle, label),
        svg.text(row.right - _PADDING - svg.text_width(note), row.middle, note, svg.NOTE),
        svg.text(row.right + 8, row.middle, more, svg.PALE, halo=True),
    )
