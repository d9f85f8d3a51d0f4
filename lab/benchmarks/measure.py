"""Timing several methods of doing the same work against each other."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

_Item = TypeVar("_Item")
_REPORTS = 100
_LARGE: Final = 100_000
"""Bytes; a request so large makes malloc sort what was freed before."""

Clock = Callable[[], float]


class Progress(Protocol):
    """Called with what is being done at the moment and, where that is known, how much of it."""

    def __call__(self, work: str, done: int = 0, total: int = 0) -> None: ...


def quiet(work: str, done: int = 0, total: int = 0) -> None:
    """Progress that nobody wants to see."""


def followed(items: Sequence[_Item], work: str, progress: Progress) -> Iterator[_Item]:
    """The items; progress is reported a hundred times while they pass."""
    every = max(1, len(items) // _REPORTS)
    for done, item in enumerate(items):
        if done % every == 0:
            progress(work, done, len(items))
        yield item


@dataclass(frozen=True, slots=True)
class Measurement:
    """How long one method of doing a piece of work took."""

    work: str
    """What was done, with its size."""
    method: str
    """Who did it."""
    seconds: float
    """The median over the rounds, for one unit of the work."""
    spread: float
    """The interquartile range of the rounds, as a share of the median."""
    ratio: float
    """The time divided by the first method's in the same round; the median over the rounds."""
    ratio_spread: float
    """The interquartile range of that multiple, as a share of its median."""


def measure(
    work: str,
    methods: Mapping[str, Callable[[], object]],
    *,
    units: int | Mapping[str, int],
    rounds: int = 7,
    clock: Clock = time.perf_counter,
) -> list[Measurement]:
    """Time each method in alternating rounds, after one round that does not count.

    ``units`` is how many pieces of work one call does, or that number for each method: a quick
    method may do more, so that its time can be read as well as that of a slow one.  The first
    method is the yardstick: what else the machine does in a round hits all methods alike, so ratios
    are taken round by round.
    """
    times: dict[str, list[float]] = {method: [] for method in methods}
    gc.collect()
    for number in range(rounds + 1):
        for method, call in methods.items():
            elapsed = timed(call, clock)
            if number:
                times[method].append(elapsed / (units if isinstance(units, int) else units[method]))
    yardstick = next(iter(times.values()))
    return [_measurement(work, method, values, yardstick) for method, values in times.items()]


def each(call: Callable[[_Item], object], items: Iterable[_Item]) -> None:
    """Call it with each item; what it returns is freed at once, as a program would do."""
    for item in items:
        call(item)


def timed(call: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    """How long one call takes, with freeing what it returns but without garbage collection.

    Whoever ran before does not count.  The malloc of glibc puts off merging small pieces that were
    freed until the next large request: after 500 trees of lxml were freed at once, the first parser
    of expat waits 12 ms instead of 0.04.
    """
    gc.disable()
    bytes(_LARGE)
    try:
        start = clock()
        call()
        return clock() - start
    finally:
        gc.enable()


def spread(values: Sequence[float]) -> float:
    """The interquartile range as a share of the median; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    low, median, high = statistics.quantiles(values, n=4)
    return (high - low) / median if median else 0.0


def _measurement(
    work: str, method: str, values: list[float], yardstick: list[float]
) -> Measurement:
    ratios = [value / unit for value, unit in zip(values, yardstick, strict=True)]
    return Measurement(
        work,
        method,
        seconds=statistics.median(values),
        spread=spread(values),
        ratio=statistics.median(ratios),
        ratio_spread=spread(ratios),
    )
