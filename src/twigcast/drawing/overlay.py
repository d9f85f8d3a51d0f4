"""Pictures of an overlay and its traffic.

Brokers are circles (:mod:`twigcast.drawing.overlay_layout`); the links of the tree are straight,
others curves that keep clear of brokers where they can.  The thickness of a link grows with the
0.4th power of its traffic, from the busiest one down: ten times less is 2.5 times thinner, so links
differ over two powers of ten, and below that all that carry anything are as thin as can well be
seen.  Links without traffic are thinner still, grey and, beside others with traffic, dashed.  The
orange part of a link is the part of its traffic that nobody beyond it wanted.

The more links meet at a broker, the thinner all are: else they would merge for most of their
length.  No side of a picture is much longer than :data:`overlay_layout.WIDEST`; what would be
larger is made smaller, brokers and names with it.  Names and counts show when the pointer rests on
a shape, also where a picture has too many brokers for labels.

Cost: linear, but for curves, which look at all brokers up to 200 of them, and for names, of which
there are up to 60.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import hypot, tau
from types import MappingProxyType
from typing import Any, Final, TypeVar

from twigcast.drawing import svg
from twigcast.drawing.curves import Curve, clear_curve
from twigcast.drawing.labels import columns, printable, shorten
from twigcast.drawing.names import PLATE, Box, Surroundings
from twigcast.drawing.overlay_layout import WIDEST, Graph, Layout, Pair, Spacing, lay_out
from twigcast.errors import OverlayError

_TRAFFIC: Final = "#1971c2"
_WASTED: Final = "#f08c00"
_NO_TRAFFIC: Final = "#adb5bd"
_CLIENTS: Final = "#0b7285"
_POWER: Final = 0.4
_THINNEST: Final = 0.15
"""As a part of the thickest; a link without traffic has half of that."""
_LEAST_SEEN: Final = 0.5
"""But no link is thinner, where the thickest one is not."""
_BLOT: Final = 0.12
"""The part of links that may be hidden where they meet, if more than the broker is."""
_LONGEST_LABEL: Final = 18
_INSIDE: Final = 4
"""Labels of so many columns go into the circle; if one is longer, all are beside theirs."""
_LEAST_FONT: Final = 5.0
_EASY_TO_HIT: Final = 9.0
_LEAST_SHARE: Final = 0.05
_TITLE: Final = 16.0
_LOOKED_AT: Final = 200
"""Curves keep clear of brokers where there are no more than this."""

LinkT = TypeVar("LinkT", bound=Pair)
_NOTHING: Final[Mapping[Any, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Look:
    """Sizes that depend on how many brokers there are; a ``font`` of 0 means no labels.

    Where it ``is_roomy`` there is room for long labels, and for the number of clients.
    """

    radius: float
    font: float
    side: float
    level: float
    thickest: float
    is_roomy: bool = False

    def scaled(self, factor: float) -> _Look:
        """All of it smaller; without labels where they could not be read."""
        font = self.font * factor
        is_legible = font >= _LEAST_FONT
        return _Look(
            self.radius * factor,
            font if is_legible else 0.0,
            self.side * factor,
            self.level * factor,
            self.thickest * factor,
            self.is_roomy and is_legible,
        )


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
    carried = dict[Pair, int]((traffic or _NOTHING).items())
    lost = dict[Pair, int](wasted.items())
    for link in (*carried, *lost):
        name, messages, useless = "-".join(link), carried.get(link, 0), lost.get(link, 0)
        if link not in overlay.links:
            raise OverlayError(f"traffic is on links of the overlay, and {name} is none")
        if messages < 0:
            raise OverlayError(f"the link {name}: there cannot be {messages} messages on it")
        if not 0 <= useless <= messages:
            raise OverlayError(
                f"the link {name}: {useless} messages of {messages} cannot be wasted"
            )
    for broker, count in clients.items():
        if broker not in overlay:
            raise OverlayError(f"there is no broker {broker!r} for {count} clients to be at")
        if count < 0:
            raise OverlayError(f"the broker {broker!r} cannot have {count} clients")
    picture = _Picture(overlay, carried, clients, lost, counts_messages=traffic is not None)
    return picture.draw(printable(title))


class _Picture:
    """One drawing: sizes, points, and the shapes made of them."""

    def __init__(
        self,
        overlay: Graph,
        traffic: Mapping[Pair, int],
        clients: Mapping[str, int],
        wasted: Mapping[Pair, int],
        *,
        counts_messages: bool,
    ) -> None:
        self._overlay = overlay
        self._traffic = traffic
        self._clients = clients
        self._wasted = wasted
        self._counts_messages = counts_messages
        self._busiest = max(traffic.values(), default=0)
        self._labels = {broker: shorten(broker, _LONGEST_LABEL) for broker in overlay}
        self._longest = max(map(columns, self._labels.values()), default=0)
        self._look = next((look for most, look in _LOOKS if len(overlay) <= most), _SMALLEST)
        self._layout = self._lay_out()
        self._curves = {link: self._curve(link) for link in overlay.links}
        self._thickest = self._limit_thickness()
        self._names, self._plates = self._place_names()

    @property
    def _are_beside(self) -> bool:
        """Whether labels are beside the brokers instead of inside."""
        return self._longest > _INSIDE and self._look.is_roomy

    def _lay_out(self) -> Layout:
        look = self._look
        side, room = look.side, look.radius + 14
        if self._are_beside:
            width = svg.text_width("m" * self._longest, look.font)
            side = max(side, width + 10)
            room = max(room + look.font, width / 2 + 8)
        layout = lay_out(self._overlay, Spacing(side, look.level, room), self._traffic)
        factor = WIDEST / max(*layout.frame, WIDEST)
        if factor < 1:
            self._look = look.scaled(factor)
        return layout.scaled(factor)

    def _curve(self, link: Pair) -> Curve:
        points = self._layout.points
        start, end = points[link[0]], points[link[1]]
        if link in self._layout.tree:
            return Curve.between(start, end)
        others = points.values() if len(points) <= _LOOKED_AT else ()
        return clear_curve(start, end, others, 1.6 * self._look.radius, self._layout.frame)

    def _limit_thickness(self) -> float:
        """How thick the busiest link is: less where many meet, which would be a single blot."""
        look, points = self._look, self._layout.points
        thickest = look.thickest
        for broker in self._overlay:
            x, y = points[broker]
            others = [points[other] for other in self._overlay.neighbours(broker)]
            if others:
                mean = sum(hypot(across - x, down - y) for across, down in others) / len(others)
                hidden = max(1.3 * look.radius, _BLOT * mean)
                thickest = min(thickest, tau * hidden / len(others))
        return thickest

    def _place_names(self) -> tuple[Mapping[str, Box], Mapping[str, Box]]:
        look = self._look
        if not look.is_roomy:
            return {}, {}
        around = Surroundings(
            self._layout.points, look.radius, self._curves.values(), self._layout.frame
        )
        sizes = {
            broker: (svg.text_width(label, look.font), look.font + 1)
            for broker, label in self._labels.items()
            if self._are_beside
        }
        widths = {broker: _plate_width(count) for broker, count in self._clients.items() if count}
        names = around.place_names(sizes)
        return names, around.place_plates(widths, names.values())

    def draw(self, title: str) -> str:
        legend = svg.Legend(self._legend_items(), self._legend_lines())
        across, down = self._layout.frame
        width = max(across, legend.least_width, svg.text_width(title, _TITLE) + 32)
        top = 34.0 if title else 0.0
        foot, height = legend.draw(top + down + 4, width)
        # The busiest links last, so that they are not hidden.
        links = sorted(self._overlay.links, key=lambda link: self._traffic.get(link, 0))
        shapes = [
            svg.text(16, 26, title, font=_TITLE, weight="bold"),
            f'<g transform="translate({(width - across) / 2:.1f} {top:.1f})">',
            *map(self._link, links),
            *map(self._broker, self._overlay),
            "</g>",
            *foot,
        ]
        return svg.page(width, height, shapes)

    def _link(self, link: Pair) -> str:
        traffic, wasted = self._traffic.get(link, 0), self._wasted.get(link, 0)
        curve, width = self._curves[link], self._thickness(traffic)
        said = f"{link[0]} – {link[1]}"
        if self._counts_messages:
            said += f": {traffic:,} messages"
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
        look = self._look
        x, y = self._layout.points[broker]
        clients = self._clients.get(broker, 0)
        links = len(self._overlay.neighbours(broker))
        marked = clients > 0 and not look.is_roomy
        fill, stroke = (_CLIENTS, "#084c59") if marked else (svg.BOX, svg.SOFT)
        width = 1.2 if look.font else 0.8
        shapes = [
            svg.shape(
                "circle", cx=x, cy=y, r=look.radius, fill=fill, stroke=stroke, stroke_width=width
            )
        ]
        label = self._labels[broker]
        if broker in self._names:
            across, down = self._names[broker].middle
            base = down + 0.3 * (look.font + 1)
            shapes.append(svg.text(across, base, label, font=look.font, middle=True, halo=True))
        elif look.font and self._longest <= _INSIDE:
            colour = svg.PAPER if marked else svg.INK
            shapes.append(
                svg.text(x, y + 0.35 * look.font, label, colour, font=look.font, middle=True)
            )
        if broker in self._plates:
            shapes.append(_plate(*self._plates[broker].middle, clients))
        return svg.titled(
            f"{broker}: {_count(links, 'link')}, {_count(clients, 'client')}", *shapes
        )

    def _legend_items(self) -> Iterator[tuple[str, str]]:
        sample = Curve((0, 0), (svg.SAMPLE / 2, 0), (svg.SAMPLE, 0))
        for traffic in _samples(self._busiest):
            yield (
                svg.line(str(sample), _TRAFFIC, self._thickness(traffic)),
                _count(traffic, "message"),
            )
        if any(not self._traffic.get(link) for link in self._overlay.links):
            said = "no messages" if self._busiest else "link"
            thin = self._thickness(0)
            yield svg.line(str(sample), _NO_TRAFFIC, thin, stroke_dasharray=self._dashes), said
        if any(self._wasted.values()):
            wasted = svg.line(str(sample.piece(0.35, 0.65)), _WASTED, 6)
            yield svg.line(str(sample), _TRAFFIC, 6) + wasted, "the part that nobody beyond wants"
        if any(self._clients.values()):
            if self._look.is_roomy:
                yield _plate(svg.SAMPLE / 2, 0, 3), "clients at a broker"
            else:
                yield (
                    svg.shape("circle", cx=svg.SAMPLE / 2, cy=0, r=5, fill=_CLIENTS),
                    "broker with clients",
                )

    def _legend_lines(self) -> list[str]:
        total, wasted = sum(self._traffic.values()), sum(self._wasted.values())
        counts = [_count(len(self._overlay), "broker"), _count(len(self._overlay.links), "link")]
        if self._counts_messages:
            counts.append(_count(total, "message"))
        if wasted:
            counts.append(f"{wasted:,} wasted ({wasted / total:.1%})")
        if self._clients:
            counts.append(_count(sum(self._clients.values()), "client"))
        lines = [", ".join(counts)]
        if not self._are_beside and (not self._look.font or self._longest > _INSIDE):
            lines.append("a name shows when the pointer rests on its broker")
        return lines


def _samples(busiest: int) -> list[int]:
    """The most that a link carries, and round numbers about ten and a hundred times less."""
    samples = {busiest} if busiest else set()
    for part in (10, 100):
        digits = str(busiest // part)
        if busiest >= part:
            leading = max(each for each in (1, 2, 5) if each <= int(digits[0]))
            samples.add(leading * 10 ** (len(digits) - 1))
    return sorted(samples, reverse=True)


def _plate_words(clients: int) -> str:
    if clients < 1000:
        return f"{clients}"
    return f"{clients / 1000:.1f}k" if clients < 10_000 else f"{clients // 1000:,}k"


def _plate_width(clients: int) -> float:
    return max(PLATE, svg.text_width(_plate_words(clients), 9) + 6)


def _plate(x: float, y: float, clients: int) -> str:
    """A small plate with a number."""
    left, top, right, bottom = Box.around(x, y, _plate_width(clients), PLATE)
    size = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    ground = svg.shape("rect", **size, rx=6, fill=_CLIENTS, stroke=svg.PAPER)
    return ground + svg.text(x, y + 3.2, _plate_words(clients), svg.PAPER, font=9, middle=True)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
