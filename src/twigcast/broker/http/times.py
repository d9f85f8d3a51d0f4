"""Times in parameters, in the form that they have everywhere."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from twigcast.errors import RefusedError
from twigcast.times import read_span, read_time

_WHOLE: Final = re.compile(r"[0-9]{1,15}", re.ASCII)
_SECOND: Final = timedelta(seconds=1)


def whole_number(text: str) -> int | None:
    """The number that a text is; None if it is none."""
    return int(text) if _WHOLE.fullmatch(text) else None


def milliseconds(name: str, text: str, *, ahead: bool = False) -> int:
    """The moment that a parameter says, as milliseconds since 1970; RefusedError if it says none.

    A ``+`` before the zone that was not escaped has become a blank.
    """
    try:
        return read_time(text.strip().replace(" ", "+") if "T" in text else text, ahead=ahead)
    except ValueError as error:
        raise RefusedError(f"{name}: {error}", "invalid") from None


def seconds(name: str, text: str, least: str, most: str) -> float:
    """The span that a parameter says, as ``30s`` or ``2m``; RefusedError if it says none.

    ``least`` and ``most`` are the bounds, as people write them.
    """
    span, low, high = read_span(text), read_span(least), read_span(most)
    assert low is not None, "it is a span"
    assert high is not None, "it is a span"
    if span is None or not low <= span <= high:
        raise RefusedError(
            f"{name}: {text[:100]!r} is no time from {least} to {most}; write it like these",
            "invalid",
        )
    return span / _SECOND
