"""Pictures of an order: what covers what, as text for Graphviz or as SVG of our own.

A :class:`Diagram` is all that is known of the order: nodes, edges that form a forest, and shortcuts
across it.  Hundreds of patterns side by side make a layered drawing too wide to read, so the SVG is
laid out like an outline (:mod:`twigcast.covering.drawing_layout`): a row for each node, indented
below its parent, in as many columns as make the picture fit a screen.  Edges are solid and run
along the indentation; shortcuts are dashed curves from box to box, behind the boxes.

Colours are fixed and the background is painted, so a picture looks the same on a light and on a
dark page.  The full text of a shortened label shows when the pointer rests on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from twigcast.covering.drawing_labels import columns, distinct_labels, printable, shorten
from twigcast.covering.drawing_layout import BOX_HEIGHT, CHARACTER, PADDING, Layout, Row, lay_out

__all__ = ["Diagram", "DiagramNode", "columns", "shorten", "to_dot", "to_svg"]

_LONGEST_LABEL = 44
_LONGEST_NOTE = 16
_FOOT_LINE = 18
_SHORTCUTS_A_NODE = 2
_BULGE = 90.0
_COLOURS = ("#b4530a", "#0b7285", "#7048e8", "#c2255c", "#2b8a3e", "#5c6b00")
"""Dark enough on white, and told apart by most eyes; shortcuts of one node share one."""


@dataclass(frozen=True)
class DiagramNode:
    """A box: ``note`` stands behind the label, set back."""

    id: int
    label: str
    note: str = ""


@dataclass(frozen=True)
class Diagram:
    """An order to draw.  ``edges`` lead from parent to child, to each node one at most.

    ``caption`` says what the notes are.
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
    for node in diagram.nodes:
        label = f"{node.label}  {node.note}" if node.note else node.label
        lines.append(f'  n{node.id} [label="{_escape_dot(label)}"];')
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
        raise ValueError(f"a picture has one node at least, not {limit}")
    notes = {node.id: shorten(node.note, _LONGEST_NOTE) for node in diagram.nodes}
    labels, layout = _place(diagram, notes, limit)
    shortcuts = [
        (layout.rows[above], layout.rows[below])
        for above, below in diagram.shortcuts
        if above in layout.rows and below in layout.rows
    ][: _SHORTCUTS_A_NODE * limit]
    opacity = max(0.35, 0.8 - len(shortcuts) / 500)  # the more there are, the paler
    footer = _footer(diagram, len(layout.rows), len(shortcuts))
    width = max([layout.width, *(CHARACTER * columns(line) + 2 * PADDING for line in footer)])
    full = {node.id: node for node in diagram.nodes}
    parts = [
        *_opening(width, layout.height + _FOOT_LINE * len(footer) + 4),
        *(_shortcut(above, below, opacity) for above, below in shortcuts),
        *_elbows(layout),
        *(_box(row, labels[row.id], notes[row.id], full[row.id]) for row in layout.rows.values()),
        *(_continued(row, labels[row.id]) for row in layout.continued),
        *_foot(footer, layout.height),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _place(diagram: Diagram, notes: dict[int, str], limit: int) -> tuple[dict[int, str], Layout]:
    """The labels and where they go.

    Labels are cut to the same length first.  That gives the width of each column, and those that
    could be longer without making it wider are cut again, to what fits.
    """
    texts = {node.id: node.label for node in diagram.nodes}
    behind = {node: 1 + columns(note) if note else 0 for node, note in notes.items()}

    def cut(longest: dict[int, int]) -> tuple[dict[int, str], Layout]:
        labels = distinct_labels(texts, longest)
        widths = {node: columns(label) + behind[node] for node, label in labels.items()}
        return labels, lay_out(widths, diagram.edges, limit)

    longest = dict.fromkeys(texts, _LONGEST_LABEL)
    labels, layout = cut(longest)
    ends: dict[int, float] = {}
    for row in layout.rows.values():
        ends[row.column] = max(ends.get(row.column, 0.0), row.right)
    for row in layout.rows.values():
        fitting = int((ends[row.column] - row.left - 2 * PADDING) / CHARACTER)
        longest[row.id] = max(_LONGEST_LABEL, fitting - behind[row.id])
    if all(labels[node] == printable(texts[node]) for node in layout.rows):
        return labels, layout
    return cut(longest)


def _footer(diagram: Diagram, nodes: int, shortcuts: int) -> list[str]:
    """The line that explains, and the one that says what is not there."""
    missing = [
        f"{there - drawn:,} of {there:,} {what}"
        for what, drawn, there in (
            ("nodes", nodes, len(diagram.nodes)),
            ("shortcuts", shortcuts, len(diagram.shortcuts)),
        )
        if drawn < there
    ]
    lines = [diagram.caption] if diagram.caption else []
    if not diagram.nodes:
        lines.append("nothing to draw")
    return [*lines, f"left out: {' and '.join(missing)}"] if missing else lines


def _opening(width: float, height: float) -> list[str]:
    arrows = [
        f'<marker id="twigcast-arrow-{number}" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="6" markerHeight="6" orient="auto">'
        f'<path d="M0,0.5 L8,4 L0,7.5 Z" fill="{colour}"/></marker>'
        for number, colour in enumerate(_COLOURS)
    ]
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"',
        f'viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:100%;height:auto" font-size="12"',
        "font-family=\"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace\">",
        "<defs>",
        *arrows,
        "</defs>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]


def _shortcut(above: Row, below: Row, opacity: float) -> str:
    """A dashed curve: from right to right within a column, across the gap between columns."""
    colour = above.place % len(_COLOURS)
    top, bottom = above.middle, below.middle
    if above.column == below.column:
        reach = min(_BULGE, 26.0 + 0.22 * abs(bottom - top))
        turn = max(above.right, below.right) + reach
        points = (above.right, turn, turn, below.right)
    elif above.column < below.column:
        points = (above.right, above.right + _BULGE, below.left - _BULGE, below.left)
    else:
        points = (above.left, above.left - _BULGE, below.right + _BULGE, below.right)
    start, first, second, end = points
    return (
        f'<path d="M{start:.1f},{top:.1f} C{first:.1f},{top:.1f} {second:.1f},{bottom:.1f} '
        f'{end:.1f},{bottom:.1f}" fill="none" stroke="{_COLOURS[colour]}" stroke-width="1.1" '
        f'stroke-opacity="{opacity:.2f}" stroke-dasharray="4 3" '
        f'marker-end="url(#twigcast-arrow-{colour})"/>'
    )


def _elbows(layout: Layout) -> list[str]:
    """One path for all edges of the forest."""
    lines = [
        f"M{stem:.1f},{start:.1f} V{row.middle:.1f} H{max(stem, row.left):.1f}"
        for row, stem, start in layout.elbows
    ]
    if not lines:
        return []
    return [f'<path d="{" ".join(lines)}" fill="none" stroke="#868e96" stroke-width="1.2"/>']


def _box(row: Row, label: str, note: str, node: DiagramNode) -> str:
    title = f"{node.label}  {node.note}" if node.note else node.label
    at = row.middle + 4
    parts = [
        f"<g><title>{_escape_xml(title)}</title>",
        f'<rect x="{row.left:.1f}" y="{row.middle - BOX_HEIGHT / 2:.1f}"',
        f' width="{row.right - row.left:.1f}" height="{BOX_HEIGHT}" rx="5"',
        ' fill="#f1f3f5" stroke="#495057"/>',
        _text(row.left + PADDING, at, label, "#212529"),
    ]
    if note:
        start = row.right - PADDING - CHARACTER * columns(note)
        parts.append(_text(start, at, note, "#1864ab"))
    if row.hidden:
        more = f"+ {row.hidden:,} below"
        parts.append(_text(row.right + 8, at, more, "#6b737b", halo=True))
    return "".join([*parts, "</g>"])


def _continued(row: Row, label: str) -> str:
    """The reminder, at the head of a column, of a parent in an earlier one."""
    return _text(row.left, row.middle + 4, f"… {label}", "#6b737b", halo=True)


def _foot(lines: Sequence[str], top: float) -> list[str]:
    return [
        _text(PADDING, top + 12 + _FOOT_LINE * number, line, "#495057")
        for number, line in enumerate(lines)
    ]


def _text(left: float, base: float, text: str, colour: str, *, halo: bool = False) -> str:
    # The length is given, so that a font of another width still fits its box.
    if not text:
        return ""
    around = 'stroke="#ffffff" stroke-width="4" paint-order="stroke" ' if halo else ""
    return (
        f'<text x="{left:.1f}" y="{base:.1f}" fill="{colour}" {around}xml:space="preserve" '
        f'textLength="{CHARACTER * columns(text):.1f}" lengthAdjust="spacingAndGlyphs">'
        f"{_escape_xml(text)}</text>"
    )


def _escape_xml(text: str) -> str:
    return escape(printable(text))
