"""What all pictures share: shapes and texts as SVG, colours, and the page with its legend.

Colours are fixed and the background is painted, so a picture looks the same on a light and on a
dark page.  A text carries its width, so another font of fixed width still fits its box.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from twigcast.drawing.labels import columns, printable

FONT: Final = 12.0
SAMPLE: Final = 34.0
"""The width of a sample in a legend."""
INK: Final = "#212529"
SOFT: Final = "#495057"
PALE: Final = "#6b737b"
PAPER: Final = "#ffffff"
NOTE: Final = "#1864ab"
"""The colour of a text that says something about the label before it."""


class Style(NamedTuple):
    """How a box looks: its ground, its edge, and the text in it."""

    fill: str
    stroke: str
    ink: str


STYLES: Final = {
    "plain": Style("#f1f3f5", SOFT, INK),
    "value": Style("#f1f3f5", SOFT, NOTE),
    "gateway": Style("#d0ebff", NOTE, INK),
    "unit": Style("#fbfcfd", "#ced4da", PALE),
    "clients": Style("#0b7285", "#084c59", PAPER),
    "or": Style("#fff3bf", "#b46d00", "#b46d00"),
    "and": Style("#d3f9d8", "#2b8a3e", "#2b8a3e"),
    "not": Style("#ffe3e3", "#c92a2a", "#c92a2a"),
}

_CHARACTER: Final = 0.6
"""The width of a character, as a part of the size of the font."""
_LINE: Final = 22.0
_GAP: Final = 18.0
_MARGIN: Final = 16.0
_TITLE: Final = 16.0


def shape(tag: str, **attributes: str | float | None) -> str:
    """An empty element.  ``stroke_width`` becomes ``stroke-width``; None is left out."""
    spelled = [tag]
    for name, value in attributes.items():
        if value is not None:
            words = value if isinstance(value, str) else _number(value)
            spelled.append(f"{name.replace('_', '-')}={quoteattr(words)}")
    return f"<{' '.join(spelled)}/>"


def _number(value: float) -> str:
    return f"{round(value, 2):g}"


def line(path: str, colour: str, width: float, **attributes: str | float | None) -> str:
    """A path that is stroked and not filled."""
    return shape("path", d=path, fill="none", stroke=colour, stroke_width=width, **attributes)


def box(
    x: float, y: float, width: float, height: float, style: str = "plain", corner: float = 5.0
) -> str:
    """A rectangle around (x, y)."""
    fill, stroke, _ = STYLES[style]
    corners = {"x": x - width / 2, "y": y - height / 2, "width": width, "height": height}
    return shape("rect", **corners, rx=corner, fill=fill, stroke=stroke)


def titled(title: str, *shapes: str, left: float = 0.0, top: float = 0.0) -> str:
    """Shapes, moved there, with a text that shows when the pointer rests on them."""
    moved = f' transform="translate({left:.1f} {top:.1f})"' if left or top else ""
    return f"<g{moved}><title>{escape(printable(title))}</title>{''.join(shapes)}</g>"


def text_width(words: str, font: float = FONT) -> float:
    """The width of a text."""
    return _CHARACTER * font * columns(printable(words))


def text(
    left: float,
    middle: float,
    words: str,
    colour: str = INK,
    *,
    font: float = FONT,
    centred: bool = False,
    halo: bool = False,
    weight: str = "normal",
) -> str:
    """A line of text around the height ``middle``; ``left`` is its start, or its centre."""
    if not words:
        return ""
    width = text_width(words, font)
    at = (
        f'x="{_number(left - width / 2 if centred else left)}" y="{_number(middle + font / 3)}" '
        f'font-size="{_number(font)}" font-weight="{weight}" xml:space="preserve" '
        f'textLength="{_number(width)}" lengthAdjust="spacingAndGlyphs"'
    )
    said = f"{escape(printable(words))}</text>"
    around = f'<text {at} fill="{PAPER}" stroke="{PAPER}" stroke-width="3">{said}' if halo else ""
    # The halo is a text of its own, since not every program can paint the edge first.
    return f'{around}<text {at} fill="{colour}">{said}'


def page(
    drawing: Iterable[str],
    width: float,
    height: float,
    samples: Iterable[tuple[str, str]] = (),
    lines: Iterable[str] = (),
    title: str = "",
    scale: float = 1.0,
) -> str:
    """The whole picture, on white: a title, the drawing in the middle, the legend below.

    The drawing goes from (0, 0) to (``width``, ``height``), and is scaled.  The legend has samples
    with what they mean, side by side in as many rows as they need, then plain lines.  A sample is
    SVG around the middle of its left edge, ``SAMPLE`` wide.
    """
    items = [(sample, words, SAMPLE + 8 + text_width(words)) for sample, words in samples]
    lines = list(lines)
    widths = [*(item[2] for item in items), *map(text_width, lines), text_width(title, _TITLE)]
    across = max(scale * width, max(widths) + 2 * _MARGIN)
    top = 34.0 if title else 0.0
    shift = (across - scale * width) / 2
    shapes = [
        shape("rect", width="100%", height="100%", fill=PAPER),
        text(_MARGIN, 21, title, font=_TITLE, weight="bold"),
        f'<g transform="translate({shift:.1f} {top:.1f}) scale({scale:.4g})">',
        *drawing,
        "</g>",
    ]
    left, middle = _MARGIN, top + scale * height + _LINE / 2
    for sample, words, needed in items:
        if left > _MARGIN and left + needed > across - _MARGIN:
            left, middle = _MARGIN, middle + _LINE
        shapes.append(titled(words, sample, left=left, top=middle))
        shapes.append(text(left + SAMPLE + 8, middle, words, SOFT))
        left += needed + _GAP
    middle += _LINE if items else 0
    for number, words in enumerate(lines):
        shapes.append(text(_MARGIN, middle + number * _LINE, words, SOFT))
    down = middle + (len(lines) - 0.5) * _LINE + 6
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:.0f}" height="{down:.0f}" '
        f'viewBox="0 0 {across:.0f} {down:.0f}" '
        "font-family=\"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace\">"
    )
    return "\n".join([opening, *filter(None, shapes), "</svg>"]) + "\n"
