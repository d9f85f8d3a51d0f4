"""Times as people and programs write them, in one form everywhere.

A moment is ISO 8601 in UTC with milliseconds: ``2026-01-31T14:30:00.000Z``.  Whoever writes one may
leave out what is zero and name another zone, or say how long ago or from now: ``2h``.  Inside, and
on the wire, moments are milliseconds since 1970.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_LATEST: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
_SPAN: Final = re.compile(r"([0-9]{1,12}) *(ms|s|min|m|h|d|w)", re.ASCII)
_SPANS: Final = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
FORMS: Final = "a time as 2026-01-31 or 2026-01-31T14:30+01:00 (UTC without a zone)"
"""How a moment is written, for messages."""
SPANS: Final = "90s, 30m, 2h or 7d"
"""How a span is written, for messages."""


def now_milliseconds() -> int:
    """The moment that it is, as far as the clock knows."""
    return time.time_ns() // 1_000_000


def to_milliseconds(moment: datetime) -> int:
    """A moment since 1970; an earlier one counts as 1970, and one without a zone as local."""
    return max(0, (moment.astimezone(UTC) - _EPOCH) // _MILLISECOND)


def to_datetime(milliseconds: int) -> datetime:
    """A moment, in UTC; what no calendar has counts as the last that it has."""
    return _EPOCH + timedelta(milliseconds=min(max(milliseconds, 0), _LATEST))


def show_time(moment: int | datetime) -> str:
    """A moment as it is written everywhere: ``2026-01-31T14:30:00.000Z``."""
    if isinstance(moment, int):
        moment = to_datetime(moment)
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"


def read_span(text: str) -> timedelta | None:
    """A span such as ``2h``; None if a text is none."""
    span = _SPAN.fullmatch(text.strip())
    try:
        return None if span is None else timedelta(milliseconds=int(span[1]) * _SPANS[span[2]])
    except OverflowError:
        return None


def read_time(text: str, *, ahead: bool = False) -> int:
    """A moment in milliseconds since 1970: of ISO 8601, or a span before now, or after it.

    One that may be ``ahead`` is not 0, which stands for never.  Raises ValueError, with the forms
    that there are.
    """
    span = read_span(text)
    if span is not None:
        return max(0, now_milliseconds() + (1 if ahead else -1) * (span // _MILLISECOND))
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(int(ahead), to_milliseconds(moment))
    except (ValueError, OverflowError):
        how = "how long from now" if ahead else "how long ago"
        raise ValueError(f"{text[:100]!r} is no time; write {FORMS}, or {how} as {SPANS}") from None
