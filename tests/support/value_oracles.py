"""The value of an expression as libxml2, Saxon and the reference see it, written down alike.

    number, string, boolean    float, str, bool
    nodes                      a set of descriptions: what is at which path
    no value                   Failure, with the reason

libxml2 answers for XPath 1.0, Saxon for both versions.  Node sets have no order in XPath 1.0.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from lxml import etree
from oracle import parse_tree

from twigcast.documents import read_document
from twigcast.language import NAME, Expression, Kind
from twigcast.matching.reference import (
    Atomic,
    DynamicError,
    Evaluation,
    Focus,
    Item,
    Node,
    NodeTree,
    Setting,
    subtree,
)
from twigcast.matching.reference.conversions import to_text

_NAMES = re.compile(
    rf"""("[^"]*"|'[^']*')            # a literal stays as it is
       | Q\{{([^{{}}]*)\}}({NAME}|\*)  # a name in a namespace
       | \*:({NAME})                   # a name in any namespace
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Failure:
    """An expression has no value; failures are equal whatever their reasons."""

    reason: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Failure)

    def __hash__(self) -> int:
        return 0


Outcome: TypeAlias = object


def to_xpath_1(expression: Expression) -> tuple[str, dict[str, str]]:
    """An XPath 1.0 expression in XPath 1.0's own spelling, and the prefixes that it uses."""
    prefixes: dict[str, str] = {}

    def spell(match: re.Match[str]) -> str:
        literal, namespace, local, anywhere = match.groups()
        if literal is not None:
            return str(literal)
        if anywhere is not None:
            return f'*[local-name()="{anywhere}"]'
        if namespace == "":
            return '*[namespace-uri()=""]'
        return f"{prefixes.setdefault(namespace, f'n{len(prefixes)}')}:{local}"

    text = _NAMES.sub(spell, expression.text)
    return text, {prefix: namespace for namespace, prefix in prefixes.items()}


class ComparedDocument:
    """A document as all three read it."""

    def __init__(self, text: str) -> None:
        self.text = text
        root = parse_tree(text).getroot()
        before = list(root.itersiblings(preceding=True))[::-1]
        numbered = [*before, *root.iter(), *root.itersiblings()]
        self.lxml_elements = list(root.iter("*"))
        self._lxml_numbers = {node: number for number, node in enumerate(numbered)}
        self.tree = NodeTree(read_document(text))
        nodes = list(subtree(self.tree.top))
        self.elements = [node for node in nodes if node.kind is Kind.ELEMENT]
        kinds = (Kind.ELEMENT, Kind.COMMENT, Kind.INSTRUCTION)
        own = (node for node in nodes if node.kind in kinds)
        self._numbers = {node: number for number, node in enumerate(own)}

    def by_libxml2(self, expression: Expression, element: int = 0) -> Outcome:
        """The value at the element of that number, by libxml2."""
        text, prefixes = to_xpath_1(expression)
        try:
            value = self.lxml_elements[element].xpath(text, namespaces=prefixes or None)
        except etree.XPathError as error:
            return Failure(str(error))
        if isinstance(value, list):
            return frozenset(self._describe_lxml(each) for each in value)
        return value

    def _describe_lxml(self, node: Any) -> str:
        if isinstance(node, tuple):  # a namespace; which element has it is not said
            return f"namespace {node[0] or ''}={node[1] or ''}"
        if not isinstance(node, str):
            return f"{self._lxml_numbers[node]}"
        text: Any = node
        parent = self._lxml_numbers[text.getparent()]
        if text.is_attribute:
            return f"{parent} @{text.attrname}"
        return f"{parent} {'tail' if text.is_tail else 'text'}"

    def by_reference(
        self, expression: Expression, element: int = 0, *, is_version_2: bool = False
    ) -> Outcome:
        """The same by the reference, in the shape that libxml2 gives."""
        items = self.items(expression, element, is_version_2=is_version_2)
        if isinstance(items, Failure):
            return items
        if len(items) == 1 and isinstance(items[0], Atomic):
            value = items[0].value
            return value if isinstance(value, str | bool) else float(value)  # type: ignore[arg-type]
        nodes = [item for item in items if isinstance(item, Node)]
        assert len(nodes) == len(items)
        return frozenset(map(self.describe, nodes))

    def items(
        self, expression: Expression, element: int = 0, *, is_version_2: bool = False
    ) -> list[Item] | Failure:
        """The items that the reference gives."""
        evaluation = Evaluation(Setting(self.tree, is_version_2))
        try:
            return evaluation.evaluate(expression, Focus(self.elements[element]))
        except DynamicError as error:
            return Failure(str(error))

    def describe(self, node: Node) -> str:
        """Where a node is: the number of an element, and what of it."""
        parent = node.parent
        if parent is None:
            return "/"
        if node.kind is Kind.NAMESPACE:
            return f"namespace {node.name[1]}={node.value}"
        if node.kind is Kind.ATTRIBUTE:
            namespace, local = node.name
            return f"{self._numbers[parent]} @{f'{{{namespace}}}' if namespace else ''}{local}"
        if node.kind is not Kind.TEXT:
            return f"{self._numbers[node]}"
        index = parent.children.index(node)
        if index == 0:
            return f"{self._numbers[parent]} text"
        return f"{self._numbers[parent.children[index - 1]]} tail"


