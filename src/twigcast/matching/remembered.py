"""The definitions of the reference, asked once for each condition and node.

A node can be reached along many paths: ``//a//a//a`` reaches the innermost of nested elements along
each choice of two outer ones.  A condition has the same answer at the node each time, so the answer
is kept.  A descendant step that selects a node from above selects it from all nodes in between too;
a step that selects nothing from a node selects nothing from any node below.

Memory: a byte for each node and condition asked, far less than the nodes themselves.  Time: for
each condition the size of the document, times its depth at worst.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from twigcast.language import Axis, Condition, Step
from twigcast.matching.reference import Definitions, Node, owners


def document_order(node: Node) -> int:
    """The key that sorts nodes."""
    return node.number


def all_owners(axis: Axis, nodes: list[Node]) -> Iterator[Node]:
    """The nodes whose children the axis leads to from nodes in document order, each once."""
    visited: set[Node] = set()
    for node in nodes:
        if node not in visited:
            for owner in owners(axis, node):
                visited.add(owner)
                yield owner


class RememberedDefinitions(Definitions):
    """The definitions for one document of so many nodes."""

    _HOLDS: Final = 1
    _FAILS: Final = 2

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._answers: dict[Condition, bytearray] = {}

    def visit(self, condition: Condition, node: Node) -> bool:
        answers = self._answers.get(condition)
        if answers is None:
            answers = self._answers[condition] = bytearray(self._nodes)
        if not answers[node.number]:
            if isinstance(condition, Step):
                first = next(self.select(condition, node), None)
                holds = first is not None
                for other in _alike(condition.axis, node, first):
                    answers[other.number] = self._HOLDS if holds else self._FAILS
            else:
                holds = super().visit(condition, node)
            answers[node.number] = self._HOLDS if holds else self._FAILS
        return answers[node.number] == self._HOLDS

    def first(self, path: tuple[Step, ...], node: Node) -> Node | None:
        selected = [node]
        for step in path:
            selected = self.select_all(step, selected)
        return selected[0] if selected else None

    def select_all(self, step: Step, nodes: list[Node]) -> list[Node]:
        """The nodes that the step leads to from any of several; both in document order."""
        fitting = (self.fitting(step, owner) for owner in all_owners(step.axis, nodes))
        return sorted(chain.from_iterable(fitting), key=document_order)


def _alike(axis: Axis, node: Node, first: Node | None) -> Iterator[Node]:
    """Other nodes from which the step has the same answer."""
    if axis is Axis.CHILD:
        return
    if first is None:
        yield from owners(axis, node)
        return
    above = first.parent
    while above is not None and above is not node:
        yield above
        above = above.parent
