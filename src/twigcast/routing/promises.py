"""What an advertisement promises, and which subscriptions may profit from it."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

from twigcast.language import Pattern
from twigcast.schema import Advertisement, Schema


class Anything:
    """The promise of a producer that says only where it is: any document may come."""

    __slots__ = ()

    def overlaps(self, pattern: Pattern) -> bool:
        """Whether a document may match: always."""
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Anything)

    def __hash__(self) -> int:
        return hash(Anything)

    def __repr__(self) -> str:
        return "ANYTHING"


ANYTHING: Final = Anything()

Promise: TypeAlias = Schema | Advertisement | Anything
"""All documents of a schema, those along an advertised path, or any."""

_REMEMBERED = 2**18


def is_promise(value: object) -> bool:
    """Whether something is a promise."""
    return isinstance(value, Schema | Advertisement | Anything)


def require_promise(value: object) -> None:
    """Raise TypeError for what is none."""
    if not is_promise(value):
        raise TypeError(
            f"a Schema, an Advertisement or ANYTHING is promised, not {type(value).__name__}"
        )


@lru_cache(maxsize=_REMEMBERED)
def may_match(promise: Promise, pattern: Pattern) -> bool:
    """Whether a promised document may match; the same is asked at every broker on the path."""
    return promise.overlaps(pattern)
