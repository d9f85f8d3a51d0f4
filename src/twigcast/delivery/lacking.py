"""Destinations that a broker does not know: how long documents wait for them, and why."""

from __future__ import annotations

import math
from typing import Final

from twigcast.delivery.custody import LONGEST_PATIENCE

_MOST: Final = 100
_UNCERTAIN: Final = 3600.0
"""How long, in seconds, a unit or broker may still become known: links may have been down."""


class Lacking:
    """What is lacking at one broker for documents that are owed to it; they wait elsewhere."""

    def __init__(self) -> None:
        self._since = math.inf
        """Since when destinations come up that are not known here."""
        self._reasons: dict[str, float] = {}
        """When each reason was seen last."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why documents wait now."""
        return tuple(self._reasons)

    def is_uncertain(self, now: float) -> bool:
        """Whether a destination that is not known here may still become known."""
        self._since = min(self._since, now)
        return now < self._since + _UNCERTAIN

    def wait_for(self, reason: str, now: float) -> str:
        """Let a document wait; what to say of that, which is nothing with each further attempt."""
        is_new = self._reasons.pop(reason, None) is None
        self._reasons[reason] = now
        if len(self._reasons) > _MOST:
            del self._reasons[next(iter(self._reasons))]
        return f"it waits up to an hour where it is owed: {reason}" if is_new else ""

    def look(self, now: float) -> None:
        """Take a reason for over that has stood in the way of nothing for a while."""
        for reason, last in list(self._reasons.items()):
            if now > last + 2 * LONGEST_PATIENCE:
                del self._reasons[reason]
