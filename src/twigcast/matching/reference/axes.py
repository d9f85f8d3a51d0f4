"""The axes of XPath: from a node to other nodes, each axis one short function.

Every axis gives its nodes in *its* order: a reverse axis from the node backwards.  Positions in
predicates count in that order.

In two points libxml2 decides, and not the letter of XPath 1.0.  ``following`` and ``preceding``
from an attribute or a namespace are those of its element.  A namespace is in scope of an element as
:func:`~twigcast.matching.reference.nodes.namespace_nodes` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from twigcast.language import AxisName, Kind, NodeTest
from twigcast.matching.reference.nodes import Node, namespace_nodes


def child(node: Node) -> Iterator[Node]:
    yield from node.children


def descendant_or_self(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        below = waiting.pop()
        yield below
        waiting.extend(reversed(below.children))


def descendant(node: Node) -> Iterator[Node]:
    return (below for below in descendant_or_self(node) if below is not node)


def self_(node: Node) -> Iterator[Node]:
    yield node


def parent(node: Node) -> Iterator[Node]:
    if node.parent is not None:
        yield node.parent


def ancestor_or_self(node: Node) -> Iterator[Node]:
    above: Node | None = node
    while above is not None:
        yield above
        above = above.parent


def ancestor(node: Node) -> Iterator[Node]:
    return (above for above in ancestor_or_self(node) if above is not node)


def siblings(node: Node) -> list[Node]:
    """The children of the same parent; attributes and namespaces have none."""
    if node.parent is None or node.kind in _BESIDE_CHILDREN:
        return []
    return node.parent.children


def following_sibling(node: Node) -> Iterator[Node]:
    return (sibling for sibling in siblings(node) if sibling.number > node.number)


def preceding_sibling(node: Node) -> Iterator[Node]:
    return (sibling for sibling in reversed(siblings(node)) if sibling.number < node.number)


def following(node: Node) -> Iterator[Node]:
    for above in ancestor_or_self(element_of(node)):
        for sibling in following_sibling(above):
            yield from descendant_or_self(sibling)


def preceding(node: Node) -> Iterator[Node]:
    for above in ancestor_or_self(element_of(node)):
        for sibling in preceding_sibling(above):
            yield from reversed(list(descendant_or_self(sibling)))


def element_of(node: Node) -> Node:
    """The element of an attribute or a namespace; any other node itself."""
    if node.kind in _BESIDE_CHILDREN:
        assert node.parent is not None
        return node.parent
    return node


def attribute(node: Node) -> Iterator[Node]:
    yield from node.attributes


def namespace(node: Node) -> Iterator[Node]:
    if node.kind is Kind.ELEMENT:
        yield from namespace_nodes(node)


_BESIDE_CHILDREN: Final = (Kind.ATTRIBUTE, Kind.NAMESPACE)

AXES: Final[dict[AxisName, Callable[[Node], Iterator[Node]]]] = {
    "child": child,
    "descendant": descendant,
    "descendant-or-self": descendant_or_self,
    "self": self_,
    "parent": parent,
    "ancestor": ancestor,
    "ancestor-or-self": ancestor_or_self,
    "following-sibling": following_sibling,
    "preceding-sibling": preceding_sibling,
    "following": following,
    "preceding": preceding,
    "attribute": attribute,
    "namespace": namespace,
}


def passes_test(node: Node, test: NodeTest) -> bool:
    """Whether a node on any axis passes the test of a step."""
    if test.kind is Kind.NODE:
        return True
    return node.kind is test.kind and test.accepts(*node.name)
