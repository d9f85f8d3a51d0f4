"""When a pattern matches: the conditions of a pattern, each one short method.

A residual that has no value at a node is an error there.  Since the normal form orders conditions
by their text, no order of evaluation is given: an error counts only where everything else leaves
the answer open.  Of conditions that must all hold, one that fails decides; of nodes or alternatives
of which one suffices, one that fits decides.  An error that is left over at the end means that the
pattern does not match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from twigcast.documents import Document
from twigcast.language import (
    Axis,
    Both,
    Condition,
    Either,
    FirstNode,
    Kind,
    Negation,
    NodeTest,
    Pattern,
    Question,
    Residual,
    Step,
    ValueTest,
    passes,
)
from twigcast.matching.reference.axes import passes_test
from twigcast.matching.reference.evaluation import Evaluation
from twigcast.matching.reference.items import DynamicError
from twigcast.matching.reference.nodes import Node, NodeTree, in_document_order, subtree
from twigcast.matching.reference.setting import Setting


def reference_matches(pattern: Pattern, document: Document) -> bool:
    """Whether one of the pattern's alternatives holds at the document node."""
    tree = NodeTree(document)
    try:
        return Definitions(Setting(tree)).any_holds(pattern.alternatives, tree.top)
    except DynamicError:
        return False


def owners(axis: Axis, node: Node) -> Iterator[Node]:
    """The nodes whose children and attributes an axis leads to from ``node``."""
    if axis is Axis.CHILD:
        yield node
    else:
        above = (Kind.DOCUMENT, Kind.ELEMENT)
        yield from (below for below in subtree(node) if below.kind in above)


def passing(test: NodeTest, owner: Node) -> list[Node]:
    """The children or attributes of ``owner`` that pass a test: those that a position counts."""
    return [node for node in (*owner.attributes, *owner.children) if passes_test(node, test)]


class Definitions(Question[[Node]]):
    """When a condition holds, and which nodes a step selects.

    The definitions refer to each other through ``self``, so that a subclass can look on.
    """

    def __init__(self, setting: Setting) -> None:
        self.evaluations = {
            is_version_2: Evaluation(replace(setting, is_version_2=is_version_2))
            for is_version_2 in (False, True)
        }

    def step(self, step: Step, node: Node) -> bool:
        return next(self.select(step, node), None) is not None

    def value_test(self, test: ValueTest, node: Node) -> bool:
        return passes(node.string_value(), test)

    def first_node(self, condition: FirstNode, node: Node) -> bool:
        first = self.first(condition.path, node)
        return first is not None and passes(first.string_value(), condition.test)

    def either(self, condition: Either, node: Node) -> bool:
        return self.any_holds(condition.members, node)

    def both(self, condition: Both, node: Node) -> bool:
        return self.all_hold(condition.members, node)

    def negation(self, condition: Negation, node: Node) -> bool:
        return not self.visit(condition.condition, node)

    def residual(self, condition: Residual, node: Node) -> bool:
        return self.evaluations[condition.is_version_2].holds(condition.expression, node)

    def any_holds(self, conditions: Iterable[Condition], node: Node) -> bool:
        """Whether one of the conditions holds; an error counts if none does."""
        error: DynamicError | None = None
        for condition in conditions:
            try:
                if self.visit(condition, node):
                    return True
            except DynamicError as raised:
                error = error or raised
        if error is not None:
            raise error
        return False

    def all_hold(self, conditions: Iterable[Condition], node: Node) -> bool:
        """Whether all conditions hold; an error counts if none of them fails."""
        error: DynamicError | None = None
        for condition in conditions:
            try:
                if not self.visit(condition, node):
                    return False
            except DynamicError as raised:
                error = error or raised
        if error is not None:
            raise error
        return True

    def select(self, step: Step, node: Node) -> Iterator[Node]:
        """The nodes that the step leads to from ``node``."""
        # A chain, as a generator would take one more frame for each step of a deep pattern.
        candidates = (self.candidates(step, owner) for owner in owners(step.axis, node))
        return self.fitting(step, chain.from_iterable(candidates))

    def candidates(self, step: Step, owner: Node) -> list[Node]:
        """The children or attributes of ``owner`` with the name and position of the step."""
        return [
            node
            for index, node in enumerate(passing(step.test, owner), start=1)
            if step.position is None or step.position.accepts(index)
        ]

    def fitting(self, step: Step, candidates: Iterable[Node]) -> Iterator[Node]:
        """The candidates at which the conditions of the step hold; an error comes at the end."""
        error: DynamicError | None = None
        for candidate in candidates:
            try:
                fits = self.all_hold(step.conditions, candidate)
            except DynamicError as raised:
                error = error or raised
                continue
            if fits:
                yield candidate
        if error is not None:
            raise error

    def first(self, path: tuple[Step, ...], node: Node) -> Node | None:
        """The first node in document order that the path selects."""
        selected = [node]
        for step in path:
            reached = (self.select(step, start) for start in selected)
            selected = in_document_order(list(chain.from_iterable(reached)))
        return selected[0] if selected else None
