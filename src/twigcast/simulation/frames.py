"""A link that loses, duplicates and reorders, with a session at each end that makes up for it.

    broker ──► session.send ──► frames ──► lost, doubled, late ──► session.receive ──► broker
                   ▲                                                    │
                   └── tick, as long as something is open ──► frames ◄──┘

Ticks are planned only while a session is not idle, so a link comes to rest.  They are as far apart
as a frame takes there and back (:mod:`twigcast.routing.link_sessions`).

Invariant: messages come out in the order in which they went in, each once, until the link is
closed; then none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final, Protocol

from twigcast.routing import Envelope, Frame, Link, LinkSession, Message
from twigcast.simulation.conditions import LATE, Conditions

_SHORTEST_TICK: Final = 0.001
"""In seconds; where there is no latency, ticks still are some time apart."""


class Timer(Protocol):
    """A clock, and who does things when their time has come."""

    now: float

    def call_at(self, time: float, action: Callable[[], object]) -> None:
        """Do something at a time."""


@dataclass(slots=True)
class FrameCounts:
    """The frames on all links that have sessions."""

    sent: int = 0
    """All of them, those that confirm and those that were lost too."""
    resent: int = 0
    lost: int = 0
    duplicated: int = 0


class FramedLink:
    """One life of a link with sessions.

    ``hand_out`` gets each message when its turn has come; ``number`` is one that no other life of
    the link has.  No frame arrives before ``not_before``, when the last of what was sent without
    sessions does.
    """

    def __init__(
        self,
        link: Link,
        number: int,
        latency: float,
        timer: Timer,
        random: Random,
        counts: FrameCounts,
        hand_out: Callable[[Envelope], None],
        not_before: float,
    ) -> None:
        self._link = link
        self._sessions = {end: LinkSession(number) for end in link}
        self._latency = latency
        self.conditions = Conditions()
        self._timer = timer
        self._random = random
        self._counts = counts
        self._hand_out = hand_out
        self._not_before = not_before
        self._ticking: set[str] = set()
        self._is_open = True

    def send(self, sender: str, message: Message) -> None:
        """Let an end send a message now."""
        if self._is_open:
            self._transmit(sender, self._sessions[sender].send(message))
            self._plan_tick(sender)

    def close(self) -> None:
        """Let nothing arrive any more."""
        self._is_open = False

    def _transmit(self, sender: str, frames: list[Frame]) -> None:
        receiver = self._link.other(sender)
        conditions, chance = self.conditions, self._random.random
        for frame in frames:
            self._counts.sent += 1
            if chance() < conditions.loss:
                self._counts.lost += 1
                continue
            self._carry(receiver, frame)
            if chance() < conditions.duplication:
                self._counts.duplicated += 1
                self._carry(receiver, frame)

    def _carry(self, receiver: str, frame: Frame) -> None:
        conditions, chance = self.conditions, self._random.random
        seconds = self._latency + conditions.delay + conditions.jitter * chance()
        if chance() < conditions.reordering:
            seconds += LATE * self._latency * chance()
        arrival = max(self._timer.now + seconds, self._not_before)
        self._timer.call_at(arrival, partial(self._arrive, receiver, frame))

    def _arrive(self, receiver: str, frame: Frame) -> None:
        if not self._is_open:
            return
        messages, answer = self._sessions[receiver].receive(frame)
        for message in messages:
            self._hand_out(Envelope(self._link.other(receiver), receiver, message))
        self._transmit(receiver, answer)
        self._plan_tick(receiver)

    def _plan_tick(self, end: str) -> None:
        if end not in self._ticking and not self._sessions[end].is_idle:
            self._ticking.add(end)
            there_and_back = 2 * self.conditions.longest(self._latency)
            interval = max(there_and_back, _SHORTEST_TICK)
            self._timer.call_at(self._timer.now + interval, partial(self._tick, end))

    def _tick(self, end: str) -> None:
        self._ticking.discard(end)
        if self._is_open:
            frames = self._sessions[end].tick()
            self._counts.resent += sum(frame.message is not None for frame in frames)
            self._transmit(end, frames)
            self._plan_tick(end)
