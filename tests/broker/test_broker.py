"""One broker and its clients: who gets what, at whose pace, and what is refused."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from live_brokers import PATIENCE, one_broker, take, until

from twigcast.broker import BrokerConfig
from twigcast.broker.config import LimitsConfig
from twigcast.broker.ephemeral import EphemeralSubscription
from twigcast.broker.store_config import StoreConfig
from twigcast.client import Client, Subscription, connect
from twigcast.delivery.writes import Acknowledge, Write
from twigcast.errors import RefusedError, SchemaError


def stock(symbol: str, price: float) -> str:
    return f"<Stock><Symbol>{symbol}</Symbol><Price>{price}</Price></Stock>"


async def rest(client: Client, subscription: Subscription) -> None:
    """Fail if another event comes: what is published last comes first."""
    await client.publish("<last/>")
    [event] = await take(subscription, 1)
    assert event.content == b"<last/>"


def test_a_document_goes_to_those_whose_expressions_it_matches() -> None:
    async def scenario() -> None:
        async with one_broker() as running, connect(running.address) as client:
            dear = client.subscribe({"dear": "//Stock[Price>15]", "last": "/last"})
            any_of = client.subscribe(
                {"all": "/Stock", "ghi": "//Symbol[.='GHI']", "last": "/last"}
            )
            await dear.ready()
            await any_of.ready()
            first = await client.publish(stock("GHI", 17))
            second = await client.publish(stock("ABC", 3))
            await client.publish("<other/>")
            [event] = await take(dear, 1)
            assert (event.id, event.content, event.keys) == (
                first,
                stock("GHI", 17).encode(),
                ("dear",),
            )
            events = await take(any_of, 2)
            assert [each.id for each in events] == [first, second]
            assert [sorted(each.keys) for each in events] == [["all", "ghi"], ["all"]]
            await rest(client, dear)
            await take(any_of, 1)
            await dear.close()
            await any_of.close()
            await until(lambda: running.broker.router.table_size == 0)

    asyncio.run(scenario())


def test_namespaces_are_bound_by_the_subscriber() -> None:
    async def scenario() -> None:
        async with one_broker() as running, connect(running.address) as client:
            alerts = client.subscribe("/cap:alert", namespaces={"cap": "urn:cap"})
            await alerts.ready()
            await client.publish("<alert/>")
            await client.publish("<alert xmlns='urn:cap'/>")
            [event] = await take(alerts, 1)
            assert event.content == b"<alert xmlns='urn:cap'/>"

    asyncio.run(scenario())


def test_a_durable_subscription_keeps_what_comes_while_its_client_is_away(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path) as running:
            async with connect(running.address) as client:
                desk = client.subscribe("//Stock[Price>15]", durable="desk-7")
                await desk.ready()
                await client.publish(stock("A", 16))
                [event] = await take(desk, 1)
                assert event.sequence == 1
                await event.ack()
            async with connect(running.address) as client:
                for price in (17, 3, 18):
                    await client.publish(stock("B", price))
                desk = client.subscribe("//Stock[Price>15]", durable="desk-7")
                events = await take(desk, 2)
                assert [each.sequence for each in events] == [2, 3]
                await events[0].ack()
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            desk = client.subscribe(None, durable="desk-7")
            [event] = await take(desk, 1)
            assert (event.sequence, event.content) == (3, stock("B", 18).encode())
            await event.ack()
            await desk.flush()
            await client.publish(stock("C", 20))
            [event] = await take(desk, 1)
            assert event.sequence == 4
            state = await client.queue_state("desk-7")
            assert (state.first, state.last) == (1, 4)

    asyncio.run(scenario())


def test_catching_up_by_sequence_and_by_time(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            desk = client.subscribe("/a", durable="d")
            await desk.ready()
            for number in range(3):
                await client.publish(f"<a>{number}</a>")
            for event in await take(desk, 3):
                await event.ack()
            await desk.flush()
            await until(lambda: running.broker.durables["d"].queue.acknowledged == 3)
            await asyncio.sleep(0.01)
            moment = datetime.now(UTC)
            await asyncio.sleep(0.01)
            await client.publish("<a>3</a>")
            await take(desk, 1)
            await desk.close()
            again = client.subscribe("/a", durable="d", since=2)
            assert [each.sequence for each in await take(again, 3)] == [2, 3, 4]
            await again.close()
            again = client.subscribe("/a", durable="d", since=moment)
            assert [each.sequence for each in await take(again, 1)] == [4]
            await again.close()
            read = [each.content async for each in client.read_queue("d", 2, 3)]
            assert read == [b"<a>1</a>", b"<a>2</a>"]

    asyncio.run(scenario())


def test_closing_waits_until_acknowledgements_are_stored(tmp_path: Path) -> None:
    async def main() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            store = running.broker.store
            assert store is not None
            desk = client.subscribe("/a", durable="d")
            await desk.ready()
            await client.publish("<a/>")
            (event,) = await take(desk, 1)
            submit, heard = store.submit, []

            def hold(ticket: int, write: Write) -> None:
                if isinstance(write, Acknowledge):
                    heard.append((ticket, write))
                else:
                    submit(ticket, write)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(store, "submit", hold)
                await event.ack()
                closing = asyncio.create_task(desk.close())
                await until(lambda: heard)
                await asyncio.sleep(0.2)
                assert not closing.done()
                for each in heard:
                    submit(*each)
                await asyncio.wait_for(closing, PATIENCE)

    asyncio.run(main())


def test_other_expressions_replace_those_of_a_durable_subscription(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            desk = client.subscribe("/a", durable="d")
            await desk.ready()
            await desk.close()
            await client.publish("<a/>")
            desk = client.subscribe({"x": "/b"}, durable="d")
            await desk.ready()
            await client.publish("<a/>")
            await client.publish("<b/>")
            events = await take(desk, 2)
            assert [each.content for each in events] == [b"<a/>", b"<b/>"]
            await desk.forget()
            await until(lambda: running.broker.router.table_size == 0)
            assert not running.broker.durables
            with pytest.raises(RefusedError, match="no durable subscription 'd'"):
                await client.queue_state("d")

    asyncio.run(scenario())


def test_a_durable_subscription_has_one_client_the_last_to_come(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            one_broker(tmp_path) as running,
            connect(running.address) as one,
            connect(running.address) as other,
        ):
            first = one.subscribe("/a", durable="d")
            await first.ready()
            second = other.subscribe("/a", durable="d")
            await second.ready()
            with pytest.raises(RefusedError, match="another client") as caught:
                await take(first, 1)
            assert caught.value.code == "taken"
            await other.publish("<a/>")
            await take(second, 1)

    asyncio.run(scenario())


def test_without_a_store_there_are_no_durable_subscriptions() -> None:
    async def scenario() -> None:
        async with one_broker() as running, connect(running.address) as client:
            with pytest.raises(RefusedError, match="--store") as caught:
                await client.subscribe("/a", durable="d").ready()
            assert caught.value.code == "unavailable"
            with pytest.raises(RefusedError, match="--store"):
                [each async for each in client.ask("/a")]

    asyncio.run(scenario())


def test_a_slow_subscriber_holds_up_nobody_and_learns_what_it_missed() -> None:
    limits = LimitsConfig(queue_memory=20_000, queue_disk=40_000)

    async def scenario() -> None:
        async with (
            one_broker(config=BrokerConfig(limits=limits)) as running,
            connect(running.address) as client,
            connect(running.address) as other,
        ):
            slow = other.subscribe("/a", window=4)
            quick = client.subscribe("/a")
            await slow.ready()
            await quick.ready()
            document = f"<a>{'x' * 1000}</a>"
            for _ in range(200):
                await client.publish(document)
            assert len(await take(quick, 200)) == 200
            [ephemeral] = [
                each
                for session in running.service.sessions
                for each in session.subscriptions()
                if isinstance(each, EphemeralSubscription) and each.window == 4
            ]
            assert 50 < ephemeral.queue.waiting_bytes / 1000 <= 60
            dropped = ephemeral.queue.dropped
            assert dropped > 100
            assert len(await take(slow, 200 - dropped)) == 200 - dropped
            await client.publish(document)
            await take(slow, 1)
            assert slow.missed == dropped

    asyncio.run(scenario())


def test_a_publication_that_is_sent_again_counts_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            desk = client.subscribe({"a": "/a", "last": "/last"}, durable="d")
            await desk.ready()
            first = await client.publish("<a/>", id="feed-1")
            assert await client.publish("<a/>", id="feed-1") == first
            await take(desk, 1)
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            assert await client.publish("<a/>", id="feed-1") == first
            desk = client.subscribe(None, durable="d", since=2)
            await rest(client, desk)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("document", "code", "reason"),
    [
        ("<a>", "malformed", "line 1, column 4"),
        ("", "malformed", "no element found"),
        (
            '<!DOCTYPE a [<!ENTITY b "xxxxxxxxxx"><!ENTITY c "'
            + "&b;" * 2000
            + '"><!ENTITY d "'
            + "&c;" * 2000
            + '">]><a>&d;</a>',
            "malformed",
            "entit",
        ),
        (f"<a>{'x' * 5000}</a>", "too-large", "document_bytes"),
    ],
)
def test_a_bad_document_is_refused_and_nothing_else_suffers(
    document: str, code: str, reason: str
) -> None:
    size = 20_000 if code == "malformed" else 1000
    limits = LimitsConfig(document_bytes=size)

    async def scenario() -> None:
        async with (
            one_broker(config=BrokerConfig(limits=limits)) as running,
            connect(running.address) as client,
        ):
            everything = client.subscribe("/*")
            await everything.ready()
            results = await client.publish_all(["<good/>", document, "<better/>"])
            assert [result.error is None for result in results] == [True, False, True]
            error = results[1].error
            assert isinstance(error, RefusedError)
            assert error.code == code
            assert reason in str(error)
            events = await take(everything, 2)
            assert [each.content for each in events] == [b"<good/>", b"<better/>"]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("/a" + "".join(f"[b{each}]" for each in range(300)), "steps"),
        ("//" + "a" * 5000, "characters"),
    ],
)
def test_an_expression_past_the_limits_of_the_broker_is_refused(
    expression: str, reason: str
) -> None:
    async def scenario() -> None:
        async with one_broker() as running, connect(running.address) as client:
            with pytest.raises(RefusedError, match=reason) as caught:
                await client.subscribe(expression).ready()
            assert caught.value.code == "bad-expression"
            assert running.broker.router.table_size == 0
            good = client.subscribe("/a")
            await good.ready()

    asyncio.run(scenario())


def test_quotas_bound_what_one_client_may_have() -> None:
    limits = LimitsConfig(
        subscriptions_per_client=2, expressions_per_client=5, advertisements_per_client=1
    )

    async def scenario() -> None:
        async with (
            one_broker(config=BrokerConfig(limits=limits)) as running,
            connect(running.address) as client,
            connect(running.address) as other,
        ):
            with pytest.raises(RefusedError, match="expressions_per_client") as caught:
                await client.subscribe({str(each): f"/a{each}" for each in range(6)}).ready()
            assert caught.value.code == "quota"
            subscriptions = [client.subscribe("/a"), client.subscribe("/b")]
            for each in subscriptions:
                await each.ready()
            with pytest.raises(RefusedError, match="subscriptions_per_client"):
                await client.subscribe("/c").ready()
            await other.subscribe("/c").ready()
            await subscriptions[0].close()
            await client.subscribe("/c").ready()
            await client.advertise()
            with pytest.raises(RefusedError, match="advertisements_per_client"):
                await client.advertise()

    asyncio.run(scenario())


def test_no_more_clients_than_are_allowed() -> None:
    limits = LimitsConfig(clients=1)

    async def scenario() -> None:
        async with (
            one_broker(config=BrokerConfig(limits=limits)) as running,
            connect(running.address) as client,
        ):
            with pytest.raises(Exception, match=r"limits\.clients"):
                async with connect(running.address, reconnect=False):
                    pass
            await client.publish("<a/>")

    asyncio.run(scenario())


def test_a_publisher_is_slowed_down_to_its_rate() -> None:
    limits = LimitsConfig(publications_per_second=100)

    async def scenario() -> None:
        async with (
            one_broker(config=BrokerConfig(limits=limits)) as running,
            connect(running.address) as client,
        ):
            loop = asyncio.get_running_loop()
            began = loop.time()
            for _ in range(6):
                await asyncio.gather(*(client.publish("<a/>") for _ in range(30)))
            # A second's worth may come at once.
            assert loop.time() - began > 0.4

    asyncio.run(scenario())


def test_the_store_can_be_asked(tmp_path: Path) -> None:
    config = BrokerConfig(store=StoreConfig(keep="all"))

    async def scenario() -> None:
        async with one_broker(tmp_path, config) as running, connect(running.address) as client:
            for number in range(300):
                await client.publish(stock(f"S{number % 3}", number))
            await asyncio.sleep(0.01)
            moment = datetime.now(UTC)
            await asyncio.sleep(0.01)
            await client.publish(stock("S0", 1000))
            found = [each.content async for each in client.ask("//Stock[Symbol='S0']", limit=3)]
            assert found == [stock("S0", price).encode() for price in (1000, 297, 294)]
            asked = client.ask("//Stock[Symbol='S1']")
            assert len([each async for each in asked]) == 100
            assert asked.examined == 301
            recent = [each.content async for each in client.ask("/Stock", since=moment)]
            assert recent == [stock("S0", 1000).encode()]
            with pytest.raises(RefusedError, match="characters"):
                [each async for each in client.ask("//" + "a" * 5000)]

    asyncio.run(scenario())


def test_only_what_is_wanted_durably_is_kept_unless_configured_otherwise(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            await client.subscribe("/a", durable="d").ready()
            await client.subscribe("/b").ready()
            await client.publish("<a/>")
            await client.publish("<b/>")
            kept = [each.content async for each in client.ask("/*")]
            assert kept == [b"<a/>"]

    asyncio.run(scenario())


def test_where_subscriptions_follow_advertisements_a_publisher_advertises_first() -> None:
    config = replace(BrokerConfig(), strategy="advertisements-covering")

    async def scenario() -> None:
        async with one_broker(config=config) as running, connect(running.address) as client:
            with pytest.raises(RefusedError, match="advertise first"):
                await client.publish("<news/>")
            promise = await client.advertise("<!ELEMENT news (p*)><!ELEMENT p (#PCDATA)>")
            await client.publish("<news/>")
            await promise.end()
            with pytest.raises(RefusedError, match="advertise first"):
                await client.publish("<news/>")
            with pytest.raises(SchemaError, match="DTD"):
                await client.advertise("<!ELEMENT news (p*>")

    asyncio.run(scenario())


def test_leaving_while_a_large_delivery_is_written_harms_nothing(tmp_path: Path) -> None:
    document = f"<a>{'x' * 3_000_000}</a>"

    async def scenario() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            desk = client.subscribe("/a", durable="d")
            await desk.ready()
            for _ in range(4):
                await client.publish(document)
            await desk.close()
            for _ in range(6):
                desk = client.subscribe("/a", durable="d")
                await take(desk, 1)
                await asyncio.wait_for(desk.close(), 20)
            await client.publish("<b/>")

    asyncio.run(scenario())


def test_who_was_away_hears_how_much_retention_has_taken(tmp_path: Path) -> None:
    config = BrokerConfig(store=StoreConfig(retention_age=0.01))

    async def scenario() -> None:
        async with one_broker(tmp_path, config) as running:
            async with connect(running.address) as client:
                await client.subscribe("/a", durable="d").ready()
            async with connect(running.address) as client:
                for number in range(5):
                    await client.publish(f"<a>{number}</a>")
                await asyncio.sleep(0.05)
                await running.broker.flow.trim()
                await client.publish("<a>last</a>")
                desk = client.subscribe(None, durable="d")
                [event] = await take(desk, 1)
                assert event.content == b"<a>last</a>"
                assert desk.missed == 5
                await desk.close()
                again = client.subscribe(None, durable="d", since=1)
                await take(again, 1)
                assert again.missed == 0

    asyncio.run(scenario())


def test_a_reader_that_keeps_its_own_place_acknowledges_without_attaching(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            one_broker(tmp_path) as running,
            connect(running.address) as client,
            connect(running.address) as reader,
        ):
            desk = client.subscribe("/a", durable="d")
            await desk.ready()
            for number in range(5):
                await client.publish(f"<a>{number}</a>")
            await take(desk, 5)
            await reader.acknowledge("d", 3)
            assert (await reader.queue_state("d")).acknowledged == 3
            await client.publish("<a>5</a>")
            await take(desk, 1)  # who is attached stays so
            with pytest.raises(RefusedError, match="no durable subscription 'e'"):
                await reader.acknowledge("e", 3)
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            assert (await client.queue_state("d")).acknowledged == 3

    asyncio.run(scenario())