def are_same(one: Outcome, other: Outcome) -> bool:
    """Whether two outcomes agree; NaN is NaN, and zero has a sign."""
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return (type(one) is type(other) and one == other) or _is_text(one, other)


def _is_text(one: Outcome, other: Outcome) -> bool:
    return isinstance(one, str) and isinstance(other, str) and str(one) == str(other)


@cache
def saxon_processor() -> Any:
    """Saxon, started once."""
    from saxonche import PySaxonProcessor

    return PySaxonProcessor(license=False)


class SaxonDocument:
    """A document as Saxon reads it."""

    def __init__(self, text: str) -> None:
        self._node = saxon_processor().parse_xml(xml_text=text)

    def evaluate(
        self, expression: str, element: int = 0, *, is_version_2: bool = False
    ) -> list[object] | Failure:
        """The items at the element of that number: paths of nodes, and atomic values."""
        processor = saxon_processor().new_xpath_processor()
        processor.set_context(xdm_item=self._node)
        chosen = processor.evaluate_single(f"(//*)[{element + 1}]")
        processor.set_context(xdm_item=chosen)
        processor.set_backwards_compatible(not is_version_2)
        try:
            value = processor.evaluate(
                f"for $item in ({expression}) return "
                "if ($item instance of node()) then path($item) else $item"
            )
        except Exception as error:  # of a class that saxonche does not export
            return Failure(str(error))
        return [] if value is None else [_saxon_value(value.item_at(n)) for n in range(value.size)]


def _saxon_value(item: Any) -> object:
    if not item.is_atomic:
        return item
    atomic = item.get_atomic_value()
    text = atomic.string_value
    match atomic.primitive_type_name.rpartition("}")[2]:
        case "boolean":
            return text == "true"
        case "integer" | "decimal" | "double" | "float":
            return float(text.replace("INF", "inf"))
        case _:
            return str(text)


def reference_items(items: list[Item] | Failure) -> list[object] | Failure:
    """The items of the reference, as :class:`SaxonDocument` gives them."""
    if isinstance(items, Failure):
        return items
    return [path_of(item) if isinstance(item, Node) else _reference_value(item) for item in items]


def _reference_value(item: Atomic) -> object:
    value = item.value
    if isinstance(value, bool | str):
        return value
    if item.type == "xs:float":
        return float(to_text(item, is_version_2=True).replace("INF", "inf"))
    try:
        return float(value)  # type: ignore[arg-type]
    except TypeError:
        return str(value)


def path_of(node: Node) -> str:
    """What ``path()`` of XPath 3.0 gives."""
    if node.parent is None:
        return "/"
    above = "" if node.parent.kind is Kind.DOCUMENT else path_of(node.parent)
    namespace, local = node.name
    match node.kind:
        case Kind.ATTRIBUTE:
            return f"{above}/@{f'Q{{{namespace}}}' if namespace else ''}{local}"
        case Kind.NAMESPACE:
            empty = '*[Q{http://www.w3.org/2005/xpath-functions}local-name()=""]'
            return f"{above}/namespace::{local or empty}"
        case Kind.ELEMENT:
            test = f"Q{{{namespace}}}{local}"
        case Kind.INSTRUCTION:
            test = f"processing-instruction({local})"
        case kind:
            test = f"{kind.value}()"
    counts: Counter[tuple[Kind, tuple[str, str]]] = Counter()
    for sibling in node.parent.children:
        counts[sibling.kind, sibling.name] += 1
        if sibling is node:
            break
    return f"{above}/{test}[{counts[node.kind, node.name]}]"
