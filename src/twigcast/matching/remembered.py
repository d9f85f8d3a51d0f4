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
from twigcast.matching.reference import (
    Definitions,
    DynamicError,
    Node,
    Setting,
    document_order,
    owners,
)


def all_owners(axis: Axis, nodes: list[Node]) -> Iterator[Node]:
    """The nodes whose children the axis leads to from nodes in document order, each once."""
    visited: set[Node] = set()
    for node in nodes:
        if node not in visited:
            for owner in owners(axis, node):
                visited.add(owner)
                yield owner


class RememberedDefinitions(Definitions):
    """The definitions for one document."""

    _HOLDS: Final = 1
    _FAILS: Final = 2

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._nodes = setting.tree.count
        self._answers: dict[Condition, bytearray] = {}
        self._errors: dict[tuple[Condition, Node], DynamicError] = {}

    def visit(self, condition: Condition, node: Node) -> bool:
        answers = self._answers.get(condition)
        if answers is None:
            answers = self._answers[condition] = bytearray(self._nodes)
        if not answers[node.number]:
            error = self._errors.get((condition, node))
            if error is not None:
                raise error
            try:
                self._answer(condition, node, answers)
            except DynamicError as raised:
                self._errors[condition, node] = raised
                raise
        return answers[node.number] == self._HOLDS

    def _answer(self, condition: Condition, node: Node, answers: bytearray) -> None:
        if isinstance(condition, Step):
            first = next(self.select(condition, node), None)
            holds = first is not None
            for other in _alike(condition.axis, node, first):
                answers[other.number] = self._HOLDS if holds else self._FAILS
        else:
            holds = super().visit(condition, node)
        answers[node.number] = self._HOLDS if holds else self._FAILS

    def first(self, path: tuple[Step, ...], node: Node) -> Node | None:
        selected = [node]
        for step in path:
            selected = self.select_all(step, selected)
        return selected[0] if selected else None

    def select_all(self, step: Step, nodes: list[Node]) -> list[Node]:
        """The nodes that the step leads to from any of several; both in document order."""
        candidates = (self.candidates(step, owner) for owner in all_owners(step.axis, nodes))
        return sorted(self.fitting(step, chain.from_iterable(candidates)), key=document_order)


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
