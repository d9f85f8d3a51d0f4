"""Durable subscriptions: acknowledgements, lost connections, other queues, and being forgotten."""

from __future__ import annotations

import asyncio

import pytest
from scripted_broker import (
    Drop,
    Queue,
    ScriptedBroker,
    Session,
    broker,
    run,
    serve,
    until,
)

from twigcast.client import Client, Event, Subscription, connect
from twigcast.errors import ConnectionFailedError, NetworkError, RefusedError


async def take(subscription: Subscription, count: int) -> list[Event]:
    async with asyncio.timeout(30):
        return [await anext(subscription) for _ in range(count)]


async def publish(client: Client, count: int) -> None:
    await client.publish_all(f"<a>{number}</a>" for number in range(count))


def test_acknowledgements_go_out_as_a_prefix() -> None:
    async def story() -> None:
        async with (
            broker() as scripted,
            connect(scripted.address) as client,
            client.subscribe("//a", durable="desk") as subscription,
        ):
            await publish(client, 200)
            events = await take(subscription, 200)
            for event in reversed(events):
                await event.ack()
                await event.ack()  # a second time changes nothing
            await subscription.flush()
            await until(lambda: scripted.durable["desk"].acknowledged == 200)
            (acknowledged,) = scripted.heard("acknowledged")
            (acknowledge,) = acknowledged.entries
            assert (acknowledge.upto, len(acknowledge.sequences)) == (200, 0)

    run(story)


def test_closing_sends_what_is_acknowledged() -> None:
    async def story() -> None:
        async with broker() as scripted:
            async with connect(scripted.address) as client:
                async with client.subscribe("//a", durable="one") as first:
                    await publish(client, 3)
                    for event in await take(first, 3):
                        await event.ack()
                assert scripted.durable["one"].acknowledged == 3
                second = client.subscribe("//a", durable="two")
                await second.ready()
                await client.publish("<a/>")
                await (await anext(second)).ack()
            assert scripted.durable["two"].acknowledged == 1
            assert "unsubscribe" in scripted.kinds()

    run(story)


def test_a_durable_subscription_is_forgotten() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            subscription = client.subscribe("//a", durable="desk")
            await subscription.ready()
            await subscription.forget()
            assert not scripted.durable
            assert [event async for event in subscription] == []
            scripted.durable["other"] = Queue("other")
            await client.forget("other")
            assert not scripted.durable
            with pytest.raises(RefusedError) as caught:
                await client.forget("other")
            assert caught.value.code == "unknown"
            with pytest.raises(NetworkError, match="ephemeral"):
                await client.subscribe("//a").forget()

    run(story)


@pytest.mark.parametrize("is_attached", [False, True])
def test_forgetting_survives_a_lost_connection(is_attached: bool) -> None:
    async def forgetful(session: Session) -> None:
        await session.welcome()
        while (frame := await session.read()) is not None:
            if frame.HasField("unsubscribe"):
                del session.broker.durable[frame.unsubscribe.durable]
                raise Drop
            await session.handle(frame)

    async def story() -> None:
        async with broker(forgetful, serve) as scripted, connect(scripted.address) as client:
            scripted.durable["desk"] = Queue("desk")
            if is_attached:
                subscription = client.subscribe(durable="desk")
                await subscription.ready()
                await subscription.forget()
            else:
                await client.forget("desk")
            assert scripted.count == 2
            first, second = scripted.heard("unsubscribe")
            assert (first.subscription > 0, second.subscription) == (is_attached, 0)
            assert not scripted.durable

    run(story)


