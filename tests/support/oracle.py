"""libxml2 through lxml: what a document and an XPath expression mean."""

from __future__ import annotations

from collections.abc import Mapping

from lxml import etree


def _ends_with(context: object, subject: object, end: str) -> bool:
    """XPath 2.0's function, with the subject turned into a string as XPath 1.0 does it."""
    if isinstance(subject, list):
        first = subject[0] if subject else ""
        subject = first.xpath("string()") if isinstance(first, etree._Element) else first
    return str(subject).endswith(end)


etree.FunctionNamespace(None)["ends-with"] = _ends_with


def parse_tree(document: bytes | str) -> etree._ElementTree:
    """The document as libxml2 reads it: entities of its own expanded, nothing fetched."""
    data = document.encode() if isinstance(document, str) else document
    parser = etree.XMLParser(
        resolve_entities=True, attribute_defaults=True, no_network=True, huge_tree=True
    )
    return etree.fromstring(data, parser).getroottree()


def anchored(expression: str) -> str:
    """The expression with each relative alternative anchored anywhere, as subscriptions are.

    Only for expressions whose literals hold no ``|``.
    """
    alternatives = (part.strip() for part in expression.split("|"))
    return " | ".join(part if part.startswith("/") else f"//{part}" for part in alternatives)


def xpath_matches(
    tree: etree._ElementTree, expression: str, namespaces: Mapping[str, str] | None = None
) -> bool:
    """Whether the expression is true of the document, by XPath 1.0."""
    bound = dict(namespaces) if namespaces else None
    answer = tree.xpath(f"boolean({expression})", namespaces=bound)
    assert isinstance(answer, bool)
    return answer


def to_xpath_1(expression: str, namespaces: Mapping[str, str]) -> str:
    """Names that XPath 1.0 lacks, spelled with its functions, in a generated expression."""
    for prefix, uri in namespaces.items():
        expression = expression.replace(f"Q{{{uri}}}", f"{prefix}:")
    expression = expression.replace("Q{}a", '*[local-name()="a" and namespace-uri()=""]')
    for local in ("a", "b", "c", "x", "y"):
        expression = expression.replace(f"*:{local}", f'*[local-name()="{local}"]')
    return expression
