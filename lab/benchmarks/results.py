"""The results of a benchmark: figures, each beside the goal that it has to meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from lab.benchmarks.measure import Measurement

Detail = float | int | str


def readable(value: float) -> str:
    """A figure with three digits that count, and no more than two digits after the point."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 else f"{value:.3f}"


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on a figure: at most, or with ``least``, at least."""

    bound: float
    least: bool = False
    applies: bool = True
    """Whether the run has the size that the goal is about; otherwise nothing is judged."""

    def is_met(self, value: float) -> bool:
        return value >= self.bound if self.least else value <= self.bound

    def share(self, value: float) -> float:
        """How much of what the goal allows is used up: 1 at the goal, more beyond it."""
        used, allowed = (self.bound, value) if self.least else (value, self.bound)
        return used / allowed if allowed else float("inf")

    def __str__(self) -> str:
        return f"{'≥' if self.least else '≤'} {self.bound:,g}"


@dataclass(frozen=True, slots=True)
class Result:
    """One figure of a benchmark."""

    name: str
    """What programs know it by; it stays the same from release to release."""
    work: str
    """What was done, with its size, for people."""
    value: float
    unit: str
    spread: float = 0.0
    """The interquartile range of the rounds, as a share of the value; 0 where it is one reading."""
    goal: Goal | None = None
    matches: float | None = None
    """Subscriptions that match a document, or coverings that a search finds, on average."""
    details: Mapping[str, Detail] = field(default_factory=dict)
    """What else was seen: times, sizes, the makings of the workload."""

    @property
    def outcome(self) -> str:
        """``met`` or ``missed``; empty without a goal or at another size than the goal's."""
        if self.goal is None or not self.goal.applies:
            return ""
        return "met" if self.goal.is_met(self.value) else "missed"

    @property
    def figure(self) -> str:
        """The value with its unit, for people."""
        return f"{readable(self.value)} {self.unit}".rstrip()

    def as_json(self) -> dict[str, object]:
        """The result as a JSON object."""
        goal = None if self.goal is None else str(self.goal)
        return asdict(self) | {"goal": goal, "verdict": self.outcome or None}


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """The time of one method to do a piece of work, a document or a search, with a set so large."""

    method: str
    subscriptions: int
    seconds: float
    spread: float
    ratio: float
    """The time as a multiple of the yardstick's in the same rounds."""
    matches: float
    """The results, on average: subscriptions that match, or coverings."""

    def as_json(self) -> dict[str, object]:
        """The point as a JSON object."""
        return asdict(self)


def ratio_result(
    name: str,
    work: str,
    measurements: list[Measurement],
    method: str,
    *,
    goal: Goal | None = None,
    matches: float | None = None,
    unit: str = "× expat",
    details: Mapping[str, Detail] | None = None,
) -> Result:
    """The time of one method as a multiple of the first's, with all their times as details."""
    chosen = next(one for one in measurements if one.method == method)
    times = {f"{one.method}, µs": round(one.seconds * 1e6, 2) for one in measurements}
    details = {**(details or {}), **times}
    return Result(name, work, chosen.ratio, unit, chosen.ratio_spread, goal, matches, details)
