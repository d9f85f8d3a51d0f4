"""From the value of an argument to what a function takes: the function conversion rules.

Each parameter of a function has one of these kinds.  ``?`` means that nothing is a value, too; the
function then gets None.

=============== ================================================================
``items``        anything, as it is
``nodes``        nodes only
``node?``        one node
``boolean``      the effective boolean value
``values``       all items, atomized
``value?``       one item, atomized
``texts``        any number of strings
``text``         one string; nothing is the empty string
``text?``        one string
``spelled``      the text of one item of any type; nothing is the empty string
``double``       one double
``number?``      one number of any type
``integer``      one integer
``xs:date?`` …   one value of that type
=============== ================================================================

In XPath 1.0 of several items the first is taken, and ``string()`` or ``number()`` makes what is
needed of it.  In XPath 2.0 several items are an error, untyped text is cast, and everything else
must have the type already.
"""

from __future__ import annotations

import math
from typing import Any

from twigcast.matching.reference.casting import cast
from twigcast.matching.reference.conversions import (
    atomize,
    atomize_item,
    effective_boolean,
    to_double,
    to_text,
)
from twigcast.matching.reference.items import (
    Atomic,
    DynamicError,
    Item,
    Sequence,
    atomic,
    derives_from,
    is_numeric,
    is_text,
    is_untyped,
)
from twigcast.matching.reference.nodes import Node


def convert_argument(kind: str, items: Sequence, *, is_version_2: bool) -> Any:
    """The argument as a parameter of that kind takes it."""
    match kind:
        case "items":
            return items
        case "nodes":
            return require_nodes(items)
        case "boolean":
            return effective_boolean(items)
        case "values":
            return atomize(items)
        case "texts":
            return [_text(value, kind, is_version_2=True) for value in atomize(items)]
    item = _one(items, is_version_2=is_version_2)
    if kind == "node?":
        return None if item is None else require_nodes([item])[0]
    value = None if item is None else atomize_item(item)
    match kind:
        case "value?":
            return value
        case "spelled":
            return "" if value is None else to_text(value, is_version_2=is_version_2)
        case "text" | "text?":
            return _text(value, kind, is_version_2=is_version_2)
        case "double" | "number?":
            number = _number(value, kind, is_version_2=is_version_2)
            if kind == "number?" or number is None:
                return number
            return cast(number, "xs:double").value
        case "integer":
            return _typed(value, "xs:integer").value
        case _:
            return None if value is None else _typed(value, kind.removesuffix("?")).value


def require_nodes(items: Sequence) -> list[Node]:
    """The items, if all are nodes."""
    for item in items:
        if isinstance(item, Atomic):
            raise DynamicError(f"nodes are needed here, not a value of type {item.type}")
    return [item for item in items if isinstance(item, Node)]


def _one(items: Sequence, *, is_version_2: bool) -> Item | None:
    if len(items) > 1 and is_version_2:
        raise DynamicError("a function takes a single value here, not a sequence of several")
    return items[0] if items else None


def _text(value: Atomic | None, kind: str, *, is_version_2: bool) -> str | None:
    if value is None:
        return None if kind == "text?" and is_version_2 else ""
    if is_version_2 and not (is_text(value) or is_untyped(value)):
        raise DynamicError(f"a string is needed here, not a value of type {value.type}")
    return to_text(value, is_version_2=is_version_2)


def _number(value: Atomic | None, kind: str, *, is_version_2: bool) -> Atomic | None:
    if value is not None and is_numeric(value):
        return value
    if not is_version_2:
        return atomic(math.nan if value is None else to_double(value, is_version_2=False))
    if value is None:
        if kind == "double":
            raise DynamicError("a number is needed here, and there is nothing")
        return None
    if not is_untyped(value):
        raise DynamicError(f"a number is needed here, not a value of type {value.type}")
    return cast(value, "xs:double")


def _typed(value: Atomic | None, type_name: str) -> Atomic:
    if value is None:
        raise DynamicError(f"a value of type {type_name} is needed here, and there is nothing")
    if is_untyped(value):
        return cast(value, type_name)
    if not derives_from(value.type, type_name):
        raise DynamicError(f"{type_name} is needed here, not {value.type}")
    return value
