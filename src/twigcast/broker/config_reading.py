"""Tables of a broker's configuration file, read key by key; and quantities with units.

Each reader of :class:`ConfigTable` gives the value of one key in the type that is wanted, or the
default where the key is absent, and raises :class:`~twigcast.errors.ConfigError` with the key's
place for anything else.  Whether a value makes sense is for the sections themselves to say; they
are made from flags too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from decimal import Decimal
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any, Final, NoReturn

from twigcast.errors import ConfigError

_SECONDS: Final = {
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "m": Decimal(60),
    "min": Decimal(60),
    "h": Decimal(3_600),
    "d": Decimal(86_400),
    "w": Decimal(604_800),
}
_BYTES: Final = {
    "b": Decimal(1),
    **{f"{letter}b": Decimal(1000) ** power for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}ib": Decimal(1024) ** power for power, letter in enumerate("kmgt", 1)},
}
_QUANTITY: Final = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)[ ]?([A-Za-z]{0,3})", re.ASCII)
_MOST_SECONDS: Final = 1000 * 366 * 86_400
_MOST_BYTES: Final = 2**63 - 1  # what a store counts up to


def parse_duration(value: object) -> float:
    """Seconds, from a number of them or a text such as ``7d``, ``1.5 h``, ``500ms``."""
    seconds = _quantity(value, _SECONDS, str.strip)
    if seconds is None:
        raise ConfigError(f'{show(value)} is no duration; write one as in "500ms", "30s", "1h"')
    if seconds > _MOST_SECONDS:
        raise ConfigError(f"{show(value)} is too long; write less than a thousand years")
    return float(seconds)


def parse_size(value: object) -> int:
    """Bytes, from a number of them or a text such as ``4MB`` (a million each) or ``4MiB``."""
    size = _quantity(value, _BYTES, str.lower)
    if size is None:
        raise ConfigError(f'{show(value)} is no size; write one as in "4MB", "1GiB", 65536')
    if size > _MOST_BYTES:
        raise ConfigError(f"{show(value)} is too large; write less than 9 million TB")
    if size != size.to_integral_value():
        raise ConfigError(f"{show(value)} is no whole number of bytes; round it")
    return int(size)


def _quantity(
    value: object, units: dict[str, Decimal], spell: Callable[[str], str]
) -> Decimal | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if isinstance(value, float) and not isfinite(value):
            return None
        return Decimal(value) if value >= 0 else None
    found = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return None
    factor = units.get(spell(found[2])) if found[2] else Decimal(1)
    return None if factor is None else Decimal(found[1]) * factor


def load_toml(path: Path) -> dict[str, Any]:
    """The content of a file."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        reason = f"{error.strerror or error}; give the path of a configuration file"
    except UnicodeDecodeError as error:
        reason = f"this is not UTF-8 text ({error.reason}, byte {error.start}); save it as UTF-8"
    except tomllib.TOMLDecodeError as error:
        reason = f"this is not TOML: {error}"
    except ValueError:  # a path with a zero byte, or a number of thousands of digits
        reason = "a number is too large, or this is no path; write a smaller number, or a path"
    except RecursionError:
        reason = "lists or tables are nested too deep; a configuration needs three levels"
    raise ConfigError(reason, str(path))


