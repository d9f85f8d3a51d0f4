"""What a history raises."""

from __future__ import annotations


class HistoryError(AssertionError):
    """A promise was not kept."""
