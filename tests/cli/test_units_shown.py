"""What ``twigcast network status`` makes of units, from what brokers report."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from twigcast.cli.units_shown import (
    gateways_of,
    in_order,
    named_home,
    parts_of_units,
    problems_of_units,
    seen_from,
    units_table,
)

NOTHING = {"out": 0, "into": 0, "in_vain": 0, "turned_away": 0}


def level(unit: str, gateways: list[str], units: dict[str, Any], **crossed: int) -> dict[str, Any]:
    crossings = NOTHING | crossed if crossed else None
    levels = {"unit": unit, "gateways": gateways, "units": units, "crossings": crossings}
    return levels | {"topology": {}}


def part(*gateways: str, **acting: str) -> dict[str, Any]:
    return {"gateways": list(gateways), "acting": acting}


def status(broker: str, gateway: str | None, *levels: dict[str, Any]) -> dict[str, Any]:
    return {"broker": broker, "gateway": gateway, "levels": list(levels)}


SEEN = {
    "north": [part("north/a", "north/b", south="north/a", west="north/b")],
    "south": [part("south/c", north="south/c", west="south/c")],
}
AT_A = status(
    "north/a",
    "north",
    level("north", ["north/a", "north/b"], {}, out=7, into=1_200, in_vain=3),
    level("", [], SEEN),
)
AT_B = status(
    "north/b",
    "north",
    level("north", ["north/a", "north/b"], {}, out=1, into=1, turned_away=2),
    level("", [], SEEN),
)
AT_D = status("south/d", None, level("south", ["south/c"], {}))


def shown(answered: list[dict[str, Any]]) -> list[list[str]]:
    console = Console(width=80, file=io.StringIO())
    console.print(units_table(parts_of_units(answered)))
    assert isinstance(console.file, io.StringIO)
    lines = [line for line in console.file.getvalue().splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_units_with_their_gateways_and_what_crossed() -> None:
    assert shown([AT_A, AT_B]) == [
        ["north", "a, b", "a to south; b to west", "8", "1,201", "3"],
        ["south", "c", "c", "0", "0", "0"],
    ]


def test_a_broker_inside_knows_the_gateways_of_its_unit() -> None:
    assert shown([AT_D]) == [["south", "c", "", "0", "0", "0"]]
    assert gateways_of([AT_D], parts_of_units([AT_D])) == {"south/c": "south"}


def test_gateways_stand_for_the_outermost_unit_that_is_known() -> None:
    inner = level("x/p", ["x/p/a"], {}, out=1)
    middle = level("x", ["x/p/a"], {"x/p": [part("x/p/a")], "x/q": [part("x/q/b")]}, out=1)
    outer = level("", [], {"x": [part("x/p/a")]})
    answered = [status("x/p/a", "x", inner, middle, outer)]
    assert gateways_of(answered, parts_of_units(answered)) == {"x/p/a": "x", "x/q/b": "x/q"}


def test_a_unit_that_has_parted_and_one_without_a_gateway() -> None:
    parted = {"north": [part("north/a", south="north/a"), part("north/b")]}
    answered = [
        status("south/c", "south", level("south", ["south/c"], {}), level("", [], parted)),
        status("west/e", None, level("west", [], {})),
        AT_B,
    ]
    units = parts_of_units([answered[0]])
    assert [each.gateways for each in units["north"]] == [("north/a",), ("north/b",)]
    assert shown(answered[:2]) == [
        ["north, part 1 of 2", "a", "a", "0", "0", "0"],
        ["north, part 2 of 2", "b", "", "0", "0", "0"],
        ["south", "c", "", "0", "0", "0"],
        ["west", "none", "", "0", "0", "0"],
    ]
    assert list(problems_of_units(answered[:2], parts_of_units(answered[:2]))) == [
        "the unit north has parted: its parts have the gateways north/a; north/b",
        "west/e reaches no gateway of west",
    ]
    assert list(problems_of_units([AT_B], {})) == [
        "north/b has turned 2 documents away that came from outside and were published inside north"
    ]


def test_gateways_that_nobody_reaches() -> None:
    outer = level("", [], {"north": [part("north/a")]})
    outer["topology"] = {each: {} for each in ("north/a", "north/b", "south/x/c", "west")}
    answered = [status("north/a", "north", level("north", ["north/a"], {}, out=1), outer)]
    units = parts_of_units(answered)
    assert shown(answered) == [
        ["north", "a, b (lost)", "", "1", "0", "0"],
        ["south", "x/c (lost)", "", "0", "0", "0"],
    ]
    assert gateways_of(answered, units)["north/b"] == "north"
    assert list(problems_of_units(answered, units)) == ["no gateway of south can be reached"]


def test_a_neighbour_in_the_same_unit_has_its_own_name() -> None:
    assert [seen_from("a/b", other) for other in ("a/c", "a/x/c", "b")] == ["c", "a/x/c", "b"]
    assert seen_from("a", "b") == "b"


def test_homes_in_words() -> None:
    assert named_home("north/b") == "north/b"
    assert named_home("north/@oslo/b1") == "the unit north, at north/oslo/b1,"
    assert named_home("^north/@b1") == "what is outside north, at north/b1,"


def test_brokers_of_a_unit_are_beside_each_other() -> None:
    names = ["b", "a/z", "a", "a/x/y", "a/b"]
    assert in_order(names) == ["a", "b", "a/b", "a/z", "a/x/y"]
