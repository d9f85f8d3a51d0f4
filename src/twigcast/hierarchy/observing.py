"""What a broker sees of the units right below the unit that it takes part in.

Each unit is there as a leaf, or as several if it has parted (:mod:`~twigcast.hierarchy.gateway`).
From the view alone follows which gateway of a part acts: by which documents leave it for another
unit.  All brokers of the unit around come to the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from twigcast.hierarchy.units import parse_leaf
from twigcast.routing import Router, Towards, View, is_outer


class UnitPart(NamedTuple):
    """A unit that is whole, or a part of one, as the brokers around it see it."""

    gateways: tuple[str, ...]
    acting: Mapping[str, str]
    """By unit beside it, the gateway by which documents leave for there."""


def parts_below(level: Router) -> dict[str, tuple[UnitPart, ...]]:
    """The parts of each unit right below that of a level, in the order of their names."""
    view = level.documents.view
    leaves = leaves_below(view)
    parts: dict[str, tuple[UnitPart, ...]] = {}
    for unit, own in leaves.items():
        parts[unit] = tuple(
            UnitPart(
                tuple(view.leaves[leaf]),
                {
                    other: gateway
                    for other, (first, *_) in leaves.items()
                    if other != unit
                    if (gateway := acting_gateway(view, leaf, first, level.strategy.towards))
                },
            )
            for leaf in own
        )
    return parts


def leaves_below(view: View) -> dict[str, list[str]]:
    """The leaves of each unit, one for each of its parts."""
    leaves: dict[str, list[str]] = {}
    for leaf in sorted(view.leaves):
        parsed = parse_leaf(leaf)
        if parsed is not None and not is_outer(leaf):
            leaves.setdefault(parsed[0], []).append(leaf)
    return leaves


def gateways_out(level: Router) -> list[str]:
    """The gateways of the unit of a level, as far as they can be reached."""
    leaves = level.documents.view.leaves
    return sorted(gateway for leaf in leaves if is_outer(leaf) for gateway in leaves[leaf])


def acting_gateway(view: View, start: str, end: str, towards: Towards) -> str | None:
    """The gateway by which documents leave one leaf for another; None if no path leads there."""
    if towards is Towards.EVERYONE:
        tree = view.shared_tree(start)
        return tree.parent(start) if end in tree else None
    parents = view.tree(start).parents
    gateway = end
    while (above := parents.get(gateway)) is not None and above != start:
        gateway = above
    return None if above is None else gateway
