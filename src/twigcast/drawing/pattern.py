r"""Pictures of a pattern: the tree that a subscription asks for.

    //Stock[Symbol="GHI"][not(Price>15)]          ●           the document
                                                  ║           descendant: double
                                              ┌───────┐
                                              │ Stock │
                                              └───────┘
                                              ╱       ╲       child: single
                                   ┌────────┐          (not)
                                   │ Symbol │ ="GHI"     │    values stand beside their step
                                   └────────┘        ┌───────┐
                                                     │ Price │ >15

``or``, ``and`` and ``not`` are nodes of their own, coloured.  An edge from one of them to a step
shows how that step is reached from the step above.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from twigcast.drawing import svg
from twigcast.drawing.forest import Forest
from twigcast.drawing.labels import shorten
from twigcast.language import (
    Axis,
    Both,
    Condition,
    Either,
    FirstNode,
    Fold,
    Negation,
    Pattern,
    Residual,
    Step,
    ValueTest,
)

_LONGEST: Final = 32
_LEVEL: Final = 52.0
_HEIGHT: Final = 22.0
_PADDING: Final = 9.0
_APART: Final = 22.0
_MARGIN: Final = 20.0
_LOGIC: Final = ("or", "and", "not")
"""Nodes that are no steps."""


class _Node(NamedTuple):
    """A node of the picture: a step, a word of ``_LOGIC``, or a value test by itself."""

    label: str
    note: str = ""
    axis: Axis | None = None
    title: str = ""

    @property
    def width(self) -> float:
        """The width of the box and of the note beside it."""
        return self.box_width + (svg.text_width(self.note) + 6 if self.note else 0)

    @property
    def box_width(self) -> float:
        return svg.text_width(self.label) + 2 * _PADDING if self.label else 0.0


class _Collect(Fold[[int], None]):
    """The nodes of the picture and their edges, each condition below the node of that number."""

    def __init__(self, pattern: Pattern) -> None:
        self.nodes = [_Node("", "" if pattern.alternatives else "matches nothing")]
        self.edges: list[tuple[int, int]] = []
        alternatives = pattern.alternatives
        if len(alternatives) > 1:
            self._add_all("or", alternatives, 0)
        elif alternatives:
            self.visit(alternatives[0], 0)

    def _add(self, node: _Node, above: int) -> int:
        self.nodes.append(node)
        self.edges.append((above, len(self.nodes) - 1))
        return len(self.nodes) - 1

    def _add_all(self, word: str, members: Sequence[Condition], above: int) -> None:
        number = self._add(_Node(word), above)
        for member in members:
            self.visit(member, number)

    def step(self, step: Step, above: int) -> None:
        label = step.test.text + (f"[{step.position.text}]" if step.position else "")
        values = [each for each in step.conditions if isinstance(each, ValueTest | FirstNode)]
        notes = " and ".join(each.text.removeprefix(".") for each in values)
        shown = _Node(shorten(label, _LONGEST), shorten(notes, _LONGEST), step.axis, step.text)
        number = self._add(shown, above)
        for condition in step.conditions:
            if condition not in values:
                self.visit(condition, number)

    def value_test(self, test: ValueTest, above: int) -> None:
        self._add(_Node(shorten(test.text, _LONGEST), title=test.text), above)

    def first_node(self, condition: FirstNode, above: int) -> None:
        self._add(_Node(shorten(condition.text, _LONGEST), title=condition.text), above)

    def either(self, condition: Either, above: int) -> None:
        self._add_all("or", condition.members, above)

    def both(self, condition: Both, above: int) -> None:
        self._add_all("and", condition.members, above)

    def residual(self, condition: Residual, above: int) -> None:
        self._add(_Node(shorten(condition.text, _LONGEST), title=condition.text), above)

    def negation(self, condition: Negation, above: int) -> None:
        self._add_all("not", (condition.condition,), above)


def draw_pattern(pattern: Pattern) -> str:
    """The pattern as SVG."""
    collected = _Collect(pattern)
    nodes = dict(enumerate(collected.nodes))
    tree = Forest(nodes, collected.edges)
    sides, width = tree.spread({number: node.width + _APART for number, node in nodes.items()})
    # An edge meets the middle of a box, not of the box and its note.
    points = {
        number: (
            side - (nodes[number].width - nodes[number].box_width) / 2,
            _MARGIN + tree.depth[number] * _LEVEL,
        )
        for number, side in sides.items()
    }
    drawing = []
    for above, below in collected.edges:
        (x1, y1), (x2, y2) = points[above], points[below]
        drawing.append(_edge(f"M{x1:.1f},{y1:.1f} L{x2:.1f},{y2:.1f}", nodes[below].axis))
    drawing += [_box(node, *points[number]) for number, node in nodes.items()]
    axes = {node.axis for node in nodes.values()}
    samples = [
        (_edge(f"M0,0 H{svg.SAMPLE}", axis), axis.name.lower())
        for axis in (Axis.CHILD, Axis.DESCENDANT)
        if axis in axes
    ]
    height = 2 * _MARGIN + max(tree.depth.values()) * _LEVEL
    return svg.page(drawing, width + _APART, height, samples)


def _edge(path: str, axis: Axis | None) -> str:
    if axis is Axis.DESCENDANT:
        return svg.line(path, svg.SOFT, 5) + svg.line(path, svg.PAPER, 2.4)
    return svg.line(path, svg.SOFT, 1.3)


def _box(node: _Node, x: float, y: float) -> str:
    """A node around a point, its note to the right."""
    if not node.label:
        dot = svg.shape("circle", cx=x, cy=y, r=5, fill=svg.SOFT)
        return svg.titled("the document", dot) + svg.text(x + 12, y, node.note, svg.SOFT)
    is_word = node.label in _LOGIC and not node.title
    style = node.label if is_word else "plain" if node.axis else "value"
    return svg.titled(
        node.title or node.label,
        svg.box(x, y, node.box_width, _HEIGHT, style, _HEIGHT / 2 if is_word else 5),
        svg.text(x, y, node.label, svg.STYLES[style].ink, centred=True),
        svg.text(x + node.box_width / 2 + 6, y, node.note, svg.NOTE, halo=True),
    )
