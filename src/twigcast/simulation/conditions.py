"""What the links and brokers of a simulation are like, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

_WITHIN_A_LINK: Final = ("loss", "duplication", "reordering")
LATE: Final = 3.0
"""A frame that is overtaken is in transit for up to so many latencies longer."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a link adds to its latency, and what it does to the frames on it.

    ``delay`` and ``jitter`` are seconds: each message is in transit that much longer, by all of the
    one and a random part of the other.  The rest are shares of the frames: from 0, and below 1 for
    losses, since on a link that loses everything nothing ever comes to rest: cut it instead.
    """

    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0
    duplication: float = 0.0
    reordering: float = 0.0

    def __post_init__(self) -> None:
        for name in ("delay", "jitter"):
            _require_seconds(name, getattr(self, name))
        for name in _WITHIN_A_LINK:
            share = getattr(self, name)
            if not (0 <= share < 1 or (share == 1 and name != "loss")):
                bound = "below 1 (cut the link instead)" if name == "loss" else "at most 1"
                raise ValueError(f"the {name} of a link is a share from 0 and {bound}, not {share}")

    @property
    def needs_sessions(self) -> bool:
        """Whether the two ends must make up for what the link does."""
        return bool(self.loss or self.duplication or self.reordering)

    def beside(self, other: Conditions) -> Conditions:
        """What a link is like when two things are wrong with it, each as if it were alone."""
        return Conditions(
            self.delay + other.delay,
            self.jitter + other.jitter,
            *(_either(getattr(self, name), getattr(other, name)) for name in _WITHIN_A_LINK),
        )

    def longest(self, latency: float) -> float:
        """How long a frame can be in transit."""
        return latency * (1 + LATE * bool(self.reordering)) + self.delay + self.jitter


@dataclass(frozen=True, slots=True)
class FixedTime:
    """A broker is busy equally long with every message; so a simulation can be repeated."""

    seconds: float = 0.0001

    def __post_init__(self) -> None:
        _require_seconds("time for a message", self.seconds)


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """A broker is busy with a message as long as this machine's processor really is.

    Then no two runs have the same delays, and messages may arrive in another order; but what is in
    all tables at rest, and what is delivered at rest, is the same in all of them.
    """


ProcessingTime: TypeAlias = FixedTime | MeasuredTime


def _either(one: float, other: float) -> float:
    """How likely it is that at least one of two things happens."""
    return one + other - one * other


def _require_seconds(name: str, seconds: float) -> None:
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"the {name} is in seconds and not below 0, not {seconds}")
