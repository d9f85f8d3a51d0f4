"""Declarations as a text, so that a schema can travel without the files that it was made of.

The text is JSON: ``{"roots": […], "attributes": […], "elements": […]}``.  An element is its name,
label, strictness, content and the numbers of its attributes, since many elements have the same.  A
label is a namespace and a local name, each null for any; a content model is a list whose first
item is its kind; fields that have their usual value are left out.  Whoever reads it expands
nothing and opens nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from twigcast.errors import SchemaError
from twigcast.language import Kind, NodeTest, node_test
from twigcast.schema import content as models
from twigcast.schema.content import Content, Expression
from twigcast.schema.declarations import Attribute, ElementDeclaration
from twigcast.schema.simple_type import SimpleType

_DEEPEST: Final = 100
_PLAIN: Final[dict[str, type[models.Empty | models.Any]]] = {
    "empty": models.Empty,
    "any": models.Any,
}
_GROUPS: Final[dict[str, type[models.Sequence | models.Choice]]] = {
    "sequence": models.Sequence,
    "choice": models.Choice,
}


def write_declarations(elements: Mapping[str, ElementDeclaration], roots: tuple[str, ...]) -> str:
    """The declarations as text, from which :func:`read_declarations` gives the same."""
    numbers: dict[Attribute, int] = {}
    rows = [
        [
            each.name,
            _write_label(each.label),
            each.strict,
            _write_content(each.content),
            [numbers.setdefault(attribute, len(numbers)) for attribute in each.attributes],
        ]
        for each in elements.values()
    ]
    data = {"roots": roots, "attributes": list(map(_write_fields, numbers)), "elements": rows}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def read_declarations(text: str) -> tuple[dict[str, ElementDeclaration], tuple[str, ...]]:
    """The declarations and the keys of the roots; SchemaError for a text that holds none."""
    try:
        data = json.loads(text)
        roots = tuple(map(_text, data["roots"]))
        table = list(map(_read_attribute, data["attributes"]))
        elements = {}
        for name, label, strict, content, attributes in data["elements"]:
            elements[_text(name)] = ElementDeclaration(
                name,
                _read_content(content),
                tuple(table[_count(number)] for number in attributes),
                _read_label(Kind.ELEMENT, label),
                bool(strict),
            )
        if not roots or not all(root in elements for root in roots):
            raise ValueError("a root is not declared")
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise SchemaError(
            f"this is no text of declarations ({error}); write it with Schema.to_json()"
        ) from None
    return elements, roots


def _write_label(label: NodeTest | None) -> Any:
    return None if label is None else [label.namespace, label.local]


def _read_label(kind: Kind, data: Any) -> NodeTest | None:
    if data is None:
        return None
    namespace, local = (None if part is None else _text(part) for part in data)
    return node_test(kind, namespace, local)


def _write_content(content: Content) -> Any:
    if isinstance(content, models.Name):
        return content.name
    if isinstance(content, models.Text):
        return ["text", *([] if content.simple is None else [_write_fields(content.simple)])]
    if isinstance(content, models.Mixed):
        model = [] if content.model is None else [_write_content(content.model)]
        return ["mixed", list(content.names), *model]
    if isinstance(content, models.Repeat):
        return ["repeat", _write_content(content.part), content.minimum, content.maximum]
    kinds = {kind: word for word, kind in (_PLAIN | _GROUPS).items()}
    parts = getattr(content, "parts", ())
    return [kinds[type(content)], *map(_write_content, parts)]


def _read_content(data: Any) -> Content:
    kind = None if isinstance(data, str) else data[0]
    if kind in _PLAIN:
        return _PLAIN[kind]()
    if kind == "text":
        return models.Text(_read_simple(data[1]) if len(data) > 1 else None)
    if kind == "mixed":
        model = _read_expression(data[2]) if len(data) > 2 else None
        return models.Mixed(tuple(map(_text, data[1])), model)
    return _read_expression(data)


def _read_expression(data: Any, depth: int = 0) -> Expression:
    if isinstance(data, str):
        return models.Name(data)
    if depth == _DEEPEST:
        raise ValueError("a content model is nested too deep")
    kind, *rest = data
    if kind == "repeat":
        part, minimum, maximum = rest
        most = None if maximum is None else _count(maximum)
        return models.Repeat(_read_expression(part, depth + 1), _count(minimum), most)
    return _GROUPS[kind](tuple(_read_expression(part, depth + 1) for part in rest))


def _write_fields(value: Any) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for each in fields(value):
        held = getattr(value, each.name)
        if held == each.default:
            continue
        if isinstance(held, NodeTest):
            held = _write_label(held)
        elif isinstance(held, SimpleType):
            held = _write_fields(held)
        elif each.name == "members":
            held = [_write_fields(member) for member in held]
        result[each.name] = held
    return result


def _read_attribute(data: Any) -> Attribute:
    given = dict(data)
    given["label"] = _read_label(Kind.ATTRIBUTE, given.get("label"))
    if "simple" in given:
        given["simple"] = _read_simple(given["simple"])
    given["choices"] = tuple(map(_text, given.get("choices", ())))
    for name in ("name", "kind", "default", "value"):
        if given.get(name) is not None:
            _text(given[name])
    return Attribute(**given)


def _read_simple(data: Any) -> SimpleType:
    given = dict(data)
    for name in ("choices", "patterns"):
        given[name] = tuple(map(_text, given.get(name, ())))
    given["members"] = tuple(map(_read_simple, given.get("members", ())))
    for name in ("shortest", "longest", "digits", "fraction"):
        if given.get(name) is not None:
            given[name] = _count(given[name])
    simple = SimpleType(**given)
    _text(simple.kind)
    _ = simple.bounds  # numbers that are none are refused here
    return simple


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f"{value!r} is no count")
    return value
