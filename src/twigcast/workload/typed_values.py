"""Values of simple types: what generated documents write where an XSD says which texts are valid.

A type gets a small pool of texts, drawn from the type alone, so that documents and subscriptions
know the same ones.  Texts come from what is usual for the built-in type, and from patterns; each is
checked against the facets before it enters the pool.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache

from twigcast.errors import WorkloadError
from twigcast.language import Condition
from twigcast.schema import DECIMALS, INTEGERS, LIST, UNION, SimpleType
from twigcast.workload.chance import Draw, below, between, digest, stream
from twigcast.workload.pattern_texts import compiled, draw_text

_POOL = 16
_PATTERN_TRIES = 400
_WORDLIKE = frozenset(
    "string normalizedString token Name NCName NMTOKEN anyURI ENTITY IDREF ID".split()
)
FREE = frozenset(("string", "normalizedString", "token"))
"""The kinds that any word is valid for."""
_ZONES = ("", "Z", "-00:00", "+00:00", "+01:00")
_USUAL = {
    "boolean": ("true", "false"),
    "language": ("en", "de", "fr", "es", "en-GB"),
    "date": tuple(
        f"2024-{month:02}-{7 + month:02}{zone}" for month in (1, 5, 9) for zone in _ZONES
    ),
    "time": tuple(f"{hour:02}:30:00{zone}" for hour in (8, 17) for zone in _ZONES),
    "dateTime": tuple(
        f"2024-{month:02}-{7 + month:02}T09:30:00{more}{zone}"
        for month in (1, 5, 9)
        for zone in _ZONES
        for more in ("", ".000")
    ),
    "gYear": ("2023", "2024", "2025"),
    "gYearMonth": ("2024-01", "2024-05", "2024-09"),
    "gMonth": ("--01", "--05", "--09"),
    "gDay": ("---01", "---15", "---28"),
    "gMonthDay": ("--01-15", "--09-01"),
    "duration": ("P1D", "PT2H", "P1M", "P1Y"),
    "hexBinary": ("0A", "0AFF", "00112233", "0123456789ABCDEF"),
    "base64Binary": ("AAAA", "AAECAwQF", "AAAAAAAAAAAAAAAA"),
    "QName": ("item", "part"),
}
_FREE_NUMBERS = (1, 9_999)
_FRACTION = 2


class Unique:
    """Identifiers; each is another one, but for a chance that can be neglected."""

    operators: tuple[str, ...] = ()
    mean_length = 13.0

    def write(self, draw: Draw) -> str:
        return f"u{below(draw, 1 << 24):06x}{below(draw, 1 << 24):06x}"

    def test(self, draw: Draw, operator: str) -> Condition:
        raise AssertionError("an identifier offers no comparison")


@lru_cache(maxsize=16_384)
def typed_texts(simple: SimpleType, words: tuple[str, ...]) -> tuple[str, ...]:
    """Some valid texts, at least one; WorkloadError where none was found."""
    texts = dict.fromkeys(text for text in _candidates(simple, words) if _is_valid(simple, text))
    if not texts:
        raise WorkloadError(
            f"no text was found that is valid for a {simple.kind} with the facets of the schema; "
            "give the type an enumeration, or generate from a root without it"
        )
    if len(texts) <= _POOL:
        return tuple(texts)
    pool = list(texts)
    draw = stream("texts", digest(repr(simple)))
    return tuple(sorted({pool[below(draw, len(pool))] for _ in range(_POOL)}))


def _candidates(simple: SimpleType, words: tuple[str, ...]) -> Iterator[str]:
    draw = stream("values", digest(repr(simple)))
    if simple.choices:
        yield from simple.choices
        return
    if simple.kind == UNION:
        for member in simple.members:
            yield from typed_texts(member, words)
    elif simple.kind == LIST:
        yield from _lists(simple, typed_texts(simple.members[0], words), draw)
    elif simple.kind in DECIMALS or simple.kind in ("double", "float"):
        yield from _numbers(simple, draw)
    elif simple.kind in _WORDLIKE:
        yield from _words(simple, words)
    else:
        yield from _USUAL.get(simple.kind, ())
    if not simple.open_ends:
        yield from (bound for bound in (simple.lowest, simple.highest) if bound is not None)
    # A pattern of dates is rarely exact about what a date is.
    for pattern in simple.patterns if simple.kind not in _USUAL else ():
        for _ in range(_PATTERN_TRIES):
            yield draw_text(pattern, draw)


def _words(simple: SimpleType, words: Sequence[str]) -> Iterator[str]:
    """Words, or as many of them or letters of them as the length allows."""
    least = simple.shortest
    most = math.inf if simple.longest is None else simple.longest
    for word in words[: 4 * _POOL]:
        if len(word) > most:
            yield word[: simple.longest]
        elif len(word) < least:
            yield (word * (1 + least // len(word)))[:least] if least <= 100_000 else word
        else:
            yield word


def _lists(simple: SimpleType, items: Sequence[str], draw: Draw) -> Iterator[str]:
    least = max(1, simple.shortest)
    most = min(least + 2, least + 2 if simple.longest is None else simple.longest)
    for _ in range(_POOL):
        count = between(draw, least, most) if most >= least else most
        yield " ".join(items[below(draw, len(items))] for _ in range(count))


def _numbers(simple: SimpleType, draw: Draw) -> Iterator[str]:
    """Numbers within the bounds; near the one that there is, where there is one."""
    low, high = (
        None if each is None else _decimal(each) for each in (simple.lowest, simple.highest)
    )
    if low is None:
        low = Decimal(_FREE_NUMBERS[0]) if high is None or high > 1 else high - 1000
    if high is None:
        high = max(Decimal(_FREE_NUMBERS[1]), low + 1000) if low <= _FREE_NUMBERS[1] else low + 1000
    high = min(high, low + 1_000_000)
    if simple.digits is not None:
        high = min(high, Decimal(10) ** simple.digits - 1)
    digits = 0 if simple.kind in INTEGERS else _FRACTION
    if simple.fraction is not None:
        digits = min(digits, simple.fraction)
    for _ in range(2 * _POOL):
        number = low + (high - low) * Decimal(draw())
        yield f"{number:.{digits}f}"
        yield f"{number:.0f}"


def _decimal(text: str) -> Decimal:
    number = Decimal(text.strip())
    return number if number.is_finite() else Decimal(0)


def _is_valid(simple: SimpleType, text: str) -> bool:
    if simple.choices and text not in simple.choices:
        return False
    if not all(compiled(pattern).search(text) for pattern in simple.patterns):
        return False
    if simple.kind in DECIMALS:
        return _is_valid_number(simple, text)
    length = _length(simple, text)
    return simple.shortest <= length and (simple.longest is None or length <= simple.longest)


def _is_valid_number(simple: SimpleType, text: str) -> bool:
    try:
        number = Decimal(text)
    except ArithmeticError:
        return False
    if simple.kind in INTEGERS and "." in text:
        return False
    bounds: Iterable[tuple[str | None, int]] = ((simple.lowest, 1), (simple.highest, -1))
    for bound, sign in bounds:
        if bound is not None:
            beyond = (number - Decimal(bound)) * sign
            if beyond < 0 or (simple.open_ends and beyond == 0):
                return False
    digits = text.lstrip("-+").strip("0" if "." in text else "").replace(".", "")
    fraction = text.partition(".")[2].rstrip("0")
    return (simple.digits is None or len(digits.lstrip("0")) <= simple.digits) and (
        simple.fraction is None or len(fraction) <= simple.fraction
    )


def _length(simple: SimpleType, text: str) -> int:
    """What the length facets count."""
    if simple.kind == LIST:
        return len(text.split())
    if simple.kind == "hexBinary":
        return len(text) // 2
    if simple.kind == "base64Binary":
        return len(text.rstrip("=")) * 3 // 4
    return len(text)
