"""Functions of nodes: names, identifiers, languages, equality of trees."""

from __future__ import annotations

from typing import Final

from twigcast.language import XML_NAMESPACE, Kind
from twigcast.matching.reference.axes import ancestor_or_self, element_of
from twigcast.matching.reference.comparisons import are_equal
from twigcast.matching.reference.conversions import to_text
from twigcast.matching.reference.definitions import define
from twigcast.matching.reference.items import Atomic, Item, Sequence
from twigcast.matching.reference.nodes import Node, in_document_order
from twigcast.matching.reference.setting import Setting

_LANG: Final = (XML_NAMESPACE, "lang")


@define("name", "node?")
def name(node: Node | None) -> str:
    """The name with the prefix that the document writes."""
    if node is None:
        return ""
    return f"{node.prefix}:{node.name[1]}" if node.prefix else node.name[1]


@define("local-name", "node?")
def local_name(node: Node | None) -> str:
    return "" if node is None else node.name[1]


@define("namespace-uri", "node?")
def namespace_uri(node: Node | None) -> str:
    return "" if node is None else node.name[0]


@define("lang", "text", "node?")
def lang(language: str, node: Node) -> bool:
    """Whether the nearest ``xml:lang`` is that language, or a variety of it."""
    for above in ancestor_or_self(element_of(node)):
        for attribute in above.attributes:
            if attribute.name == _LANG:
                said, asked = attribute.value.lower(), language.lower()
                return said == asked or said.startswith(f"{asked}-")
    return False


@define("id", "items", needs_setting=True)
def id_(setting: Setting, items: Sequence) -> Sequence:
    """The elements with the identifiers that the texts list."""
    setting.charge(items)
    identified = setting.tree.identified
    texts = (to_text(item, is_version_2=setting.is_version_2) for item in items)
    keys = {key for text in texts for key in text.split()}
    return list(in_document_order([identified[key] for key in keys if key in identified]))


@define("root", "node?")
def root(node: Node | None) -> Node | None:
    return None if node is None else list(ancestor_or_self(node))[-1]


@define("has-children", "node?")
def has_children(node: Node | None) -> bool:
    return node is not None and bool(node.children)


@define("deep-equal", "items", "items", needs_setting=True)
def deep_equal(setting: Setting, left: Sequence, right: Sequence) -> bool:
    """Whether the items are equal in pairs: values as values, nodes as trees."""
    setting.charge([*left, *right])
    waiting = [(left, right)]
    while waiting:
        ones, others = waiting.pop()
        if len(ones) != len(others):
            return False
        for one, other in zip(ones, others, strict=True):
            if not _are_alike(one, other):
                return False
            if isinstance(one, Node) and isinstance(other, Node):
                waiting.append((_compared_children(one), _compared_children(other)))
    return True


def _are_alike(one: Item, other: Item) -> bool:
    """Whether two items are equal but for what is below them."""
    if isinstance(one, Atomic) or isinstance(other, Atomic):
        return isinstance(one, Atomic) and isinstance(other, Atomic) and are_equal(one, other)
    if (one.kind, one.name, one.value) != (other.kind, other.name, other.value):
        return False
    return _attributes_of(one) == _attributes_of(other)


def _attributes_of(node: Node) -> dict[tuple[str, str], str]:
    return {attribute.name: attribute.value for attribute in node.attributes}


def _compared_children(node: Node) -> Sequence:
    ignored = (Kind.COMMENT, Kind.INSTRUCTION)
    return [child for child in node.children if child.kind not in ignored]
