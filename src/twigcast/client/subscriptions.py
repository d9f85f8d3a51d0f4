"""All subscriptions of a client, by the names that they have on the stream."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial

from twigcast.client.connection import Connection, Speaker, log
from twigcast.client.failures import refused
from twigcast.client.requests import Request, Requests
from twigcast.client.subscribing import Subscription
from twigcast.errors import RefusedError, TwigcastError
from twigcast.wire import messages


class Subscriptions(Speaker):
    """Begins, feeds and ends subscriptions.

    It is asked before the requests, so that what is acknowledged goes out before the subscription
    is left.
    """

    def __init__(self, connection: Connection, requests: Requests) -> None:
        self._connection = connection
        self._requests = requests
        self._count = 0
        self._by_name: dict[str, Subscription] = {}
        self._speaking: dict[Subscription, None] = {}
        connection.on_deliveries = self._on_deliveries
        connection.on_ended = self._on_ended

    def __str__(self) -> str:
        return f"{len(self._by_name):,} subscriptions"

    def add(
        self,
        expressions: dict[str, messages.Expression],
        *,
        durable: str,
        since: int | datetime | timedelta | None,
        confirmed: bool,
        window: int,
        options: messages.DurableOptions,
    ) -> Subscription:
        """Begin a subscription."""
        self._connection.require()
        self._count += 1
        subscription = Subscription(
            self,
            str(self._count),
            expressions,
            durable=durable,
            since=since,
            confirmed=confirmed,
            window=window,
            options=options,
        )
        self._by_name[subscription.name] = subscription
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
                self.wake(subscription)
                question = messages.Unsubscribe(subscription=subscription.name)
                request = self._requests.ask(Request(question))
                async with asyncio.timeout(self._connection.timeout):
                    await request.done()
        except (TimeoutError, TwigcastError) as error:
            log.warning("subscription %s left without an answer: %r", subscription.name, error)
        finally:
            self._drop(subscription)

    def leave_all(self) -> None:
        """Say that no durable subscription is read here any more, before the stream ends.

        Otherwise the broker takes what is not acknowledged for the cause of the end.
        """
        if self._connection.welcome is not None:
            for subscription in self._by_name.values():
                if subscription.durable:
                    question = messages.Unsubscribe(subscription=subscription.name)
                    self._requests.ask(Request(question))

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
            if subscription.name in self._by_name:
                question.subscription = subscription.name
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
            subscription = next(iter(self._speaking))
            del self._speaking[subscription]
            yield from subscription._frames()

    def on_connected(self, welcome: messages.Welcome) -> None:
        """Begin them all, or go on with them."""
        for subscription in self._by_name.values():
            self._ask(subscription, welcome.broker)

    def on_lost(self) -> None:
        """They wait for the next stream."""
        self._speaking.clear()
        for subscription in self._by_name.values():
            subscription._interrupt()

    def on_failed(self, error: TwigcastError) -> None:
        """They end: without an error if the client is closed."""
        for subscription in self._by_name.values():
            subscription._end(None if self._connection.is_closing else error)
        self._by_name.clear()

    def _ask(self, subscription: Subscription, broker: str) -> None:
        hear = partial(subscription._hear, broker=broker)
        self._requests.ask(Request(subscription._question(broker), hear))

    def _drop(self, subscription: Subscription) -> None:
        self._by_name.pop(subscription.name, None)
        self._speaking.pop(subscription, None)
        subscription._end(None)

    def _on_deliveries(self, deliveries: messages.Deliveries) -> None:
        subscription = self._by_name.get(deliveries.subscription)
        if subscription is not None:  # otherwise it has just been left
            subscription._receive(deliveries)

    def _on_ended(self, ended: messages.Ended) -> None:
        subscription = self._by_name.pop(ended.subscription, None)
        if subscription is not None:
            subscription._end(refused(ended.problem))
