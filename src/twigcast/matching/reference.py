"""What a pattern means, written down as plainly as possible: the second opinion beside libxml2.

Every definition of ``docs/language.md`` is one short function here.  Nothing is indexed, cached
or clever; the cost is polynomial with a high degree.  Matchers are tested against it, and nobody
should use it for anything else.
"""

from __future__ import annotations

from collections.abc import Iterator

from twigcast.documents import Document, Element
from twigcast.language import (
    Axis,
    Both,
    Condition,
    Either,
    FirstNode,
    Kind,
    Negation,
    Pattern,
    Step,
    ValueTest,
    compare_numbers,
    to_number,
)


def reference_matches(pattern: Pattern, document: Document) -> bool:
    """Whether one of the pattern's alternatives is in the document."""
    root = _build(document)
    return any(_holds(alternative, root) for alternative in pattern.alternatives)


class _Node:
    """A node of XPath's data model; ``kind`` is None for the document node."""

    def __init__(
        self, kind: Kind | None, name: tuple[str, str], parent: _Node | None, value: str = ""
    ) -> None:
        self.kind = kind
        self.name = name
        self.parent = parent
        self.value = value
        self.attributes: list[_Node] = []
        self.children: list[_Node] = []

    def string_value(self) -> str:
        if self.kind in (Kind.ATTRIBUTE, Kind.TEXT):
            return self.value
        return "".join(node.value for node in _subtree(self) if node.kind is Kind.TEXT)


def _build(document: Document) -> _Node:
    """The document's nodes, below a document node."""
    top = _Node(None, ("", ""), None)
    waiting: list[tuple[Element | str, _Node]] = [(document.root, top)]
    while waiting:
        item, parent = waiting.pop()
        if isinstance(item, str):
            parent.children.append(_Node(Kind.TEXT, ("", ""), parent, item))
            continue
        node = _Node(Kind.ELEMENT, item.name, parent)
        for name, value in item.attributes.items():
            node.attributes.append(_Node(Kind.ATTRIBUTE, name, node, value))
        parent.children.append(node)
        waiting.extend((child, node) for child in reversed(item.children))
    return top


def _subtree(top: _Node) -> Iterator[_Node]:
    """The node and all below it in document order, attributes right behind their element."""
    waiting = [top]
    while waiting:
        node = waiting.pop()
        yield node
        yield from node.attributes
        waiting.extend(reversed(node.children))


def _holds(condition: Condition, node: _Node) -> bool:
    """Whether the condition holds at the node."""
    if isinstance(condition, Step):
        return any(True for _ in _select(condition, node))
    if isinstance(condition, ValueTest):
        return _compare(node.string_value(), condition)
    if isinstance(condition, Either):
        return any(_holds(member, node) for member in condition.members)
    if isinstance(condition, Both):
        return all(_holds(member, node) for member in condition.members)
    if isinstance(condition, Negation):
        return not _holds(condition.condition, node)
    assert isinstance(condition, FirstNode)
    first = _first(condition.path, node)
    return first is not None and _compare(first.string_value(), condition.test)


def _select(step: Step, node: _Node) -> Iterator[_Node]:
    """The nodes that the step leads to from ``node``."""
    if step.axis is Axis.CHILD:
        owners = [node]
    else:
        owners = [below for below in _subtree(node) if below.kind in (None, Kind.ELEMENT)]
    for owner in owners:
        passing = [
            candidate
            for candidate in (*owner.attributes, *owner.children)
            if candidate.kind is step.test.kind
            and (candidate.kind is Kind.TEXT or step.test.accepts(*candidate.name))
        ]
        for index, candidate in enumerate(passing, start=1):
            if (step.position is None or step.position.accepts(index)) and all(
                _holds(condition, candidate) for condition in step.conditions
            ):
                yield candidate


def _first(path: tuple[Step, ...], node: _Node) -> _Node | None:
    """The first node in document order that the path selects."""
    selected = [node]
    for step in path:
        selected = [found for start in selected for found in _select(step, start)]
    wanted = {id(found) for found in selected}
    return next((below for below in _subtree(node) if id(below) in wanted), None)


def _compare(value: str, test: ValueTest) -> bool:
    """XPath 1.0's comparison of a string-value with a constant."""
    operator, operand = test.operator, test.operand
    if isinstance(operand, float):
        return compare_numbers(to_number(value), operator, operand)
    if operator == "=":
        return value == operand
    if operator == "!=":
        return value != operand
    if operator == "contains":
        return operand in value
    assert operator == "starts-with"
    return value.startswith(operand)
