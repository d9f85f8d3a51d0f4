"""Where the names of brokers go, and the plates with the numbers of their clients.

A name stands below its broker, or above, or at a side, or at a corner: at the first of these
places where it covers nothing, otherwise where it covers least.  Another name, a broker or
the edge of the picture counts far more than a link; and of links, each that is touched counts,
so that the end of one is hidden only where links leave to all sides.  Plates choose among the
corners that names have left, in the same way.

::

      1 2 3      the places around a broker, in order of preference:
      4 o 5      7, 2, 5, 4, 8, 6, 3, 1
      6 7 8

Cost: brokers times the points of links, some 4 units apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final, NamedTuple

from twigcast.simulation.drawing_curves import Curve
from twigcast.simulation.drawing_layout import Point

_APART: Final = 4.0
"""Between the points of a link that are looked at."""
_OFF: Final = 3.0
"""Between a broker and its name."""
PLATE: Final = 13.0
"""The height of a plate."""
_HEAVY: Final = 1000.0
_PLACES: Final = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1))
_CORNERS: Final = ((1, 1), (1, -1), (-1, 1), (-1, -1))
_AT_CORNER: Final = 0.8
"""How far from the middle of a broker a plate at its corner is, across and down, in radii."""


class Box(NamedTuple):
    """A rectangle by its edges."""

    left: float
    top: float
    right: float
    bottom: float

    @staticmethod
    def around(x: float, y: float, width: float, height: float) -> Box:
        """The box with that middle."""
        return Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    @property
    def middle(self) -> Point:
        """The point in the middle."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def meets(self, other: Box) -> bool:
        """Whether the two have room in common."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def holds(self, point: Point) -> bool:
        """Whether the point lies within."""
        return self.left < point[0] < self.right and self.top < point[1] < self.bottom


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What names and plates should not cover; the picture goes from (0, 0) to ``frame``."""

    points: Mapping[str, Point]
    radius: float
    curves: Sequence[Curve]
    frame: Point


def place_names(
    around: Surroundings, names: Mapping[str, tuple[float, float]], plates: Mapping[str, float]
) -> tuple[dict[str, Box], dict[str, Box]]:
    """The boxes of names with those widths and heights, and of plates with those widths."""
    links = [tuple(_points(curve)) for curve in around.curves]
    circles = {
        broker: Box.around(*point, 2 * around.radius, 2 * around.radius)
        for broker, point in around.points.items()
    }
    put_names: dict[str, Box] = {}
    for broker, (width, height) in names.items():
        x, y = around.points[broker]
        taken = [*(circles[other] for other in circles if other != broker), *put_names.values()]
        near = _near(links, (x, y), around.radius + width + 2 * _OFF)
        boxes = [_beside(x, y, around.radius, place, width, height) for place in _PLACES]
        put_names[broker] = min(boxes, key=lambda box: _cost(box, taken, near, around.frame))
    put_plates: dict[str, Box] = {}
    for broker, width in plates.items():
        x, y = around.points[broker]
        off = _AT_CORNER * around.radius
        near = _near(links, (x, y), around.radius + width)
        boxes = [Box.around(x + a * off, y + d * off, width, PLATE) for a, d in _CORNERS]
        taken = list(put_names.values())
        put_plates[broker] = min(boxes, key=lambda box: _cost(box, taken, near, around.frame))
    return put_names, put_plates


def _points(curve: Curve) -> Iterator[Point]:
    count = ceil(curve.length / _APART) + 1
    return (curve.at(number / count) for number in range(count + 1))


def _near(links: Iterable[Sequence[Point]], point: Point, distance: float) -> list[Sequence[Point]]:
    """Of each link that comes so near, the part that does."""
    box = Box.around(*point, 2 * distance, 2 * distance)
    found = ([each for each in points if box.holds(each)] for points in links)
    return [points for points in found if points]


def _beside(
    x: float, y: float, radius: float, place: tuple[int, int], width: float, height: float
) -> Box:
    across, down = place
    # At a corner a name may come nearer, since the broker is round.
    off = radius + _OFF if not across or not down else 0.75 * radius + _OFF
    return Box.around(x + across * (off + width / 2), y + down * (off + height / 2), width, height)


def _cost(box: Box, taken: Iterable[Box], links: Iterable[Sequence[Point]], frame: Point) -> float:
    heavy = sum(box.meets(each) for each in taken)
    heavy += box.left < 0 or box.top < 0 or box.right > frame[0] or box.bottom > frame[1]
    return _HEAVY * heavy + _touched(box, links)


def _touched(box: Box, links: Iterable[Sequence[Point]]) -> float:
    """The links that a box covers, and by how much, which tells equals apart."""
    covered = (sum(map(box.holds, points)) for points in links)
    return sum(1 + count / 1000 for count in covered if count)
