"""Who knows of a durable subscription: what an observer sees on the disks of brokers.

In the unit of its home, a broker knows of a subscription if it keeps what the home wants.  In other
units it knows of it if it keeps what a gateway wants for the home, while that gateway keeps the
like, and so on to the home.  Documents may go by any gateway of a unit, so all of them must.
"""

from __future__ import annotations

from twigcast.covering import covers
from twigcast.delivery import Version, broker_of, group_of, read_want, scope_of
from twigcast.hierarchy import depth_of, leaf_of, unit_at, unit_of, units_around, units_of
from twigcast.language import Pattern, parse
from twigcast.routing import OUTER, Overlay, is_outer
from twigcast.simulation.delivery.promises import Subscription
from twigcast.simulation.delivery.world import SimulatedBroker, World


def version_known(broker: SimulatedBroker, home: str) -> Version | None:
    """What a broker knows of a home of its unit, and does not forget."""
    if broker.machine is None or not broker.machine.announcing.patterns.get(home):
        return None
    if broker.router is None or broker.router.documents.is_behind:
        return None
    if broker.disk is None:
        return broker.machine.announcing.versions.get(home)
    kept = broker.disk.homes.get(home)
    return kept.version if kept is not None and kept.patterns else None


def knowing_beyond(world: World, subscription: Subscription) -> set[str]:
    """The brokers of other units that know of a subscription; none if a gateway does not."""
    brokers = world.brokers.values()
    gateways = [
        each
        for each in brokers
        if each.name in world.overlay.gateways and subscription.may_get(each.name, 0)
    ]
    if not all(_keeps(world, each, subscription) for each in gateways):
        return set()
    return {
        each.name
        for each in brokers
        if not subscription.is_in_unit_of(each.name)
        and subscription.may_get(each.name, 0)
        and _keeps(world, each, subscription)
    }


def _keeps(world: World, broker: SimulatedBroker, subscription: Subscription) -> bool:
    """Whether a broker keeps what leads to a subscription, by whichever gateway."""
    overlay, pattern = world.overlay, parse(subscription.xpath)
    return all(
        _is_kept(world, home, broker, pattern, subscription.scope)
        for unit in units_of(broker.name, overlay.gateways.get(broker.name))
        if depth_of(unit) >= subscription.scope
        for home in _homes_towards(subscription.home, unit, overlay)
        if broker_of(home) != broker.name
    )


def _homes_towards(home: str, unit: str, overlay: Overlay) -> list[str]:
    """The homes in the overlay of a unit by which documents may go to another home."""
    if unit == unit_of(home):
        return [home]
    is_around = unit in units_around(home)
    into = unit_at(home, depth_of(unit) + 1) if is_around else unit
    return [
        ("" if is_around else OUTER) + leaf_of(into, [gateway])
        for gateway, outermost in overlay.gateways.items()
        if into in units_of(gateway, outermost)[:-1]
    ]


def _is_kept(
    world: World, home: str, broker: SimulatedBroker, pattern: Pattern, scope: int
) -> bool:
    """Whether a broker keeps the latest of what a home wants, and that covers a pattern."""
    if broker.disk is None:
        return False
    kept = broker.disk.homes.get(home)
    machine = world.brokers[broker_of(home)].machine
    if kept is None or machine is None or machine.announcing.versions[home] != kept.version:
        return False
    return any(
        scope_of(each) <= scope and covers(read_want(each), pattern) for each in kept.patterns
    )


def leads_to(home: str, other: str) -> bool:
    """Whether what is owed to a home may be for another one that is the same, or beyond it."""
    group = group_of(home)
    if group == home:
        return home == other
    if is_outer(group):
        return group.removeprefix(OUTER) not in units_around(other)
    return group in units_around(other)
