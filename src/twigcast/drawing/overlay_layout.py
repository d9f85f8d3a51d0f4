r"""The layout of an overlay: along a line, on a ring, in layers, or on circles.

    a chain        a ring         a small tree            anything else

    o─o─o─o         o─o                o                    o   o
          │        o   o            ┌──┴──┐                  \ /
    o─o─o─o         o─o             o     o                o──o──o──o
                                  ┌─┴─┐ ┌─┴─┐                / \
                                  o   o o   o               o   o

Everything starts from a centre, a broker without which no large part of the overlay stays
together; of two such, the one nearer the broker that was named first.  The tree is that of a
breadth-first search from there, over links with traffic as far as they lead and over others only
then; of several links to the level above, a broker hangs on the busiest.  Trees are laid out
tidily (:mod:`twigcast.drawing.forest`).  On circles, a step to the side is an angle, the smaller
the larger the circle; the circles are then drawn as far apart as makes the whole go round once, so
brokers never overlap and a thousand of them fill a disc rather than a row.

Parts of an overlay that no link connects stand beside each other, in rows.  So do units, each in a
frame around its brokers and the units in it; the name of a broker says in which units it is, as in
``north/oslo/b3``.

Cost: linear in brokers and links, times the depth of the tree where subtrees are moved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from math import ceil, cos, sin, sqrt, tau
from typing import Final, NamedTuple, Protocol, TypeAlias

from twigcast.drawing.curves import Point
from twigcast.drawing.forest import Forest

Pair: TypeAlias = tuple[str, str]

WIDEST: Final = 1800.0
"""Layers that would be wider go on circles."""
_LAYERED: Final = 40
_WIDEST_FAMILY: Final = 6
"""Trees of more brokers, or with more below one broker, go on circles."""
_ROW: Final = 12
"""Chains of more brokers are broken into rows."""
_RATIO: Final = 1.6
"""Of width to height, where there is a choice."""
_POWERS: Final = (0.6, 0.8, 1.0)
"""Circles grow with a power of the level, the least that leaves room between the last two."""
FRAME: Final = 8.0
"""The room between the frame of a unit and what is in it, and around the frame."""
HEADING: Final = 14.0
"""The height of the name of a unit."""
_STRETCH: Final = 1.6
"""How much further apart brokers in a row are, which have links between them."""


class Graph(Protocol):
    """An overlay as far as it is drawn: an iterable of brokers, with the links between them."""

    @property
    def links(self) -> Collection[Pair]: ...

    @property
    def gateways(self) -> Mapping[str, str]: ...

    def neighbours(self, broker: str, /) -> Collection[str]: ...

    def __iter__(self) -> Iterator[str]: ...

    def __contains__(self, broker: object, /) -> bool: ...

    def __len__(self) -> int: ...


class Spacing(NamedTuple):
    """The distances between brokers, side by side and by level, and the ``room`` around all."""

    side: float
    level: float
    room: float


class Layout(NamedTuple):
    """A point between (0, 0) and ``frame`` for each broker, and which links form the tree.

    ``units`` are the frames of units, the outer ones first, by their upper left and lower right
    corners.
    """

    points: dict[str, Point]
    tree: frozenset[Pair]
    frame: Point
    units: dict[str, tuple[Point, Point]]


class _Corner(NamedTuple):
    """A corner of the frame of a unit, which has its point among those of brokers."""

    unit: str
    is_last: bool


_Points: TypeAlias = dict[str | _Corner, Point]


class _Part:
    """Some brokers of an overlay, and the links between them."""

    def __init__(self, graph: Graph, brokers: Collection[str]) -> None:
        self._graph = graph
        self._brokers = dict.fromkeys(brokers)
        self.links = [link for link in graph.links if link[0] in self and link[1] in self]
        self.gateways: Mapping[str, str] = {}

    def neighbours(self, broker: str, /) -> Collection[str]:
        return [other for other in self._graph.neighbours(broker) if other in self]

    def __iter__(self) -> Iterator[str]:
        return iter(self._brokers)

    def __contains__(self, broker: object, /) -> bool:
        return broker in self._brokers

    def __len__(self) -> int:
        return len(self._brokers)


def pair(one: str, other: str) -> Pair:
    """A link, whichever end is named first."""
    return (one, other) if one < other else (other, one)


def unit_of(broker: str) -> str:
    """The unit that a broker is in, as its name says; empty where that is no path."""
    *units, last = broker.split("/")
    return "/".join(units) if last and all(units) else ""


def lay_out(graph: Graph, spacing: Spacing, traffic: Mapping[Pair, int]) -> Layout:
    """The layout of an overlay, along the links with most traffic where there is a choice."""
    members: dict[str, list[str]] = {"": []}
    units: dict[str, dict[str, None]] = {}
    for broker in graph:
        unit = unit_of(broker)
        members.setdefault(unit, []).append(broker)
        while unit:
            around = unit.rpartition("/")[0]
            units.setdefault(around, {})[unit] = None
            unit = around
    tree: set[Pair] = set()

    def lay_out_unit(unit: str) -> tuple[_Points, Point]:
        inside = members.get(unit, ())
        part = _Part(graph, inside) if units else graph
        parts = [(each, spacing.room) for each in _lay_out_members(part, spacing, traffic, tree)]
        for each in units.get(unit, ()):
            points, (wide, high) = lay_out_unit(each)
            framed: _Points = {
                _Corner(each, False): (0.0, 0.0),
                _Corner(each, True): (wide + 2 * FRAME, high + 2 * FRAME + HEADING),
            }
            for name, (x, y) in points.items():
                framed[name] = (x + FRAME, y + FRAME + HEADING)
            parts.append((framed, FRAME))
        return _pack(parts)

    points, frame = lay_out_unit("")
    return Layout(
        {name: point for name, point in points.items() if not isinstance(name, _Corner)},
        frozenset(tree),
        frame,
        {
            name.unit: (point, points[_Corner(name.unit, True)])
            for name, point in points.items()
            if isinstance(name, _Corner) and not name.is_last
        },
    )


def _lay_out_members(
    graph: Graph, spacing: Spacing, traffic: Mapping[Pair, int], tree: set[Pair]
) -> list[_Points]:
    """The points of each part that links connect; the links of their trees go to ``tree``."""
    parts: list[_Points] = []
    seen: set[str] = set()
    for broker in graph:
        if broker not in seen:
            spanning = _spanning(graph, broker, traffic)
            # The tree of a search from a broker at the edge is lopsided where there are cycles,
            # so the centre is looked for twice.
            for _ in range(2):
                spanning = _spanning(graph, _centroid(spanning), traffic)
            seen.update(spanning.depth)
            tree.update(pair(*ends) for ends in spanning.parent.items())
            parts.append(dict(_lay_out_part(graph, spanning, spacing).items()))
    return parts


def _spanning(graph: Graph, root: str, traffic: Mapping[Pair, int]) -> Forest[str]:
    """The tree of a breadth-first search; siblings are in the order of the overlay."""
    parent: dict[str, str] = {}
    reached: set[str] = set()
    numbers = count()
    waiting = [(False, 0, 0, 0, root, root)]
    while waiting:
        _, depth, _, _, above, broker = heappop(waiting)
        if broker in reached:
            continue
        reached.add(broker)
        parent[broker] = above
        for other in graph.neighbours(broker):
            load = traffic.get(pair(broker, other), 0)
            heappush(waiting, (not load, depth + 1, -load, next(numbers), broker, other))
    order = [broker for broker in graph if broker in reached]
    return Forest(order, [(parent[broker], broker) for broker in order if broker != root])


def _centroid(tree: Forest[str]) -> str:
    """The broker without which the largest part is smallest; of two, the nearer the root."""

    def largest_part(broker: str) -> int:
        below = [tree.size[child] for child in tree.children[broker]]
        return max([len(tree.size) - tree.size[broker], *below])

    return min(tree.depth, key=lambda broker: (largest_part(broker), tree.depth[broker]))


def _lay_out_part(graph: Graph, tree: Forest[str], spacing: Spacing) -> dict[str, Point]:
    degrees = {broker: len(graph.neighbours(broker)) for broker in graph if broker in tree.depth}
    is_tree = sum(degrees.values()) == 2 * (len(degrees) - 1)
    if len(degrees) > 1 and max(degrees.values()) <= 2:
        ends = (broker for broker, degree in degrees.items() if degree == 1)
        row = _in_a_row(graph, next(ends, tree.roots[0]))
        return (_on_lines if is_tree else _on_a_ring)(row, spacing)
    family = max(map(len, tree.children.values()))
    if is_tree and len(degrees) <= _LAYERED and family <= _WIDEST_FAMILY:
        sides, width = tree.spread(dict.fromkeys(degrees, spacing.side))
        if width <= WIDEST:
            return {each: (side, tree.depth[each] * spacing.level) for each, side in sides.items()}
    return _on_circles(tree, spacing)


def _in_a_row(graph: Graph, last: str | None) -> list[str]:
    """The brokers of a chain from one end to the other, or of a ring all around."""
    row: dict[str, None] = {}
    while last is not None:
        row[last] = None
        last = next((other for other in graph.neighbours(last) if other not in row), None)
    return list(row)


def _on_lines(row: Sequence[str], spacing: Spacing) -> dict[str, Point]:
    """From left to right, then back below, and so on."""
    side = _STRETCH * spacing.side
    columns = len(row)
    if columns > _ROW:
        columns = max(_ROW, ceil(sqrt(_RATIO * len(row) * spacing.level / side)))
    points: dict[str, Point] = {}
    for number, broker in enumerate(row):
        line, column = divmod(number, columns)
        column = columns - 1 - column if line % 2 else column
        points[broker] = (column * side, line * spacing.level)
    return points


def _on_a_ring(row: Sequence[str], spacing: Spacing) -> dict[str, Point]:
    radius = max(spacing.level, _STRETCH * spacing.side * len(row) / tau)
    return {broker: _polar(radius, tau * number / len(row)) for number, broker in enumerate(row)}


def _on_circles(tree: Forest[str], spacing: Spacing) -> dict[str, Point]:
    deepest = max(tree.depth.values())
    for power in _POWERS:
        radii = [depth**power for depth in range(deepest + 1)]
        angles, around = tree.spread(
            {each: spacing.side / max(radii[depth], 1.0) for each, depth in tree.depth.items()}
        )
        gap = max(spacing.level, around / tau)
        if gap * (radii[-1] - radii[-2]) >= spacing.level:
            break
    return {
        broker: _polar(gap * radii[tree.depth[broker]], tau * angle / around)
        for broker, angle in angles.items()
    }


def _polar(radius: float, angle: float) -> Point:
    """A point by its distance from the middle and its angle clockwise from the top."""
    return radius * sin(angle), -radius * cos(angle)


def _pack(parts: Sequence[tuple[_Points, float]]) -> tuple[_Points, Point]:
    """The parts beside each other, with room around each, in rows; and the size of the whole."""
    boxes = []
    for part, room in parts:
        across, down = [x for x, _ in part.values()], [y for _, y in part.values()]
        x, y = min(across), min(down)
        wide, high = max(across) - x + 2 * room, max(down) - y + 2 * room
        boxes.append((part, room - x, room - y, wide, high))
    boxes.sort(key=lambda box: -box[4])  # the highest first; the order of equals stays
    area = sum(wide * high for *_, wide, high in boxes)
    widest = max([sqrt(_RATIO * area), *(box[3] for box in boxes)])
    points: _Points = {}
    left = top = width = height = 0.0
    for part, right, down_by, wide, high in boxes:
        if left and left + wide > widest:
            left, top = 0.0, height
        for name, (x, y) in part.items():
            points[name] = (left + right + x, top + down_by + y)
        left += wide
        width, height = max(width, left), max(height, top + high)
    return points, (width, height)
