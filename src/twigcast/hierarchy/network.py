"""A whole network of units in one process."""

from __future__ import annotations

import os

from twigcast.errors import NetworkError, OverlayError
from twigcast.hierarchy.gateway import make_router
from twigcast.hierarchy.observing import acting_gateway, leaves_below
from twigcast.hierarchy.units import (
    depth_of,
    is_kept_for_units,
    require_units,
    unit_at,
    unit_of,
    units_around,
    units_of_link,
)
from twigcast.routing import Link, LinkKind, LinkUp, NetworkPlan, Router
from twigcast.routing import Network as FlatNetwork
from twigcast.routing import read_network as read_plan


class Network(FlatNetwork):
    """A network whose brokers stand in units, as their names say; or flat, if they have no paths.

    >>> from twigcast.routing import ANYTHING, Overlay
    >>> brokers, links = ["north/a", "north/b", "south/c"], [("north/a", "north/b")]
    >>> gateways = {"north/a": "north", "south/c": "south"}
    >>> network = Network(Overlay(brokers, [*links, ("north/a", "south/c")], gateways))
    >>> network.attach("feed", "north/b")
    >>> network.attach("desk", "south/c")
    >>> network.advertise("feed", "all", ANYTHING)
    >>> network.subscribe("desk", "dear", "//Stock[Price > 15]")
    >>> network.settle()
    >>> network.publish("feed", "<Stock><Price>17</Price></Stock>")
    >>> network.settle()
    >>> network.client("desk").deliveries
    [Delivery(id=DocumentId(origin='north/b', incarnation=0, number=0), subscriptions=('dear',))]
    """

    def attach(self, client: str, broker: str) -> None:
        """Connect a client to a broker."""
        if is_kept_for_units(client):
            raise NetworkError(f"the name {client!r} is kept for units; choose another")
        super().attach(client, broker)

    def _new_router(self, name: str) -> Router:
        return make_router(
            name,
            self.overlay.gateways.get(name),
            self.strategy,
            self._lives[name],
            limits=self._limits,
            counters=self._counters,
        )

    def _link_up(self, link: Link) -> LinkUp:
        depths = tuple(depth_of(unit) for unit in units_of_link(self.overlay, link))
        return LinkUp(LinkKind.BROKER, self.overlay.links[link].cost, depths)

    def _start(self) -> None:
        require_units(self.overlay)
        super()._start()

    def _teach(self) -> None:
        members: dict[str, list[Router]] = {}
        for router in self._routers.values():
            for level in router.levels:
                members.setdefault(unit_at(router.name, level.depth), []).append(level)
        # What a unit is called above follows from who is in it.
        for unit in sorted(members, key=depth_of, reverse=True):
            states = [level.link_state for level in members[unit]]
            for level in members[unit]:
                router = self._routers[level.name]
                self._carry(level.name, router.learn(states, level.depth))
                self._gather(level.name)

    def parts(self, unit: str) -> tuple[tuple[str, ...], ...]:
        """The brokers that take part in a unit, by who can reach whom there; several if it parted.

        That is what brokers know, which is so once everything has arrived.
        """
        parts = {
            tuple(sorted({level.name, *_brokers_reached(level)})): None
            for level in self._levels_of(unit)
        }
        return tuple(sorted(parts))

    def acting_gateway(self, unit: str, towards: str) -> str | None:
        """The gateway by which documents leave a unit for another one beside it.

        None if no path leads there.
        """
        if unit_of(unit) != unit_of(towards):
            raise NetworkError(f"{unit!r} and {towards!r} are not beside each other in one unit")
        units = {each for broker in self.overlay for each in units_around(broker)}
        for each in (unit, towards):
            if each not in units:
                raise NetworkError(f"there is no unit {each!r}; name one that brokers are in")
        for level in self._levels_of(unit_of(unit)):
            view = level.documents.view
            leaves = leaves_below(view)
            if unit in leaves and towards in leaves:
                start, end = leaves[unit][0], leaves[towards][0]
                gateway = acting_gateway(view, start, end, self.strategy.towards)
                if gateway is not None:
                    return gateway
        return None

    def _levels_of(self, unit: str) -> list[Router]:
        levels = [level for router in self._routers.values() for level in router.levels]
        return [level for level in levels if unit_at(level.name, level.depth) == unit]


def _brokers_reached(level: Router) -> list[str]:
    view = level.documents.view
    return [each for each in view.tree(level.name).parents if each not in view.leaves]


def read_network(path: str | os.PathLike[str]) -> NetworkPlan:
    """The network that a file describes, whose brokers may stand in units.

    Raises :class:`~twigcast.errors.OverlayError` with the file, what is wrong and what to write
    instead.
    """
    plan = read_plan(path)
    try:
        require_units(plan.overlay)
    except OverlayError as error:
        raise OverlayError(f"{os.fspath(path)}: {error}") from None
    return plan
