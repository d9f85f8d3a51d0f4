"""The nodes of XPath's data model, made from the tree of a document.

    Document ──build_nodes──► Node (the document node) ── children, attributes ──► Node …

``number`` counts the nodes in document order, attributes right behind their element.  Namespace
nodes are made when they are asked for; they have the number of their element and a ``rank`` among
its namespaces, so that they stand between the element and its attributes.

Cost: linear in the document.  Nothing recurses.
"""

from __future__ import annotations

from collections.abc import Iterator

from twigcast.documents import Child, Comment, Document, Element, Instruction
from twigcast.language import XML_NAMESPACE, Kind


class Node:
    """A node; ``name`` is its expanded name, empty where the kind of node has none.

    The name of a processing instruction is its target, that of a namespace node its prefix.
    ``declared`` has the namespaces that an element declares itself, ``size`` counts the nodes from
    this one down.
    """

    __slots__ = (
        "attributes",
        "children",
        "declared",
        "kind",
        "name",
        "namespaces",
        "number",
        "parent",
        "prefix",
        "rank",
        "size",
        "value",
    )

    def __init__(
        self,
        number: int,
        kind: Kind,
        name: tuple[str, str] = ("", ""),
        parent: Node | None = None,
        value: str = "",
        *,
        prefix: str = "",
        rank: int = 0,
    ) -> None:
        self.number = number
        self.kind = kind
        self.name = name
        self.parent = parent
        self.value = value
        self.prefix = prefix
        self.rank = rank
        self.attributes: list[Node] = []
        self.children: list[Node] = []
        self.declared: dict[str, str] = {}
        self.namespaces: list[Node] | None = None
        self.size = 1

    def __repr__(self) -> str:
        return f"<Node {self.number}: {self.kind.value} {self.name[1]}>"

    def string_value(self) -> str:
        """XPath's string-value: of an element or the document node, all text below it."""
        if self.kind not in (Kind.ELEMENT, Kind.DOCUMENT):
            return self.value
        return "".join(node.value for node in subtree(self) if node.kind is Kind.TEXT)


class NodeTree:
    """The nodes of a document: the document node, how many there are, and who has an identifier."""

    __slots__ = ("count", "identified", "top")

    def __init__(self, document: Document) -> None:
        self.top = Node(0, Kind.DOCUMENT)
        self.count = 1
        made: dict[Element, Node] = {}
        waiting: list[tuple[Child, Node]] = [
            (child, self.top) for child in reversed(document.children)
        ]
        while waiting:
            child, parent = waiting.pop()
            node = self._add(child, parent)
            if isinstance(child, Element):
                made[child] = node
                waiting.extend((below, node) for below in reversed(child.children))
        for node in reversed(list(subtree(self.top))):
            if node.parent is not None:
                node.parent.size += node.size
        self.identified = {key: made[element] for key, element in document.identified.items()}

    def _add(self, child: Child, parent: Node) -> Node:
        node = _node_of(self.count, child, parent)
        self.count += 1
        parent.children.append(node)
        if isinstance(child, Element):
            for name, value in child.attributes.items():
                prefix = child.prefixes.get(name, "")
                attribute = Node(self.count, Kind.ATTRIBUTE, name, node, value, prefix=prefix)
                node.attributes.append(attribute)
                self.count += 1
        return node


def _node_of(number: int, child: Child, parent: Node) -> Node:
    if isinstance(child, str):
        return Node(number, Kind.TEXT, parent=parent, value=child)
    if isinstance(child, Comment):
        return Node(number, Kind.COMMENT, parent=parent, value=child.text)
    if isinstance(child, Instruction):
        return Node(number, Kind.INSTRUCTION, ("", child.target), parent, child.text)
    node = Node(number, Kind.ELEMENT, child.name, parent, prefix=child.prefix)
    node.declared = child.namespaces
    return node


def subtree(top: Node) -> Iterator[Node]:
    """The node and all below it in document order, attributes right behind their element."""
    waiting = [top]
    while waiting:
        node = waiting.pop()
        yield node
        yield from node.attributes
        waiting.extend(reversed(node.children))


def document_order(node: Node) -> tuple[int, int]:
    """The key that sorts nodes."""
    return node.number, node.rank


def in_document_order(nodes: list[Node]) -> list[Node]:
    """The nodes sorted, each once."""
    return sorted(set(nodes), key=document_order)


def namespace_nodes(element: Node) -> list[Node]:
    """The namespaces in scope at an element, in libxml2's order.

    That is: ``xml`` first, then those of the outermost element, the last declared first.  As
    libxml2 does it, ``xmlns=""`` counts as the declaration of an empty namespace.
    """
    if element.namespaces is None:
        in_scope: dict[str, str] = {}
        above: Node | None = element
        while above is not None:
            for prefix, namespace in above.declared.items():
                in_scope.setdefault(prefix, namespace)
            above = above.parent
        rows = [("xml", XML_NAMESPACE), *reversed(in_scope.items())]
        element.namespaces = [
            Node(element.number, Kind.NAMESPACE, ("", prefix), element, namespace, rank=rank)
            for rank, (prefix, namespace) in enumerate(rows, start=1)
        ]
    return element.namespaces
