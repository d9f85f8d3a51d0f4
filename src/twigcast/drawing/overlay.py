"""Pictures of an overlay and its traffic.

Brokers have their names inside (:mod:`twigcast.drawing.overlay_layout`); the links of the tree are
straight, others curves that keep clear of brokers where they can.  The thickness of a link grows
with the 0.4th power of its traffic, from the busiest one down: ten times less is 2.5 times thinner,
so links differ over two powers of ten, and below that all that carry anything are as thin as can
well be seen.  Links without traffic are thinner still, grey and, beside others with traffic,
dashed.  The orange part of a link is the part of its traffic that nobody beyond it wanted.

Units are frames with their names, in which brokers have the last part of theirs; gateways are
coloured.

The more links meet at a broker, the thinner all are: else they would merge for most of their
length.  A drawing with a side longer than :data:`overlay_layout.WIDEST` is made smaller.  Names and
counts show when the pointer rests on a shape, also where there are too many brokers for labels.

Cost: linear, but for curves, which look at all brokers up to 200 of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import tau
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from twigcast.drawing import svg
from twigcast.drawing.curves import Curve, clear_curve
from twigcast.drawing.labels import columns, printable, shorten
from twigcast.drawing.overlay_layout import (
    FRAME,
    HEADING,
    WIDEST,
    Graph,
    Pair,
    Spacing,
    lay_out,
    unit_of,
)
from twigcast.errors import OverlayError

_TRAFFIC: Final = "#1971c2"
_WASTED: Final = "#f08c00"
_NO_TRAFFIC: Final = "#adb5bd"
_POWER: Final = 0.4
_THINNEST: Final = 0.15
"""As a part of the thickest; a link without traffic has half of that."""
_LEAST_SEEN: Final = 0.5
"""But no link is thinner, where the thickest one is not."""
_LONGEST_LABEL: Final = 18
_SHORT_LABEL: Final = 4
"""Labels of so many columns go into a circle."""
_EASY_TO_HIT: Final = 9.0
_LEAST_SHARE: Final = 0.05
_PLATE: Final = 13.0
_UNIT_FONT: Final = 11.0
_LOOKED_AT: Final = 200
"""Curves keep clear of brokers where there are no more than this."""

LinkT = TypeVar("LinkT", bound=Pair)
_NOTHING: Final[Mapping[Any, int]] = MappingProxyType({})


class _Look(NamedTuple):
    """Sizes that depend on how many brokers there are; a ``font`` of 0 means no labels.

    Where it ``is_roomy`` there is room for long labels, and for the number of clients.
    """

    radius: float
    font: float
    side: float
    level: float
    thickest: float
    is_roomy: bool = False


_LOOKS: Final = (
    (16, _Look(16, 11.5, 66, 88, 13, is_roomy=True)),
    (60, _Look(15, 11, 46, 84, 12, is_roomy=True)),
    (200, _Look(10, 6.5, 27, 60, 9)),
    (500, _Look(5, 0, 14, 36, 8)),
)
_SMALLEST: Final = _Look(3.5, 0, 10, 26, 6)


def draw_overlay(
    overlay: Graph,
    traffic: Mapping[LinkT, int] | None = None,
    *,
    clients: Mapping[str, int] = _NOTHING,
    wasted: Mapping[LinkT, int] = _NOTHING,
    title: str = "",
) -> str:
    """The overlay as SVG.

    ``traffic`` is the number of messages on each link, in both directions; without it, messages
    are not mentioned.  ``wasted`` is how many of them nobody beyond the link wanted, ``clients``
    how many clients each broker has; what is absent counts 0.  Raises
    :class:`~twigcast.errors.OverlayError` for links and brokers that the overlay does not have,
    and for counts that cannot be.
    """
    return _Picture(overlay, traffic, clients, wasted).draw(printable(title))


class _Picture:
    """One drawing: sizes, points, and the shapes made of them."""

    def __init__(
        self,
        overlay: Graph,
        traffic: Mapping[LinkT, int] | None,
        clients: Mapping[str, int],
        wasted: Mapping[LinkT, int],
    ) -> None:
        self._overlay = overlay
        self._counts_messages = traffic is not None
        self._traffic = dict[Pair, int]((traffic or _NOTHING).items())
        self._wasted = dict[Pair, int](wasted.items())
        self._clients = clients
        self._check()
        self._busiest = max(self._traffic.values(), default=0)
        self._look = look = next((each for most, each in _LOOKS if len(overlay) <= most), _SMALLEST)
        self._labels = {
            broker: shorten(
                broker.rpartition("/")[2] if unit_of(broker) else broker, _LONGEST_LABEL
            )
            for broker in overlay
        }
        longest = max(map(columns, self._labels.values()), default=0)
        # Brokers are circles; where one has a longer name, all are boxes with round ends.
        self._is_boxed = longest > _SHORT_LABEL and look.is_roomy
        self._height = 22.0 if self._is_boxed else 2 * look.radius
        if not look.font or (longest > _SHORT_LABEL and not self._is_boxed):
            self._labels = dict.fromkeys(overlay, "")
        widest = max(map(self._width, overlay), default=0.0)
        side = widest + 14 if self._is_boxed else 0.0
        spacing = Spacing(max(look.side, side), look.level, widest / 2 + 14)
        self._layout = lay_out(overlay, spacing, self._traffic)
        self._scale = min(1.0, WIDEST / max(*self._layout.frame, 1.0))
        self._curves = {link: self._curve(link) for link in overlay.links}
        # Where many links meet, the broker and an eighth of each link may be a single blot.
        most = max((len(overlay.neighbours(broker)) for broker in overlay), default=0)
        blot = max(1.3 * tau * look.radius / max(most, 1), spacing.side / 8)
        self._thickest = min(look.thickest, blot)

    def _check(self) -> None:
        for link in (*self._traffic, *self._wasted):
            name = "-".join(link)
            messages, wasted = self._traffic.get(link, 0), self._wasted.get(link, 0)
            if link not in self._overlay.links:
                raise OverlayError(f"traffic is on links of the overlay, and {name} is none")
            if messages < 0:
                raise OverlayError(f"the link {name}: there cannot be {messages} messages on it")
            if not 0 <= wasted <= messages:
                raise OverlayError(
                    f"the link {name}: {wasted} messages of {messages} cannot be wasted"
                )
        for broker, count in self._clients.items():
            if broker not in self._overlay:
                raise OverlayError(f"there is no broker {broker!r} for {count} clients to be at")
            if count < 0:
                raise OverlayError(f"the broker {broker!r} cannot have {count} clients")

    def _width(self, broker: str) -> float:
        words = svg.text_width(self._labels[broker], self._look.font)
        return max(self._height, words + 14 if self._is_boxed else 0.0)

    def _curve(self, link: Pair) -> Curve:
        points = self._layout.points
        start, end = points[link[0]], points[link[1]]
        if link in self._layout.tree:
            return Curve.between(start, end)
        others = points.values() if len(points) <= _LOOKED_AT else ()
        return clear_curve(start, end, others, 1.6 * self._look.radius, self._layout.frame)

    def draw(self, title: str) -> str:
        # The busiest links last, so that they are not hidden.
        links = sorted(self._overlay.links, key=lambda link: self._traffic.get(link, 0))
        units = self._layout.units
        drawing = [
            *map(self._frame, units),
            *map(self._link, links),
            *map(self._heading, units),
            *map(self._broker, self._overlay),
        ]
        samples, lines = self._legend_samples(), self._legend_lines()
        return svg.page(drawing, *self._layout.frame, samples, lines, title, self._scale)

    def _frame(self, unit: str) -> str:
        (left, top), (right, bottom) = self._layout.units[unit]
        middle = (left + right) / 2, (top + bottom) / 2
        return svg.titled(unit, svg.box(*middle, right - left, bottom - top, "unit", FRAME))

    def _heading(self, unit: str) -> str:
        (left, top), (right, _) = self._layout.units[unit]
        most = int((right - left - 2 * FRAME) / svg.text_width("m", _UNIT_FONT))
        name = shorten(unit.rpartition("/")[2], max(most, 1))
        return svg.text(left + FRAME, top + HEADING, name, svg.PALE, font=_UNIT_FONT, halo=True)

    def _link(self, link: Pair) -> str:
        traffic, wasted = self._traffic.get(link, 0), self._wasted.get(link, 0)
        curve, width = self._curves[link], self._thickness(traffic)
        said = f"{link[0]} – {link[1]}"
        if self._counts_messages:
            said += f": {_count(traffic, 'message')}"
        if wasted:
            said += f", {wasted:,} of them ({wasted / traffic:.1%}) wanted by nobody beyond"
        # The more links cross each other, the paler they are.
        redundant = len(self._overlay.links) - len(self._layout.tree)
        opacity = None if link in self._layout.tree else max(0.35, 1 - redundant / 150)
        colour = _TRAFFIC if traffic else _NO_TRAFFIC
        pieces = [(curve, colour)]
        if wasted:
            # The middle of what is visible of a link, as much of it as the share says.
            visible = max(0.2, 1 - 2 * self._look.radius / max(curve.length, 1.0))
            half = visible * max(_LEAST_SHARE, wasted / traffic) / 2
            cuts = ((0.0, 0.5 - half), (0.5 - half, 0.5 + half), (0.5 + half, 1.0))
            colours = (colour, _WASTED, colour)
            pieces = [(curve.piece(*cut), one) for cut, one in zip(cuts, colours, strict=True)]
        dashes = None if traffic else self._dashes
        lines = [
            svg.line(str(piece), one, width, stroke_dasharray=dashes, stroke_opacity=opacity)
            for piece, one in pieces
        ]
        if width < _EASY_TO_HIT and self._look.font:
            lines.insert(0, svg.line(str(curve), svg.PAPER, _EASY_TO_HIT, stroke_opacity=0))
        return svg.titled(said, *lines)

    @property
    def _dashes(self) -> str | None:
        """Of links without traffic: dashed, but where no link has any."""
        return "5 3.5" if self._busiest else None

    def _thickness(self, traffic: int) -> float:
        thickest = self._thickest
        thinnest = max(_THINNEST * thickest, min(_LEAST_SEEN, thickest))
        if not traffic:
            return max(thinnest / 2, min(_LEAST_SEEN, thinnest))
        part: float = (traffic / self._busiest) ** _POWER
        return max(thinnest, thickest * part)

    def _broker(self, broker: str) -> str:
        look, height, width = self._look, self._height, self._width(broker)
        x, y = self._layout.points[broker]
        clients = self._clients.get(broker, 0)
        links = len(self._overlay.neighbours(broker))
        unit = self._overlay.gateways.get(broker)
        style = "plain" if unit is None else "gateway"
        stands_for = "" if unit is None else f", gateway of {unit}"
        if clients and not look.is_roomy:
            style = "clients"
        ink = svg.STYLES[style].ink
        return svg.titled(
            f"{broker}{stands_for}: {_count(links, 'link')}, {_count(clients, 'client')}",
            svg.box(x, y, width, height, style, height / 2),
            svg.text(x, y, self._labels[broker], ink, font=look.font, centred=True),
            _plate(x + width / 2 - 0.1 * height, y - 0.45 * height, clients)
            if look.is_roomy
            else "",
        )

    def _legend_samples(self) -> Iterator[tuple[str, str]]:
        sample = Curve((0, 0), (svg.SAMPLE / 2, 0), (svg.SAMPLE, 0))
        for traffic in _samples(self._busiest):
            thickness = self._scale * self._thickness(traffic)
            yield svg.line(str(sample), _TRAFFIC, thickness), _count(traffic, "message")
        if any(not self._traffic.get(link) for link in self._overlay.links):
            said = "no messages" if self._busiest else "link"
            thickness = self._scale * self._thickness(0)
            yield svg.line(str(sample), _NO_TRAFFIC, thickness, stroke_dasharray=self._dashes), said
        if any(self._wasted.values()):
            wasted = svg.line(str(sample.piece(0.35, 0.65)), _WASTED, 6)
            yield svg.line(str(sample), _TRAFFIC, 6) + wasted, "the part that nobody beyond wants"
        if self._overlay.gateways:
            yield svg.box(svg.SAMPLE / 2, 0, 22, 14, "gateway", 7), "gateway"
        if any(self._clients.values()):
            if self._look.is_roomy:
                yield _plate(svg.SAMPLE / 2, 0, 3), "clients at a broker"
            else:
                yield svg.box(svg.SAMPLE / 2, 0, 10, 10, "clients", 5), "broker with clients"

    def _legend_lines(self) -> Iterator[str]:
        total, wasted = sum(self._traffic.values()), sum(self._wasted.values())
        counts = [_count(len(self._overlay), "broker"), _count(len(self._overlay.links), "link")]
        if self._counts_messages:
            counts.append(_count(total, "message"))
        if wasted:
            counts.append(f"{wasted:,} wasted ({wasted / total:.1%})")
        if self._clients:
            counts.append(_count(sum(self._clients.values()), "client"))
        yield ", ".join(counts)
        if not all(self._labels.values()):
            yield "a name shows when the pointer rests on its broker"


def _samples(busiest: int) -> list[int]:
    """The most that a link carries, and round numbers about ten and a hundred times less."""
    samples = {busiest} if busiest else set()
    for part in (10, 100):
        digits = str(busiest // part)
        if busiest >= part:
            leading = max(each for each in (1, 2, 5) if each <= int(digits[0]))
            samples.add(leading * 10 ** (len(digits) - 1))
    return sorted(samples, reverse=True)


def _plate(x: float, y: float, clients: int) -> str:
    """A small plate with the number of clients, if there are any."""
    if not clients:
        return ""
    words = f"{clients}"
    if clients >= 1000:
        words = f"{clients / 1000:.1f}k" if clients < 10_000 else f"{clients // 1000:,}k"
    width = max(_PLATE, svg.text_width(words, 9) + 6)
    ground = svg.box(x, y, width, _PLATE, "clients", 6)
    return ground + svg.text(x, y, words, svg.PAPER, font=9, centred=True)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
