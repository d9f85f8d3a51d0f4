"""Bindings as texts: a line of a file, the cells of a row, an option of a command.

========================  ====================================  ==================
line of a file            column of a table                     option, parameter
========================  ====================================  ==================
``xmlns:cap = urn:cap``   ``namespaces``: ``{"cap": "urn:cap"}``  ``cap=urn:cap``
``$limit = 5``            ``variables``: ``{"limit": 5}``         ``limit=5``
``relative-to = document``  ``relative_to``: ``document``         ``document``
``version = 2.0``         ``version``: ``2.0``                    ``2.0``
========================  ====================================  ==================

The value of a variable is JSON everywhere, so that the text ``"5"`` is not the number ``5``.
Rejected: a word without quotes as a text, since ``true`` and ``1e3`` would be texts or not by luck.

A line that binds is valid XPath, too.  So only a line without a tab binds, and one of this form
always does: an expression of this form needs a key and a tab.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, NoReturn, cast

from twigcast.language.bindings import (
    NO_BINDINGS,
    Bindings,
    RelativeTo,
    Value,
    Variables,
    Version,
)
from twigcast.language.tokens import NAME

BINDING_COLUMNS: Final = ("namespaces", "variables", "relative_to", "version")
"""The columns of a table that bind."""

BINDING_LINE: Final = r"^[\s\ufeff]*(xmlns|\$|relative[-_]to|(xpath-)?version)"
"""How every line begins that binds, and some others; a regular expression for Java, too."""

_WORD: Final = r"""(?:(?P<mark>["'])(?P<quoted>[^\s"']*)(?P=mark)|(?P<plain>[^\s"']+))"""
_NAMESPACE: Final = re.compile(rf"xmlns(?::(?P<prefix>{NAME}))?[ \t]*=[ \t]*{_WORD}")
_VARIABLE: Final = re.compile(rf"\$(?P<name>{NAME}(?::{NAME})?) *=(?P<value>[^\t]*)")
_CHOICE: Final = re.compile(rf"(?P<name>relative[-_]to|(?:xpath-)?version) *= *{_WORD}")
_WORDS: Final = {"relative-to": ("anywhere", "document"), "version": ("1.0", "2.0")}


def bind_line(bindings: Bindings, line: str) -> Bindings | None:
    """The bindings below a line of a text; None if the line binds nothing.

    Raises ValueError for a line that binds, but not to this.
    """
    stripped = line.strip()
    if not stripped.startswith(("xmlns", "$", "relative", "version", "xpath-version")):
        return None
    if match := _NAMESPACE.fullmatch(stripped):
        return _checked(bindings.beside({match["prefix"] or "": _word(match)}))
    if "\t" in line:
        return None
    if match := _VARIABLE.fullmatch(stripped):
        name, text = match["name"], match["value"].strip()
        try:
            return _checked(bindings.beside(variables={name: read_value(name, text)}))
        except ValueError as error:
            raise ValueError(f"{error}; an expression needs a key and a tab before it") from None
    if match := _CHOICE.fullmatch(stripped):
        # The spellings of other places are taken, too: they would be expressions otherwise.
        name, word = match["name"].replace("_", "-").removeprefix("xpath-"), _word(match)
        if word not in _WORDS[name]:
            known = " or ".join(_WORDS[name])
            raise ValueError(
                f"{name} is {known}, not {word}; an expression needs a key and a tab before it"
            )
        if name == "version":
            return bindings.beside(version=cast(Version, word))
        return bindings.beside(relative_to=cast(RelativeTo, word))
    return None


def _word(match: re.Match[str]) -> str:
    return match["quoted"] or match["plain"] or ""


def read_value(name: str, text: str) -> Value | list[Value]:
    """The value of a variable, as JSON has it; ValueError for what is none."""
    value = _json(text)
    if not _is_value(value) and not (isinstance(value, list) and all(map(_is_value, value))):
        shown = text if len(text) < 60 else f"{text[:60]}…"
        raise ValueError(
            f"{shown!r} is no value of ${name}; write a number, true, false, a text in double "
            'quotes or a list of these: 5, "A", ["A", "B"]'
        )
    return cast("Value | list[Value]", value)


def bindings_of_texts(
    namespaces: Mapping[str, str],
    variables: Mapping[str, str],
    relative_to: str | None = None,
    version: str | None = None,
) -> Bindings:
    """Bindings whose values are texts, as options, parameters and messages have them.

    Raises ValueError for what cannot be bound.
    """
    if not (namespaces or variables or relative_to or version):
        return NO_BINDINGS
    values = {name: read_value(name, text) for name, text in variables.items()}
    return _bindings(namespaces, values, relative_to, version)


def bindings_of_row(row: Mapping[str, Any]) -> Bindings:
    """The bindings in the cells of a row; empty cells bind nothing.

    A cell of ``namespaces`` or ``variables`` is JSON text, or a map or struct of Arrow or Spark.
    Raises ValueError for what cannot be bound.
    """
    cells = [row.get(column) for column in BINDING_COLUMNS]
    if not any(cells):
        return NO_BINDINGS
    namespaces = _pairs(cells[0], 'namespaces must be a JSON object such as {"cap": "urn:…"}')
    if not all(isinstance(uri, str) for uri in namespaces.values()):
        raise ValueError('namespaces must be a JSON object such as {"cap": "urn:…"}')
    variables: Variables = _pairs(
        cells[1], 'variables must be a JSON object such as {"limit": 5, "kinds": ["A", "B"]}'
    )
    relative_to, version = (str(each) if each else None for each in cells[2:])
    return _bindings(namespaces, variables, relative_to, version)


def _bindings(
    namespaces: Mapping[str, str],
    variables: Variables,
    relative_to: str | None,
    version: str | None,
) -> Bindings:
    return _checked(
        Bindings(
            namespaces,
            variables,
            cast(RelativeTo, relative_to or "anywhere"),
            cast(Version, version or "1.0"),
        )
    )


def _pairs(cell: Any, complaint: str) -> dict[str, Any]:
    if not cell:
        return {}
    try:
        if isinstance(cell, str):
            return dict(_json(cell))
        # In a struct, fields of other rows are null.
        return {name: value for name, value in dict(cell).items() if value is not None}
    except (ValueError, TypeError):
        raise ValueError(complaint) from None


def _checked(bindings: Bindings) -> Bindings:
    """The bindings, if they can be; a value of a wrong type in a cell is a ValueError here."""
    try:
        _ = bindings.scope
    except TypeError as error:
        raise ValueError(str(error)) from None
    return bindings


def _json(text: str) -> Any:
    """The value of a JSON text, with numbers as XPath has them; None for what is none."""
    try:
        return json.loads(text, parse_float=_number, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _number(text: str) -> Decimal | float:
    return float(text) if "e" in text.lower() else Decimal(text)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _is_value(value: object) -> bool:
    return isinstance(value, str | bool | int | float | Decimal)
