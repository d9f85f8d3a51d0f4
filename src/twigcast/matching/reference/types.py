"""``cast as``, ``castable as``, ``treat as`` and ``instance of``."""

from __future__ import annotations

from typing import Final

from twigcast.language import ATOMIC_TYPES, Kind
from twigcast.matching.reference.casting import cast, is_castable
from twigcast.matching.reference.conversions import atomize
from twigcast.matching.reference.items import DynamicError, Item, Sequence, derives_from, is_numeric
from twigcast.matching.reference.nodes import Node

_KINDS: Final = {
    "element()": Kind.ELEMENT,
    "attribute()": Kind.ATTRIBUTE,
    "text()": Kind.TEXT,
    "comment()": Kind.COMMENT,
    "processing-instruction()": Kind.INSTRUCTION,
    "namespace-node()": Kind.NAMESPACE,
    "document-node()": Kind.DOCUMENT,
}


def cast_as(items: Sequence, type_name: str, occurrence: str) -> Sequence:
    """The value of ``cast as``."""
    values = atomize(items)
    if len(values) > 1 or (not values and occurrence != "?"):
        raise DynamicError(f"a cast takes a single value, not {len(values)}")
    return [cast(value, type_name) for value in values]


def castable_as(items: Sequence, type_name: str, occurrence: str) -> bool:
    """Whether ``cast as`` has a value."""
    values = atomize(items)
    if len(values) != 1:
        return not values and occurrence == "?"
    return is_castable(values[0], type_name)


def treat_as(items: Sequence, type_name: str, occurrence: str) -> Sequence:
    """The items if they are of the type; an error otherwise."""
    if not instance_of(items, type_name, occurrence):
        raise DynamicError(f"this is not {type_name}{occurrence}")
    return items


def instance_of(items: Sequence, type_name: str, occurrence: str) -> bool:
    """Whether there are as many items as the type says, all of its kind."""
    if type_name == "empty-sequence()":
        return not items
    if not items:
        return occurrence in ("?", "*")
    if len(items) > 1 and occurrence not in ("*", "+"):
        return False
    return all(is_of_type(item, type_name) for item in items)


def is_of_type(item: Item, type_name: str) -> bool:
    """Whether one item is of an atomic type or a kind of node."""
    if type_name == "item()":
        return True
    if isinstance(item, Node):
        return type_name == "node()" or item.kind is _KINDS.get(type_name)
    if type_name == "xs:numeric":
        return is_numeric(item)
    return type_name == "xs:anyAtomicType" or derives_from(item.type, type_name)


def is_constructor(name: str) -> bool:
    """Whether a function is named for the type that it casts to."""
    return name in ATOMIC_TYPES


def construct(name: str, items: Sequence) -> Sequence:
    """``xs:date(…)``: a cast in which nothing stays nothing."""
    return cast_as(items, name, "?")
