"""Tables of a TOML file that say where they stand when something in them is wrong.

Every error is an :class:`~twigcast.errors.OverlayError` of the form ``file: entry: what is wrong;
what to write``.  Numbers are read as decimals, so that none is rounded before it is scaled.
"""

from __future__ import annotations

import tomllib
from decimal import Decimal
from difflib import get_close_matches
from math import inf
from pathlib import Path
from typing import Any, NoReturn

from twigcast.errors import OverlayError


def load_toml(path: Path) -> dict[str, Any]:
    """The content of a file."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"), parse_float=Decimal)
    except OSError as error:
        reason = f"{error.strerror or error}; give the path of a network file"
    except UnicodeDecodeError as error:
        reason = f"this is not UTF-8 text ({error.reason}, byte {error.start}); save it as UTF-8"
    except tomllib.TOMLDecodeError as error:
        reason = f"this is not TOML: {error}"
    except ArithmeticError:
        reason = "a number is too large to be read; write a smaller one"
    except RecursionError:
        reason = "lists or tables are nested too deep; a network file needs three levels"
    raise OverlayError(f"{path}: {reason}")


class CheckedTable:
    """A table of the file and the place where it stands, for what is wrong with it."""

    def __init__(self, place: str, values: object, allowed: tuple[str, ...]) -> None:
        self.place = place
        if not isinstance(values, dict):
            self.refuse(f"this is a table with {', '.join(allowed)}, not {show(values)}")
        self.values: dict[str, Any] = values
        for key in values:
            if key not in allowed:
                near = get_close_matches(key, allowed, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"allowed: {', '.join(allowed)}"
                self.refuse(f"the key {key!r} is not known; {hint}")

    def refuse(self, reason: str) -> NoReturn:
        """Raise the error for something in this table."""
        raise OverlayError(f"{self.place}: {reason}") from None

    def text(self, key: str, example: str = "") -> str:
        """A string that must be there and not be empty."""
        value = self.values.get(key)
        if not isinstance(value, str) or not value:
            said = "is missing" if key not in self.values else f"is {show(value)}"
            self.refuse(f"{key} {said}; give a text" + (f", as in {example}" if example else ""))
        return value

    def path(self, key: str, folder: Path) -> Path:
        """The path of a file, from a folder, that must be there."""
        name = self.text(key)
        if "\0" in name:
            self.refuse(f"{key} is {show(name)}; give the path of a file")
        return folder / name

    def number(self, key: str, default: float, power: int, *, above_zero: bool) -> float:
        """A number divided by a power of ten, or the default."""
        if key not in self.values:
            return default
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
            self.refuse(f"{key} is {show(value)}; give a number")
        try:
            number = float(Decimal(value).scaleb(-power))
        except ArithmeticError:
            number = inf
        if not 0 <= number < inf or (above_zero and not number):
            bound = "above 0" if above_zero else "of 0 or more"
            self.refuse(f"{key} is {show(value)}; give a number {bound}")
        return number

    def entries(self, key: str, allowed: tuple[str, ...], form: str) -> list[CheckedTable]:
        """The tables of a list that may be absent."""
        found = self.values.get(key, [])
        if not isinstance(found, list):
            self.refuse(f"{key} is {show(found)}; write {form}")
        tables = []
        for number, values in enumerate(found, start=1):
            name = values.get("name", values.get("id")) if isinstance(values, dict) else None
            named = f" ({name!r})" if isinstance(name, str) else ""
            tables.append(
                CheckedTable(f"{self.place}: {key}, entry {number}{named}", values, allowed)
            )
        return tables

    def texts(self, key: str, form: str) -> dict[str, str]:
        """A table of strings that may be absent."""
        found = self.values.get(key, {})
        if not isinstance(found, dict):
            self.refuse(f"{key} is {show(found)}; write {form}")
        for name, value in found.items():
            if not isinstance(value, str):
                self.refuse(f"{key}: {name!r} is {show(value)}; write {form}")
        return found


def show(value: object) -> str:
    """A value as an error shows it: itself where that is short."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, Decimal)):
        return f"{value}" if len(str(value)) < 40 else "a very long number"
    if isinstance(value, str):
        return repr(value) if value else "an empty text"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "a table" if isinstance(value, dict) else "a date or a time"
