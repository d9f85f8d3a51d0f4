"""How much one client may have and do, over all its connections where it is known by name."""

from __future__ import annotations

import time

from twigcast.broker.config import LimitsConfig
from twigcast.errors import RefusedError


class Quota:
    """What one client has at present."""

    def __init__(self) -> None:
        self.connections = 0
        self.advertisements = 0
        self._subscriptions = 0
        self._expressions = 0
        self._publish_at = 0.0  # until when its publications of the past are counted for

    def require(self, limits: LimitsConfig, expressions: int) -> None:
        """Raise RefusedError if a subscription with so many expressions would be too much."""
        for have, more, most, what in (
            (self._subscriptions, 1, limits.subscriptions_per_client, "subscriptions"),
            (self._expressions, expressions, limits.expressions_per_client, "expressions"),
        ):
            if have + more > most:
                raise RefusedError(
                    f"{have:,} {what} and {more:,} more are beyond the {most:,} that a client "
                    f"may have here (limits.{what}_per_client)",
                    "quota",
                )

    def add(self, expressions: int) -> None:
        """Count a subscription."""
        self._subscriptions += 1
        self._expressions += expressions

    def remove(self, expressions: int) -> None:
        """Count a subscription no more."""
        self._subscriptions -= 1
        self._expressions -= expressions

    def wait_for(self, publications: int, rate: float) -> float:
        """Count publications; the seconds to wait before the next, at so many a second at most."""
        if not rate:
            return 0.0
        now = time.monotonic()
        self._publish_at = max(self._publish_at, now - 1.0) + publications / rate
        return max(0.0, self._publish_at - now)
