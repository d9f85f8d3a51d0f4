"""One end of a link that makes a stream of messages out of frames that get lost.

Routers take it that a link carries messages once each and in order.  A channel that loses,
duplicates, delays and reorders does not; a session at each of its ends makes up for that.  Messages
are numbered from 1, and every frame says up to which number its sender has received them all::

        the sending half                              the receiving half

          confirmed     sent                            received
              │           │                                 │
       ▪ ▪ ▪ ▪│○ ○ ○ ○ ○ ○│· · ·                 ▪ ▪ ▪ ▪ ▪ ▪│  ▪ ▪   ▪  │
              └─in flight─┘ waiting              handed out └───early───┘
               ≤ window                                      ≤ window

A message that comes before its turn is kept, and handed out when the ones before it are there.
Both halves are in each end, for the two directions; what one receives, its next frame confirms.

Invariant: confirmed ≤ received (at the other end) ≤ sent ≤ confirmed + window.  A message is handed
out only when its number is received + 1, which that number then becomes: hence once, and in order,
whatever the channel does.  That all arrive needs that both ends tick again and again, and that the
channel does not lose each and every copy of a frame.  This is the protocol of Stenning ("A data
transfer protocol", Computer Networks 1, 1976): as numbers are never used twice, nothing need be
known of how long a frame may be in transit.  The life of a link has a number for the same reason.

Confirmations ride on messages.  A frame of its own is sent for one only at a tick, or at once when
half a window of messages is unconfirmed, so that a sender with much to say never waits for a tick
where nothing is lost.  A message is handed out when its turn has come, so none is the later for it,
and one frame confirms many.  So that a sender does not resend what only awaits the tick at the
other end, a tick resends what was already in flight at the tick before.  Let both ends tick about
equally often, and not more often than a frame takes there and back.

Cost: constant for each frame, a tick as much as it resends.  Memory: a window of messages in flight
and one of early ones, and what the caller has made wait: it can look at ``unacknowledged``, and cut
a link that has fallen too far behind.

Rejected: confirming every frame at once, which doubles the frames of a stream in one direction, and
leaves before the router can answer, so that nothing would ever ride.  Dropping what is early
(go-back-N), which makes each reordering a loss.  Saying in each frame which early ones are there
(selective repeat in full), so that only the lost ones are resent: it makes every frame larger for
the sake of losses, which are rare on links between brokers; a duplicate costs a frame and no more.
Resending as soon as a gap shows: each reordering would cause it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice

from twigcast.routing.messages import Message

_BARE = 0
"""The number of a frame that only confirms."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What one end of a session puts on the channel."""

    session: int
    """In which life of the link it was sent."""
    sequence: int
    """The how manyth message of its sender it carries; 0 if it carries none."""
    acknowledged: int
    """How many messages, from the first on without a gap, its sender has received."""
    message: Message | None
    """None in a bare acknowledgement."""


class LinkSession:
    """One end of one life of a link; the other end has the same number and window.

    >>> from twigcast.routing.messages import Update
    >>> here, there = LinkSession(7), LinkSession(7)
    >>> [frame] = here.send(Update())
    >>> messages, answer = there.receive(frame)
    >>> len(messages), answer
    (1, [])
    >>> there.tick()
    [Frame(session=7, sequence=0, acknowledged=1, message=None)]

    A link that was cut and is up again gets a number that it never had.  Frames of other numbers
    are dropped and counted, and so are those that an end which keeps to the rules cannot have sent.
    Numbers do not prove who sent a frame: where forgers reach the channel, it must be secured.
    """

    def __init__(self, number: int, window: int = 64) -> None:
        if window < 1:
            raise ValueError(
                f"the session {number}: a window holds at least 1 message, not {window}"
            )
        self.number = number
        self._window = window
        self._confirmed = 0
        self._in_flight: deque[Message] = deque()
        self._waiting: deque[Message] = deque()
        self._sent_by_last_tick = 0
        self._received = 0
        self._early: dict[int, Message] = {}
        # How many messages the other end does not know to have arrived, as far as this end knows.
        self._owed = 0
        self.foreign = 0
        """How many frames of other sessions were dropped."""
        self.impossible = 0
        """How many frames were dropped that the other end cannot have sent."""

    def send(self, message: Message) -> list[Frame]:
        """Take a message; the frame to put on the channel, or none while the window is full."""
        self._waiting.append(message)
        return self._fill_window()

    def receive(self, frame: Frame) -> tuple[list[Message], list[Frame]]:
        """Take a frame; the messages whose turn has come, and the frames to put on the channel."""
        if frame.session != self.number:
            self.foreign += 1
            return [], []
        if not self._is_possible(frame):
            self.impossible += 1
            return [], []
        messages: list[Message] = []
        # Not by its truth: a message may be empty.
        if frame.message is not None:
            messages = self._take(frame.sequence, frame.message)
        self._confirm(frame.acknowledged)
        # After the message has been taken, so that these frames confirm it.
        frames = self._fill_window()
        if 2 * self._owed >= self._window:
            frames.append(self._frame(_BARE, None))
        return messages, frames

    def tick(self) -> list[Frame]:
        """Resend what has been in flight since before the last tick; confirm what is owed."""
        overdue = max(0, self._sent_by_last_tick - self._confirmed)
        frames = [
            self._frame(sequence, message)
            for sequence, message in enumerate(
                islice(self._in_flight, overdue), self._confirmed + 1
            )
        ]
        self._sent_by_last_tick = self._sent
        if self._owed:
            frames.append(self._frame(_BARE, None))
        return frames

    @property
    def is_idle(self) -> bool:
        """Whether nothing is unacknowledged, waiting, owed or early; ticks then do nothing."""
        return not (self.unacknowledged or self._owed or self._early)

    @property
    def unacknowledged(self) -> int:
        """How many messages, in flight or waiting, the other end has not confirmed."""
        return len(self._in_flight) + len(self._waiting)

    def __repr__(self) -> str:
        return (
            f"<LinkSession {self.number}: {self._received:,} messages received, {self._sent:,} "
            f"sent, {self.unacknowledged:,} unacknowledged>"
        )

    @property
    def _sent(self) -> int:
        return self._confirmed + len(self._in_flight)

    def _is_possible(self, frame: Frame) -> bool:
        if frame.message is None:
            is_numbered = frame.sequence == _BARE
        else:
            is_numbered = _BARE < frame.sequence <= self._received + self._window
        # A lower confirmation than before is an old frame's, and true.
        return is_numbered and 0 <= frame.acknowledged <= self._sent

    def _take(self, sequence: int, message: Message) -> list[Message]:
        if sequence <= self._received:
            # Resent, perhaps, because what confirmed it got lost.  Not one for each: they come in
            # bursts, and one confirmation will do for all.
            self._owed = max(self._owed, 1)
            return []
        self._early.setdefault(sequence, message)
        messages = []
        while self._received + 1 in self._early:
            self._received += 1
            messages.append(self._early.pop(self._received))
        self._owed += len(messages)
        return messages

    def _confirm(self, acknowledged: int) -> None:
        while self._confirmed < acknowledged:
            self._in_flight.popleft()
            self._confirmed += 1

    def _fill_window(self) -> list[Frame]:
        frames = []
        while self._waiting and len(self._in_flight) < self._window:
            message = self._waiting.popleft()
            self._in_flight.append(message)
            frames.append(self._frame(self._sent, message))
        return frames

    def _frame(self, sequence: int, message: Message | None) -> Frame:
        """A frame that leaves now; every one says what this end has, so nothing is owed after."""
        self._owed = 0
        return Frame(self.number, sequence, self._received, message)
