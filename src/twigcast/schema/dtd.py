"""Reading DTDs: libxml2, through lxml, expands entities and sections; here its tree becomes ours.

libxml2 hands over each content model as a binary tree of particles.  What it does not hand over
is the prefix of a name within a content model; it is looked up among the declared names, and
where several declared names differ in their prefixes only, all of them are taken to be allowed.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from lxml import etree

from twigcast.errors import SchemaError
from twigcast.schema import content as models
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
from twigcast.schema.declarations import Attribute, ElementDeclaration

_TEXT_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*\?>")
_REFERENCE = re.compile(r"&([^;\s&]+);")
_PREDEFINED = {"#38": "&", "amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_DEEPEST_ENTITY = 8
_LONGEST_DEFAULT = 64 * 1024


def write_dtd(elements: Mapping[str, ElementDeclaration]) -> str:
    """The declarations as text, from which :func:`read_dtd` gives the same elements."""
    lines = []
    for declaration in elements.values():
        lines.append(str(declaration))
        if declaration.attributes:
            attributes = "".join(f"\n  {_attribute_text(each)}" for each in declaration.attributes)
            lines.append(f"<!ATTLIST {declaration.name}{attributes}>")
    return "\n".join([*lines, ""])


def _attribute_text(attribute: Attribute) -> str:
    kind = attribute.kind.upper()
    if attribute.choices:
        kind = f"{'NOTATION ' if kind == 'NOTATION' else ''}({' | '.join(attribute.choices)})"
    default = [] if attribute.default is None else [f"#{attribute.default.upper()}"]
    if attribute.value is not None:
        value = attribute.value.replace("&", "&amp;").replace("<", "&lt;")
        default.append('"{}"'.format(value.replace('"', "&quot;")))
    return " ".join([attribute.name, kind, *default])


def read_dtd(path_or_text: str | os.PathLike[str]) -> dict[str, ElementDeclaration]:
    """The declared elements in order of declaration.

    A string that contains ``<!`` is the DTD itself, everything else a path.  Of two declarations
    of one element the first counts, as in libxml2.  Raises SchemaError.
    """
    if isinstance(path_or_text, str) and "<!" in path_or_text:
        source, dtd = "DTD", _parse_text(path_or_text)
    else:
        source = os.fspath(path_or_text)
        dtd = _parse_file(source)
    _require_all_parts(source, dtd)
    declared = {_qualified(element): element for element in dtd.iterelements()}
    if not declared:
        raise SchemaError(f"{source}: no element is declared")
    spellings = _spellings(declared)
    entities = {entity.name: entity.content for entity in dtd.iterentities()}
    return {
        name: ElementDeclaration(name, _content(element, spellings), _attributes(element, entities))
        for name, element in declared.items()
    }


def _require_all_parts(source: str, dtd: Any) -> None:
    """Refuse a DTD of which libxml2 left out a part, and only logged it."""
    for entry in dtd.error_log:
        if entry.type_name.startswith("IO_") or entry.type_name == "WAR_UNDECLARED_ENTITY":
            raise SchemaError(
                f"{source}: line {entry.line}: {entry.message}; put that part there, or take the "
                "reference out"
            )


def _parse_text(text: str) -> Any:
    # The characters are decoded already, so an encoding named at the start no longer holds.
    declaration = _TEXT_DECLARATION.match(text)
    if declaration is not None:
        text = "\n" * declaration.group().count("\n") + text[declaration.end() :]
    try:
        data = text.encode("utf-8")
        if "%" not in text:
            return etree.DTD(io.BytesIO(data))
        # Of a DTD in memory libxml2 does not log which parts it left out.
        with NamedTemporaryFile(suffix=".dtd") as file:
            file.write(data)
            file.flush()
            return etree.DTD(file.name)
    except (etree.LxmlError, UnicodeEncodeError) as error:
        raise SchemaError(f"DTD: {_reason(error)}") from None


def _parse_file(path: str) -> Any:
    try:
        with Path(path).open("rb"):  # for the system's reason; libxml2 gives none
            pass
        return etree.DTD(path)
    except (OSError, ValueError) as error:
        raise SchemaError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    except etree.LxmlError as error:
        raise SchemaError(f"{path}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """What libxml2 says, and the line where it first says it."""
    for entry in getattr(error, "error_log", ()):
        return f"line {entry.line}: {entry.message}"
    return str(error)


_Spellings = Mapping[str, tuple[str, ...]]


def _qualified(declaration: Any) -> str:
    prefix, name = declaration.prefix, declaration.name
    return f"{prefix}:{name}" if prefix else str(name)


def _spellings(declared: Iterable[str]) -> _Spellings:
    """For each local name, the declared names that end in it."""
    result: dict[str, tuple[str, ...]] = {}
    for name in declared:
        local = name.rpartition(":")[2]
        result[local] = (*result.get(local, ()), name)
    return result


def _content(element: Any, spellings: _Spellings) -> Content:
    if element.type == "any":
        return models.Any()
    if element.type == "empty" or element.content is None:
        return Empty()
    expression = _expression(element.content, spellings)
    if element.type == "element":
        assert expression is not None
        return expression
    return Mixed(names(expression)) if expression is not None else Text()


def _expression(particle: Any, spellings: _Spellings) -> Expression | None:
    """The expression for a particle; None for ``#PCDATA``, which mixed models list first."""
    expression: Expression
    if particle.type == "pcdata":
        return None
    if particle.type == "element":
        name = particle.name or ""
        candidates = tuple(Name(spelling) for spelling in spellings.get(name, (name,)))
        expression = candidates[0] if len(candidates) == 1 else Choice(candidates)
    else:
        parts = [_expression(part, spellings) for part in _chain(particle)]
        present = tuple(part for part in parts if part is not None)
        if not present:
            return None
        kind = Sequence if particle.type == "seq" else Choice
        expression = present[0] if len(present) == 1 else kind(present)
    if particle.occur == "once":
        return expression
    return Repeat(expression, int(particle.occur == "plus"), 1 if particle.occur == "opt" else None)


