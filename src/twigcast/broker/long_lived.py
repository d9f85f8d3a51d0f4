"""What stays for long is set aside from Python's cyclic garbage collector.

A full collection walks over every object that may be part of a cycle: a dozen for each pattern and
each subscription, so a second for 100,000 patterns, in which a broker answers nobody.  Patterns are
not part of cycles, and are freed when nobody refers to them; what merging has counted takes itself
apart when it is forgotten.  So each time there are ten thousand more of all of these, what lives is
set aside (``gc.freeze``), and later collections pass it over.

The collector also looks less often than Python has it: after 10,000 objects instead of 700.  The
documents on their way are many objects without cycles, and each look goes over them in vain.

Cost: garbage in cycles that waits for a full collection at that moment stays.  It happens as often
as there is more by that much than ever before, so it is bounded by that.
"""

from __future__ import annotations

import gc
from typing import Final

_GROWTH: Final = 10_000
_LOOKS: Final = (10_000, 10, 10)


def look_seldom() -> None:
    """Let the collector of this process look seldom."""
    gc.set_threshold(*_LOOKS)


class LongLived:
    """How much there was when what lives was last set aside."""

    def __init__(self) -> None:
        self._size = 0

    def grown(self, size: int) -> None:
        """Note how many patterns and subscriptions there are."""
        if size >= self._size + _GROWTH:
            self._size = size
            gc.collect(1)
            gc.freeze()
