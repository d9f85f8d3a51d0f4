"""What expressions come to: sequences of items, each a node or an atomic value.

An :class:`Atomic` is a Python value and the name of its XPath type, because Python has fewer types:
``xs:int`` and ``xs:integer`` are both int, ``xs:string`` and ``xs:untypedAtomic`` both str.

    xs:string ◄─ xs:normalizedString ◄─ xs:token        str
    xs:untypedAtomic, xs:anyURI                         str
    xs:boolean                                          bool
    xs:decimal ◄─ xs:integer ◄─ xs:long ◄─ xs:int …     Decimal; int
    xs:float, xs:double                                 float
    xs:date, xs:dateTime, xs:time                       Moment
    xs:duration ◄─ xs:dayTimeDuration, …                Duration

The text of a document is ``xs:untypedAtomic``: it takes the type of what it meets.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias

from twigcast.matching.reference.moments import Duration, Moment
from twigcast.matching.reference.nodes import Node

Plain: TypeAlias = str | bool | int | Decimal | float | Moment | Duration


@dataclass(frozen=True, slots=True)
class Atomic:
    """A value of a type that has no parts."""

    type: str
    value: Plain


Item: TypeAlias = Node | Atomic
Sequence: TypeAlias = list[Item]


class DynamicError(Exception):
    """An expression has no value on this document, and why; the subscription does not match."""


_ANCESTORS: Final = {
    "xs:integer": "xs:decimal",
    "xs:long": "xs:integer",
    "xs:int": "xs:long",
    "xs:short": "xs:int",
    "xs:byte": "xs:short",
    "xs:nonNegativeInteger": "xs:integer",
    "xs:positiveInteger": "xs:nonNegativeInteger",
    "xs:unsignedLong": "xs:nonNegativeInteger",
    "xs:unsignedInt": "xs:unsignedLong",
    "xs:unsignedShort": "xs:unsignedInt",
    "xs:unsignedByte": "xs:unsignedShort",
    "xs:nonPositiveInteger": "xs:integer",
    "xs:negativeInteger": "xs:nonPositiveInteger",
    "xs:normalizedString": "xs:string",
    "xs:token": "xs:normalizedString",
    "xs:dayTimeDuration": "xs:duration",
    "xs:yearMonthDuration": "xs:duration",
}

MOMENTS: Final = ("xs:date", "xs:dateTime", "xs:time")
"""The types of points in time."""


def derives_from(type_name: str, ancestor: str) -> bool:
    """Whether values of the one type are values of the other."""
    known: str | None = type_name
    while known is not None:
        if known == ancestor:
            return True
        known = _ANCESTORS.get(known)
    return False


def primitive(type_name: str) -> str:
    """The type that a type is derived from in the end; ``xs:integer`` counts as one of its own."""
    while type_name in _ANCESTORS and type_name != "xs:integer":
        type_name = _ANCESTORS[type_name]
    return type_name


def is_numeric(item: Item) -> bool:
    """Whether this is a number."""
    return isinstance(item, Atomic) and primitive(item.type) in (
        "xs:integer",
        "xs:decimal",
        "xs:float",
        "xs:double",
    )


def is_text(item: Item) -> bool:
    """Whether this is a string; a URI counts as one."""
    return isinstance(item, Atomic) and primitive(item.type) in ("xs:string", "xs:anyURI")


def is_untyped(item: Item) -> bool:
    """Whether this is text of a document, without a type yet."""
    return isinstance(item, Atomic) and item.type == "xs:untypedAtomic"


def atomic(value: Plain, type_name: str = "") -> Atomic:
    """The value with the type that Python's own type suggests, or another."""
    if type_name:
        return Atomic(type_name, value)
    match value:
        case bool():
            return Atomic("xs:boolean", value)
        case str():
            return Atomic("xs:string", value)
        case int():
            return Atomic("xs:integer", value)
        case Decimal():
            return Atomic("xs:decimal", value)
        case float():
            return Atomic("xs:double", value)
        case Moment():
            return Atomic(value.type, value)
        case Duration():
            return Atomic(value.type, value)