def test_a_durable_subscription_goes_on_and_shows_every_event_once() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            subscription = client.subscribe("//a", durable="desk", window=50)
            await subscription.ready()
            await publish(client, 100)
            events = await take(subscription, 30)
            for event in (events[0], events[1], events[5]):
                await event.ack()
            await subscription.flush()
            await scripted.stop()
            await until(lambda: client.broker is None)
            await events[2].ack()  # while the broker is away
            await scripted.start()
            events += await take(subscription, 70)
            assert [event.sequence for event in events] == list(range(1, 101))
            for event in (events[3], events[4], events[99]):
                await event.ack()
            await subscription.flush()
            await until(lambda: scripted.durable["desk"].done == {1, 2, 3, 4, 5, 6, 100})
            assert subscription.interruptions == 0

    run(story)


def test_acknowledgements_that_may_not_have_arrived_are_sent_again() -> None:
    async def deaf(session: Session) -> None:
        """Does not take notice of acknowledgements, and is gone."""
        await session.welcome()
        while (frame := await session.read()) is not None:
            if frame.HasField("acknowledged"):
                raise Drop
            await session.handle(frame)

    async def story() -> None:
        async with broker(deaf, deaf, serve) as scripted, connect(scripted.address) as client:
            subscription = client.subscribe("//a", durable="desk")
            await subscription.ready()
            await publish(client, 10)
            for event in await take(subscription, 10):
                if event.sequence != 3:
                    await event.ack()
            await until(lambda: len(scripted.durable["desk"].done) == 9)
            assert scripted.count == 3

    run(story)


def test_a_late_beginning_goes_on_from_where_it_was() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            scripted.durable["desk"] = Queue("desk")
            await publish(client, 50)
            subscription = client.subscribe("//a", durable="desk", since=31)
            events = await take(subscription, 10)
            for event in events:
                await event.ack()
            await subscription.flush()
            await scripted.stop()
            await until(lambda: client.broker is None)
            await scripted.start()
            events += await take(subscription, 10)
            assert [event.sequence for event in events] == list(range(31, 51))
            assert [one.since_sequence for one in scripted.heard("subscribe")] == [31, 41]
            # What came before was never seen, so it is not acknowledged.
            await until(lambda: scripted.durable["desk"].done == set(range(31, 41)))

    run(story)


def test_another_queue_under_the_same_name_begins_anew() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            subscription = client.subscribe("//a", durable="desk")
            await subscription.ready()
            await publish(client, 5)
            old = await take(subscription, 5)
            await scripted.stop()
            await until(lambda: client.broker is None)
            scripted.durable["desk"] = Queue("desk")  # its store was lost
            await scripted.start()
            await subscription.ready()
            assert subscription.interruptions == 1
            await client.publish("<new/>")
            (event,) = await take(subscription, 1)
            assert (event.sequence, event.content) == (1, b"<new/>")
            await old[0].ack()  # of a queue that is gone, so it must not acknowledge the new one
            await subscription.flush()
            assert not scripted.durable["desk"].done

    run(story)


def test_another_broker_has_another_queue() -> None:
    async def story() -> None:
        other = ScriptedBroker(name="other")
        await other.start()
        async with broker() as scripted, connect([scripted.address, other.address]) as client:
            subscription = client.subscribe("//a", durable="desk")
            await subscription.ready()
            await publish(client, 5)
            old = await take(subscription, 3)
            await scripted.stop()
            await until(lambda: client.broker == "other")
            await subscription.ready()
            await client.publish("<new/>")
            (event,) = await take(subscription, 1)
            assert (event.sequence, event.content) == (1, b"<new/>")
            await old[0].ack()
            await event.ack()
            await subscription.flush()
            await until(lambda: other.durable["desk"].done == {1})
            assert not scripted.durable["desk"].done
        await other.stop()

    run(story)


def test_flushing_ends_when_the_client_does() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address, reconnect=False) as client:
            subscription = client.subscribe("//a", durable="desk")
            await subscription.ready()
            await client.publish("<a/>")
            event = await anext(subscription)
            await scripted.stop()
            await until(lambda: client.broker is None)
            with pytest.raises(ConnectionFailedError):  # noqa: PT012 - either may be the first
                await event.ack()
                await subscription.flush()

    run(story)
