r"""Texts that a regular expression of an XSD accepts, drawn at random.

    [A-Z]{2,3}(-\d+)?   ──►   branches of pieces; a piece is a part, from how often to how often

A single character (``[A-Z]``, ``\d``, ``\p{L}``) is not taken apart: elementpath says which letters
of a small alphabet it accepts.  Repetitions without end, and long ones, stop early.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from twigcast.workload.chance import Draw, below, between

_ALPHABET = "".join(map(chr, range(32, 127))) + "\t\n\u00e4\u00d7\u4e2d"
_MORE = 3
_LONGEST = 64
_QUANTITY = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_OFTEN = {"?": (0, 1), "*": (0, None), "+": (1, None)}


class _Piece(NamedTuple):
    part: str | tuple[tuple[_Piece, ...], ...]
    """The characters of which one stands here, or the branches of a group."""

    least: int
    most: int


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The expression in Python's language, for whole texts."""
    from elementpath.regex import translate_pattern

    return re.compile(
        translate_pattern(pattern, back_references=False, lazy_quantifiers=False, anchors=False)
    )


def draw_text(pattern: str, draw: Draw) -> str:
    """A text for the pattern; not every such text can come."""
    return "".join(_draw(_parsed(pattern), draw))


def _draw(branches: tuple[tuple[_Piece, ...], ...], draw: Draw) -> list[str]:
    result = []
    for piece in branches[below(draw, len(branches))]:
        for _ in range(between(draw, piece.least, piece.most)):
            if isinstance(piece.part, str):
                result.append(piece.part[below(draw, len(piece.part))])
            else:
                result += _draw(piece.part, draw)
    return result


@lru_cache(maxsize=1024)
def _parsed(pattern: str) -> tuple[tuple[_Piece, ...], ...]:
    branches, end = _branches(pattern, 0)
    assert end == len(pattern), "the schema was checked to hold regular expressions"
    return branches


def _branches(text: str, position: int) -> tuple[tuple[tuple[_Piece, ...], ...], int]:
    branches: list[tuple[_Piece, ...]] = []
    pieces: list[_Piece] = []
    while position < len(text) and text[position] != ")":
        if text[position] == "|":
            branches.append(tuple(pieces))
            pieces = []
            position += 1
            continue
        part: str | tuple[tuple[_Piece, ...], ...]
        if text[position] == "(":
            part, position = _branches(text, position + 1)
            position += 1
        else:
            end = _character_end(text, position)
            part = _letters(text[position:end])
            position = end
        least, most, position = _quantity(text, position)
        if part:
            pieces.append(_Piece(part, least, most))
    return (*branches, tuple(pieces)), position


def _character_end(text: str, position: int) -> int:
    """Where the expression for one character ends."""
    if text[position] == "\\":
        braces = text[position + 1 : position + 2] in ("p", "P")
        return text.index("}", position) + 1 if braces else position + 2
    if text[position] != "[":
        return position + 1
    depth = 0
    while True:
        if text[position] == "\\":
            position += 1
        elif text[position] == "[":
            depth += 1
        elif text[position] == "]":
            depth -= 1
            if not depth:
                return position + 1
        position += 1


@lru_cache(maxsize=4096)
def _letters(character: str) -> str:
    accepts = compiled(character).match
    return "".join(letter for letter in _ALPHABET if accepts(letter)) or character[-1]


def _quantity(text: str, position: int) -> tuple[int, int, int]:
    sign = text[position : position + 1]
    if sign in _OFTEN:
        least, most = _OFTEN[sign]
        return least, least + _MORE if most is None else most, position + 1
    match = _QUANTITY.match(text, position)
    if match is None:
        return 1, 1, position
    least = int(match[1])
    most = int(match[3]) if match[3] else least + (_MORE if match[2] else 0)
    return least, max(least, min(most, _LONGEST)), match.end()
