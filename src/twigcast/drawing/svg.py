"""What all pictures share: shapes and texts as SVG, the page, and the legend below.

Colours are fixed and the background is painted, so a picture looks the same on a light and on a
dark page.  A text carries its width, so another font of fixed width still fits its box.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from twigcast.drawing.labels import columns, printable

FONT: Final = 12.0
SAMPLE: Final = 34.0
"""The width of a sample in a legend."""
INK: Final = "#212529"
SOFT: Final = "#495057"
PALE: Final = "#6b737b"
BOX: Final = "#f1f3f5"
PAPER: Final = "#ffffff"

_CHARACTER: Final = 0.6
"""The width of a character, as a part of the size of the font."""
_LINE: Final = 22.0
_GAP: Final = 18.0
_MARGIN: Final = 16.0


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


def titled(title: str, *shapes: str, left: float = 0.0, top: float = 0.0) -> str:
    """Shapes, moved there, with a text that shows when the pointer rests on them."""
    moved = f' transform="translate({left:.1f} {top:.1f})"' if left or top else ""
    return f"<g{moved}><title>{escape(printable(title))}</title>{''.join(shapes)}</g>"


def text_width(words: str, font: float = FONT) -> float:
    """The width of a text."""
    return _CHARACTER * font * columns(printable(words))


def text(
    left: float,
    base: float,
    words: str,
    colour: str = INK,
    *,
    font: float = FONT,
    middle: bool = False,
    halo: bool = False,
    weight: str = "normal",
) -> str:
    """A line of text that starts at ``left``, or has ``left`` in its middle."""
    if not words:
        return ""
    width = text_width(words, font)
    at = (
        f'x="{_number(left - width / 2 if middle else left)}" y="{_number(base)}" '
        f'font-size="{_number(font)}" font-weight="{weight}" xml:space="preserve" '
        f'textLength="{_number(width)}" lengthAdjust="spacingAndGlyphs"'
    )
    said = f"{escape(printable(words))}</text>"
    around = f'<text {at} fill="{PAPER}" stroke="{PAPER}" stroke-width="3">{said}' if halo else ""
    # The halo is a text of its own, since not every program can paint the edge first.
    return f'{around}<text {at} fill="{colour}">{said}'


def page(width: float, height: float, shapes: Iterable[str]) -> str:
    """The whole picture, on white."""
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:100%;height:auto" '
        "font-family=\"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace\">"
    )
    ground = shape("rect", width="100%", height="100%", fill=PAPER)
    return "\n".join([opening, ground, *filter(None, shapes), "</svg>"]) + "\n"


class Legend:
    """Samples with what they mean, side by side in as many rows as they need, then plain lines.

    A sample is SVG around the middle of its left edge, ``SAMPLE`` wide.
    """

    def __init__(self, items: Iterable[tuple[str, str]], lines: Sequence[str]) -> None:
        self._items = [(sample, words, SAMPLE + 8 + text_width(words)) for sample, words in items]
        self._lines = lines
        widths = [*(width for _, _, width in self._items), *map(text_width, lines)]
        self.least_width = max(widths, default=0.0) + 2 * _MARGIN

    def draw(self, top: float, width: float) -> tuple[list[str], float]:
        """The shapes below ``top``, and where they end."""
        shapes: list[str] = []
        left, middle = _MARGIN, top + _LINE / 2
        for sample, words, needed in self._items:
            if left > _MARGIN and left + needed > width - _MARGIN:
                left, middle = _MARGIN, middle + _LINE
            shapes.append(titled(words, sample, left=left, top=middle))
            shapes.append(text(left + SAMPLE + 8, middle + 4, words, SOFT))
            left += needed + _GAP
        middle += _LINE if self._items else 0
        for words in self._lines:
            shapes.append(text(_MARGIN, middle + 4, words, SOFT))
            middle += _LINE
        return shapes, middle - _LINE / 2 + 6
