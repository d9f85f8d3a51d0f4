"""Reads TOML files into dataclasses: the fields' names are the keys, their annotations the types.

    file ──tomllib──► tables ──annotations──► dataclass ──__post_init__──► a value that makes sense

For example::

    @dataclass(frozen=True)
    class Plan:
        name: Text                                   # must be there, and must not be empty
        store: Path | None = None                    # relative to the file; "" is None
        keep: Duration = 3_600.0                     # "7d", "1.5 h", 90
        links: tuple[LinkPlan, ...] = ()             # [[links]], each a dataclass

    plan = read_file("plan.toml", Plan)

==========================================  ========================================================
annotation                                  what the file has
==========================================  ========================================================
``str``, ``bool``, ``int``, ``float``       the same; ``Decimal`` is a number that is not rounded
``Path``, ``Path | None``                   a text
an ``Enum``                                 the value of a member
a dataclass                                 a table; fields without default must be there
``tuple[X, ...]``, ``frozenset[X]``         a list; ``tuple[X, X]`` is a list of two
``dict[str, X]``                            a table with any keys
``A | B``, one of them a dataclass          either
``object``                                  anything
``Annotated[X, function]``                  what the parameter of the function says; the function
                                            makes an ``X`` of it, or raises ValueError
``Annotated[X, "x = 5"]``                   the same as ``X``, with an example for errors
==========================================  ========================================================

Every error is a :class:`~twigcast.errors.ConfigError` with the file, the key, what is wrong there
and what to write instead.  A ``__post_init__`` that refuses a value raises a ConfigError with the
key.  An entry of a list is named by its first field, if that is a text.

Rejected: msgspec and cattrs.  Both name the key only inside a message of their own
(``Expected `int`, got `str` - at `$.limits.clients```); msgspec accepts unknown keys of
dataclasses, and cattrs converts a number to a text.  Our messages would need a hook for every type,
and such hooks are most of this file.
"""

from __future__ import annotations

import dataclasses
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    NoReturn,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from twigcast.errors import ConfigError

_T = TypeVar("_T")
_UNIONS: Final = (UnionType, Union)


def read_file(path: str | os.PathLike[str], made: type[_T]) -> _T:
    """The value of a dataclass that a TOML file describes.

    Raises :class:`~twigcast.errors.ConfigError`.
    """
    path = Path(path)
    try:
        value: _T = _Reader(path.parent.absolute()).read(_load(path), made, "")
    except ConfigError as error:
        raise ConfigError(error.reason, str(path), error.where) from None
    return value


@contextmanager
def at(where: str) -> Iterator[None]:
    """Errors that are raised within stand at this key, or below it."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(error.reason, error.path, _join(where, error.where)) from None


def entry_name(key: str, number: int, name: object = None) -> str:
    """How errors name an entry of a list, from 1."""
    shown = f" ({show(name)})" if isinstance(name, str) and name else ""
    return f"{key}, entry {number}{shown}"


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A hint at the nearest known word, or at all of them."""
    known = tuple(known)
    near = get_close_matches(given, known, 1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"


def show(value: object) -> str:
    """A value as an error shows it: itself where that is short."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value) if abs(value) < 10**40 else "a very long number"
    if isinstance(value, (float, Decimal)):
        return str(value) if len(str(value)) < 40 else "a very long number"
    if isinstance(value, str):
        short = value if len(value) < 80 else f"{value[:80]}…"
        return repr(short) if value else "an empty text"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "a table" if isinstance(value, dict) else "a date or a time"


# --- reading --------------------------------------------------------------------------------------


def _load(path: Path) -> dict[str, Any]:
    try:
        # Numbers stay decimals, so that none is rounded before it is scaled.
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"), parse_float=Decimal)
    except OSError as error:
        reason = f"{error.strerror or error}; give the path of a TOML file"
    except UnicodeDecodeError as error:
        reason = f"this is not UTF-8 text ({error.reason}, byte {error.start}); save it as UTF-8"
    except tomllib.TOMLDecodeError as error:
        reason = f"this is not TOML: {error}"
    except (ValueError, ArithmeticError):  # thousands of digits, or a path with a zero byte
        reason = "a number is too large, or this is no path; write a smaller number, or a path"
    except RecursionError:
        reason = "lists or tables are nested too deep; three levels are enough"
    raise ConfigError(reason)


class _Reader:
    """One reading of one file.  ``where`` is the key of a value, as errors name it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, value: object, annotation: Any, where: str, example: str = "") -> Any:
        """The value that an annotation asks for."""
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            inner, function, example = _unwrap(annotation)
            made = self.read(value, inner, where, example)
            return made if function is None else _make(function, made, where)
        if origin in _UNIONS:
            if value == "" and Path in arguments and NoneType in arguments:
                return None
            return self.read(value, _alternative(value, arguments), where, example)
        if dataclasses.is_dataclass(annotation) and isinstance(value, dict):
            return self._read_table(value, annotation, where)
        if origin in (tuple, frozenset) and isinstance(value, list):
            any_length = origin is frozenset or arguments[-1] is Ellipsis
            if any_length or len(value) == len(arguments):
                return origin(self._read_list(value, arguments[0], where))
        elif origin is dict and isinstance(value, dict):
            return {
                key: self.read(each, arguments[1], _join(where, key), example)
                for key, each in value.items()
            }
        elif origin is None:
            return self._read_plain(value, annotation, where, example)
        raise ConfigError(
            f"this is {show(value)}; write {_expected(annotation, where, example)}", where=where
        )

    def _read_plain(self, value: object, annotation: type, where: str, example: str) -> Any:
        if annotation is object or (isinstance(value, annotation) and type(value) is not bool):
            return value
        if annotation is bool and isinstance(value, bool):
            return value
        if annotation in (float, Decimal) and type(value) in (int, Decimal):
            return _make(annotation, value, where)
        if annotation is Path and isinstance(value, str) and value and "\0" not in value:
            return self._folder / value
        if issubclass(annotation, Enum) and isinstance(value, str):
            known = [member.value for member in annotation]
            if value in known:
                return annotation(value)
            raise ConfigError(
                f"{show(value)} is not known; {did_you_mean(value, known)}", where=where
            )
        raise ConfigError(
            f"this is {show(value)}; write {_expected(annotation, where, example)}", where=where
        )

    def _read_table(self, values: dict[str, Any], made: Any, where: str) -> Any:
        hints = get_type_hints(made, include_extras=True)
        fields = {field.name: field for field in dataclasses.fields(made)}
        for key in values:
            if key not in fields:
                _refuse(_join(where, key), f"this key is not known; {did_you_mean(key, fields)}")
        given = {}
        for key, field in fields.items():
            if key in values:
                given[key] = self.read(values[key], hints[key], _join(where, key))
            elif field.default is dataclasses.MISSING is field.default_factory:
                at_key = _join(where, key)
                _refuse(at_key, f"this is missing; write {_expected(hints[key], at_key)}")
        return _make(lambda keys: made(**keys), given, where)

    def _read_list(self, values: list[Any], item: Any, where: str) -> Iterator[Any]:
        inner = _unwrap(item)[0]
        if get_origin(inner) in _UNIONS:
            inner = _alternative(None, get_args(inner))
        named_by = dataclasses.fields(inner)[0].name if dataclasses.is_dataclass(inner) else ""
        for number, each in enumerate(values, start=1):
            name = each.get(named_by) if isinstance(each, dict) else None
            yield self.read(each, item, entry_name(where, number, name))


