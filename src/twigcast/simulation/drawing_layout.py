r"""Where the brokers of an overlay go: along a line, on a ring, in layers, or on circles.

    a chain        a ring         a small tree            anything else

    o─o─o─o         o─o                o                    o   o
          │        o   o            ┌──┴──┐                  \ /
    o─o─o─o         o─o             o     o                o──o──o──o
                                  ┌─┴─┐ ┌─┴─┐                / \
                                  o   o o   o               o   o

Everything starts from a centre, a broker without which no large part of the overlay stays
together; of two such, the one nearer the broker that was named first.  The tree is that of a
breadth-first search from there, over links with traffic as far as they lead and over others only
then; of several links to the level above, a broker hangs on the busiest.

Trees are laid out tidily (Reingold and Tilford): each subtree by itself, then moved beside its
elder sibling until they stand apart on every level, the parent in the middle of its children.  On
circles, a step to the side is an angle, the smaller the larger the circle; the circles are then
drawn as far apart as makes the whole go round once, so brokers never overlap and a thousand of
them fill a disc rather than a row.

Parts of an overlay that no link connects stand beside each other, in rows.

Cost: linear in brokers and links, times the depth of the tree where subtrees are moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, cos, sin, sqrt, tau
from typing import TypeAlias

from twigcast.routing import Link, Overlay

WIDEST = 1800.0
"""Layers that would be wider go on circles."""
_LAYERED = 40
_WIDEST_FAMILY = 6
"""Trees of more brokers, or with more below the first one, go on circles."""
_ROW = 12
"""Chains of more brokers are broken into rows."""
_RATIO = 1.6
"""Of width to height, where there is a choice."""
_COUSINS = 1.25
"""How much further apart those are that have different parents."""
_POWERS = (0.6, 0.8, 1.0)
"""Circles grow with a power of the level, the least that leaves room between the last two."""
_STRETCH = 1.6
"""How much further apart brokers in a row are, which have links between them."""


Point: TypeAlias = tuple[float, float]
_NO_TRAFFIC: Mapping[Link, int] = {}


@dataclass(frozen=True, slots=True)
class Spacing:
    """How far apart brokers are, side by side and from one level to the next; ``room`` around."""

    side: float
    level: float
    room: float


@dataclass(frozen=True, slots=True)
class Placed:
    """Where brokers are, between 0 and ``width`` or ``height``, and which links are the tree."""

    points: dict[str, Point]
    tree: frozenset[Link]
    width: float
    height: float

    def scaled(self, factor: float) -> Placed:
        """All of it larger or smaller."""
        points = {broker: (factor * x, factor * y) for broker, (x, y) in self.points.items()}
        return Placed(points, self.tree, factor * self.width, factor * self.height)


def place(overlay: Overlay, spacing: Spacing, traffic: Mapping[Link, int] = _NO_TRAFFIC) -> Placed:
    """Lay out an overlay, along the links with most traffic where there is a choice."""
    tree: set[Link] = set()
    parts: list[dict[str, Point]] = []
    seen: set[str] = set()
    for broker in overlay:
        if broker not in seen:
            spanning = _centred(overlay, broker, traffic)
            seen.update(spanning.order)
            tree.update(Link.between(*pair) for pair in spanning.parent.items())
            parts.append(_place_part(overlay, spanning, spacing))
    points, width, height = _pack(parts, spacing.room)
    return Placed(points, frozenset(tree), width, height)


class _Spanning:
    """The tree of a breadth-first search; ``order`` has parents before their children."""

    def __init__(self, overlay: Overlay, root: str, traffic: Mapping[Link, int]) -> None:
        self.depth = depth = {root: 0}
        found = [root]
        carrying = idle = 0  # how many of them were left over links with traffic, and over others
        while idle < len(found):
            is_carrying = carrying < len(found)
            broker = found[carrying if is_carrying else idle]
            carrying, idle = carrying + is_carrying, idle + (not is_carrying)
            for other in overlay.neighbours(broker):
                if other in depth or (is_carrying and not traffic.get(Link.between(broker, other))):
                    continue
                depth[other] = depth[broker] + 1
                found.append(other)
        self.order = sorted(found, key=depth.__getitem__)
        self.parent: dict[str, str] = {}
        self.children: dict[str, list[str]] = {broker: [] for broker in self.order}
        places = {broker: place for place, broker in enumerate(self.order)}
        for broker in self.order[1:]:
            above = depth[broker] - 1
            busiest = max(
                (each for each in overlay.neighbours(broker) if depth[each] == above),
                key=lambda each: (traffic.get(Link.between(broker, each), 0), -places[each]),
            )
            self.parent[broker] = busiest
            self.children[busiest].append(broker)

    def centroid(self) -> str:
        """The broker without which the largest part is smallest; of two, the nearer the root."""
        size = dict.fromkeys(self.order, 1)
        largest = dict.fromkeys(self.order, 0)
        for broker in reversed(self.order):
            above = self.parent.get(broker)
            if above is not None:
                size[above] += size[broker]
                largest[above] = max(largest[above], size[broker])
        total = len(self.order)
        return min(self.order, key=lambda each: max(largest[each], total - size[each]))


def _centred(overlay: Overlay, start: str, traffic: Mapping[Link, int]) -> _Spanning:
    first = _Spanning(overlay, start, traffic)
    # The tree of a search from a broker at the edge is lopsided where there are cycles, so the
    # search is made from its centre once more.
    second = _Spanning(overlay, first.centroid(), traffic)
    return _Spanning(overlay, second.centroid(), traffic)


def _place_part(overlay: Overlay, spanning: _Spanning, spacing: Spacing) -> dict[str, Point]:
    degrees = [len(overlay.neighbours(broker)) for broker in spanning.order]
    is_tree = sum(degrees) == 2 * (len(degrees) - 1)
    if len(degrees) > 1 and max(degrees) <= 2:
        return (_place_line if is_tree else _place_ring)(_in_a_row(overlay, spanning), spacing)
    widest = max(map(len, spanning.children.values()))
    if is_tree and len(degrees) <= _LAYERED and widest <= _WIDEST_FAMILY:
        sides = _tidy(spanning, [spacing.side] * len(degrees))
        if max(sides.values()) - min(sides.values()) <= WIDEST:
            depth = spanning.depth
            return {broker: (side, depth[broker] * spacing.level) for broker, side in sides.items()}
    return _place_circles(spanning, spacing)


def _in_a_row(overlay: Overlay, spanning: _Spanning) -> list[str]:
    """The brokers of a chain from one end to the other, or of a ring all around."""
    brokers = set(spanning.order)
    ends = [each for each in overlay if each in brokers and len(overlay.neighbours(each)) == 1]
    last = ends[0] if ends else spanning.order[0]
    row = {last: None}
    while True:
        further = [other for other in overlay.neighbours(last) if other not in row]
        if not further:
            return list(row)
        last = further[0]
        row[last] = None


def _place_line(row: Sequence[str], spacing: Spacing) -> dict[str, Point]:
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


def _place_ring(row: Sequence[str], spacing: Spacing) -> dict[str, Point]:
    radius = max(spacing.level, _STRETCH * spacing.side * len(row) / tau)
    return {broker: _polar(radius, tau * number / len(row)) for number, broker in enumerate(row)}


def _place_circles(spanning: _Spanning, spacing: Spacing) -> dict[str, Point]:
    deepest = max(spanning.depth.values())
    for power in _POWERS:
        radii = [depth**power for depth in range(deepest + 1)]
        angles, around = _angles(spanning, [spacing.side / max(radius, 1.0) for radius in radii])
        gap = max(spacing.level, around / tau)
        if gap * (radii[-1] - radii[-2]) >= spacing.level:
            break
    return {
        broker: _polar(gap * radii[spanning.depth[broker]], tau * angle / around)
        for broker, angle in angles.items()
    }


def _angles(spanning: _Spanning, apart: Sequence[float]) -> tuple[dict[str, float], float]:
    """How far to the side brokers are, and how far it is all around."""
    angles = _tidy(spanning, apart)
    lowest, highest = [0.0] * len(apart), [0.0] * len(apart)
    for broker, angle in angles.items():
        depth = spanning.depth[broker]
        lowest[depth] = min(angle, lowest[depth])
        highest[depth] = max(angle, highest[depth])
    widths = zip(lowest, highest, apart, strict=True)
    return angles, max(high - low + room for low, high, room in widths)


def _polar(radius: float, angle: float) -> Point:
    """A point by its distance from the middle and its angle clockwise from the top."""
    return radius * sin(angle), -radius * cos(angle)


def _tidy(spanning: _Spanning, apart: Sequence[float]) -> dict[str, float]:
    """How far to the side each broker is, those on a level at least so far ``apart``.

    Small subtrees between large ones lean to the side on which they were added, so the mean of
    both ways is taken; what stands apart in both stands apart in the mean.
    """
    one = _tidy_one_way(spanning, apart, 1)
    other = _tidy_one_way(spanning, apart, -1)
    return {broker: (one[broker] - other[broker]) / 2 for broker in one}


def _tidy_one_way(spanning: _Spanning, apart: Sequence[float], step: int) -> dict[str, float]:
    offsets: dict[str, float] = {}
    outlines: dict[str, tuple[list[float], list[float]]] = {}
    for broker in reversed(spanning.order):
        below = spanning.depth[broker] + 1
        left: list[float] = []
        right: list[float] = []
        places: list[float] = []
        children = spanning.children[broker][::step]
        for child in children:
            child_left, child_right = outlines.pop(child)
            place = 0.0
            for level, (edge, own) in enumerate(zip(right, child_left, strict=False)):
                room = apart[below + level] * (_COUSINS if level else 1)
                place = max(place, edge - own + room)
            places.append(place)
            left += [place + each for each in child_left[len(left) :]]
            right[: len(child_right)] = [place + each for each in child_right]
        middle = (places[0] + places[-1]) / 2 if places else 0.0
        for child, place in zip(children, places, strict=True):
            offsets[child] = place - middle
        outlines[broker] = (
            [0.0, *(each - middle for each in left)],
            [0.0, *(each - middle for each in right)],
        )
    sides = {spanning.order[0]: 0.0}
    for broker in spanning.order[1:]:
        sides[broker] = sides[spanning.parent[broker]] + offsets[broker]
    return sides


def _pack(parts: Sequence[dict[str, Point]], room: float) -> tuple[dict[str, Point], float, float]:
    """The parts beside each other, in rows, and how wide and high that is."""
    boxes = []
    for part in parts:
        across, down = [x for x, _ in part.values()], [y for _, y in part.values()]
        boxes.append((part, min(across), min(down), max(across), max(down)))
    boxes.sort(key=lambda box: box[2] - box[4])  # the highest first; the order of equals stays
    sizes = [(x2 - x1 + 2 * room, y2 - y1 + 2 * room) for _, x1, y1, x2, y2 in boxes]
    area = sum(wide * high for wide, high in sizes)
    widest = max([sqrt(_RATIO * area), *(wide for wide, _ in sizes)], default=0.0)
    points: dict[str, Point] = {}
    left = top = width = height = 0.0
    for (part, x1, y1, _, _), (wide, high) in zip(boxes, sizes, strict=True):
        if left and left + wide > widest:
            left, top = 0.0, height
        for broker, (x, y) in part.items():
            points[broker] = (left + room + x - x1, top + room + y - y1)
        left += wide
        width, height = max(width, left), max(height, top + high)
    return points, width, height
