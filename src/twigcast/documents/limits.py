"""Limits on what a document may make its reader spend, and the errors that name them.

Every limit has a default that ordinary documents stay far below, and every refusal says which
limit it was and how to raise it.  The compiled kernel enforces the same limits on its own events
and makes its errors here, so that a refusal reads the same whoever refuses.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final, Literal

from twigcast.errors import DocumentError
from twigcast.keywords import exact_keywords

LimitName = Literal["size", "depth", "attributes", "name_length", "entity_expansion"]


@exact_keywords
@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """The most that one document may have of each thing; each is a positive whole number.

    ``size``              bytes of the document as given, and again as UTF-8 where it is recoded
    ``depth``             open elements at any point; the root alone is depth 1
    ``attributes``        attributes of one element, those that the DTD defaults included; in a
                          start tag of 8 KiB or more also its namespace declarations, apart
    ``name_length``       characters of an expanded name: namespace name plus local part
    ``entity_expansion``  characters that entity references and the attribute defaults of the
                          internal subset may add to the document, all together
    """

    size: int = 64 * 1024 * 1024
    depth: int = 512
    attributes: int = 1_000
    name_length: int = 4_000
    entity_expansion: int = 1024 * 1024

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"the limit {field.name} must be a whole number, not {value!r}")
            if value < 1:
                raise ValueError(f"the limit {field.name} must be at least 1, not {value}")


DEFAULT_LIMITS: Final = DocumentLimits()

_EXCESSES: Final[dict[LimitName, str]] = {
    "size": "the document is larger than {} bytes",
    "depth": "elements are nested deeper than {} levels",
    "attributes": "an element has more than {} attributes",
    "name_length": "a name is longer than {} characters, its namespace included",
    "entity_expansion": "entities and attribute defaults add more than {} characters",
}


def limit_exceeded(
    limits: DocumentLimits, name: LimitName, line: int = 0, column: int = 0
) -> DocumentError:
    """The error for a document that goes past the limit ``name``."""
    excess = _EXCESSES[name].format(f"{getattr(limits, name):,}")
    return DocumentError(f"{excess}; raise DocumentLimits.{name} to accept it", line, column)
