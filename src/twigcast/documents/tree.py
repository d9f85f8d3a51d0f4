"""The document tree of the XPath 1.0 data model, as far as subscriptions can look into it.

    Document
      root: Element ("", "a")            <a>x<b/>y<!--c-->z</a>
        children: "x", Element b, "y", "z"

Each string among an element's children is one text node: a maximal run of character data, CDATA
sections and entity text included.  A comment or a processing instruction ends such a run, so two
strings may be neighbours; comments and processing instructions themselves are not kept, since no
subscription can select them.  No string is empty.

Nothing here recurses: a tree may be as deep as ``DocumentLimits.depth`` lets it be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from twigcast.language import name_text

ExpandedName: TypeAlias = tuple[str, str]
"""Namespace name and local part; the namespace name is empty for a name in no namespace."""


class Element:
    """An element with its attributes and children; elements compare by identity."""

    __slots__ = ("__weakref__", "attributes", "children", "name", "parent")

    def __init__(
        self,
        name: ExpandedName,
        attributes: dict[ExpandedName, str] | None = None,
        parent: Element | None = None,
    ) -> None:
        self.name = name
        self.attributes: dict[ExpandedName, str] = {} if attributes is None else attributes
        self.children: list[Element | str] = []
        self.parent = parent

    def __repr__(self) -> str:
        return f"<Element {name_text(*self.name)} with {len(self.children)} children>"

    def elements(self) -> Iterator[Element]:
        """This element and every element below it, in document order."""
        pending = [self]
        while pending:
            element = pending.pop()
            yield element
            pending.extend(
                child for child in reversed(element.children) if isinstance(child, Element)
            )

    def string_value(self) -> str:
        """All text below this element, joined in document order: XPath's string-value."""
        texts: list[str] = []
        pending: list[Element | str] = [self]
        while pending:
            node = pending.pop()
            if isinstance(node, str):
                texts.append(node)
            else:
                pending.extend(reversed(node.children))
        return "".join(texts)


class Document:
    """A whole document; ``root`` is its only top-level element."""

    __slots__ = ("__weakref__", "root")

    def __init__(self, root: Element) -> None:
        self.root = root

    def __repr__(self) -> str:
        return f"<Document {name_text(*self.root.name)}>"

    def elements(self) -> Iterator[Element]:
        """Every element of the document, in document order."""
        return self.root.elements()
