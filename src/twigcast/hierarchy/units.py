"""Where a broker stands: its name is a path of units, ``north/oslo/b3``.

``b3`` is in the unit ``north/oslo``, which is in ``north``, which is in the unit that has no name,
the whole network.  The *depth* of a unit is the length of its path, so 0 for the whole.  A broker
without a path stands in the whole by itself.

A broker may be the *gateway* of units that it stands in: of the innermost, or of this and some
around it.  In the unit around these it stands for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from twigcast.errors import OverlayError
from twigcast.routing import OUTER, Link, Overlay

WHOLE = ""
"""The unit that all others are in."""
MOST_LEVELS = 4
"""A broker, in three units at most besides the whole."""
MOST_MEMBERS = 32
"""Brokers or units right below a unit."""
_PART = "@"
"""Begins the name of a part of a unit."""


def unit_of(name: str) -> str:
    """The unit that a broker, or another unit, is in."""
    return name.rpartition("/")[0]


def own_name(broker: str) -> str:
    """What a broker is called in its unit."""
    return broker.rpartition("/")[2]


def unit_at(broker: str, depth: int) -> str:
    """The unit of that depth that a broker is in."""
    return "/".join(broker.split("/")[:depth])


def depth_of(unit: str) -> int:
    """How many units a unit is in."""
    return unit.count("/") + 1 if unit else 0


def units_around(name: str) -> tuple[str, ...]:
    """The units that a broker is in, the innermost first; the last is the whole network."""
    units = [unit_of(name)]
    while units[-1]:
        units.append(unit_of(units[-1]))
    return tuple(units)


def units_of(broker: str, gateway: str | None = None) -> tuple[str, ...]:
    """The units in whose overlays a broker takes part, the innermost first.

    ``gateway`` is the outermost unit that it is a gateway of, if it is one.  Raises OverlayError
    for what it cannot be a gateway of.
    """
    around = units_around(broker)
    if gateway is None:
        return around[:1]
    *units, _ = around
    if gateway in units:
        return around[: units.index(gateway) + 2]
    if not units:
        raise OverlayError(
            f"the broker {broker!r} is in no unit, so it is a gateway of none; leave it out of the "
            "gateways"
        )
    if gateway.endswith("/"):
        raise OverlayError(
            f"the unit {gateway!r}, of which {broker!r} is a gateway, ends with a slash; leave the "
            "slash out"
        )
    reason = "is itself no unit" if gateway == broker else f"is not in the unit {gateway!r}"
    raise OverlayError(
        f"the broker {broker!r} {reason}; make it a gateway of one of: {', '.join(units)}"
    )


def common_unit(one: str, other: str) -> str:
    """The innermost unit that two brokers are in."""
    units = units_around(other)
    return next(unit for unit in units_around(one) if unit in units)


def units_of_link(overlay: Overlay, link: Link) -> tuple[str, ...]:
    """The units that have a link: those in whose overlays both brokers take part.

    Raises OverlayError where there is none.
    """
    return shared_units({broker: overlay.gateways.get(broker) for broker in link})


def shared_units(ends: Mapping[str, str | None]) -> tuple[str, ...]:
    """The units in whose overlays two brokers take part, the innermost first.

    ``ends`` are the two, each with the outermost unit that it is a gateway of.  Raises OverlayError
    where they share none, so that no link can join them.
    """
    one, other = (units_of(broker, gateway) for broker, gateway in ends.items())
    shared = tuple(unit for unit in one if unit in other)
    if shared:
        return shared
    around = common_unit(*ends)
    needed = " and ".join(
        f"{broker!r} a gateway of {unit!r}"
        for broker, gateway in ends.items()
        for unit in units_around(broker)
        if unit and unit_of(unit) == around
        if around not in units_of(broker, gateway)
    )
    raise OverlayError(
        f"the link {Link.between(*ends)} joins two units, and such links join their gateways; make "
        f"{needed}, or link others"
    )


def require_units(overlay: Overlay) -> None:
    """Raise OverlayError unless all brokers, units and links are as they must be."""
    members: dict[str, set[str]] = {}
    for broker in overlay:
        require_path(broker)
        for name in (broker, *filter(None, units_around(broker))):
            members.setdefault(unit_of(name), set()).add(name)
    for unit, names in members.items():
        if unit in overlay:
            raise OverlayError(f"{unit!r} is a broker and a unit; give the broker another name")
        if len(names) > MOST_MEMBERS and len(members) > 1:
            raise OverlayError(
                f"{named(unit)} has {len(names)} members, and the most are {MOST_MEMBERS}; put "
                f"some of them into a unit of their own, as in {unit + '/' if unit else ''}new/name"
            )
    for broker, unit in overlay.gateways.items():
        if broker not in overlay:
            raise OverlayError(f"the gateway {broker!r} is no broker; name one that there is")
        units_of(broker, unit)
    for link in overlay.links:
        units_of_link(overlay, link)


def require_path(broker: str) -> None:
    """Raise OverlayError unless the name of a broker is a path that it may have."""
    parts = broker.split("/")
    if not all(parts) or len(parts) > MOST_LEVELS:
        what = f"{len(parts)} names" if all(parts) else "an empty name"
        raise OverlayError(
            f"the broker {broker!r} has {what}; it has a path of 1 to {MOST_LEVELS} names with "
            "/ between them, as in north/oslo/b3"
        )
    if any(part.startswith((OUTER, _PART)) for part in parts):
        raise OverlayError(
            f"the broker {broker!r}: names do not begin with {OUTER} or {_PART}, which mark "
            "what stands for units; choose another name"
        )


def leaf_of(unit: str, gateways: Iterable[str]) -> str:
    """The name of a unit in the overlay around it.

    A unit that has parted is as many there as it has parts with gateways, so each part is named
    after the first of its gateways.
    """
    return f"{unit}/{_PART}{min(gateways).removeprefix(unit + '/')}"


def parse_leaf(leaf: str) -> tuple[str, str] | None:
    """The unit that an inner leaf stands for, and the gateway that it is named after.

    None for any other name.
    """
    unit, is_inner, rest = leaf.partition(f"/{_PART}")
    return (unit, f"{unit}/{rest}") if is_inner and unit and rest else None


def is_within(name: str, unit: str) -> bool:
    """Whether a broker, or a unit, lies in a unit or in one inside it."""
    return not unit or name.startswith(f"{unit}/")


def named(unit: str) -> str:
    """A unit, as messages name it."""
    return f"the unit {unit!r}" if unit else "the whole network"


def is_kept_for_units(name: str) -> bool:
    """Whether a name is, or might be, that of a leaf."""
    return name.startswith(OUTER) or f"/{_PART}" in name


def reachable(
    broker: str,
    links: Mapping[str, Collection[str]],
    units: Mapping[str, Sequence[str]],
    scope: int = 0,
) -> frozenset[str]:
    """The brokers whose clients get what is published at one, by the links and units of each.

    ``scope`` is the depth of the unit that it does not leave.

    A document goes everywhere in its unit; by the gateways of this to the unit around, and so on;
    and, wherever it comes, down into the units below.  It does not climb where it has come down.
    """
    steps = [(unit_of(broker), broker, True)]
    known = set(steps)
    for unit, at, may_climb in steps:
        above_and_below = units[at]
        index = above_and_below.index(unit)
        further = [
            (unit, other, may_climb)
            for other in links[at]
            if other in units and unit in units[other]
        ]
        if index > 0:
            further.append((above_and_below[index - 1], at, False))
        if may_climb and index + 1 < len(above_and_below) and depth_of(unit) > scope:
            further.append((above_and_below[index + 1], at, True))
        steps += [each for each in dict.fromkeys(further) if each not in known]
        known.update(further)
    return frozenset(at for unit, at, _ in steps if unit == unit_of(at))
