"""What is refused to a client, and the codes of errors as the wire names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from twigcast.errors import (
    AccessError,
    DocumentError,
    RefusedError,
    StoreError,
    TwigcastError,
)

_MOST_AT_ONCE: Final = 10_000
"""How many documents, or acknowledgements, one request may have."""


class SessionError(RefusedError):
    """A client that does not keep to the protocol; its session ends."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, "invalid")


def require_few(items: Sequence[object], what: str) -> None:
    """Raise SessionError for a message with too much of something."""
    if len(items) > _MOST_AT_ONCE:
        raise SessionError(f"a message has at most {_MOST_AT_ONCE:,} {what}")


def code_of(error: TwigcastError) -> str:
    """The code of an error, as the wire names it."""
    if isinstance(error, RefusedError | AccessError):
        return error.code
    if isinstance(error, DocumentError):
        return "malformed"
    if isinstance(error, StoreError):
        return "unavailable"
    return "invalid"
