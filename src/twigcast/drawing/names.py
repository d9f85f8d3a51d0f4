"""Where the names of brokers stand, and the plates with the numbers of their clients.

A name stands below its broker, or above, or at a side, or at a corner: in the first of these spots
where it covers nothing, otherwise where it covers least.  Another name, a broker or the edge of
the picture counts far more than a link; and of links, each that is touched counts, so that the end
of one is hidden only where links leave to all sides.  Plates choose among the corners that names
have left, in the same manner.

::

      1 2 3      the spots around a broker, in order of preference:
      4 o 5      7, 2, 5, 4, 8, 6, 3, 1
      6 7 8

Cost: brokers times the points of links, some 4 units apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Final, NamedTuple

from twigcast.drawing.curves import Curve, Point

PLATE: Final = 13.0
"""The height of a plate."""
_APART: Final = 4.0
"""Between the points of a link that are looked at."""
_OFF: Final = 3.0
"""Between a broker and its name."""
_HEAVY: Final = 1000.0
_SPOTS: Final = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1))
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
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def holds(self, point: Point) -> bool:
        """Whether the point lies within."""
        return self.left < point[0] < self.right and self.top < point[1] < self.bottom


class Surroundings:
    """What names and plates should not cover; the picture goes from (0, 0) to ``frame``."""

    def __init__(
        self, points: Mapping[str, Point], radius: float, curves: Iterable[Curve], frame: Point
    ) -> None:
        self._points = points
        self._radius = radius
        self._frame = frame
        self._links = []
        for curve in curves:
            count = ceil(curve.length / _APART) + 1
            self._links.append([curve.at(number / count) for number in range(count + 1)])

    def place_names(self, sizes: Mapping[str, tuple[float, float]]) -> dict[str, Box]:
        """A box for the name of each broker, given its width and height."""
        size = 2 * self._radius
        circles = {name: Box.around(*point, size, size) for name, point in self._points.items()}
        boxes: dict[str, Box] = {}
        for broker, (width, height) in sizes.items():
            taken = [*(circles[other] for other in circles if other != broker), *boxes.values()]
            spots = []
            for across, down in _SPOTS:
                # At a corner a name may come nearer, since the broker is round.
                off = self._radius * (0.75 if across and down else 1) + _OFF
                spots.append((across * (off + width / 2), down * (off + height / 2)))
            boxes[broker] = self._clearest(broker, spots, width, height, taken)
        return boxes

    def place_plates(self, widths: Mapping[str, float], names: Iterable[Box]) -> dict[str, Box]:
        """A box for the plate of each broker, given its width, and where names stand."""
        off = _AT_CORNER * self._radius
        spots = [(across * off, down * off) for across, down in _CORNERS]
        taken = list(names)
        return {
            broker: self._clearest(broker, spots, width, PLATE, taken)
            for broker, width in widths.items()
        }

    def _clearest(
        self,
        broker: str,
        spots: Iterable[Point],
        width: float,
        height: float,
        taken: Sequence[Box],
    ) -> Box:
        x, y = self._points[broker]
        reach = 2 * (self._radius + width + 2 * _OFF)
        area = Box.around(x, y, reach, reach)
        near = [[point for point in points if area.holds(point)] for points in self._links]

        def cost(box: Box) -> float:
            heavy = sum(box.meets(each) for each in taken)
            heavy += not (box.left >= 0 and box.right <= self._frame[0])
            heavy += not (box.top >= 0 and box.bottom <= self._frame[1])
            covered = (sum(map(box.holds, points)) for points in near)
            # How much of a link is covered decides between equals.
            return _HEAVY * heavy + sum(1 + count / 1000 for count in covered if count)

        boxes = [Box.around(x + across, y + down, width, height) for across, down in spots]
        return min(boxes, key=cost)
