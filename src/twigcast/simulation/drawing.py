"""Pictures of an overlay and its traffic, as SVG of our own that needs nothing else.

Brokers are circles, placed by :mod:`twigcast.simulation.drawing_layout`; the links of the tree are
straight, others curves that keep clear of brokers where they can.  The thickness of a link grows
with the 0.4th power of its traffic, from the busiest one down: ten times less is 2.5 times thinner,
so links differ over two powers of ten, and below that all that carry anything are as thin as can
well be seen.  Links without traffic are thinner still, grey and, beside others with traffic,
dashed.  The part of a link that is orange is the part of its traffic that nobody beyond it wanted.

The more links meet at a broker, the thinner all are: else they would run into one another for most
of their way.  No side of a picture is much longer than :data:`drawing_layout.WIDEST`; what would
be larger is made smaller, brokers and names with it.

Colours are fixed and the background is painted, so a picture looks the same on a light and on a
dark page.  Names and counts show when the pointer rests on a shape, also where a picture has too
many brokers for labels.

Cost: linear, but for finding the way of curves, which looks at all brokers up to 200 of them, and
for the places of names, of which there are up to 60.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import hypot, tau
from xml.sax.saxutils import escape

from twigcast.covering.drawing_labels import columns, printable, shorten
from twigcast.errors import OverlayError
from twigcast.routing import Link, Overlay
from twigcast.simulation.drawing_curves import Curve, clear_curve
from twigcast.simulation.drawing_layout import WIDEST, Placed, Spacing, place
from twigcast.simulation.drawing_legend import CHARACTER, SAMPLE, Legend, text
from twigcast.simulation.drawing_names import PLATE, Box, Surroundings, place_names

_TRAFFIC = "#1971c2"
_WASTED = "#f08c00"
_NO_TRAFFIC = "#adb5bd"
_CLIENTS = "#0b7285"
_POWER = 0.4
_THINNEST = 0.15
"""As a part of the thickest; a link without traffic has half of that."""
_LEAST_SEEN = 0.5
"""But no link is thinner, where the thickest one is not."""
_BLOT = 0.12
"""The part of the way of links that may be hidden where they meet, if more than the broker is."""
_LONGEST_LABEL = 18
_INSIDE = 4
"""Labels of so many columns go into the circle; if one is longer, all are beside theirs."""
_LEAST_FONT = 5.0
_DASHES = "5 3.5"
_EASY_TO_HIT = 9.0
_LEAST_SHARE = 0.05
_TITLE = 16.0
_LOOKED_AT = 200
"""Curves keep clear of brokers where there are no more than this."""
_NO_CLIENTS: Mapping[str, int] = {}
_NO_WASTE: Mapping[Link, int] = {}


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


_LOOKS = (
    (16, _Look(16, 11.5, 66, 88, 13, is_roomy=True)),
    (60, _Look(15, 11, 46, 84, 12, is_roomy=True)),
    (200, _Look(10, 6.5, 27, 60, 9)),
    (500, _Look(5, 0, 14, 36, 8)),
)
_SMALLEST = _Look(3.5, 0, 10, 26, 6)


def draw_overlay(
    overlay: Overlay,
    traffic: Mapping[Link, int],
    *,
    clients: Mapping[str, int] = _NO_CLIENTS,
    wasted: Mapping[Link, int] = _NO_WASTE,
    title: str = "",
) -> str:
    """The overlay as SVG.

    ``traffic`` is the number of messages on each link, both ways together, ``wasted`` how many of
    them nobody beyond the link wanted, ``clients`` how many there are at each broker; what is
    absent counts 0.  Raises :class:`~twigcast.errors.OverlayError` for links and brokers that the
    overlay does not have, and for counts that cannot be.
    """
    _check(overlay, traffic, clients, wasted)
    return _Picture(overlay, traffic, clients, wasted, title).draw()


def _check(
    overlay: Overlay,
    traffic: Mapping[Link, int],
    clients: Mapping[str, int],
    wasted: Mapping[Link, int],
) -> None:
    for link in (*traffic, *wasted):
        name, carried, lost = "-".join(link), traffic.get(link, 0), wasted.get(link, 0)
        if link not in overlay.links:
            raise OverlayError(f"traffic is on links of the overlay, and {name} is none")
        if carried < 0:
            raise OverlayError(f"the link {name}: there cannot be {carried} messages on it")
        if not 0 <= lost <= carried:
            raise OverlayError(f"the link {name}: {lost} messages of {carried} cannot be wasted")
    for broker, count in clients.items():
        if broker not in overlay:
            raise OverlayError(f"there is no broker {broker!r} for {count} clients to be at")
        if count < 0:
            raise OverlayError(f"the broker {broker!r} cannot have {count} clients")


class _Picture:
    """One drawing: sizes, places, and the shapes made of them."""

    def __init__(
        self,
        overlay: Overlay,
        traffic: Mapping[Link, int],
        clients: Mapping[str, int],
        wasted: Mapping[Link, int],
        title: str,
    ) -> None:
        self._overlay = overlay
        self._traffic = traffic
        self._clients = clients
        self._wasted = wasted
        self._title = printable(title)
        self._busiest = max(traffic.values(), default=0)
        self._labels = {broker: shorten(broker, _LONGEST_LABEL) for broker in overlay}
        self._longest = max(map(columns, self._labels.values()), default=0)
        self._look = next((look for most, look in _LOOKS if len(overlay) <= most), _SMALLEST)
        self._placed = self._place()
        self._curves = {link: self._curve(link) for link in overlay.links}
        self._thickest = self._find_thickest()
        self._names, self._plates = self._place_names()

    @property
    def _are_beside(self) -> bool:
        """Whether labels are beside the brokers instead of inside."""
        return self._longest > _INSIDE and self._look.is_roomy

    def _place(self) -> Placed:
        look = self._look
        side, room = look.side, look.radius + 14
        if self._are_beside:
            width = CHARACTER * look.font * self._longest
            side = max(side, width + 10)
            room = max(room + look.font, width / 2 + 8)
        placed = place(self._overlay, Spacing(side, look.level, room), self._traffic)
        factor = WIDEST / max(placed.width, placed.height, WIDEST)
        if factor < 1:
            self._look = look.scaled(factor)
        return placed.scaled(factor)

    def _find_thickest(self) -> float:
        """How thick the busiest link is: less where many meet, which would be a single blot."""
        look, points = self._look, self._placed.points
        thickest = look.thickest
        for broker in self._overlay:
            x, y = points[broker]
            others = [points[other] for other in self._overlay.neighbours(broker)]
            if others:
                mean = sum(hypot(across - x, down - y) for across, down in others) / len(others)
                hidden = max(1.3 * look.radius, _BLOT * mean)
                thickest = min(thickest, tau * hidden / len(others))
        return thickest

    def _place_names(self) -> tuple[dict[str, Box], dict[str, Box]]:
        look, placed = self._look, self._placed
        names, plates = {}, {}
        if self._are_beside:
            names = {
                broker: (CHARACTER * look.font * columns(label), look.font + 1)
                for broker, label in self._labels.items()
            }
        if look.is_roomy:
            plates = {
                broker: _plate_width(count) for broker, count in self._clients.items() if count
            }
        around = Surroundings(
            placed.points, look.radius, list(self._curves.values()), (placed.width, placed.height)
        )
        return place_names(around, names, plates) if names or plates else ({}, {})

    def draw(self) -> str:
        placed = self._placed
        legend = Legend(list(self._legend_items()), self._legend_lines())
        title_width = CHARACTER * _TITLE * columns(self._title) + 32
        width = max(placed.width, legend.least_width, title_width)
        top = 34.0 if self._title else 0.0
        foot, height = legend.draw(top + placed.height + 4, width)
        shift = (width - placed.width) / 2
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"',
            f'viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:100%;height:auto"',
            "font-family=\"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace\">",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            text(16, 26, self._title, "#212529", font=_TITLE, extra='font-weight="bold" '),
            f'<g transform="translate({shift:.1f} {top:.1f})">',
            *self._links(),
            *map(self._broker, self._overlay),
            "</g>",
            *foot,
            "</svg>",
        ]
        return "\n".join(part for part in parts if part) + "\n"

    # Links.

    def _links(self) -> list[str]:
        """The busiest last, so that they are not hidden."""
        order = sorted(self._overlay.links, key=lambda link: self._traffic.get(link, 0))
        redundant = len(order) - len(self._placed.tree)
        # The more of them cross each other, the paler they are.
        opacity = max(0.35, 1.0 - redundant / 150)
        return [self._link(link, opacity) for link in order]

    def _link(self, link: Link, opacity: float) -> str:
        traffic, wasted = self._traffic.get(link, 0), self._wasted.get(link, 0)
        curve = self._curves[link]
        width = self._thickness(traffic)
        said = f"{link.first} – {link.second}: {traffic:,} messages"
        if wasted:
            said += f", {wasted:,} of them ({wasted / traffic:.1%}) wanted by nobody beyond"
        parts = [f"<g><title>{_escaped(said)}</title>"]
        if width < _EASY_TO_HIT and self._look.font:
            parts.append(_stroke(curve, "#ffffff", _EASY_TO_HIT, 'stroke-opacity="0"'))
        style = self._idle_style if not traffic else ""
        if link not in self._placed.tree and opacity < 1:
            style += f'{" " if style else ""}stroke-opacity="{opacity:.2f}"'
        colour = _TRAFFIC if traffic else _NO_TRAFFIC
        if wasted:
            begin, finish = self._share(curve, wasted / traffic)
            parts.append(_stroke(curve.piece(0, begin), colour, width, style))
            parts.append(_stroke(curve.piece(begin, finish), _WASTED, width, style))
            parts.append(_stroke(curve.piece(finish, 1), colour, width, style))
        else:
            parts.append(_stroke(curve, colour, width, style))
        return "".join([*parts, "</g>"])

    @property
    def _idle_style(self) -> str:
        """Of links without traffic: dashed, but where no link has any."""
        return f'stroke-dasharray="{_DASHES}"' if self._busiest else ""

    def _curve(self, link: Link) -> Curve:
        points = self._placed.points
        start, end = points[link.first], points[link.second]
        if link in self._placed.tree:
            return Curve.between(start, end)
        others = points.values() if len(points) <= _LOOKED_AT else ()
        frame = self._placed.width, self._placed.height
        return clear_curve(start, end, others, 1.6 * self._look.radius, frame)

    def _share(self, curve: Curve, share: float) -> tuple[float, float]:
        """The middle of what is to be seen of a link, as much of it as the share says."""
        visible = max(0.2, 1 - 2 * self._look.radius / max(curve.length, 1.0))
        half = visible * max(_LEAST_SHARE, share) / 2
        return 0.5 - half, 0.5 + half

    def _thickness(self, traffic: int) -> float:
        thickest = self._thickest
        thinnest = max(_THINNEST * thickest, min(_LEAST_SEEN, thickest))
        if not traffic:
            return max(thinnest / 2, min(_LEAST_SEEN, thinnest))
        part: float = (traffic / self._busiest) ** _POWER
        return max(thinnest, thickest * part)

    # Brokers.

    def _broker(self, broker: str) -> str:
        look = self._look
        x, y = self._placed.points[broker]
        clients = self._clients.get(broker, 0)
        links = len(self._overlay.neighbours(broker))
        said = f"{broker}: {_count(links, 'link')}, {_count(clients, 'client')}"
        marked = clients > 0 and not self._look.is_roomy
        fill, stroke = (_CLIENTS, "#084c59") if marked else ("#f1f3f5", "#495057")
        parts = [
            f"<g><title>{_escaped(said)}</title>",
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{look.radius:.3g}" fill="{fill}"',
            f' stroke="{stroke}" stroke-width="{1.2 if look.font else 0.8}"/>',
        ]
        label = self._labels[broker]
        if broker in self._names:
            middle, height = self._names[broker].middle, look.font + 1
            # Twice, since not every program that shows SVG can paint the edge first.
            halo = 'stroke="#ffffff" stroke-width="3" stroke-linejoin="round" '
            parts += [
                text(
                    middle[0],
                    middle[1] + 0.3 * height,
                    label,
                    "#212529",
                    font=look.font,
                    middle=True,
                    extra=extra,
                )
                for extra in (halo, "")
            ]
        elif look.font and self._longest <= _INSIDE:
            colour = "#ffffff" if marked else "#212529"
            base = y + 0.35 * look.font
            parts.append(text(x, base, label, colour, font=look.font, middle=True))
        if broker in self._plates:
            parts.append(_plate(*self._plates[broker].middle, clients))
        return "".join([*parts, "</g>"])

    # What is below the picture.

    def _legend_items(self) -> Iterator[tuple[str, str]]:
        sample = Curve((0, 0), (SAMPLE / 2, 0), (SAMPLE, 0))
        for traffic in _samples(self._busiest):
            line = _stroke(sample, _TRAFFIC, self._thickness(traffic), "")
            yield line, f"{traffic:,} message{'s' if traffic > 1 else ''}"
        if any(not self._traffic.get(link) for link in self._overlay.links):
            said = "no messages" if self._busiest else "link"
            yield _stroke(sample, _NO_TRAFFIC, self._thickness(0), self._idle_style), said
        if any(self._wasted.values()):
            line = _stroke(sample, _TRAFFIC, 6, "")
            line += _stroke(sample.piece(0.35, 0.65), _WASTED, 6, "")
            yield line, "the part that nobody beyond wants"
        if any(self._clients.values()):
            if self._look.is_roomy:
                yield _plate(SAMPLE / 2, 0, 3), "clients at a broker"
            else:
                circle = f'<circle cx="{SAMPLE / 2}" cy="0" r="5" fill="{_CLIENTS}"/>'
                yield circle, "broker with clients"

    def _legend_lines(self) -> list[str]:
        total, wasted = sum(self._traffic.values()), sum(self._wasted.values())
        counts = [
            _count(len(self._overlay), "broker"),
            _count(len(self._overlay.links), "link"),
            _count(total, "message"),
        ]
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
    found = {busiest} if busiest else set()
    for part in (10, 100):
        digits = str(busiest // part)
        if busiest >= part:
            leading = max(each for each in (1, 2, 5) if each <= int(digits[0]))
            found.add(leading * 10 ** (len(digits) - 1))
    return sorted(found, reverse=True)


def _stroke(curve: Curve, colour: str, width: float, style: str) -> str:
    return (
        f'<path d="{curve}" fill="none" stroke="{colour}" stroke-width="{width:.2f}"'
        f"{' ' if style else ''}{style}/>"
    )


def _plate_words(clients: int) -> str:
    if clients < 1000:
        return f"{clients}"
    return f"{clients / 1000:.1f}k" if clients < 10_000 else f"{clients // 1000:,}k"


def _plate_width(clients: int) -> float:
    return max(13.0, CHARACTER * 9 * len(_plate_words(clients)) + 6)


def _plate(x: float, y: float, clients: int) -> str:
    """A small plate with a number."""
    width = _plate_width(clients)
    return (
        f'<rect x="{x - width / 2:.1f}" y="{y - PLATE / 2:.1f}" width="{width:.1f}"'
        f' height="{PLATE:g}" rx="6" fill="{_CLIENTS}" stroke="#ffffff"/>'
        + text(x, y + 3.2, _plate_words(clients), "#ffffff", font=9, middle=True)
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _escaped(words: str) -> str:
    return escape(printable(words))
