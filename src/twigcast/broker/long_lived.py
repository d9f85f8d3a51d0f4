"""Tables that only grow are set aside from Python's cyclic garbage collector.

A full collection walks over every object that may be part of a cycle: a dozen for each pattern, so
a second for 100,000 patterns, in which a broker answers nobody.  Patterns are not part of cycles,
and are freed when nobody refers to them.  So each time the tables have grown by ten thousand
patterns, what lives is set aside (``gc.freeze``), and later collections pass it over.

Cost: garbage in cycles that waits for a full collection at that moment stays.  It happens as often
as the tables are larger by that much than ever before, so it is bounded by their size.
"""

from __future__ import annotations

import gc
from typing import Final

_GROWTH: Final = 10_000


class LongLived:
    """How many patterns the tables had when what lives was last set aside."""

    def __init__(self) -> None:
        self._patterns = 0

    def grown(self, patterns: int) -> None:
        """Note how many patterns the tables have."""
        if patterns >= self._patterns + _GROWTH:
            self._patterns = patterns
            gc.collect(1)
            gc.freeze()
