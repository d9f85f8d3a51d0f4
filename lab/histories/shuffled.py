"""A transport that lets messages arrive in the worst order that links allow.

Messages on one link keep their order; which link is next, or which broker flushes, is drawn anew
each time.  So every order in which the messages of a network can arrive comes up sooner or
later, with brokers that gather for any time.
"""

from __future__ import annotations

from collections import deque
from random import Random

from twigcast.routing import Envelope


class ShuffledTransport:
    """Messages arrive in a random order, the same for the same seed; in order on each link.

    Each direction of a link is a queue of its own.  Cost: a message takes time proportional to the
    number of links that have any waiting.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._waiting: dict[tuple[str, str], deque[Envelope]] = {}

    def put(self, envelope: Envelope) -> None:
        """Take a message in transit."""
        ends = (envelope.sender, envelope.receiver)
        self._waiting.setdefault(ends, deque()).append(envelope)

    def take(self) -> Envelope | None:
        """The first message of some link; None when nothing is in transit."""
        if not self._waiting:
            return None
        ends = self._random.choice(tuple(self._waiting))
        queue = self._waiting[ends]
        envelope = queue.popleft()
        if not queue:
            del self._waiting[ends]
        return envelope

    def cut(self, one: str, other: str) -> None:
        """Drop what is in transit between two ends."""
        self._waiting.pop((one, other), None)
        self._waiting.pop((other, one), None)

    def __len__(self) -> int:
        """How many messages are in transit."""
        return sum(map(len, self._waiting.values()))
