"""What a pattern means, written down as plainly as possible: the second opinion beside libxml2.

Every definition of ``docs/language.md`` is one short function here.  Nothing is indexed, cached
or clever; the cost is polynomial with a high degree.  Matchers are tested against it, explanations
(:mod:`twigcast.matching.explain`) follow it node by node, and nobody should use it for anything
else.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from twigcast.documents import Document, Element
from twigcast.language import (
    Axis,
    FirstNode,
    Kind,
    Negation,
    NodeTest,
    Pattern,
    Question,
    Step,
    ValueTest,
    passes,
)


def reference_matches(pattern: Pattern, document: Document) -> bool:
    """Whether one of the pattern's alternatives is in the document."""
    top, _ = build_nodes(document)
    holds = Definitions().visit
    return any(holds(alternative, top) for alternative in pattern.alternatives)


class Node:
    """A node of XPath's data model; ``kind`` is None for the document node.

    ``number`` counts the nodes in document order, attributes right behind their element.
    """

    __slots__ = ("attributes", "children", "kind", "name", "number", "parent", "value")

    def __init__(
        self,
        number: int,
        kind: Kind | None,
        name: tuple[str, str],
        parent: Node | None,
        value: str = "",
    ) -> None:
        self.number = number
        self.kind = kind
        self.name = name
        self.parent = parent
        self.value = value
        self.attributes: list[Node] = []
        self.children: list[Node] = []

    def string_value(self) -> str:
        """XPath's string-value: of an element, all text below it."""
        if self.kind in (Kind.ATTRIBUTE, Kind.TEXT):
            return self.value
        return "".join(node.value for node in subtree(self) if node.kind is Kind.TEXT)


def build_nodes(document: Document) -> tuple[Node, int]:
    """The document node with all nodes below it, and how many they are together."""
    top = Node(0, None, ("", ""), None)
    count = 1
    waiting: list[tuple[Element | str, Node]] = [(document.root, top)]
    while waiting:
        item, parent = waiting.pop()
        if isinstance(item, str):
            parent.children.append(Node(count, Kind.TEXT, ("", ""), parent, item))
            count += 1
            continue
        node = Node(count, Kind.ELEMENT, item.name, parent)
        count += 1
        for name, value in item.attributes.items():
            node.attributes.append(Node(count, Kind.ATTRIBUTE, name, node, value))
            count += 1
        parent.children.append(node)
        waiting.extend((child, node) for child in reversed(item.children))
    return top, count


def subtree(top: Node) -> Iterator[Node]:
    """The node and all below it in document order, attributes right behind their element."""
    waiting = [top]
    while waiting:
        node = waiting.pop()
        yield node
        yield from node.attributes
        waiting.extend(reversed(node.children))


def owners(axis: Axis, node: Node) -> Iterator[Node]:
    """The nodes whose children and attributes an axis leads to from ``node``."""
    if axis is Axis.CHILD:
        yield node
    else:
        yield from (below for below in subtree(node) if below.kind in (None, Kind.ELEMENT))


def passing(test: NodeTest, owner: Node) -> list[Node]:
    """The children or attributes of ``owner`` that pass a test: those that a position counts."""
    return [
        candidate
        for candidate in (*owner.attributes, *owner.children)
        if candidate.kind is test.kind
        and (candidate.kind is Kind.TEXT or test.accepts(*candidate.name))
    ]


class Definitions(Question[[Node]]):
    """When a condition holds, and which nodes a step selects.

    The definitions refer to each other through ``self``, so that a subclass can look on.
    """

    def step(self, step: Step, node: Node) -> bool:
        return next(self.select(step, node), None) is not None

    def value_test(self, test: ValueTest, node: Node) -> bool:
        return passes(node.string_value(), test)

    def first_node(self, condition: FirstNode, node: Node) -> bool:
        first = self.first(condition.path, node)
        return first is not None and passes(first.string_value(), condition.test)

    def negation(self, condition: Negation, node: Node) -> bool:
        return not self.visit(condition.condition, node)

    def select(self, step: Step, node: Node) -> Iterator[Node]:
        """The nodes that the step leads to from ``node``."""
        # A chain, as a generator would take one more frame for each step of a deep pattern.
        return chain.from_iterable(self.fitting(step, owner) for owner in owners(step.axis, node))

    def fitting(self, step: Step, owner: Node) -> Iterator[Node]:
        """The children or attributes of ``owner`` that pass all that the step asks."""
        for index, candidate in enumerate(passing(step.test, owner), start=1):
            if (step.position is None or step.position.accepts(index)) and all(
                self.visit(condition, candidate) for condition in step.conditions
            ):
                yield candidate

    def first(self, path: tuple[Step, ...], node: Node) -> Node | None:
        """The first node in document order that the path selects."""
        selected = {node}
        for step in path:
            selected = {node for start in selected for node in self.select(step, start)}
        return min(selected, key=lambda node: node.number, default=None)
