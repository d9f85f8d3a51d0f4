"""Small networks by chance: brokers, whether they keep anything, and their links."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from random import Random
from typing import NamedTuple

from twigcast.hierarchy import depth_of, unit_at, unit_of, units_of, units_of_link
from twigcast.routing import Link, Overlay


class Drawn(NamedTuple):
    """A network before anything happens."""

    brokers: dict[str, bool]
    """By name, whether it has a disk."""
    links: list[tuple[str, str]]
    gateways: dict[str, str]
    homes: list[str]
    """The brokers with durable subscriptions."""


def draw_flat(random: Random) -> Drawn:
    """Two to five brokers in one unit."""
    count = random.choice((2, 3, 3, 4, 5))
    names = [f"b{number}" for number in range(count)]
    homes = names[: random.choice((1, 1, 2))]
    brokers = {name: name in homes or random.random() < 0.7 for name in names}
    links = [(names[random.randrange(number)], names[number]) for number in range(1, count)]
    spare = [(a, b) for a in names for b in names if a < b and (a, b) not in links]
    links += random.sample(spare, min(len(spare), random.choice((0, 1))))
    return Drawn(brokers, links, {}, homes)


def draw_units(random: Random) -> Drawn:
    """Two or three units of one to three brokers, perhaps a unit around two of them."""
    units = random.choice((["n", "s"], ["n", "s"], ["n", "s", "e"], ["n/x", "n/y", "s"]))
    members = {
        unit: [f"{unit}/{name}" for name in "abc"[: random.choice((1, 2, 2, 3))]] for unit in units
    }
    gateways: dict[str, str] = {}
    links: list[tuple[str, str]] = []
    above: dict[str, list[str]] = {}
    for unit, names in members.items():
        links += pairwise(names)
        if len(names) > 2 and random.random() < 0.3:
            links.append((names[0], names[-1]))
        acting = random.sample(names, min(len(names), random.choice((1, 1, 2))))
        gateways |= dict.fromkeys(acting, unit)
        above.setdefault(unit.rpartition("/")[0], []).extend(acting)
    if "n" in above:  # there are units in the unit n
        links += _joined(random, above["n"], links)
        acting = random.sample(above["n"], random.choice((1, 2)))
        gateways |= dict.fromkeys(acting, "n")
        above[""] += acting
    links += _joined(random, above[""], links)
    names = [name for each in members.values() for name in each]
    homes = random.sample(names, random.choice((1, 2, 2)))
    brokers = {name: name in homes or name in gateways or random.random() < 0.7 for name in names}
    return Drawn(brokers, links, gateways, homes)


def draw_beside(random: Random) -> Drawn:
    """Units of several shapes, in units perhaps, with brokers beside them and several gateways."""
    units = random.choice(
        (["n", "s"], ["n"], ["n/x", "n/y", "s"], ["n/x", "n"], ["n/x/p", "n/x/q", "n/y", "s"])
    )
    members = {unit: [f"{unit}/{name}" for name in "abc"[: random.randint(1, 3)]] for unit in units}
    beside = ["t", "v"][: random.choice((0, 1, 2)) if len(units) > 1 else 1]
    names = [*beside, *(name for each in members.values() for name in each)]
    around = {unit_at(unit, depth) for unit in units for depth in range(1, depth_of(unit) + 1)}
    taking_part: dict[str, list[str]] = {"": beside} | {unit: [] for unit in around}
    for unit, each in members.items():
        taking_part[unit] += each
    gateways: dict[str, str] = {}
    links: list[tuple[str, str]] = []
    for unit in sorted(around, key=lambda unit: (-depth_of(unit), unit)):
        links += _joined(random, taking_part[unit], links)
        most = min(len(taking_part[unit]), random.choice((1, 2, 2, 3)))
        acting = random.sample(taking_part[unit], most)
        gateways |= dict.fromkeys(acting, unit)
        taking_part[unit_of(unit)] += acting
    links += _joined(random, taking_part[""], links)
    homes = random.sample(names, min(len(names), random.choice((1, 2, 3))))
    keeping = {*homes, *gateways, *(name for name in names if random.random() < 0.8)}
    return Drawn({name: name in keeping for name in names}, links, gateways, homes)


def _joined(
    random: Random, names: list[str], links: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Links that join brokers, but for those that there are already."""
    names = random.sample(names, len(names))
    more = [*pairwise(names)]
    if len(names) > 2 and random.random() < 0.5:
        more.append((names[0], names[-1]))
    known = {frozenset(link) for link in links}
    return [link for link in more if frozenset(link) not in known]


def spared_links(overlay: Overlay, links: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """The links of each gateway outside a unit, if it can be cut off there while others go on.

    All other brokers in each unit reach each other without these links, and each unit that it is a
    gateway of has another one.
    """
    units = {name: units_of(name, overlay.gateways.get(name)) for name in overlay.brokers}
    taking_part: dict[str, set[str]] = {}
    for name, each in units.items():
        for unit in each:
            taking_part.setdefault(unit, set()).add(name)
    shared = {pair: units_of_link(overlay, Link.between(*pair)) for pair in links}

    def go_on(but: str, outside: str, left: list[tuple[str, str]]) -> bool:
        return all(
            _are_joined(
                names - {but} if unit == outside else names,
                [pair for pair in left if unit in shared[pair]],
            )
            for unit, names in taking_part.items()
        )

    spared = []
    for gateway in overlay.gateways:
        borders = [*pairwise(units[gateway])]
        if any(taking_part[unit] & taking_part[around] == {gateway} for unit, around in borders):
            continue
        for _, outside in borders:
            cut = [pair for pair in links if gateway in pair and outside in shared[pair]]
            if cut and go_on(gateway, outside, [pair for pair in links if pair not in cut]):
                spared.append(cut)
    return spared


def _are_joined(names: set[str], links: Iterable[tuple[str, str]]) -> bool:
    reached = {min(names)}
    for _ in names:
        for pair in links:
            if not reached.isdisjoint(pair):
                reached.update(pair)
    return reached >= names
