"""Scenario files: the fields of a scenario, written in TOML.

topology = "tree:levels=3,fanout=2"
dtd = "protein.dtd"                      # a path starts at the folder of the scenario file
strategy = ["covering", "advertisements-covering"]
subscriptions = 20
"""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

from twigcast.routing import CheckedTable, load_toml, show
from twigcast.workload import Shape

_PATHS: Final = ("network", "dtd")
_FORMS: Final = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def read_fields(path: Path, kind: type[Any]) -> dict[str, Any]:
    """The fields of a dataclass that a file gives.

    Raises :class:`~twigcast.errors.OverlayError` with the file, the field and what to write.
    """
    table = CheckedTable(str(path), load_toml(path), tuple(each.name for each in fields(kind)))
    folder = path.parent
    values: dict[str, Any] = {}
    hints = get_type_hints(kind)
    for name, value in table.values.items():
        kinds = get_args(hints[name]) or (hints[name],)
        if hints[name] == tuple[str, ...]:
            texts = [value] if isinstance(value, str) else value
            if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
                table.refuse(f"{name} is {show(value)}; give a text, or a list of texts")
            values[name] = tuple(texts)
        elif Shape in kinds:
            if value not in list(Shape):
                table.refuse(f"{name} is {show(value)}; choose one of: {', '.join(Shape)}")
            values[name] = Shape(value)
        else:
            values[name] = _converted(table, name, value, kinds[0])
    for name in _PATHS:
        if name in values:
            values[name] = str(folder / values[name])
    if "files" in values:
        values["files"] = tuple(str(folder / each) for each in values["files"])
    if values.get("topology", "").endswith(".toml"):
        values["topology"] = str(folder / values["topology"])
    return values


def _converted(table: CheckedTable, name: str, value: object, kind: type[Any]) -> Any:
    accepted = {float: (int, Decimal), int: (int,), bool: (bool,), str: (str,)}[kind]
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        table.refuse(f"{name} is {show(value)}; give {_FORMS[kind]}")
    return kind(value)
