"""Simple types of an XSD, as xmlschema has them, become ours."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from twigcast.schema.simple_type import LIST, UNION, SimpleType

if TYPE_CHECKING:
    from xmlschema.validators import XsdSimpleType

XSD_NAMESPACE: Final = "http://www.w3.org/2001/XMLSchema"
_ANY_SIMPLE_TYPE: Final = f"{{{XSD_NAMESPACE}}}anySimpleType"
_OTHER_END: Final = {
    "minInclusive": "minExclusive",
    "minExclusive": "minInclusive",
    "maxInclusive": "maxExclusive",
    "maxExclusive": "maxInclusive",
}
_BOUNDS: Final = tuple(_OTHER_END)
_LENGTHS: Final = ("length", "minLength", "maxLength", "totalDigits", "fractionDigits")


class SimpleTypes:
    """The types that were read; each is made once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[XsdSimpleType, SimpleType]] = {}

    def read(self, simple: XsdSimpleType) -> SimpleType:
        """The type in our terms."""
        known = self._known.get(id(simple))
        if known is None:
            # The type is kept, so that its identity stays its own.
            known = self._known[id(simple)] = simple, self._make(simple)
        return known[1]

    def _make(self, simple: XsdSimpleType) -> SimpleType:
        steps = list(_steps(simple))
        top: Any = steps[-1]
        facets = _facets(steps)
        bounds = {name: facets[name].get("value") for name in _BOUNDS if name in facets}
        length = {name: int(facets[name].get("value", "0")) for name in _LENGTHS if name in facets}
        exact = length.get("length")
        make = partial(
            SimpleType,
            choices=_choices(steps),
            lowest=bounds.get("minInclusive", bounds.get("minExclusive")),
            highest=bounds.get("maxInclusive", bounds.get("maxExclusive")),
            open_ends="minExclusive" in bounds or "maxExclusive" in bounds,
            shortest=exact if exact is not None else length.get("minLength", 0),
            longest=exact if exact is not None else length.get("maxLength"),
            digits=length.get("totalDigits"),
            fraction=length.get("fractionDigits"),
            patterns=_patterns(steps),
            preserves_space=simple.white_space not in ("collapse", "replace"),
        )
        if top.is_list():
            return make(LIST, members=(self.read(top.item_type),))
        if top.is_union():
            return make(UNION, members=tuple(map(self.read, top.member_types)))
        return make(next((step.local_name for step in steps if _is_built_in(step)), "string"))


def _is_built_in(simple: Any) -> bool:
    return bool(simple.target_namespace == XSD_NAMESPACE and simple.name)


def _steps(simple: Any) -> Iterator[Any]:
    """The type, what it restricts, and so on up to a primitive type, a list or a union."""
    while True:
        yield simple
        base = simple.base_type
        if base is not None and base.is_complex():
            base = base.content  # restricted by simple content
        if base is None or base is simple or base.name == _ANY_SIMPLE_TYPE:
            return
        simple = base


def _facets(steps: list[Any]) -> dict[str, Any]:
    """The elements of the facets with one value, those of the most derived type first."""
    result: dict[str, Any] = {}
    for step in steps:
        for name, facet in step.facets.items():
            local = name.rpartition("}")[2] if name else ""
            if local in (*_BOUNDS, *_LENGTHS) and _OTHER_END.get(local) not in result:
                result.setdefault(local, facet.elem.attrib)
    return result


def _choices(steps: list[Any]) -> tuple[str, ...]:
    for step in steps:
        facet = step.facets.get(f"{{{XSD_NAMESPACE}}}enumeration")
        if facet is not None:
            values = [element.attrib.get("value", "") for element in facet]
            if steps[0].white_space == "collapse":
                values = [" ".join(value.split()) for value in values]
            return tuple(dict.fromkeys(values))
    return ()


def _patterns(steps: list[Any]) -> tuple[str, ...]:
    """One pattern for each step that has any; built-in types are known by their kind."""
    result = []
    for step in steps:
        facet = None if _is_built_in(step) else step.facets.get(f"{{{XSD_NAMESPACE}}}pattern")
        if facet is not None:
            result.append("|".join(f"({regexp})" for regexp in facet.regexps))
    return tuple(result)
