"""Drawing: layouts and SVG of patterns, of covering orders and of overlays.

    Diagram ──► outline: indented rows in columns ───┐
    Pattern ──► forest: tidy tree ───────────────────┼──► shapes and texts ──► SVG, as a text
    overlay ──► overlay_layout: line, ring, tree, … ─┘    (svg, labels)

Nothing but the standard library is needed.  The objects that are drawn load this package when a
notebook asks for their picture; what is above this package in the table of imports hands over
plain data (a :class:`Diagram`) or something that looks like an overlay (:class:`Graph`).
"""

from __future__ import annotations

from twigcast.drawing.labels import shorten
from twigcast.drawing.order import Diagram, DiagramNode, to_dot, to_svg
from twigcast.drawing.overlay import draw_overlay
from twigcast.drawing.overlay_layout import Graph
from twigcast.drawing.pattern import draw_pattern

__all__ = [
    "Diagram",
    "DiagramNode",
    "Graph",
    "draw_overlay",
    "draw_pattern",
    "shorten",
    "to_dot",
    "to_svg",
]
