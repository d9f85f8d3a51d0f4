"""Small networks by chance: brokers, whether they keep anything, and their links."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from random import Random
from typing import NamedTuple


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
