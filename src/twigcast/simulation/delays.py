"""How long something took, many times over, in little memory.

Sums, bounds and a histogram with buckets of equal ratio: each is 1 % wider than the one before, so
quantiles are right within 1 %.  Memory: a bucket for each ratio that occurred, some hundreds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import ceil, floor, log, log1p
from typing import Final

_WIDTH: Final = log1p(0.01)
_NONE: Final = -(2**31)
"""The bucket of durations of 0."""


class Delays:
    """A histogram of durations in seconds."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.least = float("inf")
        self.greatest = 0.0
        self._buckets: Counter[int] = Counter()

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self.count += 1
        self.total += seconds
        if seconds < self.least:
            self.least = seconds
        if seconds > self.greatest:
            self.greatest = seconds
        self._buckets[floor(log(seconds) / _WIDTH) if seconds > 0 else _NONE] += 1

    @property
    def mean(self) -> float:
        """0 where there are none."""
        return self.total / self.count if self.count else 0.0

    def quantile(self, share: float) -> float:
        """The duration that this share of all does not exceed, within 1 %; 0 if there are none."""
        wanted = max(1, ceil(share * self.count))
        for bucket in sorted(self._buckets):
            wanted -= self._buckets[bucket]
            if wanted <= 0:
                middle = 0.0 if bucket == _NONE else _middle(bucket)
                return min(max(middle, self.least), self.greatest)
        return 0.0

    @staticmethod
    def joined(several: Iterable[Delays]) -> Delays:
        """The histogram of all durations in several others."""
        whole = Delays()
        for each in several:
            whole.count += each.count
            whole.total += each.total
            whole.least = min(whole.least, each.least)
            whole.greatest = max(whole.greatest, each.greatest)
            whole._buckets.update(each._buckets)
        return whole


def _middle(bucket: int) -> float:
    return float((1.01**bucket) * 1.01**0.5)
