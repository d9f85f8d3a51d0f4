"""What carries the messages of a network in one process.

A :class:`Transport` hands out in an order of its own what is put into it.  The one here does so at
once and in the order of sending; that of a simulation has delays and losses.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from twigcast.routing.messages import Message


@dataclass(frozen=True, slots=True)
class Flush:
    """A broker's note to itself: it is time to send neighbours what it has gathered."""


class Envelope(NamedTuple):
    """A message in transit from one link end to another: brokers and clients, by name."""

    sender: str
    receiver: str
    message: Message | Flush


class Transport(Protocol):
    """Carries messages; in order between two ends, and none that was on a link when it was cut.

    A :class:`Flush` may arrive at any time after it was put.
    """

    def put(self, envelope: Envelope) -> None:
        """Take a message in transit."""

    def take(self) -> Envelope | None:
        """The next message that arrives; None when nothing is in transit."""

    def cut(self, one: str, other: str) -> None:
        """Drop what is in transit between two ends."""


class InstantTransport:
    """Messages arrive in the order in which they were sent; brokers flush when none is left."""

    def __init__(self) -> None:
        self._waiting: deque[Envelope] = deque()
        self._gathering: deque[Envelope] = deque()

    def put(self, envelope: Envelope) -> None:
        is_flush = isinstance(envelope.message, Flush)
        (self._gathering if is_flush else self._waiting).append(envelope)

    def take(self) -> Envelope | None:
        queue = self._waiting or self._gathering
        return queue.popleft() if queue else None

    def cut(self, one: str, other: str) -> None:
        ends = {one, other}
        self._waiting = deque(
            each for each in self._waiting if {each.sender, each.receiver} != ends
        )
