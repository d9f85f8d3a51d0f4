"""All subscriptions of a client, by the numbers that they have on the stream.

A document comes once for all subscriptions that get it; they share its content.  What they have to
say of it goes together, too: one message for all that was taken, and one for all that is done with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from twigcast.client.connection import Connection, Speaker, log
from twigcast.client.events import Document, Moment
from twigcast.client.failures import BrokenStreamError, refused
from twigcast.client.requests import Request, Requests
from twigcast.client.subscribing import Subscription
from twigcast.errors import RefusedError, TwigcastError
from twigcast.wire import messages

_MOST_SEQUENCES: Final = 10_000
"""What one message names one by one, at most."""


class Subscriptions(Speaker):
    """Begins, feeds and ends subscriptions.

    It is asked before the requests, so that what is acknowledged goes out before the subscription
    is left.
    """

    def __init__(self, connection: Connection, requests: Requests) -> None:
        self._connection = connection
        self._requests = requests
        self._count = 0
        self._by_number: dict[int, Subscription] = {}
        self._speaking: dict[Subscription, None] = {}
        connection.on_documents = self._on_documents
        connection.on_ended = self._on_ended

    def __str__(self) -> str:
        return f"{len(self._by_number):,} subscriptions"

    def add(
        self,
        expressions: dict[str, messages.Expression],
        *,
        durable: str,
        since: int | Moment | None,
        confirmed: bool,
        window: int,
        options: messages.DurableOptions,
        scope: str,
    ) -> Subscription:
        """Begin a subscription."""
        self._connection.require()
        self._count += 1
        subscription = Subscription(
            self,
            self._count,
            expressions,
            durable=durable,
            since=since,
            confirmed=confirmed,
            window=window,
            options=options,
            scope=scope,
        )
        self._by_number[subscription.number] = subscription
        if self._connection.welcome is not None:
            self._ask(subscription, self._connection.welcome.broker)
        return subscription

    def wake(self, subscription: Subscription) -> None:
        """A subscription has something to send."""
        self._speaking[subscription] = None
        self._connection.wake()

    async def leave(self, subscription: Subscription) -> None:
        """End a subscription on this stream."""
        try:
            if self._connection.welcome is not None:
                self._speak_last(subscription)
                question = messages.Unsubscribe(subscription=subscription.number)
                request = self._requests.ask(Request(question))
                async with asyncio.timeout(self._connection.timeout):
                    await request.done()
        except (TimeoutError, TwigcastError) as error:
            log.warning("%s left without an answer: %s", subscription, error)
        finally:
            self._drop(subscription)

    def leave_all(self) -> None:
        """Say that no durable subscription is read here any more, before the stream ends.

        Otherwise the broker takes what is not acknowledged for the cause of the end.
        """
        if self._connection.welcome is not None:
            for subscription in self._by_number.values():
                if subscription.durable:
                    self._speak_last(subscription)
                    question = messages.Unsubscribe(subscription=subscription.number)
                    self._requests.ask(Request(question))

    def _speak_last(self, subscription: Subscription) -> None:
        """Say what was acknowledged and taken: what was taken and is not done with was in vain."""
        subscription._is_leaving = True
        self.wake(subscription)

    async def acknowledge(self, durable: str, upto: int) -> None:
        """Acknowledge part of a queue that need not be attached here."""
        self._connection.require()
        question = messages.Acknowledge(durable=durable, upto=upto)
        await self._requests.ask(Request(question, lasting=True)).done()

    async def forget(self, durable: str, subscription: Subscription | None = None) -> None:
        """End a durable subscription for good, which may be attached here."""
        self._connection.require()
        question = messages.Unsubscribe(forget=True, durable=durable)
        if subscription is not None:
            if subscription.number in self._by_number:
                question.subscription = subscription.number
            self._drop(subscription)
        request = self._requests.ask(Request(question, lasting=True))
        try:
            await request.done()
        except RefusedError as error:
            # Asked a second time, because the first answer was lost: then it is forgotten already.
            if error.code != "unknown" or request.asked < 2:
                raise

    def frames(self) -> Iterator[messages.ClientFrame]:
        """What the subscriptions have to send."""
        while self._speaking:
            speaking, self._speaking = list(self._speaking), {}
            yield from self._acknowledged(speaking)
            for subscription in speaking:
                for returned in subscription._given_back():
                    yield messages.ClientFrame(give_back=returned)
            for subscription in speaking:
                subscription._sent()
            consumed = messages.Consumed()
            for subscription in speaking:
                if count := subscription._consumed():
                    consumed.subscriptions.append(subscription.number)
                    consumed.counts.append(count)
            if consumed.counts:
                yield messages.ClientFrame(consumed=consumed)

    def _acknowledged(self, speaking: list[Subscription]) -> Iterator[messages.ClientFrame]:
        entries: list[messages.Acknowledge] = []
        sequences = 0
        for subscription in speaking:
            for entry in subscription._acknowledged():
                sequences += len(entry.sequences)
                if entries and sequences + len(entries) > _MOST_SEQUENCES:
                    yield _acknowledged(entries)
                    entries, sequences = [], len(entry.sequences)
                entries.append(entry)
        if entries:
            yield _acknowledged(entries)

    def on_connected(self, welcome: messages.Welcome) -> None:
        """Begin them all, or go on with them."""
        for subscription in self._by_number.values():
            self._ask(subscription, welcome.broker)

    def on_lost(self) -> None:
        """They wait for the next stream."""
        self._speaking.clear()
        for subscription in self._by_number.values():
            subscription._interrupt()

    def on_failed(self, error: TwigcastError) -> None:
        """They end: without an error if the client is closed."""
        for subscription in self._by_number.values():
            subscription._end(None if self._connection.is_closing else error)
        self._by_number.clear()

    def _ask(self, subscription: Subscription, broker: str) -> None:
        hear = partial(subscription._hear, broker=broker)
        self._requests.ask(Request(subscription._question(broker), hear))

    def _drop(self, subscription: Subscription) -> None:
        self._by_number.pop(subscription.number, None)
        self._speaking.pop(subscription, None)
        subscription._end(None)

    def _on_documents(self, said: messages.Documents) -> None:
        find = self._by_number.get
        for missed in said.missed:
            subscription = find(missed.subscription)
            if subscription is not None:
                subscription._miss(missed.count)
        sets = [None, *(tuple(each.keys) for each in said.keys)]
        for each in said.documents:
            shared = Document(each.document)
            for number, index, sequence, attempts in _deliveries(each):
                subscription = find(number)
                if subscription is not None:  # otherwise it has just been left
                    if index >= len(sets):
                        raise BrokenStreamError("the broker means keys that it has not named")
                    subscription._receive(shared, sets[index], sequence, attempts)

    def _on_ended(self, ended: messages.Ended) -> None:
        subscription = self._by_number.pop(ended.subscription, None)
        if subscription is not None:
            subscription._end(refused(ended.problem))


def _acknowledged(entries: list[messages.Acknowledge]) -> messages.ClientFrame:
    return messages.ClientFrame(acknowledged=messages.Acknowledged(entries=entries))


def _deliveries(shared: messages.Shared) -> Iterator[tuple[int, int, int, int]]:
    """Subscription, set of keys, sequence and attempts of each; raises BrokenStreamError."""
    numbers = list(shared.subscriptions)
    lists: list[Sequence[int]] = [shared.keys, shared.sequences, shared.attempts]
    if any(each and len(each) != len(numbers) for each in lists):
        raise BrokenStreamError("the broker does not say as much of each delivery")
    zeros = [0] * len(numbers)
    return zip(numbers, *(list(each) or zeros for each in lists), strict=True)