def _join(where: str, below: str) -> str:
    if below == where or below.startswith(f"{where}."):
        return below  # a section that was made from flags names itself
    return (", " if ", entry " in where else ".").join(part for part in (where, below) if part)


def _refuse(where: str, reason: str) -> NoReturn:
    raise ConfigError(reason, where=where) from None


def _make(function: Callable[[Any], Any], value: object, where: str) -> Any:
    try:
        with at(where):
            return function(value)
    except ConfigError:
        raise
    except OverflowError:
        _refuse(where, f"this is {show(value)}; write a smaller number")
    except ValueError as error:
        _refuse(where, str(error))


def _unwrap(annotation: Any) -> tuple[Any, Callable[[Any], Any] | None, str]:
    """What a file has for an annotation, what makes the value of it, and an example."""
    if get_origin(annotation) is not Annotated:
        return annotation, None, ""
    inner, *extras = get_args(annotation)
    function = next((each for each in extras if callable(each)), None)
    if function is not None:
        inner = next(iter(get_type_hints(function, include_extras=True).values()))
    return inner, function, next((each for each in extras if isinstance(each, str)), "")


def _alternative(value: object, annotations: tuple[Any, ...]) -> Any:
    """That of several annotations which is for a value: a table for whatever is no text."""
    plain, *tables = sorted(
        (each for each in annotations if each is not NoneType), key=dataclasses.is_dataclass
    )
    return tables[0] if tables and not isinstance(value, str) else plain


def _expected(annotation: Any, where: str, example: str = "") -> str:
    """What to write for an annotation."""
    inner, _, own = _unwrap(annotation)
    example = example or own
    item = _unwrap(get_args(inner)[0])[0] if get_args(inner) else None
    if get_origin(inner) in _UNIONS:
        said = _expected(_alternative("", get_args(inner)), where)
    elif dataclasses.is_dataclass(inner):
        said = f"a table with {', '.join(field.name for field in dataclasses.fields(inner))}"
    elif dataclasses.is_dataclass(item) and not example:
        said = f"[[{where}]] above each entry"
    elif item is not None:
        is_fixed = get_origin(inner) is tuple and get_args(inner)[-1] is not Ellipsis
        length = f" of {len(get_args(inner))}" if is_fixed else ""
        said = "a table" if get_origin(inner) is dict else f"a list{length} in brackets"
    elif issubclass(inner, Enum):
        said = " or ".join(f'"{member.value}"' for member in inner)
    else:
        said = _EXPECTED[inner]
    return f"{said}, as in {example}" if example else said


_EXPECTED: Final[dict[type, str]] = {
    str: "a text in quotes",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    Decimal: "a number",
    Path: "the path of a file or folder",
}


# --- kinds of values ------------------------------------------------------------------------------

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
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        number = Decimal(value)
        return number if number.is_finite() and number >= 0 else None
    parts = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if parts is None:
        return None
    factor = units.get(spell(parts[2])) if parts[2] else Decimal(1)
    return None if factor is None else Decimal(parts[1]) * factor


def filled(text: str) -> str:
    """A text that is not empty."""
    if not text:
        raise ConfigError("this is an empty text; write a text in quotes")
    return text


Duration = Annotated[float, parse_duration]
Size = Annotated[int, parse_size]
Text = Annotated[str, filled]
