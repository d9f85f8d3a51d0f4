"""What a schema declares: elements, their attributes and what each may hold.

A DTD and an XSD come to the same declarations.  A declaration has a *key*, by which content models
name it, and a *label*, what subscriptions call it.  In a DTD the key is the name, and the label
follows from it.  In an XSD one name may have several declarations: two types in two contexts, a
derived type that ``xsi:type`` names, or ``xsi:nil``.  The key of the first is the spelling of the
name, ``price`` or ``Q{urn:shop}price``; those of the others have a number behind it, ``price #2``.
The label of a wildcard has no local name.
"""

from __future__ import annotations

from dataclasses import dataclass

from twigcast.language import Kind, NodeTest, node_test
from twigcast.schema.content import Content, Mixed, Name, Repeat
from twigcast.schema.simple_type import SimpleType

INSTANCE_NAMESPACE = "http://www.w3.org/2001/XMLSchema-instance"


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute that an element may have.

    ``kind`` is ``cdata``, ``id``, ``idref``, ``idrefs``, ``nmtoken``, ``nmtokens``, ``entity``,
    ``entities``, ``enumeration`` or ``notation``; ``default`` is ``required``, ``implied``,
    ``fixed`` or None; ``value`` is the fixed or default value; ``choices`` are those of an
    enumeration or notation.

    An attribute of an XSD has a ``label`` and, in ``simple``, its type.  Two further kinds have no
    type: ``any`` is a wildcard, ``instance`` an attribute of the namespace of ``xsi:type``.  The
    ``value`` of an ``xsi:type`` is the type that the declaration is for, as ``Q{uri}name``.
    """

    name: str
    kind: str
    default: str | None = None
    value: str | None = None
    choices: tuple[str, ...] = ()
    label: NodeTest | None = None
    simple: SimpleType | None = None

    @property
    def is_namespace_declaration(self) -> bool:
        """Whether this is ``xmlns`` or ``xmlns:…``, which XPath does not count as an attribute."""
        return self.label is None and (self.name == "xmlns" or self.name.startswith("xmlns:"))


@dataclass(frozen=True, slots=True)
class ElementDeclaration:
    """An element, what may stand inside it, and its attributes in order of their names.

    ``name`` is the key.  A wildcard is ``strict`` if the schema must declare what stands there.
    """

    name: str
    content: Content
    attributes: tuple[Attribute, ...] = ()
    label: NodeTest | None = None
    strict: bool = False

    @property
    def is_wildcard(self) -> bool:
        """Whether this stands for elements of any name."""
        return self.label is not None and self.label.local is None

    def __str__(self) -> str:
        model = f"({self.content})" if isinstance(self.content, (Name, Repeat)) else self.content
        return f"<!ELEMENT {self.name} {model}>"


def instance_attribute(local: str, value: str | None = None) -> Attribute:
    """``xsi:type`` and its like; with a value, one that the element must have."""
    label = node_test(Kind.ATTRIBUTE, INSTANCE_NAMESPACE, local)
    default = "implied" if value is None else "required"
    return Attribute(label.text[1:], "instance", default, value, label=label)


INSTANCE_ATTRIBUTES = tuple(
    map(instance_attribute, ("nil", "noNamespaceSchemaLocation", "schemaLocation", "type"))
)
"""What every element may have that an XSD speaks of."""

ANY_ATTRIBUTE = Attribute("*", "any", "implied", label=node_test(Kind.ATTRIBUTE))

ANY_KEY = "*"
ANY_ELEMENT = ElementDeclaration(
    ANY_KEY, Mixed((ANY_KEY,)), (ANY_ATTRIBUTE,), node_test(Kind.ELEMENT)
)
"""An element of which nothing is known, nor of what stands below it."""
