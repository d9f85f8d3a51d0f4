"""Subscriptions: documents that the broker delivers, in a queue that the application empties.

    broker ──Documents───► waiting ──take──► application ──ack──► acknowledgements
      ▲                                │                               │
      └──────────── Consumed ──────────┴── Acknowledged, GiveBack ◄────┘

The broker sends at most ``window`` documents that were not taken, so a queue that nobody empties
stops its own subscription and nothing else.  Whenever half a window has been taken the broker
hears of it.

When a stream is lost an ephemeral subscription keeps what waits and begins anew.  A durable one
drops what waits, since the broker delivers it again, and passes over what was taken before and not
given back: the application never has an event twice.  Of a shared one an event that is acknowledged
may come again, if the acknowledgement was lost with the stream.  A queue that is another than
before (the next broker, or an emptied store) begins a new *lineage*; acknowledgements of the old
one have nobody to go to and are dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from twigcast.client.acknowledging import Acknowledgements, SingleAcknowledgements
from twigcast.client.connection import log
from twigcast.client.events import Document, Event, Moment, from_when
from twigcast.client.failures import BrokenStreamError, closed, fresh, refused
from twigcast.client.requests import Result
from twigcast.client.runs import Runs
from twigcast.errors import NetworkError, TwigcastError
from twigcast.wire import messages

if TYPE_CHECKING:
    from twigcast.client.subscriptions import Subscriptions


class Subscription:
    """A subscription, to be iterated over for its events; made by ``Client.subscribe``.

    As an asynchronous context manager it is ready inside and closed after.
    """

    def __init__(
        self,
        registry: Subscriptions,
        number: int,
        expressions: dict[str, messages.Expression],
        *,
        durable: str,
        since: int | Moment | None,
        confirmed: bool,
        window: int,
        options: messages.DurableOptions,
        scope: str,
    ) -> None:
        self.number = number
        self.durable = durable
        self.window = window
        self._granted = window  # by the broker, which may have a smaller one
        self._asked = options
        self._scope = scope
        self._unit = ""  # of the scope, by its name
        self._options = messages.DurableOptions()  # those that are kept
        self._registry = registry
        self._expressions = expressions
        self._sole = tuple(expressions) if len(expressions) == 1 else None
        self._since_sequence = since if isinstance(since, int) else None
        self._since_time = None if isinstance(since, int | None) else from_when(since)
        self._confirmed = confirmed and bool(durable)
        self._unreached: tuple[str, ...] = ()
        self._missed = 0
        self._interruptions = 0
        self._waiting: deque[Event] = deque()
        self._kept = 0  # of those waiting, how many came on an earlier stream
        self._unreported = 0  # taken since Consumed was last sent
        self._seen = Runs()  # sequence numbers that wait, or that the application had
        self._taken = 0  # the highest sequence number that was taken from the queue
        self._lineage = 0
        self._broker: str | None = None
        self._acknowledgements: Acknowledgements | SingleAcknowledgements | None = None
        self._returned: dict[int, list[int]] = {}  # by delay in milliseconds, what is given back
        self._is_live = False
        self._is_leaving = False
        self._failure: TwigcastError | None = None
        self._is_closed = False
        self._change = asyncio.Event()
        self._settled = asyncio.Event()  # all acknowledgements have been sent
        self._settled.set()

    def __repr__(self) -> str:
        name = f" {self.durable!r}" if self.durable else ""
        state = "ready" if self._is_live else "not ready"
        if self._is_closed or self._failure is not None:
            state = "closed" if self._failure is None else f"ended: {self._failure}"
        return (
            f"<{type(self).__name__}{name} to {', '.join(self._expressions) or 'what is kept'}: "
            f"{state}, {len(self._waiting):,} documents wait, {self._missed:,} missed>"
        )

    @property
    def missed(self) -> int:
        """How many documents were dropped because the queue was full or retention had passed."""
        return self._missed

    @property
    def shared(self) -> bool:
        """Whether several clients share the documents of a durable subscription; once ready."""
        return self._options.shared

    @property
    def ordered_by(self) -> str:
        """The path to the value by which shared documents stay in order; once ready."""
        return self._options.ordered_by

    @property
    def deliveries(self) -> int:
        """How often a document is given out before it becomes a letter; 0 for without end."""
        return self._options.deliveries

    @property
    def scope(self) -> str:
        """The unit in which documents are published that it gets; once ready.

        Empty for the whole network.
        """
        return self._unit

    @property
    def unreached(self) -> tuple[str, ...]:
        """The brokers that may not know of a durable subscription, since they did not say so.

        What is published there may be missed until they do.
        """
        return self._unreached

    @property
    def interruptions(self) -> int:
        """How many times documents may have been lost because the connection was.

        A durable subscription is not interrupted by that, unless its queue is gone.
        """
        return self._interruptions

    async def ready(self) -> None:
        """Wait until the broker has answered; raises RefusedError if it says no."""
        while not self._is_live:
            self._require_open()
            await self._changed()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._waiting:
            if self._is_closed:
                raise StopAsyncIteration
            if self._failure is not None:
                raise fresh(self._failure)
            await self._changed()
        return self._take()

    async def take_all(self) -> list[Event]:
        """All events that wait, at least one; empty when the subscription is closed."""
        try:
            events = [await anext(self)]
        except StopAsyncIteration:
            return []
        while self._waiting:
            events.append(self._take())
        return events

    async def flush(self) -> None:
        """Wait until all acknowledgements so far have been sent, and all that is given back."""
        self._require_open()
        await self._settled.wait()
        self._require_open()

    async def close(self) -> None:
        """End it here; a durable one stays at the broker and goes on queueing documents.

        If there is a connection, the broker has stored all acknowledgements when this returns.
        Does nothing a second time.
        """
        if not self._is_closed and self._failure is None:
            await self._registry.leave(self)
        self._is_closed = True
        self._waiting.clear()
        self._change.set()

    async def forget(self) -> None:
        """End a durable subscription for good, with all documents that it keeps."""
        if not self.durable:
            raise NetworkError("an ephemeral subscription has nothing to forget; close it")
        await self._registry.forget(self.durable, self)

    async def __aenter__(self) -> Self:
        try:
            await self.ready()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *reason: object) -> None:
        await self.close()

    # ---- what events, the registry and the synchronous twin call ----

    def _acknowledge(self, sequence: int, lineage: int) -> None:
        """An event is done with; called once for each."""
        self._require_open()
        acknowledgements = self._acknowledgements
        if acknowledgements is not None and lineage == self._lineage:
            acknowledgements.add(sequence)
            if self.shared:  # others may have it next, and then this client again
                self._seen.discard(sequence)
            if acknowledgements.waiting:
                self._settled.clear()
                self._registry.wake(self)

    def _give_back(self, sequence: int, lineage: int, delay: float) -> None:
        """An event could not be used; called once for each."""
        self._require_open()
        if not self.durable:
            raise NetworkError(
                "an ephemeral subscription cannot give documents back, for nothing keeps them; "
                "subscribe with durable"
            )
        if lineage == self._lineage:
            self._seen.discard(sequence)
            if self._is_live:  # otherwise the broker has taken it back already
                self._returned.setdefault(round(delay * 1000), []).append(sequence)
                self._settled.clear()
                self._registry.wake(self)

    def _question(self, broker: str) -> messages.Subscribe:
        """The request with which it begins at a broker, or goes on there."""
        question = messages.Subscribe(
            subscription=self.number,
            durable=self.durable,
            window=self.window,
            confirmed=self._confirmed,
            scope=self._scope,
        )
        if self._asked.ListFields():
            question.options.CopyFrom(self._asked)
        for key, expression in self._expressions.items():
            question.expressions[key].CopyFrom(expression)
        if self._begins_late:
            if self._taken and broker == self._broker:
                question.since_sequence = self._taken + 1
            elif self._since_sequence is not None:
                question.since_sequence = self._since_sequence
            elif self._since_time is not None:
                question.since_time = self._since_time
        return question

    def _hear(self, result: Result, broker: str) -> None:
        """What the broker answers to that."""
        if result is None or self._is_closed:
            return
        if isinstance(result, TwigcastError):
            self._end(result)
        elif result.problems:
            self._end(refused(result.problems[0]))
        else:
            if self.durable:
                self._unreached = tuple(result.unreached)
                self._options = result.options
                self._compare_queue(result, broker)
                last = result.queue.last
                if not self._taken and (self._since_sequence or 0) > last + 1:
                    log.warning(
                        "the queue of %r ends with %s: nothing comes before %s",
                        self.durable,
                        last,
                        self._since_sequence,
                    )
            self._unit = result.scope
            self._granted = min(self.window, result.window or self.window)
            self._is_live = True
            self._registry.wake(self)
            self._change.set()

    def _receive(
        self, shared: Document, keys: tuple[str, ...] | None, sequence: int, attempts: int
    ) -> None:
        """A document has come; with no keys, it matches the only expression."""
        if self._is_closed:
            return
        if keys is None:
            keys = self._sole
            if keys is None:
                raise BrokenStreamError("the broker does not say which expressions match")
        waiting = self._waiting
        if self.durable:
            if sequence in self._seen:
                self._unreported += 1
                self._report_taken()
                return
            self._seen.add(sequence)
        waiting.append(Event(shared, keys, sequence, attempts, self, self._lineage))
        if len(waiting) - self._kept > self.window:
            raise BrokenStreamError("the broker sends more documents than the window allows")
        self._change.set()

    def _miss(self, count: int) -> None:
        """Documents were dropped."""
        if not self._is_closed:
            self._missed += count

    def _acknowledged(self) -> Iterator[messages.Acknowledge]:
        """What the broker is to hear of what is done with."""
        acknowledgements = self._acknowledgements
        if acknowledgements is not None and self._is_live:
            while acknowledgements.waiting:
                upto, sequences = acknowledgements.take()
                yield messages.Acknowledge(subscription=self.number, upto=upto, sequences=sequences)

    def _given_back(self) -> Iterator[messages.GiveBack]:
        """What the broker is to hear of what could not be used."""
        if self._is_live:
            returned, self._returned = self._returned, {}
            for delay, sequences in returned.items():
                yield messages.GiveBack(subscription=self.number, sequences=sequences, delay=delay)

    def _consumed(self) -> int:
        """How many documents were taken, if it is time to say so."""
        if not self._is_live or (2 * self._unreported < self._granted and not self._is_leaving):
            return 0
        count, self._unreported = self._unreported, 0
        return count

    def _sent(self) -> None:
        """All that was to be said has been sent, unless there is more by now."""
        acknowledgements = self._acknowledgements
        if not self._returned and (acknowledgements is None or not acknowledgements.waiting):
            self._settled.set()

    def _interrupt(self) -> None:
        """The stream is lost."""
        if self.durable:
            for event in self._waiting:
                self._seen.discard(event.sequence)
            self._waiting.clear()
            self._returned.clear()
            if self._acknowledgements is not None:
                self._settled.clear()
        else:
            self._interruptions += self._is_live
            while len(self._waiting) > self.window:
                self._waiting.popleft()
                self._missed += 1
            self._kept = len(self._waiting)
        self._unreported = 0
        self._is_live = False

    def _end(self, error: TwigcastError | None) -> None:
        """There will be no more documents: because of an error, or because it is closed."""
        if self._failure is None and not self._is_closed:
            self._failure = error
            self._is_closed = error is None
            if error is None:
                self._waiting.clear()
        self._is_live = False
        self._change.set()
        self._settled.set()

    # ---- inside ----

    @property
    def _begins_late(self) -> bool:
        return self._since_sequence is not None or self._since_time is not None

    def _take(self) -> Event:
        event = self._waiting.popleft()
        if self._kept:
            self._kept -= 1
        else:
            self._unreported += 1
            self._report_taken()
        sequence = event.sequence
        if self._acknowledgements is not None:
            if sequence > self._taken + 1 and (self._taken or not self._begins_late):
                self._acknowledgements.skip(self._taken + 1, sequence - 1)
            self._taken = max(self._taken, sequence)
        return event

    def _report_taken(self) -> None:
        if 2 * self._unreported >= self._granted:
            self._registry.wake(self)

    def _compare_queue(self, answer: messages.Answer, broker: str) -> None:
        """Compare the queue with that of the stream before."""
        queue = answer.queue
        if self._acknowledgements is None:
            self._acknowledgements = self._begin_acknowledging(queue)
        elif broker == self._broker and queue.last >= self._taken:
            self._acknowledgements.repeat(queue.acknowledged)
        else:
            self._lineage += 1
            self._interruptions += 1
            self._taken = 0
            self._seen.clear()
            self._acknowledgements = self._begin_acknowledging(queue)
        self._broker = broker

    def _begin_acknowledging(
        self, queue: messages.QueueState
    ) -> Acknowledgements | SingleAcknowledgements:
        return SingleAcknowledgements() if self.shared else Acknowledgements(queue.acknowledged)

    def _require_open(self) -> None:
        if self._is_closed:
            raise closed("subscription")
        if self._failure is not None:
            raise fresh(self._failure)

    async def _changed(self) -> None:
        self._change.clear()
        await self._change.wait()
