"""What a client gets: documents, each with its id, time and sequence in a queue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

from twigcast.times import read_time, to_datetime, to_milliseconds
from twigcast.wire import messages

if TYPE_CHECKING:
    from twigcast.client.subscribing import Subscription

LONGEST_DELAY: Final = 7 * 86_400
"""Seconds after which a document that was given back comes again, at most."""
Moment: TypeAlias = datetime | timedelta | str
"""A time, how long before or after now, or either as a text: 2026-01-31T14:30, 2h."""


class Document:
    """A document as a broker has it.

    ``id`` is the same wherever the document is delivered; ``keys`` are those of the expressions
    that it matches; ``sequence`` is its number in the queue of a durable subscription, from 1,
    and 0 where there is no such queue; ``headers`` are what the publisher says beside it, by names
    in small letters.
    """

    __slots__ = ("_expires", "_milliseconds", "content", "headers", "id", "keys", "sequence")

    def __init__(self, delivery: messages.Delivery) -> None:
        self.id = delivery.id
        self.content = delivery.content
        self.keys = tuple(delivery.keys)
        self.sequence = delivery.sequence
        self.headers = dict(delivery.headers)
        self._milliseconds = delivery.published
        self._expires = delivery.expires

    @property
    def published(self) -> datetime:
        """When the first broker had it, in UTC."""
        return to_datetime(self._milliseconds)

    @property
    def expires(self) -> datetime | None:
        """From when on nobody wants it any more, in UTC; None for never."""
        return to_datetime(self._expires) if self._expires else None

    def __repr__(self) -> str:
        sequence = f" #{self.sequence}" if self.sequence else ""
        keys = f" for {', '.join(self.keys)}" if self.keys else ""
        return f"<{type(self).__name__} {self.id}{sequence}: {len(self.content):,} bytes{keys}>"


class Event(Document):
    """A document delivered to a subscription.

    ``attempts`` says how often a durable subscription had given it out before in vain.
    """

    __slots__ = ("_lineage", "_subscription", "attempts")

    def __init__(
        self,
        shared: Document,
        keys: tuple[str, ...],
        sequence: int,
        attempts: int,
        subscription: Subscription,
        lineage: int,
    ) -> None:
        self.id = shared.id
        self.content = shared.content
        self.keys = keys
        self.sequence = sequence
        self.headers = shared.headers.copy() if shared.headers else {}
        self._milliseconds = shared._milliseconds
        self._expires = shared._expires
        self.attempts = attempts
        self._subscription: Subscription | None = subscription
        self._lineage = lineage

    async def ack(self) -> None:
        """Say that this event need not come again.  To an ephemeral subscription it never does.

        Returns once that is queued for sending; ``Subscription.flush`` waits until it is sent.
        Raises NetworkError when the subscription is closed, and the subscription's own error if
        the broker has ended it.
        """
        self.acknowledge()

    def acknowledge(self) -> None:
        """Do what :meth:`ack` does; on the thread of the event loop only."""
        subscription = self._subscription
        if subscription is not None:
            subscription._acknowledge(self.sequence, self._lineage)
            self._subscription = None

    async def give_back(self, delay: float | timedelta = 0.0) -> None:
        """Say that this event could not be used: it comes again after ``delay``, in seconds.

        It may come to another client that shares the subscription, and it becomes a letter once it
        was given out as often as the subscription says (``deliveries``).  Does nothing to an event
        that was acknowledged or given back already.  Raises NetworkError for an ephemeral
        subscription, and what :meth:`ack` raises.
        """
        self.return_after(to_seconds(delay))

    def return_after(self, delay: float) -> None:
        """Do what :meth:`give_back` does; on the thread of the event loop only."""
        subscription = self._subscription
        if subscription is not None:
            subscription._give_back(self.sequence, self._lineage, delay)
            self._subscription = None


@dataclass(frozen=True, slots=True)
class QueueState:
    """Where the queue of a durable subscription stands, in sequence numbers.

    ``last`` is that of the last document queued; all up to ``acknowledged`` are acknowledged;
    ``first`` is the first that is still kept, ``last`` + 1 if none is.
    """

    last: int
    acknowledged: int
    first: int


def queue_state(queue: messages.QueueState) -> QueueState:
    """The state that a message has."""
    return QueueState(queue.last, queue.acknowledged, queue.first)


def from_when(moment: Moment) -> int:
    """A time on the wire: a datetime (local if it names no zone), how long ago, or a text."""
    if isinstance(moment, str):
        return read_time(moment)
    return to_milliseconds(datetime.now(UTC) - moment if isinstance(moment, timedelta) else moment)


def until_when(moment: Moment) -> int:
    """A time on the wire: a datetime (local if it names no zone), how long from now, or a text."""
    if isinstance(moment, str):
        return read_time(moment, ahead=True)
    if not isinstance(moment, datetime | timedelta):
        raise TypeError(
            "expires is a time (datetime), how long from now (timedelta), or either as a text "
            f"(2h), not {moment!r}"
        )
    when = datetime.now(UTC) + moment if isinstance(moment, timedelta) else moment
    return max(1, to_milliseconds(when))  # 0 would be never


def to_seconds(delay: float | timedelta) -> float:
    """A delay in seconds; ValueError if it is none."""
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else float(delay)
    if not 0 <= seconds <= LONGEST_DELAY:
        raise ValueError(
            f"a delay is a number of seconds from 0 to {LONGEST_DELAY:,}, or a timedelta, not "
            f"{delay!r}"
        )
    return seconds
