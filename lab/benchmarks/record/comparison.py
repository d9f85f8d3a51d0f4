"""What became of the figures of a record.

A row is worse, or better, when it changed by more than the noise: a tenth, which is what a figure
changes from run to run though nothing was changed, and the half interquartile ranges of both runs,
which are the ± of the tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Final

from lab.benchmarks.record.figures import Figure, Record
from lab.benchmarks.results import Result, readable

_FROM_RUN_TO_RUN: Final = 0.1
_NOTHING: Final = 1e-9
"""Stands for a figure of 0, which has no ratio."""
_TIMES: Final = ("s", "ms", "µs")
_RATE: Final = "a second"
_MORE_IS_BETTER: Final = ("×", "× ours", "× the job")
"""Units of speed-ups; of all other ratios less is better."""


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one row."""

    name: str
    verdict: str
    """``worse``, ``better`` or ``alike``; ``new`` or ``missing`` where one side has no such row."""
    unit: str
    recorded: float | None
    """Times and rates as this machine would have had them."""
    measured: float | None
    times_worse: float | None
    """2 is twice as slow or as large, 0.5 is twice as good."""
    noise: float | None
    """The share of a change that has no meaning."""

    def as_json(self) -> dict[str, object]:
        """The change as a JSON object."""
        return asdict(self)

    def __str__(self) -> str:
        text = f"{self.verdict}: {self.name}"
        if self.recorded is None or self.measured is None:
            return text
        figures = f"{readable(self.recorded)} → {readable(self.measured)} {self.unit}".rstrip()
        return f"{text}, {figures} (noise {self.noise:.0%})"


def compare(results: Iterable[Result], record: Record, expat_microseconds: float) -> list[Change]:
    """What became of each row, those of the record that were not measured at the end."""
    slower = expat_microseconds / record.expat_microseconds
    measured = {result.name: Figure.of(result) for result in results}
    changes = [
        _change(name, record.figures.get(name), figure, slower) for name, figure in measured.items()
    ]
    gone = (name for name in record.figures if name not in measured)
    return changes + [_change(name, record.figures[name], None, slower) for name in gone]


def more_is_better(unit: str) -> bool:
    """Whether a larger figure of this unit is the better one."""
    return unit in _MORE_IS_BETTER or unit.endswith(_RATE)


def _change(name: str, before: Figure | None, now: Figure | None, slower: float) -> Change:
    if now is None:
        return Change(name, "missing", "", None, None, None, None)
    if before is None or before.unit != now.unit:
        return Change(name, "new", now.unit, None, now.value, None, None)
    recorded = before.value
    if now.unit in _TIMES:
        recorded *= slower
    elif now.unit.endswith(_RATE):
        recorded /= slower
    noise = _FROM_RUN_TO_RUN + (before.spread + now.spread) / 2
    times_worse = max(now.value, _NOTHING) / max(recorded, _NOTHING)
    if more_is_better(now.unit):
        times_worse = 1 / times_worse
    verdict = "alike"
    if times_worse > 1 + noise:
        verdict = "worse"
    elif times_worse < 1 / (1 + noise):
        verdict = "better"
    return Change(name, verdict, now.unit, recorded, now.value, times_worse, noise)
