"""Timing several ways of doing the same work against each other."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measurement:
    """How long one way of doing a piece of work took."""

    work: str
    """What was done, with its size."""
    way: str
    """Who did it."""
    seconds: float
    """The median over the rounds, for one unit of the work."""
    spread: float
    """The interquartile range of the rounds, as a share of the median."""
    ratio: float
    """The time as a multiple of the first way's."""


def measure(
    work: str, ways: Mapping[str, Callable[[], object]], *, units: int, rounds: int = 7
) -> list[Measurement]:
    """Time each way in alternating rounds, after one round that does not count.

    ``units`` is how many pieces of work one call does.  The first way is the yardstick.
    """
    times: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(rounds + 1):
        for way, call in ways.items():
            gc.collect()
            gc.disable()
            start = time.perf_counter()
            call()
            elapsed = time.perf_counter() - start
            gc.enable()
            if number:
                times[way].append(elapsed / units)
    medians = {way: statistics.median(values) for way, values in times.items()}
    yardstick = next(iter(medians.values()))
    return [
        Measurement(work, way, median, _spread(times[way], median), median / yardstick)
        for way, median in medians.items()
    ]


def _spread(values: list[float], median: float) -> float:
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / median