class ConfigTable:
    """A table of the file, and the place where it stands for what is wrong with it.

    Paths in it are found from ``folder``.
    """

    def __init__(
        self, values: object, allowed: tuple[str, ...], folder: Path, place: str = ""
    ) -> None:
        self.place = place
        self.folder = folder
        if not isinstance(values, dict):
            self.refuse("", f"this is {show(values)}; write a table with {', '.join(allowed)}")
        self.values: dict[str, Any] = values
        for key in values:
            if key not in allowed:
                self.refuse(key, f"this key is not known; {did_you_mean(key, allowed)}")

    def where(self, key: str) -> str:
        """The place of a key, as errors name it."""
        separator = ", " if ", entry " in self.place else "."
        return separator.join(part for part in (self.place, key) if part)

    def refuse(self, key: str, reason: str) -> NoReturn:
        """Raise the error for a key of this table."""
        raise ConfigError(reason, where=self.where(key)) from None

    def text(self, key: str, default: str = "") -> str:
        """A text."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            self.refuse(key, f"this is {show(value)}; write a text in quotes")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            self.refuse(key, f"this is {show(value)}; write true or false")
        return value

    def count(self, key: str, default: int) -> int:
        """A whole number."""
        value = self.values.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            self.refuse(key, f"this is {show(value)}; write a whole number")
        return value

    def number(self, key: str, default: float) -> float:
        """A number."""
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.refuse(key, f"this is {show(value)}; write a number")
        try:
            return float(value)
        except OverflowError:
            self.refuse(key, f"this is {show(value)}; write a smaller number")

    def duration(self, key: str, default: float) -> float:
        """Seconds; see :func:`parse_duration`."""
        try:
            return parse_duration(self.values[key]) if key in self.values else default
        except ConfigError as error:
            self.refuse(key, error.reason)

    def size(self, key: str, default: int) -> int:
        """Bytes; see :func:`parse_size`."""
        try:
            return parse_size(self.values[key]) if key in self.values else default
        except ConfigError as error:
            self.refuse(key, error.reason)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, none of them empty."""
        values = self.values.get(key, [])
        if not isinstance(values, list):
            self.refuse(key, f"this is {show(values)}; write a list of texts in brackets")
        for value in values:
            if not isinstance(value, str) or not value:
                self.refuse(key, f"{show(value)} stands in the list; write texts only")
        return tuple(values)

    def path(self, key: str) -> Path | None:
        """The path of a file or folder; None for an empty text."""
        text = self.text(key)
        if "\0" in text:
            self.refuse(key, f"this is {show(text)}; write the path of a file or folder")
        return self.folder / text if text else None

    def content(self, key: str) -> str | None:
        """The text in the file that a key names, without the white space around it."""
        path = self.path(key)
        if path is None:
            return None
        try:
            return path.read_text("utf-8-sig").strip()
        except OSError as error:
            self.refuse(key, f"{path}: {error.strerror or error}; write the path of a file")
        except UnicodeDecodeError:
            self.refuse(key, f"{path}: this is not UTF-8 text; write the path of another file")

    def table(self, key: str, allowed: tuple[str, ...]) -> ConfigTable:
        """A section; an empty one where it is absent."""
        return ConfigTable(self.values.get(key, {}), allowed, self.folder, self.where(key))

    def entries(self, key: str, allowed: tuple[str, ...], named_by: str) -> list[ConfigTable]:
        """The tables of a list that may be absent; ``named_by`` is the key that names each."""
        values = self.values.get(key, [])
        if not isinstance(values, list):
            self.refuse(key, f"this is {show(values)}; write [[{key}]] above each entry")
        tables = []
        for number, entry in enumerate(values, start=1):
            name = entry.get(named_by) if isinstance(entry, dict) else None
            shown = f" ({show(name)})" if isinstance(name, str) and name else ""
            place = f"{self.where(key)}, entry {number}{shown}"
            tables.append(ConfigTable(entry, allowed, self.folder, place))
        return tables


def did_you_mean(given: str, known: tuple[str, ...]) -> str:
    """A hint at the nearest known word, or at all of them."""
    near = get_close_matches(given, known, 1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"


def show(value: object) -> str:
    """A value as an error shows it: itself where that is short."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value) if abs(value) < 10**40 else "a very long number"
    if isinstance(value, float):
        return str(value)
    if isinstance(value, str):
        return (
            "an empty text" if not value else repr(value if len(value) < 80 else f"{value[:80]}…")
        )
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "a table" if isinstance(value, dict) else "a date or a time"
