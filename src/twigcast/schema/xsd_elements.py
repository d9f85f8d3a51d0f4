"""The elements of an XSD become declarations, from the root downwards.

A declaration here is a name with a type: what XSD calls a single-type grammar.  Where a document
may choose, the content model of the parent names several declarations::

    head of a substitution group    the head, unless it is abstract, and its members
    a type with extensions          the type, unless it is abstract, and each that xsi:type may name
    nillable                        the element, and the element that xsi:nil empties
    a wildcard                      one declaration that any name fits, with anything below it

So overlap, advertisements and generators need to know nothing of these words.  A restriction of a
type is no declaration of its own: it has no document that the type has not.

Invariant: each path of a valid document is a walk through these declarations.  What is not followed
in detail is widened: ``##other`` to any namespace, a strict wildcard to any name (``xsi:type``
makes every name valid), ``xs:all`` to a sequence, as order does not matter here.

Cost: each pair of name and type once; their number is bounded by ``MOST_ELEMENTS``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

from twigcast.errors import SchemaError
from twigcast.language import Kind, NodeTest, node_test
from twigcast.schema.content import (
    Choice,
    Content,
    Empty,
    Expression,
    Mixed,
    Name,
    Repeat,
    Sequence,
    Text,
    names,
)
from twigcast.schema.declarations import (
    ANY_ATTRIBUTE,
    ANY_ELEMENT,
    ANY_KEY,
    INSTANCE_ATTRIBUTES,
    Attribute,
    ElementDeclaration,
    instance_attribute,
)
from twigcast.schema.simple_type import SimpleType
from twigcast.schema.xsd_types import XSD_NAMESPACE, SimpleTypes

MOST_ELEMENTS: Final = 20_000
"""The most declarations that are read of one XSD."""

_ANY_TYPE: Final = f"{{{XSD_NAMESPACE}}}anyType"
_ANY_SIMPLE_TYPE: Final = f"{{{XSD_NAMESPACE}}}anySimpleType"
_NO_CHILDREN: Final = Repeat(Choice(()), 0, 1)
"""A model whose parts may occur 0 times at most: libxml2 lets white space stand there."""
_KINDS: Final = {
    "ID": "id",
    "IDREF": "idref",
    "ENTITY": "entity",
    "NMTOKEN": "nmtoken",
}


class _Variant(NamedTuple):
    """An element of one type; None stands for the content that ``xsi:nil`` leaves."""

    element: Any
    type: Any
    is_nil: bool


class XsdElements:
    """The declarations of an XSD that was built by xmlschema (``Any`` stands for its classes)."""

    def __init__(self, schema: Any) -> None:
        self._maps = schema.maps
        self._types = SimpleTypes()
        self._derived = _derived_types(self._maps.types.values())
        self._keys: dict[tuple[object, ...], str] = {}
        self._used: dict[str, int] = {}
        self._waiting: list[tuple[str, _Variant]] = []
        self._alternatives: dict[int, tuple[Any, tuple[str, ...]]] = {}
        self._models: dict[int, Expression | None] = {}  # of complex types, which the maps keep
        self._owned: dict[int, tuple[Attribute, ...]] = {}
        self._elements: dict[str, ElementDeclaration] = {}

    def read(self, root: Any) -> tuple[dict[str, ElementDeclaration], tuple[str, ...]]:
        """The declarations that documents of a root need, and the keys of the root."""
        roots = tuple(self._variant_keys(root))
        while self._waiting:
            key, variant = self._waiting.pop()
            self._elements[key] = self._declare(key, variant)
        order = {key: number for number, key in enumerate(self._keys.values())}
        wildcards = len(order)
        elements = sorted(
            self._elements.items(), key=lambda item: (order.get(item[0], wildcards), item[0])
        )
        return dict(elements), roots

    # Which declarations an element of a content model may be.

    def _keys_of(self, element: Any) -> tuple[str, ...]:
        """The declarations that may stand where the model has this element."""
        known = self._alternatives.get(id(element))
        if known is None:
            keys = [key for each in _substitutes(element) for key in self._variant_keys(each)]
            known = self._alternatives[id(element)] = element, tuple(dict.fromkeys(keys))
        return known[1]

    def _variant_keys(self, element: Any) -> Iterator[str]:
        for variant in self._variants(element):
            identity = (
                element.name,
                id(variant.type),
                variant.type is element.type,
                variant.is_nil,
                element.fixed,
                element.default is not None,
            )
            key = self._keys.get(identity)
            if key is None:
                key = self._keys[identity] = self._new_key(_label(Kind.ELEMENT, element.name).text)
                self._waiting.append((key, variant))
            yield key

    def _new_key(self, spelling: str) -> str:
        if len(self._keys) >= MOST_ELEMENTS:
            raise SchemaError(
                f"XSD: more than {MOST_ELEMENTS:,} pairs of element and type, the most that "
                "are read; choose a root with fewer elements below it"
            )
        number = self._used[spelling] = self._used.get(spelling, 0) + 1
        return spelling if number == 1 else f"{spelling} #{number}"

    def _variants(self, element: Any) -> Iterator[_Variant]:
        declared = element.type
        types = [] if getattr(declared, "abstract", False) else [declared]
        if declared.name != _ANY_TYPE:
            blocked = set(element.block.split()) | set(getattr(declared, "block", "").split())
            taken = {id(each) for each in types}
            for derived, methods in self._derived_of(declared):
                if methods & blocked or derived.abstract or id(derived) in taken:
                    continue
                if derived.derivation == "restriction" and id(derived.base_type) in taken:
                    taken.add(id(derived))
                    continue
                taken.add(id(derived))
                types.append(derived)
        for each in types:
            yield _Variant(element, each, False)
            if element.nillable:
                yield _Variant(element, each, True)

    def _derived_of(self, declared: Any) -> Iterator[tuple[Any, frozenset[str]]]:
        """The complex types that may be used instead, each with how it is derived; bases first."""
        yield from self._derived.get(id(declared), ())
        for member in getattr(declared, "member_types", None) or ():
            yield from self._derived_of(member)

    # What a declaration says.

    def _declare(self, key: str, variant: _Variant) -> ElementDeclaration:
        element, xsd_type, is_nil = variant
        attributes = {each.name: each for each in INSTANCE_ATTRIBUTES}
        if is_nil:
            attributes |= _by_name(instance_attribute("nil", "true"))
        if xsd_type is not element.type:
            label = _label(Kind.ELEMENT, xsd_type.name)
            attributes |= _by_name(instance_attribute("type", label.text))
        if xsd_type.name in (_ANY_TYPE, _ANY_SIMPLE_TYPE):
            attributes |= _by_name(ANY_ATTRIBUTE)
        elif xsd_type.is_complex():
            if id(xsd_type) not in self._owned:
                self._owned[id(xsd_type)] = tuple(self._attributes(xsd_type.attributes))
            attributes |= _by_name(*self._owned[id(xsd_type)])
        return ElementDeclaration(
            key,
            Empty() if is_nil else self._content(element, xsd_type),
            tuple(attributes[name] for name in sorted(attributes)),
            _label(Kind.ELEMENT, element.name),
        )

    def _content(self, element: Any, xsd_type: Any) -> Content:
        if xsd_type.name == _ANY_TYPE:
            return Mixed((self._wildcard(ANY_ELEMENT),))
        if xsd_type.name == _ANY_SIMPLE_TYPE:
            return Text()
        if xsd_type.is_simple() or xsd_type.has_simple_content():
            simple = xsd_type if xsd_type.is_simple() else xsd_type.content
            return Text(_constrained(self._types.read(simple), element))
        if id(xsd_type) not in self._models:
            self._models[id(xsd_type)] = self._particle(xsd_type.content)
        model = self._models[id(xsd_type)]
        if xsd_type.mixed:
            return Text() if model is None else Mixed(names(model), model)
        if model is None:
            return _NO_CHILDREN if len(xsd_type.content) else Empty()
        return model

    def _particle(self, particle: Any) -> Expression | None:
        """The expression for a particle; None for what is always empty."""
        expression: Expression | None
        if particle.max_occurs == 0:
            return None
        if hasattr(particle, "process_contents"):
            expression = _one_of([Name(key) for key in self._wildcards(particle)])
        elif hasattr(particle, "model"):
            expression = self._group(particle)
        else:
            expression = _one_of([Name(key) for key in self._keys_of(particle)])
        if expression is None or (particle.min_occurs, particle.max_occurs) == (1, 1):
            return expression
        return Repeat(expression, particle.min_occurs, particle.max_occurs)

    def _group(self, group: Any) -> Expression | None:
        parts = [self._particle(part) for part in group]
        present = [part for part in parts if part is not None]
        if not present:
            return None
        if group.model != "choice":
            return present[0] if len(present) == 1 else Sequence(tuple(present))
        choice = _one_of(present)
        return choice if len(present) == len(parts) else Repeat(choice, 0, 1)

    def _wildcards(self, particle: Any) -> Iterator[str]:
        strict = particle.process_contents == "strict"
        for namespace in _namespaces(particle):
            label = node_test(Kind.ELEMENT, namespace)
            key = f"{label.text} of the schema" if strict else label.text
            yield self._wildcard(replace(ANY_ELEMENT, name=key, label=label, strict=strict))

    def _wildcard(self, declaration: ElementDeclaration) -> str:
        self._elements.setdefault(declaration.name, declaration)
        self._elements.setdefault(ANY_KEY, ANY_ELEMENT)
        return declaration.name

    def _attributes(self, group: Any) -> Iterator[Attribute]:
        for name, attribute in group.items():
            if name is None:
                for namespace in _namespaces(attribute):
                    label = node_test(Kind.ATTRIBUTE, namespace)
                    yield replace(ANY_ATTRIBUTE, name=label.text[1:], label=label)
            elif attribute.use != "prohibited":
                yield self._attribute(name, attribute)

    def _attribute(self, name: str, attribute: Any) -> Attribute:
        label = _label(Kind.ATTRIBUTE, name)
        simple = SimpleType("string")
        if attribute.type.name != _ANY_SIMPLE_TYPE:
            simple = self._types.read(attribute.type)
        if attribute.fixed is not None:
            simple = replace(simple, choices=(attribute.fixed,))
        kind = _KINDS.get(simple.kind, "cdata")
        if simple.kind == "list" and simple.members[0].kind == "IDREF":
            kind = "idrefs"
        default = "required" if attribute.use == "required" else "implied"
        return Attribute(label.text[1:], kind, default, label=label, simple=simple)


def _by_name(*attributes: Attribute) -> dict[str, Attribute]:
    return {attribute.name: attribute for attribute in attributes}


def _one_of(parts: list[Any]) -> Expression:
    """A choice; of nothing, as an abstract element without members is, what never can be."""
    return parts[0] if len(parts) == 1 else Choice(tuple(parts))


def _constrained(simple: SimpleType, element: Any) -> SimpleType:
    """The type with the fixed or default value of an element."""
    if element.fixed is not None:
        return replace(simple, choices=(element.fixed,), may_be_empty=True)
    return simple if element.default is None else replace(simple, may_be_empty=True)


def _label(kind: Kind, name: str) -> NodeTest:
    """What subscriptions call ``{uri}local``."""
    namespace, _, local = name.rpartition("}")
    return node_test(kind, namespace.removeprefix("{"), local)


def _namespaces(wildcard: Any) -> Iterator[str | None]:
    """The namespaces that a wildcard allows; None where they cannot be listed."""
    listed = sorted(wildcard.namespace)
    if wildcard.not_namespace or any(each.startswith("##") for each in listed):
        yield None
    else:
        yield from listed


def _substitutes(element: Any) -> Iterator[Any]:
    """The elements that may stand in place of one, itself among them unless it is abstract."""
    head = element.ref if element.ref is not None else element
    if not head.abstract:
        yield element
    if head.parent is not None or "substitution" in head.block.split():
        return
    blocked = set(head.block.split()) | set(getattr(head.type, "block", "").split())
    for member in sorted(head.iter_substitutes(), key=lambda each: str(each.name)):
        if not member.abstract and not _methods(member.type, head.type) & blocked:
            yield member


def _methods(xsd_type: Any, base: Any) -> set[str]:
    """How a type is derived from another."""
    methods = set()
    while xsd_type is not None and xsd_type is not base:
        methods.add(xsd_type.derivation or "restriction")
        xsd_type = xsd_type.base_type
    return methods


def _derived_types(types: Iterable[Any]) -> dict[int, list[tuple[Any, frozenset[str]]]]:
    """For each type, the complex types that are derived from it and have a name; bases first."""
    found: dict[int, list[tuple[int, Any, frozenset[str]]]] = {}
    for derived in types:
        if derived.is_simple() or derived.name == _ANY_TYPE:
            continue
        methods = {derived.derivation or "restriction"}
        base, steps = derived.base_type, 1
        while base is not None and base.name != _ANY_TYPE:
            found.setdefault(id(base), []).append((steps, derived, frozenset(methods)))
            methods.add(base.derivation or "restriction")
            base, steps = base.base_type, steps + 1
    return {
        key: [(derived, methods) for _, derived, methods in sorted(each, key=lambda one: one[0])]
        for key, each in found.items()
    }
