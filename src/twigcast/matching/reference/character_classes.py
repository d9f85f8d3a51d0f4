r"""Which characters a part of a regular expression accepts: ``\p{Lu}``, ``\d``, ``\i``, ranges.

A class is a function from a character to yes or no.  The flag ``i`` concerns only characters and
ranges that are written out, as XPath has it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Final, TypeAlias

from twigcast.matching.reference.items import DynamicError

Accepts: TypeAlias = Callable[[str], bool]

_CATEGORIES: Final = frozenset(
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po Z Zs Zl Zp S Sm Sc Sk So "
    "C Cc Cf Co Cn".split()
)

_NAME_START_RANGES: Final = (
    *((":", ":"), ("A", "Z"), ("_", "_"), ("a", "z"), ("\xc0", "\xd6"), ("\xd8", "\xf6")),
    *(("\xf8", "\u02ff"), ("\u0370", "\u037d"), ("\u037f", "\u1fff"), ("\u200c", "\u200d")),
    *(("\u2070", "\u218f"), ("\u2c00", "\u2fef"), ("\u3001", "\ud7ff"), ("\uf900", "\ufdcf")),
    *(("\ufdf0", "\ufffd"), ("\U00010000", "\U000effff")),
)
_NAME_RANGES: Final = (
    *_NAME_START_RANGES,
    *(("-", "-"), (".", "."), ("0", "9"), ("\xb7", "\xb7")),
    *(("\u0300", "\u036f"), ("\u203f", "\u2040")),
)


def exactly(character: str, *, ignores_case: bool) -> Accepts:
    """One character; with ``ignores_case``, its other forms too."""
    return within(character, character, ignores_case=ignores_case)


def within(first: str, last: str, *, ignores_case: bool) -> Accepts:
    """A range of characters."""

    def accepts(character: str) -> bool:
        forms = case_forms(character) if ignores_case else {character}
        return any(first <= form <= last for form in forms)

    return accepts


def case_forms(character: str) -> set[str]:
    """The character in upper and in lower case, where that is one character."""
    forms = {character, character.lower(), character.upper(), character.upper().lower()}
    return {form for form in forms if len(form) == 1}


def negated(accepts: Accepts) -> Accepts:
    """All other characters."""
    return lambda character: not accepts(character)


def any_of(classes: list[Accepts]) -> Accepts:
    """The characters of any of the classes."""
    return lambda character: any(accepts(character) for accepts in classes)


def without(accepts: Accepts, subtracted: Accepts) -> Accepts:
    """The characters of one class that another lacks."""
    return lambda character: accepts(character) and not subtracted(character)


def category(name: str) -> Accepts:
    r"""``\p{name}``."""
    if name not in _CATEGORIES:
        raise DynamicError(f"the class of characters \\p{{{name}}} is not known")
    return lambda character: unicodedata.category(character).startswith(name)


def _in_ranges(ranges: tuple[tuple[str, str], ...]) -> Accepts:
    return lambda character: any(first <= character <= last for first, last in ranges)


def _is_word(character: str) -> bool:
    return unicodedata.category(character)[0] not in "PZC"


def any_character(character: str) -> bool:
    """``.`` with the flag ``s``."""
    return True


def not_a_line_end(character: str) -> bool:
    """``.`` without the flag ``s``."""
    return character not in "\n\r"


ESCAPED_CLASSES: Final[dict[str, Accepts]] = {
    "s": lambda character: character in " \t\n\r",
    "d": category("Nd"),
    "w": _is_word,
    "i": _in_ranges(_NAME_START_RANGES),
    "c": _in_ranges(_NAME_RANGES),
}
ESCAPED_CLASSES.update({name.upper(): negated(each) for name, each in [*ESCAPED_CLASSES.items()]})

ESCAPED_CHARACTERS: Final = {
    **{character: character for character in "\\|.-^?*+{}()[]$"},
    **{"n": "\n", "r": "\r", "t": "\t"},
}
