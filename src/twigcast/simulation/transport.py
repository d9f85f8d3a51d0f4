"""Carries messages in simulated time: links take a while, and so do brokers.

    put ──► leaves when the sender is done ──► latency ──► arrives ──► waits while the receiver
                                                                       is busy ──► take

All that is to happen stands in one heap, by time and, at the same time, by the order of planning:
messages that arrive, brokers that turn to what waits, and calls that were asked for (faults, frames
and ticks of links with sessions).  :meth:`TimedTransport.take` does what comes before the next
message and gives that out.

A broker handles one message after the other, in the order of their arrival.  It changes its tables
when it begins with one, and what it sends leaves when it is done.  That a link has come up or gone
down it notices at once, whatever it is doing; what it then says leaves when it is done.

Invariant: between two ends messages are handed out in the order in which they were put, whatever
the latency does meanwhile; after a cut none of those that were put before it.  Cost: a heap
operation or two for each message.  Memory: what is in transit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from random import Random
from time import thread_time
from typing import NamedTuple

from twigcast.routing import GATHERING, Envelope, Flush, Link, Overlay
from twigcast.simulation.conditions import Conditions, FixedTime, ProcessingTime
from twigcast.simulation.frames import FrameCounts, FramedLink


@dataclass(slots=True, eq=False)
class _Station:
    """A broker as far as the transport knows it."""

    busy_until: float = 0.0
    waiting: deque[_Parcel] = field(default_factory=deque)
    is_called: bool = False  # whether it stands in the heap


@dataclass(slots=True, eq=False)
class _Direction:
    """One direction of one life of a link."""

    sender: _Station | None
    receiver: _Station | None
    delay: float = 0.0
    jitter: float = 0.0
    arrival: float = 0.0  # of what was sent last
    is_cut: bool = False
    framed: FramedLink | None = None


class _Parcel(NamedTuple):
    direction: _Direction
    envelope: Envelope
    sent: float


class TimedTransport:
    """A transport with a clock.  Everything random in it comes from the seed.

    ``client_latency`` is that of the links of clients, which are always whole; ``gathering`` is how
    long after it has something to send a broker flushes.
    """

    def __init__(
        self,
        overlay: Overlay,
        *,
        seed: int = 0,
        processing: ProcessingTime | None = None,
        conditions: Conditions | None = None,
        client_latency: float = 0.0,
        gathering: float = GATHERING,
    ) -> None:
        for name, seconds in (("latency", client_latency), ("gathering time", gathering)):
            if not 0 <= seconds < float("inf"):
                raise ValueError(f"a {name} is in seconds and not below 0, not {seconds}")
        self.now = 0.0
        """In seconds since the start."""
        self.sent = 0.0
        """When the message that was taken last had been put."""
        self.limit = float("inf")
        """Messages that arrive later are not taken."""
        self.frames = FrameCounts()
        processing = FixedTime() if processing is None else processing
        self._seconds = processing.seconds if isinstance(processing, FixedTime) else None
        self._began = 0.0
        self._done = 0.0  # when the last broker will be
        self._links = overlay.links
        self._conditions = dict.fromkeys(overlay.links, conditions or Conditions())
        self._client_latency = client_latency
        self._gathering = gathering
        self._random = Random(seed)
        self._stations = {broker: _Station() for broker in overlay}
        self._directions: dict[tuple[str, str], _Direction] = {}
        self._lives = 0
        self._heap: list[tuple[float, int, _Parcel | _Station | Callable[[], object]]] = []
        self._planned = 0
        self._current: _Station | None = None

    # --- as a transport ---------------------------------------------------------------------------

    def put(self, envelope: Envelope) -> None:
        """Take a message in transit."""
        direction = self._directions.get(envelope[:2])
        if direction is None:
            direction = self._open(envelope.sender, envelope.receiver)
        leaves = self.now
        if direction.sender is not None and direction.sender.busy_until > leaves:
            leaves = direction.sender.busy_until
        if direction.framed is not None:
            assert not isinstance(envelope.message, Flush), "a Flush is on no link"
            self.call_at(leaves, partial(direction.framed.send, envelope.sender, envelope.message))
            return
        arrival = leaves + direction.delay
        if direction.jitter:
            arrival += direction.jitter * self._random.random()
        if arrival < direction.arrival:
            arrival = direction.arrival
        direction.arrival = arrival
        self._plan(arrival, _Parcel(direction, envelope, self.now))

    def take(self) -> Envelope | None:
        """The next message that is handled; None when nothing is left to happen until the limit."""
        if self._current is not None:
            self._call(self._current)
            self._current = None
        heap = self._heap
        while heap and heap[0][0] <= self.limit:
            time, _, thing = heappop(heap)
            if isinstance(thing, _Parcel):
                if thing.direction.is_cut:
                    continue
                self.now = time
                station = thing.direction.receiver
                if station is None:
                    self.sent = thing.sent
                    return thing.envelope
                if not station.waiting and station.busy_until <= time:
                    return self._begin(station, thing)
                station.waiting.append(thing)
                self._call(station)
            elif isinstance(thing, _Station):
                thing.is_called = False
                if thing.waiting:  # it was not cut off meanwhile
                    self.now = time
                    return self._begin(thing, thing.waiting.popleft())
            else:
                self.now = time
                thing()
        if not heap:  # brokers come to rest last
            self.now = max(self.now, min(self._done, self.limit))
        return None

    def cut(self, one: str, other: str) -> None:
        """Drop what is in transit between two ends."""
        for sender, receiver in ((one, other), (other, one)):
            direction = self._directions.pop((sender, receiver), None)
            if direction is None:
                continue
            direction.is_cut = True
            if direction.framed is not None:
                direction.framed.close()
            if direction.receiver is not None and direction.receiver.waiting:
                left = [
                    each for each in direction.receiver.waiting if each.direction is not direction
                ]
                direction.receiver.waiting = deque(left)

    # --- as a clock -------------------------------------------------------------------------------

    def call_at(self, time: float, action: Callable[[], object]) -> None:
        """Do something at a time, which must not have passed."""
        self._plan(time, action)

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is left to happen."""
        return not self._heap and self._current is None

    def finish(self) -> None:
        """Note that the message that was taken last has been handled, where that is measured."""
        if self._seconds is None and self._began and self._current is not None:
            self._keep_busy(self._current, thread_time() - self._began)
            self._began = 0.0

    def _plan(self, time: float, thing: _Parcel | _Station | Callable[[], object]) -> None:
        self._planned += 1
        heappush(self._heap, (time, self._planned, thing))

    # --- brokers ----------------------------------------------------------------------------------

    def _begin(self, station: _Station, parcel: _Parcel) -> Envelope:
        self._current = station
        self.sent = parcel.sent
        if self._seconds is None:
            self._began = thread_time()
        else:
            self._keep_busy(station, self._seconds)
        return parcel.envelope

    def _keep_busy(self, station: _Station, seconds: float) -> None:
        station.busy_until = self.now + seconds
        if station.busy_until > self._done:
            self._done = station.busy_until

    def _call(self, station: _Station) -> None:
        """Let a broker handle the messages that wait for it, once it is done with the last."""
        if station.waiting and not station.is_called:
            station.is_called = True
            self._plan(max(self.now, station.busy_until), station)

    # --- links ------------------------------------------------------------------------------------

    def set_conditions(self, link: Link, conditions: Conditions) -> None:
        """Let a link be like that from now on."""
        self._conditions[link] = conditions
        for pair in ((link.first, link.second), (link.second, link.first)):
            direction = self._directions.get(pair)
            if direction is not None:
                self._apply(link, direction, conditions)

    def _open(self, sender: str, receiver: str) -> _Direction:
        """Begin a life of a link, in both directions; or let a broker flush."""
        here, there = self._stations.get(sender), self._stations.get(receiver)
        if sender == receiver:
            direction = self._directions[sender, receiver] = _Direction(here, there)
            direction.delay = self._gathering
            return direction
        direction = self._directions[sender, receiver] = _Direction(here, there)
        back = self._directions[receiver, sender] = _Direction(there, here)
        link = Link.between(sender, receiver)
        if link in self._links:
            for each in (direction, back):
                self._apply(link, each, self._conditions[link])
        else:
            direction.delay = back.delay = self._client_latency
        return direction

    def _apply(self, link: Link, direction: _Direction, conditions: Conditions) -> None:
        direction.delay = self._links[link].latency + conditions.delay
        direction.jitter = conditions.jitter
        if conditions.needs_sessions and direction.framed is None:
            self._begin_sessions(link)
        if direction.framed is not None:
            direction.framed.conditions = conditions

    def _begin_sessions(self, link: Link) -> None:
        """Go on with sessions, for as long as this life of the link lasts."""
        directions = {end: self._directions[link.other(end), end] for end in link}  # by receiver

        def hand_out(envelope: Envelope) -> None:
            direction = directions[envelope.receiver]
            station = direction.receiver
            assert station is not None, "sessions are between brokers"
            station.waiting.append(_Parcel(direction, envelope, self.now))
            self._call(station)

        self._lives += 1
        framed = FramedLink(
            link,
            self._lives,
            self._links[link].latency,
            self,
            self._random,
            self.frames,
            hand_out,
            max(direction.arrival for direction in directions.values()),
        )
        for direction in directions.values():
            direction.framed = framed