def _chain(particle: Any) -> Iterable[Any]:
    """The members of a list: libxml2 keeps ``(a, b, c)`` as a and the rest, ``(b, c)``."""
    kind = particle.type
    rest = particle
    while rest is not None:
        if rest.left is not None:
            yield rest.left
        rest = rest.right
        if rest is not None and (rest.type != kind or rest.occur != "once"):
            yield rest
            return


def _attributes(element: Any, entities: Mapping[str, str]) -> tuple[Attribute, ...]:
    result = (
        Attribute(
            _qualified(attribute),
            attribute.type,
            None if attribute.default == "none" else attribute.default,
            _expanded(attribute.default_value, entities),
            tuple(attribute.values()),
        )
        for attribute in element.iterattributes()
    )
    return tuple(sorted(result, key=lambda attribute: attribute.name))


def _expanded(value: str | None, entities: Mapping[str, str]) -> str | None:
    """A default as documents have it: libxml2 leaves ampersands and entities as references."""
    return None if value is None else _REFERENCE.sub(_replacement(entities, ()), value)


def _replacement(
    entities: Mapping[str, str], within: tuple[str, ...]
) -> Callable[[re.Match[str]], str]:
    def replace(reference: re.Match[str]) -> str:
        name = reference[1]
        if name in _PREDEFINED:
            return _PREDEFINED[name]
        content = entities.get(name)
        if content is None:
            raise SchemaError(f"the entity {name!r} in a default value is not declared")
        if name in within or len(within) == _DEEPEST_ENTITY:
            raise SchemaError(f"the entity {name!r} in a default value is nested too deep")
        text = _REFERENCE.sub(_replacement(entities, (*within, name)), content)
        if len(text) > _LONGEST_DEFAULT:
            raise SchemaError(f"the entity {name!r} makes a default value too long")
        return text

    return replace
