"""TOML files as dataclasses: every annotation that is read, and what is said of mistakes."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated

import pytest

from twigcast.errors import ConfigError
from twigcast.tables import (
    Duration,
    Size,
    Text,
    at,
    entry_name,
    parse_duration,
    parse_size,
    read_file,
)


class Colour(Enum):
    RED = "red"
    GREEN = "green"


def halved(value: Decimal) -> float:
    if value < 0:
        raise ValueError(f"{value} cannot be halved")
    return float(value / 2)


@dataclass(frozen=True)
class Item:
    name: Annotated[Text, 'name = "a"']
    half: Annotated[float, halved] = 0.0
    secret: str = ""


@dataclass(frozen=True)
class Box:
    width: int = 1

    def __post_init__(self) -> None:
        if self.width > 9:
            raise ConfigError("too wide; write 9 or less", where="box.width")


@dataclass(frozen=True)
class Everything:
    text: str = ""
    flag: bool = False
    number: float = 0.0
    folder: Path | None = None
    colours: frozenset[Colour] = frozenset()
    pair: Annotated[tuple[int, int], "pair = [1, 2]"] = (0, 0)
    bound: dict[str, str] = field(default_factory=dict)
    box: Box = field(default_factory=Box)
    items: tuple[Item, ...] = ()
    either: tuple[Path | Item, ...] = ()
    age: Duration = 0.0
    pause: Duration | None = None
    size: Size = 0
    anything: object = None


def read(folder: Path, text: str) -> Everything:
    path = folder / "all.toml"
    path.write_text(text, encoding="utf-8")
    return read_file(path, Everything)


def test_every_annotation_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, "") == Everything()
    text = """
        text = "a"
        flag = true
        number = 3
        folder = "data"
        colours = ["red"]
        pair = [3, 4]
        bound = { p = "urn:p" }
        box = { width = 2 }
        items = [{ name = "x", half = 0.2 }]
        either = ["file", { name = "y" }]
        age = "2m"
        pause = "500ms"
        size = "1kB"
        anything = [1]
    """
    assert read(tmp_path, text) == Everything(
        "a",
        True,
        3.0,
        tmp_path / "data",
        frozenset({Colour.RED}),
        (3, 4),
        {"p": "urn:p"},
        Box(2),
        (Item("x", 0.1),),
        (tmp_path / "file", Item("y")),
        120.0,
        0.5,
        1000,
        [1],
    )
    assert read(tmp_path, 'folder = ""').folder is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("txet = 1", "txet: this key is not known; did you mean 'text'?"),
        ("text = 1", "text: this is 1; write a text in quotes"),
        ("flag = 1", "flag: this is 1; write true or false"),
        ("number = true", "number: this is true; write a number"),
        (f"number = {10**400}", "number: this is a very long number; write a smaller number"),
        ("folder = 1", "folder: this is 1; write the path of a file or folder"),
        ('colours = ["rde"]', "colours, entry 1: 'rde' is not known; did you mean 'red'?"),
        ("colours = [1]", 'colours, entry 1: this is 1; write "red" or "green"'),
        ('colours = "red"', "colours: this is 'red'; write a list in brackets"),
        ("pair = [1]", "pair: this is a list of 1; write a list of 2 in brackets, as in pair = ["),
        ("bound = []", "bound: this is a list of 0; write a table"),
        ("bound = { p = 1 }", "bound.p: this is 1; write a text in quotes"),
        ("box = 1", "box: this is 1; write a table with width"),
        ("box = { width = 1.5 }", "box.width: this is 1.5; write a whole number"),
        ("box = { width = 10 }", "box.width: too wide; write 9 or less"),
        ("items = 1", "items: this is 1; write [[items]] above each entry"),
        ("items = [{}]", "items, entry 1, name: this is missing; write a text in quotes, as in n"),
        ('items = [{name = ""}]', "items, entry 1, name: this is an empty text; write a text"),
        ('items = [{name = "a", half = -1}]', "items, entry 1 ('a'), half: -1 cannot be halved"),
        ("either = [1]", "either, entry 1: this is 1; write a table with name, half, secret"),
        ('age = "soon"', "age: 'soon' is no duration; write one as in"),
    ],
)
def test_a_mistake_is_named_with_its_key_and_its_remedy(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        read(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path / 'all.toml'}: {message}")


def test_an_entry_is_named_by_its_first_field_only(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        read(tmp_path, 'items = [{ secret = "hidden" }]')
    assert "hidden" not in str(error.value)


def test_errors_of_later_checks_are_given_their_key() -> None:
    with pytest.raises(ConfigError) as error, at(entry_name("items", 2, "b")):
        raise ConfigError("this is wrong", where="half")
    assert error.value.where == "items, entry 2 ('b'), half"


# --- quantities ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *((0, 0), (1, 1), (1.5, 1.5), ("90", 90), ("500ms", 0.5), ("30s", 30), ("2m", 120)),
        *(("2min", 120), ("1h", 3600), ("1.5 h", 5400), ("7d", 604_800), ("1w", 604_800)),
    ],
)
def test_durations(value: object, seconds: float) -> None:
    assert parse_duration(value) == seconds


@pytest.mark.parametrize(
    ("value", "size"),
    [
        *((0, 0), (65536, 65536), ("100", 100), ("100B", 100), ("1kB", 1000), ("1KB", 1000)),
        *(("4MB", 4_000_000), ("1.5 GB", 1_500_000_000), ("2TB", 2 * 10**12)),
        *(("1KiB", 1024), ("1MiB", 1024**2), ("1GiB", 1024**3), ("1tib", 1024**4)),
        (2**63 - 1, 2**63 - 1),
    ],
)
def test_sizes(value: object, size: int) -> None:
    assert parse_size(value) == size


NEITHER: list[object] = [
    *("", " ", "x", "-1", "1x", "1e3", "1..5", ".5", "1 2", "١", "d", "1" * 30, "7d1"),
    *(-1, -0.5, True, None, [], {}, float("nan"), float("inf")),
]


@pytest.mark.parametrize("value", [*NEITHER, "1MB", "1D", "1M", 1e12, 10**400])
def test_no_durations(value: object) -> None:
    with pytest.raises(ConfigError):
        parse_duration(value)


@pytest.mark.parametrize("value", [*NEITHER, "1h", "0.5B", 2**63, "10000000TB", 10**400, 0.5])
def test_no_sizes(value: object) -> None:
    with pytest.raises(ConfigError):
        parse_size(value)
