"""How generated documents spell the names of elements and attributes.

A DTD has the spellings.  An XSD has namespaces: each gets a prefix, bound at the root once for the
whole document, so that values that are names (``xsi:type``) can use it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from twigcast.language import XML_NAMESPACE, NodeTest
from twigcast.schema import INSTANCE_NAMESPACE, Attribute, ElementDeclaration
from twigcast.workload.escaping import escape

_EXPANDED = re.compile(r"(?:Q\{([^{}]*)\})?(.+)")
_ANY_LOCAL = "any"
_ANY_NAMESPACE = "urn:twigcast:any"


class Names:
    """The spellings for the elements of one schema."""

    def __init__(self, declarations: Iterable[ElementDeclaration]) -> None:
        self._prefixes = {"": "", XML_NAMESPACE: "xml:"}
        for declaration in declarations:
            if declaration.label is not None:
                self._bind(_namespace(declaration.label))
            for attribute in declaration.attributes:
                self._bind_attribute(attribute)

    def _bind_attribute(self, attribute: Attribute) -> None:
        if attribute.kind == "instance":
            if attribute.value is None:
                return  # generators write those that decide on a declaration, no others
            self._prefixes.setdefault(INSTANCE_NAMESPACE, "xsi:")
            self._bind(_expanded(attribute.value)[0])
        elif attribute.label is not None and attribute.kind != "any":
            self._bind(_namespace(attribute.label))

    def _bind(self, namespace: str) -> None:
        self._prefixes.setdefault(namespace, f"n{len(self._prefixes) - 1}:")

    @property
    def bindings(self) -> str:
        """The namespace declarations as attributes of the root."""
        return "".join(
            f' xmlns:{prefix[:-1]}="{escape(namespace)}"'
            for namespace, prefix in self._prefixes.items()
            if namespace not in ("", XML_NAMESPACE)
        )

    def element(self, declaration: ElementDeclaration) -> str:
        """The name of an element; of a wildcard, one that fits."""
        label = declaration.label
        if label is None:
            return declaration.name
        return f"{self._prefixes[_namespace(label)]}{label.local or _ANY_LOCAL}"

    def attribute(self, attribute: Attribute) -> str:
        """The name of an attribute."""
        label = attribute.label
        if label is None:
            return attribute.name
        return f"{self._prefixes[_namespace(label)]}{label.local}"

    def value(self, expanded: str) -> str:
        """A name as the value of an attribute; ``true`` stays as it is."""
        namespace, local = _expanded(expanded)
        return f"{self._prefixes[namespace]}{local}"


def _namespace(label: NodeTest) -> str:
    return _ANY_NAMESPACE if label.namespace is None else label.namespace


def _expanded(text: str) -> tuple[str, str]:
    match = _EXPANDED.fullmatch(text)
    assert match is not None
    return match[1] or "", match[2]
