"""The document tree of XPath's data model.

    Document
      children: Comment, Element a       <!--1--><a>x<b/>y<!--2-->z</a>
      root: Element ("", "a")
        children: "x", Element b, "y", Comment, "z"

Each string among an element's children is one text node: a maximal run of character data, CDATA
sections and entity text included.  No string is empty.  What stands within the document type
declaration is not part of the tree, but for the identifiers that it declares.

A name is a namespace name and a local part.  The prefix that the document writes is kept beside it,
because ``name()`` of XPath gives it, and so are the declarations of namespaces, for the namespace
axis.

Nothing here recurses: a tree may be as deep as ``DocumentLimits.depth`` lets it be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from twigcast.language import name_text

ExpandedName: TypeAlias = tuple[str, str]
"""Namespace name and local part; the namespace name is empty for a name in no namespace."""

_NONE: Final[dict[str, str]] = {}


class Comment(NamedTuple):
    """A comment: ``<!--text-->``."""

    text: str


class Instruction(NamedTuple):
    """A processing instruction: ``<?target text?>``."""

    target: str
    text: str


class Element:
    """An element with its attributes and children; elements compare by identity.

    ``prefix`` and ``prefixes`` are the prefixes as written: of the element, and of its attributes
    that have one.  ``namespaces`` are those that this very element declares, by prefix; both keys
    and values may be empty.
    """

    __slots__ = (
        "__weakref__",
        "attributes",
        "children",
        "name",
        "namespaces",
        "parent",
        "prefix",
        "prefixes",
    )

    def __init__(
        self,
        name: ExpandedName,
        attributes: dict[ExpandedName, str] | None = None,
        parent: Element | None = None,
        *,
        prefix: str = "",
        prefixes: dict[ExpandedName, str] | None = None,
        namespaces: dict[str, str] | None = None,
    ) -> None:
        self.name = name
        self.attributes: dict[ExpandedName, str] = {} if attributes is None else attributes
        self.children: list[Child] = []
        self.parent = parent
        self.prefix = prefix
        self.prefixes: dict[ExpandedName, str] = {} if prefixes is None else prefixes
        self.namespaces = _NONE if namespaces is None else namespaces

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
        pending: list[Child] = [self]
        while pending:
            node = pending.pop()
            if isinstance(node, str):
                texts.append(node)
            elif isinstance(node, Element):
                pending.extend(reversed(node.children))
        return "".join(texts)


Child: TypeAlias = Element | str | Comment | Instruction


class Document:
    """A whole document.

    ``root`` is its only top-level element, ``children`` are all that stands at the top.
    ``identified`` has the elements with an identifier: an attribute that the internal subset
    declares to be an ID, or ``xml:id``.  Of elements with one identifier it is the first.
    """

    __slots__ = ("__weakref__", "children", "identified", "root")

    def __init__(
        self,
        root: Element,
        children: list[Child] | None = None,
        identified: dict[str, Element] | None = None,
    ) -> None:
        self.root = root
        self.children: list[Child] = [root] if children is None else children
        self.identified: dict[str, Element] = {} if identified is None else identified

    def __repr__(self) -> str:
        return f"<Document {name_text(*self.root.name)}>"

    def elements(self) -> Iterator[Element]:
        """Every element of the document, in document order."""
        return self.root.elements()
