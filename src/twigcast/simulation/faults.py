"""Things that go wrong at a time, and their repair, as values.

    Crash   ──► Restart                 a broker loses everything, and begins anew
    Cut     ──► Heal                    a link carries nothing, and does again
    Slow    ──► Slow by 0               a link takes longer, and no longer does
    Disturb ──► Disturb with nothing    a link loses, doubles and reorders more, and no longer does

The second of a pair leaves a link as the simulation was given it, which may lose frames by itself.

``apply()`` does it to a simulation, now.  :func:`random_faults` makes schedules at the end of which
everything is whole again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final, TypeAlias

from twigcast.routing import Link, Overlay

if TYPE_CHECKING:
    from twigcast.simulation.simulation import Simulation


@dataclass(frozen=True, slots=True)
class Crash:
    """A broker loses everything it knows."""

    time: float
    broker: str

    def apply(self, simulation: Simulation) -> None:
        simulation.crash(self.broker)

    def __str__(self) -> str:
        return f"{self.time:g} s: the broker {self.broker} crashes"


@dataclass(frozen=True, slots=True)
class Restart:
    """A broker that has crashed begins anew."""

    time: float
    broker: str

    def apply(self, simulation: Simulation) -> None:
        simulation.restart(self.broker)

    def __str__(self) -> str:
        return f"{self.time:g} s: the broker {self.broker} restarts"


@dataclass(frozen=True, slots=True)
class Cut:
    """A link is cut."""

    time: float
    link: Link

    def apply(self, simulation: Simulation) -> None:
        simulation.cut(*self.link)

    def __str__(self) -> str:
        return f"{self.time:g} s: the link {self.link} is cut"


@dataclass(frozen=True, slots=True)
class Heal:
    """A link that was cut is whole again."""

    time: float
    link: Link

    def apply(self, simulation: Simulation) -> None:
        simulation.heal(*self.link)

    def __str__(self) -> str:
        return f"{self.time:g} s: the link {self.link} is whole"


@dataclass(frozen=True, slots=True)
class Slow:
    """A link takes so many seconds more than its latency; 0 ends it."""

    time: float
    link: Link
    seconds: float

    def apply(self, simulation: Simulation) -> None:
        simulation.slow(*self.link, self.seconds)

    def __str__(self) -> str:
        if not self.seconds:
            return f"{self.time:g} s: the link {self.link} is as fast as before"
        return f"{self.time:g} s: the link {self.link} takes {self.seconds:g} s longer"


@dataclass(frozen=True, slots=True)
class Disturb:
    """A link does something to shares of the frames on it, beside what it does anyway.

    One without any share ends it.
    """

    time: float
    link: Link
    loss: float = field(default=0.0, kw_only=True)
    duplication: float = field(default=0.0, kw_only=True)
    reordering: float = field(default=0.0, kw_only=True)

    def apply(self, simulation: Simulation) -> None:
        simulation.disturb(
            *self.link,
            loss=self.loss,
            duplication=self.duplication,
            reordering=self.reordering,
        )

    def __str__(self) -> str:
        if not (self.loss or self.duplication or self.reordering):
            return f"{self.time:g} s: the link {self.link} is as reliable as before"
        return (
            f"{self.time:g} s: the link {self.link} loses {self.loss:.0%}, doubles "
            f"{self.duplication:.0%} and reorders {self.reordering:.0%}"
        )


Fault: TypeAlias = Crash | Restart | Cut | Heal | Slow | Disturb

_SLOWEST: Final = 20.0
"""Latencies by which a random fault slows a link, at most."""
_WORST: Final = 0.3
"""The largest share of frames that a random fault affects."""


def random_faults(overlay: Overlay, seed: int, count: int, until: float) -> list[Fault]:
    """``count`` things that go wrong and are repaired before ``until``; in order of time.

    The same for the same arguments.  Whatever is chosen fails once at a time, but different things
    fail together, also a broker and its links.
    """
    if count < 0 or not 0 < until < float("inf"):
        raise ValueError(
            f"a number of faults from 0 and a time above 0 are needed, not {count} and {until}"
        )
    random = Random(seed)
    kinds = (Crash, Cut, Slow, Disturb) if overlay.links else (Crash,)
    links = list(overlay.links)
    chosen: dict[tuple[type[Fault], str | Link], int] = {}
    for _ in range(count):
        drawn = random.choice(kinds)
        where = random.choice(overlay.brokers) if drawn is Crash else random.choice(links)
        chosen[drawn, where] = chosen.get((drawn, where), 0) + 1
    faults: list[Fault] = []
    for (kind, what), times in chosen.items():
        moments = sorted(random.uniform(0, until) for _ in range(2 * times))
        for start, end in zip(moments[::2], moments[1::2], strict=True):
            if isinstance(what, Link):
                faults += _episode(overlay, random, kind, what, start, end)
            else:
                faults += (Crash(start, what), Restart(end, what))
    return sorted(faults, key=lambda fault: fault.time)


def _episode(
    overlay: Overlay, random: Random, kind: type[Fault], link: Link, start: float, end: float
) -> tuple[Fault, Fault]:
    if kind is Cut:
        return Cut(start, link), Heal(end, link)
    if kind is Slow:
        seconds = overlay.links[link].latency * random.uniform(1, _SLOWEST)
        return Slow(start, link, seconds), Slow(end, link, 0.0)
    loss, duplication, reordering = (random.uniform(0, _WORST) for _ in range(3))
    bad = Disturb(start, link, loss=loss, duplication=duplication, reordering=reordering)
    return bad, Disturb(end, link)
