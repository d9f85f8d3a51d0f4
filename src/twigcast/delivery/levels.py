"""The overlays in which a broker takes part, and the homes in each.

    overlay of north             b2 of bergen          north/oslo/@b1   stands for what oslo wants
      gateway north/oslo/b1 ─────────┤                                  (``inside``)
    overlay of north/oslo        north/oslo/b2         ^north/oslo/@b1  stands for what others want
                                 north/oslo/b1                          (``outside``)

A broker is a home in its own unit, for its durable subscriptions.  A gateway has *standing* homes
besides: in the unit around, one that wants what its unit wants; in its unit, one that wants what is
wanted outside.  So a document is owed from overlay to overlay: a gateway takes it over as a home,
keeps it, and owes it to the homes of the next overlay.

A document that is *addressed* goes the same course, chosen by the paths of its destinations: to a
home in this overlay; to the group that stands for the unit below which has it; or to the group that
stands for the outside.

The gateways of a unit are a *group* of homes: they want the same, and one of them takes a document
over for all.  A document that is owed to one of them goes along its tree, which may go on by others
of the group: these *act*, and each of them takes the document over, too.  So the copy that goes on
along the tree is the one that is owed, and nothing is sent twice.

What is wanted in a group is said to neither the group itself nor, if it stands for all that is
outside, to units around.  So no document returns to where it came from.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from twigcast.delivery.writes import Destination, Parcel
from twigcast.hierarchy import Gateway, is_within, leaf_of, named, unit_at, unit_of
from twigcast.routing import OUTER, Router, View, is_outer


class Level:
    """One overlay in which a broker takes part."""

    def __init__(self, router: Router, below: Level | None, *, is_outermost: bool) -> None:
        self.router = router
        self.documents = router.documents
        self.depth = router.depth
        self.unit = unit_at(router.name, router.depth)
        self.below = below
        self.above: Level | None = None
        if below is not None:
            below.above = self
        self.home = "" if below is not None else router.name
        """This broker, as the home of its own durable subscriptions; empty in units around."""
        self.inside = "" if below is None else leaf_of(below.unit, [router.name])
        """The home that stands here for the unit below; empty where there is none."""
        self.outside = "" if is_outermost else OUTER + leaf_of(self.unit, [router.name])
        """The home that stands here for all that is outside; empty where we are no gateway."""
        self._bringing: tuple[View | None, dict[str, tuple[str, ...]]] = (None, {})

    @property
    def own(self) -> tuple[str, ...]:
        """The homes that this broker is here."""
        return tuple(filter(None, (self.home, self.inside, self.outside)))

    @property
    def neighbours(self) -> list[str]:
        """The brokers that this one is linked to here."""
        neighbours = self.router.neighbours
        return [name for name in neighbours if neighbours[name].is_broker]

    @property
    def is_cut_off(self) -> bool:
        """Whether no other broker can be reached here."""
        return not any(map(self.documents.can_reach, self.documents.brokers()))

    def fed_by(self, home: str) -> Iterator[str]:
        """Our standing homes in other overlays that want what a home here wants."""
        if self.below is not None and group_of(home) != group_of(self.inside):
            yield self.below.outside
        if self.above is not None and not is_outer(home):
            yield self.above.inside

    def towards(self, broker: str) -> list[str]:
        """The homes here by which a broker is reached, a group of them; none if none is known."""
        if unit_of(broker) == self.unit:
            known = {*self.documents.view.brokers, *self.documents.known_homes}
            return [broker] if broker in known else []
        if is_within(broker, self.unit):
            return self.group(unit_at(broker, self.depth + 1))
        return self.group(OUTER + self.unit)

    def group(self, group: str) -> list[str]:
        """The homes of a group, whether they want something and can be reached or not."""
        unit = group.removeprefix(OUTER)
        if is_outer(group):
            homes = {OUTER + leaf_of(unit, [each]) for each in self.documents.gateways_out}
        else:
            brokers = self.documents.view.brokers
            homes = {leaf_of(unit, [each]) for each in brokers if is_within(each, unit)}
        homes.update(each for each in self.documents.known_homes if group_of(each) == group)
        return sorted(homes)

    def ours(self, home: str) -> str:
        """The home of this broker that is of a group with another one; empty if none is."""
        group = group_of(home)
        return next((each for each in (self.inside, self.outside) if group_of(each) == group), "")

    def bringing(self, origin: str) -> tuple[str, ...]:
        """The other gateways that may bring a document here which was published elsewhere."""
        if unit_of(origin) == self.unit:
            return ()
        view = self.documents.view
        if self._bringing[0] is not view:
            self._bringing = view, {}
        inside = is_within(origin, self.unit)
        unit = unit_at(origin, self.depth + 1) if inside else self.unit
        known = self._bringing[1]
        if unit not in known:
            leaves = view.leaves.items()
            known[unit] = tuple(
                broker
                for leaf, brokers in leaves
                if (group_of(leaf) == unit if inside else is_outer(leaf))
                for broker in brokers
                if broker != self.router.name
            )
        return known[unit]

    def lacks(self, broker: str) -> str:
        """Why a broker cannot be addressed that no home here leads to."""
        if not is_within(broker, self.unit):
            return (
                f"no gateway of {named(self.unit)} is known that leads to {broker!r}: give it one, "
                "or link it"
            )
        if unit_of(broker) == self.unit:
            what = f"no broker {broker!r}"
        else:
            what = f"no unit {unit_at(broker, self.depth + 1)!r}"
        return (
            f"{what} is known in {named(self.unit)}: check the name, and see that its brokers are "
            "linked"
        )

    def nearest(self, homes: Iterable[str]) -> str:
        """The home that is reached at the least cost, if any can be reached."""
        view, name = self.documents.view, self.router.name
        return min(homes, key=lambda home: (view.distance(name, broker_of(home)), home))


class Levels:
    """All overlays in which a broker takes part, the innermost first."""

    def __init__(self, router: Router) -> None:
        self._name = router.name
        self._levels: list[Level] = []
        routers = router.levels
        for each in routers:
            below = self._levels[-1] if self._levels else None
            self._levels.append(Level(each, below, is_outermost=each is routers[-1]))
        self.innermost = self._levels[0]
        self._units = {level.unit: level for level in self._levels}
        self._depths = {level.depth: level for level in self._levels}

    def __iter__(self) -> Iterator[Level]:
        return iter(self._levels)

    @property
    def are_several(self) -> bool:
        """Whether this broker is a gateway."""
        return len(self._levels) > 1

    def at(self, depth: int) -> Level | None:
        """The overlay of the unit of a depth, if this broker takes part in it."""
        return self._depths.get(depth)

    def of(self, home: str) -> Level | None:
        """The overlay that a home is in, if this broker takes part in it."""
        return self._units.get(_unit_of_home(home))

    def can_reach(self, home: str) -> bool:
        """Whether links lead to a home, as far as is known."""
        level = self.of(home)
        return level is not None and level.documents.can_reach(broker_of(home))

    def next_hop(self, home: str) -> str | None:
        """The neighbour that is next on the path to a home; None if it cannot be reached."""
        level = self.of(home)
        return None if level is None else level.documents.next_hop(broker_of(home))

    def bearers(self, home: str, origin: str) -> list[str]:
        """Homes that could bring on what a home is owed, if this broker is cut off from it.

        These stand, at other gateways of the unit, for what lies beyond: on the side from which
        the document came, where it does not return otherwise.
        """
        level = self.of(home)
        if level is None or not level.is_cut_off:
            return []
        below, above = level.below, level.above
        if below is not None and is_within(origin, below.unit):
            group = below.group(group_of(below.outside))
        else:
            group = [] if above is None else above.group(group_of(above.inside))
        return [each for each in group if broker_of(each) != self._name and self.can_reach(each)]

    def debtors(self, level: Level, homes: Iterable[str], parcel: Parcel) -> Onward:
        """Who is owed a document in an overlay, and beyond it, if these homes there want it.

        Of each group that is one home.  Where this broker is of the group, it takes the document
        over itself, at once.
        """
        return self._debtors(level, homes, parcel, but="")

    def addressed(self, level: Level, to: Iterable[Destination]) -> Onward:
        """Who is owed a document in an overlay, and beyond it, that is addressed."""
        homes: dict[str, None] = {}
        is_for_queues = False
        lacking: list[str] = []
        wrong: list[str] = []
        own: dict[str, None] = {}
        for each in to:
            group = [] if is_within(level.router.name, each.broker) else level.towards(each.broker)
            ours = next((home for home in group if home in level.own), None)
            if ours is not None:
                onward = self.addressed_beyond(level, ours, (each,))
                homes |= dict.fromkeys(onward.homes)
                is_for_queues |= onward.is_for_queues
                lacking += onward.lacking
                wrong += onward.wrong
                own |= dict.fromkeys((ours, *onward.own))
            elif group:
                homes[level.nearest(group)] = None
            elif mistake := self._mistake(level, each.broker):
                wrong.append(mistake)
            else:
                lacking.append(level.lacks(each.broker))
        return Onward(
            tuple(homes),
            is_for_queues,
            tuple(dict.fromkeys(lacking)),
            tuple(own),
            tuple(dict.fromkeys(wrong)),
        )

    def _mistake(self, level: Level, broker: str) -> str:
        """Why a broker that is not known cannot be one of that name; empty if it may be."""
        if any(is_within(each, broker) for each in level.documents.view.brokers):
            return f"{broker!r} is a unit: name a broker in it"
        for each in self if not unit_of(broker) else ():
            full = f"{each.unit}/{broker}"
            if full in each.documents.view.brokers:
                return f"no broker {broker!r} is known in the whole network: did you mean {full!r}?"
        return ""

    def addressed_beyond(self, level: Level, home: str, to: Iterable[Destination]) -> Onward:
        """Who is owed a document that is addressed, and that one of our homes takes over."""
        if home == level.home:
            return Onward((), is_for_queues=True)
        beyond = level.above if home == level.outside else level.below
        assert beyond is not None, "who stands for something is there, too"
        return self.addressed(beyond, to)

    def cross(self, homes: Iterable[str], *, is_wanted: bool) -> None:
        """Count a document that our homes take over and that came along no tree."""
        for home in homes:
            level = self.of(home)
            assert level is not None, "it is a home of ours"
            if home == level.outside and isinstance(level.router, Gateway):
                level.router.crossings.out += is_wanted
            elif level.below is not None and isinstance(level.below.router, Gateway):
                level.below.router.crossings.into += 1
                level.below.router.crossings.in_vain += not is_wanted

    def beyond(self, level: Level, home: str, parcel: Parcel) -> Onward:
        """Who is owed a document that one of our homes takes over.

        Nobody outside is, if the document is kept within the unit.
        """
        if home == level.home:
            return Onward((), is_for_queues=True)
        if home == level.outside:
            if parcel.scope >= level.depth:
                return Onward((), is_for_queues=False)
            above = level.above
            assert above is not None, "who stands for what is outside is there, too"
            return self._debtors(above, _wanting(above, parcel), parcel, but=above.inside)
        below = level.below
        assert below is not None, "who stands for a unit is in it"
        homes = [each for each in _wanting(below, parcel) if not is_outer(each)]
        onward = self._debtors(below, homes, parcel, but="")
        if below.home:
            return onward._replace(is_for_queues=True, own=(*onward.own, below.home))
        return onward

    def _debtors(self, level: Level, homes: Iterable[str], parcel: Parcel, but: str) -> Onward:
        groups: dict[str, list[str]] = {}
        for home in homes:
            groups.setdefault(group_of(home), []).append(home)
        groups.pop(group_of(but), None)
        debtors: list[str] = []
        is_for_queues = False
        own: list[str] = []
        for group in groups.values():
            ours = next((home for home in group if home in level.own), None)
            if ours is None:
                debtors.append(level.nearest(group))
            else:
                onward = self.beyond(level, ours, parcel)
                debtors += onward.homes
                is_for_queues |= onward.is_for_queues
                own += [ours, *onward.own]
        return Onward(tuple(debtors), is_for_queues, own=tuple(own))


class Onward(NamedTuple):
    """Where a document goes on from this broker that is owed."""

    homes: tuple[str, ...]
    is_for_queues: bool
    """Whether it may be for durable subscriptions here."""
    lacking: tuple[str, ...] = ()
    """Why some of the destinations of an addressed document are not reached now."""
    own: tuple[str, ...] = ()
    """The homes of this broker that take it over, at once."""
    wrong: tuple[str, ...] = ()
    """Why some of the destinations of an addressed document will never be reached."""


def _wanting(level: Level, parcel: Parcel) -> list[str]:
    """The homes in an overlay that want a document, by all that was said until now."""
    level.documents.catch_up(sys.maxsize)
    return level.documents.homes(parcel.content, parcel.id.origin, parcel.scope)


def broker_of(home: str) -> str:
    """The broker where a home is."""
    return home.removeprefix(OUTER).replace("/@", "/", 1)


def group_of(home: str) -> str:
    """What the gateways of one unit have in common, as homes; other homes are by themselves."""
    return home.rpartition("/@")[0] or home


def stands_for(home: str, broker: str) -> bool:
    """Whether what is addressed to a broker is owed to a home."""
    group = group_of(home)
    if is_outer(group):
        return not is_within(broker, group.removeprefix(OUTER))
    return home == broker if group == home else is_within(broker, group)


def reduced(parcel: Parcel, home: str) -> Parcel:
    """A document with those of its destinations that a home stands for."""
    if not parcel.to:
        return parcel
    return parcel._replace(to=tuple(each for each in parcel.to if stands_for(home, each.broker)))


def _unit_of_home(home: str) -> str:
    group = group_of(home)
    if is_outer(group):
        return group.removeprefix(OUTER)
    return unit_of(group)
