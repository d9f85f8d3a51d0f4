"""What consumers say of documents of durable subscriptions: done, not now, or nothing any more.

Acknowledged ──────────────────────────► queue ──► written, again if that fails
GivenBack, ConsumerLeft, lease is over ─► queue ──► comes again, or is set aside
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from twigcast.delivery.durable_queue import DurableQueue, Passed, Returned
from twigcast.delivery.events import (
    Acknowledged,
    Again,
    Answer,
    ConsumerLeft,
    GivenBack,
    Instruction,
    Leased,
    MissedReported,
    Moment,
    Store,
)
from twigcast.delivery.queues import Queues
from twigcast.delivery.writes import Acknowledge, NoteAttempts, NoteMissed, SetAside


class Acknowledging(NamedTuple):
    """What is acknowledged is being written; somebody waits for it unless the ticket is 0."""

    ticket: int
    durable: str
    sequences: tuple[int, ...]


class Consuming:
    """What is done about consumers; ``wait`` gives the ticket of a write."""

    def __init__(self, queues: Queues, wait: Callable[[Acknowledging], int]) -> None:
        self._queues = queues
        self._wait = wait
        self._unsaved: dict[str, set[int]] = {}
        """By durable subscription: what is acknowledged singly, and could not be written."""
        self._leasing: set[str] = set()
        """The durable subscriptions with consumers that take nothing more."""

    def acknowledge(self, event: Acknowledged, moment: Moment) -> list[Instruction]:
        """Let documents come no more; who waits is answered when that is safe."""
        queue = self._queues.get(event.durable)
        if queue is None:
            return [Answer(event.ticket)] if event.ticket else []
        passed = queue.acknowledge(event.upto, event.sequences)
        if passed is None and event.ticket:
            # What was said before is safe when this is.
            passed = Passed(queue.acknowledged, ())
        if passed is None:
            return []
        return [self._write(queue, passed.sequences, event.ticket, moment)]

    def _write(
        self, queue: DurableQueue, sequences: tuple[int, ...], ticket: int, moment: Moment
    ) -> Instruction:
        """Write what is acknowledged by now, and what could not be written before."""
        if unsaved := self._unsaved.pop(queue.name, None):
            sequences = tuple(unsaved.union(sequences))
        written = self._wait(Acknowledging(ticket, queue.name, sequences))
        return Store(written, Acknowledge(queue.name, queue.acknowledged, sequences, moment.time))

    def failed(self, waiting: Acknowledging) -> None:
        """Note that what is acknowledged could not be written: it is tried again."""
        self._unsaved.setdefault(waiting.durable, set()).update(waiting.sequences)

    def give_back(self, event: GivenBack, moment: Moment) -> list[Instruction]:
        """Let documents come again after a while."""
        queue = self._queues.get(event.durable)
        if queue is None:
            return []
        returned = queue.give_back(event.consumer, event.sequences, moment.now + event.delay)
        return _come_back(queue, returned, moment)

    def lease(self, event: Leased, moment: Moment) -> list[Instruction]:
        """Give a consumer nothing more, and let it have what it has for a while."""
        queue = self._queues.get(event.durable)
        if queue is not None:
            queue.lease(event.consumer, moment.now + event.seconds)
            self._leasing.add(event.durable)
        return []

    def leave(self, event: ConsumerLeft, moment: Moment) -> list[Instruction]:
        """Let what a consumer has come again."""
        queue = self._queues.get(event.durable)
        if queue is None:
            return []
        return _come_back(queue, queue.detach(event.consumer, event.taken), moment)

    def report_missed(self, event: MissedReported, moment: Moment) -> list[Instruction]:
        """Remember that a consumer knows how many documents were missed."""
        queue = self._queues.get(event.durable)
        return [] if queue is None else [Store(0, NoteMissed(queue.name, queue.missed_reported))]

    def look(self, moment: Moment) -> list[Instruction]:
        """End the leases whose time is over, and write again what could not be written."""
        instructions: list[Instruction] = []
        for name in list(self._leasing):
            queue = self._queues.get(name)
            if queue is None or not queue.leased():
                self._leasing.remove(name)
                continue
            for consumer in queue.leased(moment.now):
                returned = queue.detach(consumer, len(queue.held(consumer)))
                instructions += _come_back(queue, returned, moment)
        for name in list(self._unsaved):
            queue = self._queues.get(name)
            if queue is None:
                del self._unsaved[name]
            else:
                instructions.append(self._write(queue, (), 0, moment))
        return instructions


def _come_back(queue: DurableQueue, returned: Returned, moment: Moment) -> list[Instruction]:
    instructions: list[Instruction] = [Again(queue.name)]
    if returned.attempts and queue.options.most_attempts:
        instructions.append(Store(0, NoteAttempts(queue.name, returned.attempts)))
    if returned.too_often:
        times = queue.options.most_attempts
        reason = f"given out {times} times in vain" if times > 1 else "given out in vain"
        aside = SetAside(queue.name, returned.too_often, reason, moment.time)
        queue.acknowledge(0, returned.too_often)
        instructions.append(Store(0, aside))
    return instructions
