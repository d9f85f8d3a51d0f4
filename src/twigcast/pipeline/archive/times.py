"""Times that people write: dates and date-times of ISO 8601, UTC unless they name a zone."""

from __future__ import annotations

from datetime import UTC, datetime

from twigcast.errors import PipelineError


def to_time(value: str | datetime, what: str) -> datetime:
    """The instant; ``what`` names the parameter for errors."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise PipelineError(
                f"{what}: {value!r} is no time; write a date as 2026-01-31, "
                "or a time as 2026-01-31T14:30 (UTC) or 2026-01-31T14:30+01:00"
            ) from None
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def to_micros(time: datetime) -> int:
    """Microseconds since 1970."""
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
