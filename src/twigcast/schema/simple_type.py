"""Simple types: which texts an element or an attribute of an XSD may have.

A type is kept as far as overlap and the generators ask: the built-in type that it restricts, and
its facets.  ``patterns`` all hold; alternatives of one step of derivation are one pattern.  The
members of a union, and the one item of a list, are types themselves.

Only what every spelling of a value has in common counts for overlap: ``1``, ``01`` and ``1.0`` are
one decimal, so a number has bounds and no list of texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LIST: Final = "list"
UNION: Final = "union"

INTEGERS: Final = frozenset(
    "byte int integer long negativeInteger nonNegativeInteger nonPositiveInteger positiveInteger "
    "short unsignedByte unsignedInt unsignedLong unsignedShort".split()
)
DECIMALS: Final = INTEGERS | {"decimal"}
_SPELLED_AS_LISTED: Final = frozenset(
    "string normalizedString token language Name NCName NMTOKEN ID IDREF ENTITY anyURI".split()
)
_BOOLEANS: Final = ("true", "false", "1", "0")


@dataclass(frozen=True, slots=True)
class SimpleType:
    """A built-in type and its facets.

    ``kind`` is the local name of the built-in type, or ``list`` or ``union``.  ``lowest`` and
    ``highest`` are bounds as they are spelled; ``open_ends`` says that values stay within them.
    Lengths are those of texts, or numbers of items.  ``fraction`` bounds the digits behind the
    point, ``digits`` all of them.
    """

    kind: str
    choices: tuple[str, ...] = ()
    lowest: str | None = None
    highest: str | None = None
    open_ends: bool = False
    shortest: int = 0
    longest: int | None = None
    digits: int | None = None
    fraction: int | None = None
    patterns: tuple[str, ...] = ()
    preserves_space: bool = False
    may_be_empty: bool = False
    """Whether the element may be empty instead: it then has its default value."""
    members: tuple[SimpleType, ...] = ()

    @property
    def known_texts(self) -> tuple[str, ...] | None:
        """All texts that a value can have, but for white space; None where they are not listed."""
        if self.kind == "boolean":
            return _BOOLEANS
        if self.choices and self.kind in _SPELLED_AS_LISTED:
            return self.choices
        return None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The least and the greatest number; None for what is no decimal, or has no bound."""
        if self.kind not in DECIMALS:
            return None
        numbers = [float(choice) for choice in self.choices]
        if numbers:
            return min(numbers), max(numbers)
        if self.lowest is None and self.highest is None:
            return None
        return float(self.lowest or "-inf"), float(self.highest or "inf")
