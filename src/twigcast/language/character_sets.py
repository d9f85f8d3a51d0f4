r"""Sets of characters as ranges of code points: ``[a-z-[aeiou]]``, ``\d``, ``\p{Lu}``.

A set is a tuple of ranges, sorted, none touching the next.  The categories of Unicode are those of
this Python's :mod:`unicodedata`; all of them are found in one pass, when the first is asked for.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from typing import Final, TypeAlias

CharacterSet: TypeAlias = tuple[tuple[int, int], ...]

_LAST: Final = sys.maxunicode

SPACE: Final[CharacterSet] = ((9, 10), (13, 13), (32, 32))
LINE_ENDS: Final[CharacterSet] = ((10, 10), (13, 13))
NAME_START: Final[CharacterSet] = (
    *((0x3A, 0x3A), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6)),
    *((0xF8, 0x2FF), (0x370, 0x37D), (0x37F, 0x1FFF), (0x200C, 0x200D), (0x2070, 0x218F)),
    *((0x2C00, 0x2FEF), (0x3001, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFFD), (0x10000, 0xEFFFF)),
)

_BLOCKS: Final[dict[str, tuple[int, int]]] = {
    "BasicLatin": (0x0000, 0x007F),
    "Latin-1Supplement": (0x0080, 0x00FF),
    "LatinExtended-A": (0x0100, 0x017F),
    "LatinExtended-B": (0x0180, 0x024F),
    "IPAExtensions": (0x0250, 0x02AF),
    "SpacingModifierLetters": (0x02B0, 0x02FF),
    "CombiningDiacriticalMarks": (0x0300, 0x036F),
    "Greek": (0x0370, 0x03FF),
    "GreekandCoptic": (0x0370, 0x03FF),
    "Cyrillic": (0x0400, 0x04FF),
    "Armenian": (0x0530, 0x058F),
    "Hebrew": (0x0590, 0x05FF),
    "Arabic": (0x0600, 0x06FF),
    "Devanagari": (0x0900, 0x097F),
    "Thai": (0x0E00, 0x0E7F),
    "HangulJamo": (0x1100, 0x11FF),
    "LatinExtendedAdditional": (0x1E00, 0x1EFF),
    "GreekExtended": (0x1F00, 0x1FFF),
    "GeneralPunctuation": (0x2000, 0x206F),
    "SuperscriptsandSubscripts": (0x2070, 0x209F),
    "CurrencySymbols": (0x20A0, 0x20CF),
    "LetterlikeSymbols": (0x2100, 0x214F),
    "NumberForms": (0x2150, 0x218F),
    "Arrows": (0x2190, 0x21FF),
    "MathematicalOperators": (0x2200, 0x22FF),
    "BoxDrawing": (0x2500, 0x257F),
    "CJKSymbolsandPunctuation": (0x3000, 0x303F),
    "Hiragana": (0x3040, 0x309F),
    "Katakana": (0x30A0, 0x30FF),
    "CJKUnifiedIdeographs": (0x4E00, 0x9FFF),
    "HangulSyllables": (0xAC00, 0xD7AF),
    "PrivateUse": (0xE000, 0xF8FF),
}

_CATEGORIES: Final = frozenset(
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po Z Zs Zl Zp S Sm Sc Sk So "
    "C Cc Cf Co Cn".split()
)


def united(ranges: Iterable[tuple[int, int]]) -> CharacterSet:
    """The set of any ranges."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return tuple(merged)


def complement(characters: CharacterSet) -> CharacterSet:
    """All other characters."""
    rest: list[tuple[int, int]] = []
    begin = 0
    for first, last in characters:
        if begin < first:
            rest.append((begin, first - 1))
        begin = last + 1
    return (*rest, (begin, _LAST)) if begin <= _LAST else tuple(rest)


def without(characters: CharacterSet, removed: CharacterSet) -> CharacterSet:
    """The characters of one set that another lacks."""
    return complement(united((*complement(characters), *removed)))


def has(characters: CharacterSet, code: int) -> bool:
    """Whether a character is in a set."""
    return any(first <= code <= last for first, last in characters)


@cache
def _by_category() -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    categories = map(unicodedata.category, map(chr, range(_LAST + 1)))
    begin = 0
    for name, members in groupby(categories):
        end = begin + sum(1 for _ in members)
        found.setdefault(name, []).append((begin, end - 1))
        begin = end
    return found


@cache
def property_set(name: str) -> CharacterSet | None:
    r"""``\p{name}``, or None where there is no such category and no such block."""
    if name.startswith("Is"):
        block = _BLOCKS.get(name[2:])
        return None if block is None else (block,)
    if name not in _CATEGORIES:
        return None
    known = _by_category().items()
    return united(each for key, ranges in known if key.startswith(name) for each in ranges)


@cache
def escape_set(letter: str) -> CharacterSet | None:
    r"""``\d``, ``\S`` and their like, or None where there is no such one."""
    if letter.isupper():
        plain = escape_set(letter.lower())
        return None if plain is None else complement(plain)
    if letter == "s":
        return SPACE
    if letter == "d":
        return property_set("Nd")
    if letter == "i":
        return NAME_START
    if letter == "c":
        others = ((0x2D, 0x2E), (0x30, 0x39), (0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040))
        return united((*NAME_START, *others))
    if letter == "w":
        names = ("P", "Z", "C")
        return complement(united(each for name in names for each in property_set(name) or ()))
    return None


@cache
def _cased() -> tuple[tuple[int, frozenset[int]], ...]:
    """Each character with its forms in another case, where those are one character."""
    pairs: dict[int, set[int]] = {}
    for code in range(_LAST + 1):
        character = chr(code)
        for form in (character.lower(), character.upper(), character.upper().lower()):
            if form != character and len(form) == 1:
                pairs.setdefault(code, set()).add(ord(form))
                pairs.setdefault(ord(form), set()).add(code)
    return tuple((code, frozenset(forms)) for code, forms in pairs.items())


def in_any_case(characters: CharacterSet) -> CharacterSet:
    """The characters and their forms in the other case."""
    if all(last < 0x80 for _, last in characters):
        letters = [chr(code) for first, last in characters for code in range(first, last + 1)]
        extra = {ord(each.swapcase()) for each in letters if each.isalpha()}
        # The sign of Kelvin and the long s have an ASCII letter for their other case.
        extra |= {0x212A for each in letters if each in "kK"}
        extra |= {0x17F for each in letters if each in "sS"}
        return united((*characters, *((code, code) for code in extra)))
    forms = (form for code, each in _cased() if has(characters, code) for form in each)
    return united((*characters, *((code, code) for code in forms)))
