"""Curves from broker to broker: straight, or bent around the brokers between them."""

from __future__ import annotations

from collections.abc import Collection
from math import hypot
from typing import Final, NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, float]

_BENDS: Final = (0.1, -0.1, 0.2, -0.2, 0.32, -0.32, 0.48, -0.48)
"""How far a curve may go to the side, as a part of its length, in order of preference."""
_SAMPLES: Final = tuple(number / 16 for number in range(1, 16))


class Curve(NamedTuple):
    """A quadratic Bézier curve; straight if ``bend`` lies on the line between the ends."""

    start: Point
    bend: Point
    end: Point

    @staticmethod
    def between(start: Point, end: Point, bend: float = 0.0) -> Curve:
        """A curve that is ``bend`` times its length away from the straight line, to the right."""
        (x1, y1), (x2, y2) = start, end
        # The curve gets half as far as the point that bends it.
        across, down = -2 * bend * (y2 - y1), 2 * bend * (x2 - x1)
        return Curve(start, ((x1 + x2) / 2 + across, (y1 + y2) / 2 + down), end)

    @property
    def length(self) -> float:
        """The distance between the ends."""
        return hypot(self.end[0] - self.start[0], self.end[1] - self.start[1])

    def at(self, part: float) -> Point:
        """The point at a part of the curve, from 0 to 1."""
        return self._blend(part, part)

    def _blend(self, one: float, other: float) -> Point:
        """De Casteljau's construction, with a parameter of its own for each round."""
        first = _between(self.start, self.bend, one)
        return _between(first, _between(self.bend, self.end, one), other)

    def piece(self, begin: float, finish: float) -> Curve:
        """The curve from one part of it to another."""
        return Curve(self.at(begin), self._blend(begin, finish), self.at(finish))

    def clearance(self, points: Collection[Point], frame: Point) -> float:
        """The least distance to any of the points; less than 0 if the curve leaves the frame."""
        path = list(map(self.at, _SAMPLES))
        if not all(0 <= x <= frame[0] and 0 <= y <= frame[1] for x, y in path):
            return -1.0
        distances = (hypot(across - x, down - y) for x, y in path for across, down in points)
        return min(distances, default=self.length)

    def __str__(self) -> str:
        """The curve as the ``d`` of a path."""
        (x1, y1), (x2, y2), (x3, y3) = self
        if abs((x2 - x1) * (y3 - y1) - (y2 - y1) * (x3 - x1)) < 0.01 * self.length:
            return f"M{x1:.1f},{y1:.1f} L{x3:.1f},{y3:.1f}"
        return f"M{x1:.1f},{y1:.1f} Q{x2:.1f},{y2:.1f} {x3:.1f},{y3:.1f}"


def clear_curve(
    start: Point, end: Point, points: Collection[Point], enough: float, frame: Point
) -> Curve:
    """The gentlest curve that keeps ``enough`` away from the points, or else the clearest one.

    ``points`` may have the ends among them.  Where all curves would leave the picture, from (0, 0)
    to ``frame``, the line is straight.
    """
    others = [point for point in points if point not in (start, end)]
    best, most = Curve.between(start, end), -1.0
    for bend in _BENDS:
        curve = Curve.between(start, end, bend)
        clearance = curve.clearance(others, frame)
        if clearance >= enough:
            return curve
        if clearance > most:
            best, most = curve, clearance
    return best


def _between(one: Point, other: Point, part: float) -> Point:
    return one[0] + (other[0] - one[0]) * part, one[1] + (other[1] - one[1]) * part
