"""The units of a network as brokers report them: gateways, parts, who acts, what crossed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table
from rich.text import Text

from twigcast.cli.console import make_table
from twigcast.hierarchy import depth_of, own_name, parse_leaf, unit_at, unit_of
from twigcast.routing import OUTER, is_outer

_CROSSINGS = {"out": "out", "into": "in", "in_vain": "in vain"}


@dataclass
class Part:
    """A unit, or a part of one, by its gateways."""

    gateways: tuple[str, ...]
    lost: list[str] = field(default_factory=list)
    """Gateways of the unit that nobody reaches; of a unit that has parted, with its first part."""
    acting: dict[str, str] = field(default_factory=dict)
    crossings: Counter[str] = field(default_factory=Counter)


def parts_of_units(answered: Iterable[Mapping[str, Any]]) -> dict[str, list[Part]]:
    """The parts of each unit that brokers know of, those around a unit rather than those inside."""
    parts: dict[str, dict[tuple[str, ...], Part]] = {}
    inside: dict[str, set[tuple[str, ...]]] = {}
    known: dict[str, dict[str, None]] = {}
    crossings: dict[tuple[str, str], Counter[str]] = {}
    for status in answered:
        for level in status["levels"]:
            for unit, said in level["units"].items():
                for each in said:
                    gateways = tuple(each["gateways"])
                    part = parts.setdefault(unit, {}).setdefault(gateways, Part(gateways))
                    part.acting |= each["acting"]
            depth = depth_of(level["unit"])
            for broker in level["topology"]:
                if depth_of(unit_of(broker)) > depth:
                    known.setdefault(unit_at(broker, depth + 1), {})[broker] = None
            if level["unit"]:
                inside.setdefault(level["unit"], set()).add(tuple(level["gateways"]))
            if level["crossings"] is not None:
                crossings[level["unit"], status["broker"]] = Counter(level["crossings"])
    for unit, seen in inside.items():
        if unit not in parts:
            parts[unit] = {gateways: Part(gateways) for gateways in sorted(seen)}
    for unit, named in known.items():
        of_unit = parts.setdefault(unit, {})
        reached = {each for part in of_unit.values() for each in part.gateways}
        first = next(iter(of_unit.values())) if of_unit else of_unit.setdefault((), Part(()))
        first.lost = [each for each in named if each not in reached]
    for (unit, gateway), counts in crossings.items():
        for part in parts[unit].values():
            if gateway in part.gateways:
                part.crossings += counts
    return {unit: list(each.values()) for unit, each in sorted(parts.items())}


def gateways_of(
    answered: Iterable[Mapping[str, Any]], units: Mapping[str, Sequence[Part]]
) -> dict[str, str]:
    """The outermost unit that each gateway stands for."""
    outermost = {each["broker"]: each["gateway"] for each in answered if each["gateway"]}
    for unit in sorted(units, key=depth_of):
        for part in units[unit]:
            for gateway in (*part.gateways, *part.lost):
                outermost.setdefault(gateway, unit)
    return outermost


def units_table(units: Mapping[str, Sequence[Part]]) -> Table:
    """A row for each unit, or for each part of one that has parted."""
    numbers = tuple(_CROSSINGS.values())
    columns = ["unit", "gateways", "acts", *numbers]
    title = "units; documents, since each gateway runs"
    table = make_table(columns, numbers=numbers, title=title)
    for unit, parts in units.items():
        for number, part in enumerate(parts, start=1):
            name = unit if len(parts) == 1 else f"{unit}, part {number} of {len(parts)}"
            named = [_inside(each, unit) for each in part.gateways]
            named += [f"{_inside(each, unit)} (lost)" for each in part.lost]
            gateways = ", ".join(named) or "none"
            table.add_row(
                *map(Text, (name, gateways, _acts(unit, part))),
                *(f"{part.crossings[kind]:,}" for kind in _CROSSINGS),
                style="yellow" if len(parts) > 1 or not part.gateways else "",
            )
    return table


def problems_of_units(
    answered: Iterable[Mapping[str, Any]], units: Mapping[str, Sequence[Part]]
) -> Iterator[str]:
    """What is not as it should be with units, a sentence each."""
    for unit, parts in units.items():
        if len(parts) > 1:
            named = "; ".join(" and ".join(part.gateways) or "no gateway" for part in parts)
            yield f"the unit {unit} has parted: its parts have the gateways {named}"
        elif parts[0].lost and not parts[0].gateways:
            yield f"no gateway of {unit} can be reached"
    for status in answered:
        for level in status["levels"]:
            if level["unit"] and not level["gateways"]:
                yield f"{status['broker']} reaches no gateway of {level['unit']}"
            turned_away = (level["crossings"] or {}).get("turned_away", 0)
            if turned_away:
                yield (
                    f"{status['broker']} has turned {turned_away:,} documents away that came from "
                    f"outside and were published inside {level['unit']}"
                )


def in_order(brokers: Iterable[str]) -> list[str]:
    """Brokers by their units, those of a unit beside each other."""
    return sorted(brokers, key=lambda each: (unit_of(each), each))


def seen_from(broker: str, other: str) -> str:
    """The name of a broker, as short as it is in the unit of another one."""
    return own_name(other) if unit_of(other) == unit_of(broker) else other


def named_home(home: str) -> str:
    """A home in words: a broker, or a gateway that stands for a unit or for what is outside."""
    leaf = parse_leaf(home.removeprefix(OUTER))
    if leaf is None:
        return home
    unit, gateway = leaf
    return f"{f'what is outside {unit}' if is_outer(home) else f'the unit {unit}'}, at {gateway},"


def _acts(unit: str, part: Part) -> str:
    """Which gateway acts towards which units beside this one."""
    towards: dict[str, list[str]] = {}
    for other, gateway in sorted(part.acting.items()):
        towards.setdefault(_inside(gateway, unit), []).append(other)
    if len(towards) == 1:
        return next(iter(towards))
    return "; ".join(f"{gateway} to {', '.join(others)}" for gateway, others in towards.items())


def _inside(broker: str, unit: str) -> str:
    return broker.removeprefix(f"{unit}/")
