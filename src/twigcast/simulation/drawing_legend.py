"""The lines below a picture: samples with what they mean, one beside the other, then plain text."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from twigcast.covering.drawing_labels import columns, printable

CHARACTER = 0.6
"""The width of a character of the font, by its size."""
SAMPLE = 34.0
"""The room for a sample."""

_FONT = 12.0
_LINE = 22.0
_GAP = 18.0
_MARGIN = 16.0


def text(
    left: float,
    base: float,
    words: str,
    colour: str,
    *,
    font: float = _FONT,
    middle: bool = False,
    extra: str = "",
) -> str:
    """A line of text that starts at ``left``, or has it in its middle."""
    # The length is given, so that a font of another width still fits its place.
    if not words:
        return ""
    width = CHARACTER * font * columns(words)
    start = left - width / 2 if middle else left
    return (
        f'<text x="{start:.1f}" y="{base:.1f}" font-size="{font:.3g}" fill="{colour}" {extra}'
        f'xml:space="preserve" textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs">'
        f"{escape(printable(words))}</text>"
    )


class Legend:
    """Samples and lines, in as many rows as the width of the picture needs.

    A sample is SVG drawn around the middle of its left edge, ``SAMPLE`` wide.
    """

    def __init__(self, items: Sequence[tuple[str, str]], lines: Sequence[str]) -> None:
        self._items = items
        self._lines = lines

    @property
    def least_width(self) -> float:
        """What the widest of its parts needs."""
        widths = [self._item_width(words) for _, words in self._items]
        widths += [_text_width(line) for line in self._lines]
        return max(widths, default=0.0) + 2 * _MARGIN

    @staticmethod
    def _item_width(words: str) -> float:
        return SAMPLE + 8 + _text_width(words)

    def draw(self, top: float, width: float) -> tuple[list[str], float]:
        """The shapes below ``top``, and where they end."""
        parts: list[str] = []
        left, middle = _MARGIN, top + _LINE / 2
        for sample, words in self._items:
            needed = self._item_width(words)
            if left > _MARGIN and left + needed > width - _MARGIN:
                left, middle = _MARGIN, middle + _LINE
            at = f"translate({left:.1f} {middle:.1f})"
            said = f"<title>{escape(printable(words))}</title>"
            parts.append(f'<g transform="{at}">{said}{sample}</g>')
            parts.append(text(left + SAMPLE + 8, middle + 4, words, "#495057"))
            left += needed + _GAP
        if self._items:
            middle += _LINE
        for line in self._lines:
            parts.append(text(_MARGIN, middle + 4, line, "#495057"))
            middle += _LINE
        return parts, middle - _LINE / 2 + 6


def _text_width(words: str) -> float:
    return CHARACTER * _FONT * columns(words)
