"""Documents as our reader and as libxml2 see them, written down alike."""

from __future__ import annotations

from typing import TypeAlias

from lxml import etree

from twigcast.documents import (
    DEFAULT_LIMITS,
    Document,
    DocumentLimits,
    Element,
    Source,
    read_document,
)

Child: TypeAlias = str | tuple[str, str]
Row: TypeAlias = tuple[tuple[str, str], dict[tuple[str, str], str], list[Child], str]
"""An element's name, attributes, children (texts, and names of elements) and string-value."""


def rows(document: Document) -> list[Row]:
    """Every element in document order."""
    return [
        (
            element.name,
            element.attributes,
            [
                child if isinstance(child, str) else child.name
                for child in element.children
                if isinstance(child, str | Element)
            ],
            element.string_value(),
        )
        for element in document.elements()
    ]


def read_rows(data: Source, limits: DocumentLimits = DEFAULT_LIMITS) -> list[Row]:
    return rows(read_document(data, limits))


def lxml_rows(data: bytes) -> list[Row]:
    """What :func:`rows` should be.

    libxml2 makes an empty text node of an empty CDATA section; XPath knows no empty text nodes.
    """
    parser = etree.XMLParser(
        resolve_entities="internal",  # type: ignore[arg-type]  # newer than the stubs
        attribute_defaults=True,
        no_network=True,
        huge_tree=True,
    )
    result: list[Row] = []
    for element in etree.fromstring(data, parser).iter("*"):
        children = element.xpath("text() | *")
        string_value = element.xpath("string()")
        assert isinstance(children, list)
        assert isinstance(string_value, str)
        result.append(
            (
                _expanded(str(element.tag)),
                {_expanded(str(name)): str(value) for name, value in element.attrib.items()},
                [_child(child) for child in children if not isinstance(child, str) or child],
                str(string_value),
            )
        )
    return result


def _child(child: object) -> Child:
    if isinstance(child, etree._Element):
        return _expanded(str(child.tag))
    return str(child)


def _expanded(name: str) -> tuple[str, str]:
    namespace, brace, local = name.rpartition("}")
    return namespace.removeprefix("{") if brace else "", local
