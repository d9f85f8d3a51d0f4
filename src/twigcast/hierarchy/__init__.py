"""Hierarchy: units of brokers, each of which is one broker to the unit around it.

                the whole network, depth 0
        ┌──────────────────────┴──────────────────────┐
      north, depth 1                                south          a gateway stands in both:
    ┌───┴────────┐                                    │
  north/oslo   north/bergen, depth 2               south/c       ┌─ router in north ────┐
   ┌──┼──┐        │                                              │  leaf north/oslo/@b1 │
  b1  b2  b3      b1         north/oslo/b1, a gateway ═══════════╪═══════▲══▼═══════════╪═
                                                                 │  leaf ^north/oslo/b1 │
                                                                 └─ router in north/oslo┘

A broker's name is a path of units (:mod:`~twigcast.hierarchy.units`).  In each unit its brokers run
the routing of :mod:`twigcast.routing` among themselves, with link states, trees and channels of
their own.  A :class:`Gateway` of a unit has another router, in the unit around; to each of the two
the other is a *leaf* of its overlay.  In the unit around, the leaf stands for all that is inside:
its wants are those that come up the channel to the gateway, aggregated by covering as for any
neighbour; its advertisements are what is promised inside, each promise once.  Inside, the leaf
stands for all that is outside, in the same way.  A :class:`~twigcast.hierarchy.passage.Passage`
says on one side what it hears on the other; that is all there is beside routers.

*Several gateways.*  The leaf of a unit hangs on each of its gateways, and trees lead to it by the
one that is nearest to their root; inside, each gateway has its own leaf.  So for each pair of units
one gateway acts, all know which, and when it fails the trees have changed.  A unit that parts is as
many leaves as parts, each named after its first gateway.

Invariants, once all messages have arrived.  A document reaches whoever wants it in the unit where
it is published; in the units around, as far as gateways of its part lead there; and, wherever it
comes, inside the units below.  No path leads through a unit from outside to outside: from an outer
leaf nothing goes to another.  So nothing enters a unit twice that has not parted, wants that come
from outside do not return there, and everything that holds for routing holds for each unit.  While
links change, brokers with different views might send a document back; its *trace* keeps it out
(:mod:`~twigcast.hierarchy.traces`).

Cost: a broker knows the links of its unit and no others, a gateway those of two or more; a change
of links is told in its unit.  A document is matched once more at a gateway, for each unit around
that it stands in.
"""

from __future__ import annotations

from twigcast.hierarchy.addresses import Addresses, require_room
from twigcast.hierarchy.gateway import Crossings, Gateway, make_router
from twigcast.hierarchy.network import Network, read_network
from twigcast.hierarchy.numbering import (
    DIGEST,
    NO_NUMBERING,
    Numbering,
    Numberings,
    numbering_of,
)
from twigcast.hierarchy.observing import UnitPart, gateways_out, parts_below
from twigcast.hierarchy.profile import Profile
from twigcast.hierarchy.speaking import Speaker
from twigcast.hierarchy.traces import STAMP
from twigcast.hierarchy.units import (
    MOST_LEVELS,
    MOST_MEMBERS,
    common_unit,
    depth_of,
    is_within,
    leaf_of,
    named,
    own_name,
    parse_leaf,
    reachable,
    require_units,
    shared_units,
    unit_at,
    unit_of,
    units_around,
    units_of,
    units_of_link,
)
from twigcast.hierarchy.vectors import Members

__all__ = [
    "DIGEST",
    "MOST_LEVELS",
    "MOST_MEMBERS",
    "NO_NUMBERING",
    "STAMP",
    "Addresses",
    "Crossings",
    "Gateway",
    "Members",
    "Network",
    "Numbering",
    "Numberings",
    "Profile",
    "Speaker",
    "UnitPart",
    "common_unit",
    "depth_of",
    "gateways_out",
    "is_within",
    "leaf_of",
    "make_router",
    "named",
    "numbering_of",
    "own_name",
    "parse_leaf",
    "parts_below",
    "reachable",
    "read_network",
    "require_room",
    "require_units",
    "shared_units",
    "unit_at",
    "unit_of",
    "units_around",
    "units_of",
    "units_of_link",
]
