"""Times in parameters: ISO 8601, or milliseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from twigcast.errors import RefusedError

_WHOLE: Final = re.compile(r"[0-9]{1,15}", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def whole_number(text: str) -> int | None:
    """The number that a text is; None if it is none."""
    return int(text) if _WHOLE.fullmatch(text) else None


def milliseconds(name: str, text: str) -> int:
    """The time that a parameter says, in UTC where it names no zone; RefusedError if it says none.

    A ``+`` before the zone that was not escaped has become a blank.
    """
    number = whole_number(text)
    if number is not None:
        return number
    try:
        moment = datetime.fromisoformat(text.strip().replace(" ", "+") if "T" in text else text)
    except ValueError:
        raise RefusedError(
            f"{name}: {text[:100]!r} is no time; write as in 2026-01-31T12:00:00Z, or "
            "milliseconds since 1970",
            "invalid",
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0, (moment - _EPOCH) // timedelta(milliseconds=1))
