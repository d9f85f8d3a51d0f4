"""Subscribing: events, credit, acknowledgements, ends, and lost connections."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from scripted_broker import (
    BrokerFrame,
    Drop,
    Session,
    broker,
    run,
    serve,
    serve_on,
    until,
)

import twigcast
from twigcast.client import Client, Event, Subscription, SyncSubscription, connect
from twigcast.errors import NetworkError, RefusedError
from twigcast.wire import messages


def delivery(number: int, sequence: int = 0) -> messages.Delivery:
    return messages.Delivery(
        id=f"b:1:{number}", content=b"<a/>", keys=["k"], sequence=sequence, published=number
    )


async def take(subscription: Subscription, count: int) -> list[Event]:
    async with asyncio.timeout(30):
        return [await anext(subscription) for _ in range(count)]


async def publish(client: Client, count: int) -> None:
    await client.publish_all(f"<a>{number}</a>" for number in range(count))


def test_events_have_everything_the_broker_tells() -> None:
    async def story() -> None:
        async with (
            broker() as scripted,
            connect(scripted.address) as client,
            client.subscribe("//a") as subscription,
        ):
            await client.publish("<a/>")
            event = await anext(subscription)
            assert (event.id, event.content, event.keys) == ("scripted:1:1", b"<a/>", ("any",))
            assert event.sequence == 0
            assert event.published == datetime(2027, 1, 15, 8, 0, 0, 123000, UTC)
            assert repr(event) == "<Event scripted:1:1: 4 bytes for any>"
            await event.ack()
            await subscription.flush()
            assert not scripted.heard("acknowledged")

    run(story)


def test_what_the_broker_hears_of_a_subscription() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            await client.subscribe("//a", window=7).ready()
            cap = {"cap": "urn:cap"}
            pattern = twigcast.parse("//cap:b", cap)
            several: dict[str, str | twigcast.Pattern] = {"one": "//cap:a", "two": pattern}
            await client.subscribe(several, namespaces=cap, durable="desk", since=5).ready()
            await client.subscribe(durable="desk", since=datetime(2026, 1, 1, tzinfo=UTC)).ready()
            await client.subscribe(durable="desk", since=timedelta(hours=1)).ready()
            one, two, three, four = scripted.heard("subscribe")
            assert (dict(one.expressions)["//a"].xpath, one.window, one.durable) == ("//a", 7, "")
            assert two.expressions["one"].xpath == "//Q{urn:cap}a"
            assert not two.expressions["one"].namespaces
            assert two.expressions["two"].xpath == "//Q{urn:cap}b"
            assert not two.expressions["two"].namespaces
            assert (two.durable, two.since_sequence, two.window) == ("desk", 5, 256)
            assert (len(three.expressions), three.since_time) == (0, 1_767_225_600_000)
            hour_ago = (datetime.now(UTC) - timedelta(hours=1)).timestamp()
            assert abs(four.since_time / 1000 - hour_ago) < 20

    run(story)


def test_what_never_holds_is_a_warning_where_the_subscriber_is() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            bound = {"cap": "urn:cap", "x": "urn:x"}
            with pytest.warns(twigcast.SubscriptionWarning) as caught:
                client.subscribe({"a": "//cap:a[b > 'x']", "b": "//c"}, namespaces=bound)
            assert [each.message.position for each in caught] == [12, None]  # type: ignore[union-attr]
            assert [each.filename for each in caught] == [__file__] * 2
            with pytest.warns(twigcast.SubscriptionWarning, match="never holds"):
                client.ask("//a[@d >= '2024-01-01']")

    run(story)


def test_bindings_are_put_in_before_the_broker_hears_of_them() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            subscription = client.subscribe(
                {"dear": "Stock[Price > $limit]", "kinds": "Bond[Kind = $kinds]"},
                variables={"limit": 5, "kinds": ["A", "B"]},
                relative_to="document",
                version="2.0",
            )
            await subscription.ready()
            (said,) = scripted.heard("subscribe")
            assert {key: each.xpath for key, each in said.expressions.items()} == {
                "dear": "/Stock[xpath-2.0(Price>5)]",
                "kinds": '/Bond/Kind[.="A" or .="B"]',
            }
            assert not any(each.variables or each.version for each in said.expressions.values())
            assert "to dear, kinds" in repr(subscription)

    run(story)


def test_a_bad_expression_is_refused_here_with_the_position_as_written() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            for attempt in (client.subscribe, client.ask):
                with pytest.raises(twigcast.SubscriptionError) as caught:
                    attempt("//p:a[amount(b)]", namespaces={"p": "urn:p"})
                assert (caught.value.text, caught.value.position) == ("//p:a[amount(b)]", 6)
                with pytest.raises(twigcast.SubscriptionError, match=r"\$x is not bound"):
                    attempt("//a[b = $x]")
                with pytest.raises(ValueError, match=r"'1\.0' or '2\.0'"):
                    attempt("//a", version="3.1")  # type: ignore[arg-type]
            assert not scripted.heard("subscribe")

    run(story)


def test_arguments_that_make_no_sense() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            for expressions, arguments in (
                ("//a", {"since": 3}),
                (None, {}),
                ({}, {}),
                ("//a", {"window": 0}),
                ("//a", {"durable": ""}),
                ("//a", {"durable": "d", "since": -1}),
            ):
                with pytest.raises(ValueError, match=r"."):
                    client.subscribe(expressions, **arguments)
            with pytest.raises(TypeError, match="not int"):
                client.subscribe({"a": 7})  # type: ignore[dict-item]
            with pytest.raises(TypeError, match="mapping from keys"):
                client.subscribe(7)  # type: ignore[arg-type]
            taken = r"sequence number \(int\), a time \(datetime\), how long ago \(timedelta\)"
            with pytest.raises(TypeError, match=taken):
                client.subscribe("//a", durable="d", since=2.5)  # type: ignore[arg-type]
            with pytest.raises(ValueError, match=r"how long ago as 90s"):
                client.subscribe("//a", durable="d", since="soon")
            with pytest.raises(TypeError, match=r"how long ago \(timedelta\)"):
                client.ask("//a", since=2.5)  # type: ignore[arg-type]
            with pytest.raises(TypeError, match="not a number"):
                client.ask("//a", since=7)  # type: ignore[arg-type]

    run(story)


def test_several_expressions_have_their_texts_for_keys() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            await client.subscribe(["//a", twigcast.parse("//b")]).ready()
            await client.subscribe(("//c", "//c")).ready()
            with pytest.raises(ValueError, match="at least one"):
                client.subscribe([])
            one, two = scripted.heard("subscribe")
            assert {key: each.xpath for key, each in one.expressions.items()} == {
                "//a": "//a",
                "//b": "//b",
            }
            assert list(two.expressions) == ["//c"]

    run(story)


def test_nothing_but_what_applications_use_is_public() -> None:
    public = {name for name in dir(Subscription) if not name.startswith("_")}
    assert public == {
        *("close", "flush", "forget", "interruptions", "missed", "ready", "take_all", "unreached"),
        *("shared", "ordered_by", "deliveries", "scope"),
    }
    own = {name for name in dir(SyncSubscription) if not name.startswith("_")}
    assert own == public - {"take_all"} | {"next"}


def test_subscribing_returns_before_the_broker_has_heard() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            subscription = client.subscribe("//a")
            assert not scripted.heard("subscribe")
            await subscription.ready()
            assert scripted.heard("subscribe")

    run(story)


def test_a_refused_expression_is_told_with_its_place() -> None:
    async def strict(session: Session) -> None:
        await session.welcome()
        while (frame := await session.read()) is not None:
            if frame.HasField("subscribe"):
                request = frame.subscribe.request
                await session.refuse(request, "bad-expression", "no step\n  //[\n    ^")
            else:
                await session.handle(frame)

    async def story() -> None:
        async with broker(strict) as scripted, connect(scripted.address) as client:
            for attempt in (
                client.subscribe("//a").ready(),
                anext(client.subscribe("//a")),
                client.subscribe("//a").__aenter__(),
            ):
                with pytest.raises(RefusedError, match=r"\^") as caught:
                    await attempt
                assert caught.value.code == "bad-expression"
            assert await client.publish("<a/>")

    run(story)


def test_a_subscription_too_large_for_one_message_is_refused_here() -> None:
    async def small(session: Session) -> None:
        await session.welcome(message_bytes=1000)
        await serve_on(session)

    async def story() -> None:
        async with broker(small) as scripted, connect(scripted.address) as client:
            many = {str(number): f"//a[b={number}]" + "/c" * 90 for number in range(2000)}
            with pytest.raises(RefusedError, match="divide it"):
                await client.subscribe(many).ready()
            await client.subscribe("//a").ready()
            assert scripted.count == 1

    run(story)


@pytest.mark.parametrize("window", [1, 2, 5, 256])
def test_credit_is_given_back_in_batches(window: int) -> None:
    """The scripted broker never delivers beyond the window, and checks what is given back."""

    async def story() -> None:
        async with (
            broker() as scripted,
            connect(scripted.address) as client,
            client.subscribe("//a", window=window) as subscription,
        ):
            await publish(client, 600)
            events = await take(subscription, 600)
            assert [event.id for event in events] == [f"scripted:1:{n + 1}" for n in range(600)]
            batch = (window + 1) // 2
            counts = [count for said in scripted.heard("consumed") for count in said.counts]
            assert min(counts) >= batch
            assert len(counts) <= 600 / batch

    run(story)


def test_a_subscription_that_nobody_reads_holds_up_nothing() -> None:
    async def story() -> None:
        async with (
            broker() as scripted,
            connect(scripted.address) as client,
            client.subscribe("//a", window=4) as idle,
            client.subscribe("//a", window=4) as busy,
        ):
            await publish(client, 300)
            assert len(await take(busy, 300)) == 300
            assert len(idle._waiting) == 4
            assert len(await take(idle, 300)) == 300

    run(story)


def test_a_broker_that_ignores_the_window_is_left() -> None:
    async def pushy(session: Session) -> None:
        await session.welcome()
        subscribe = await session.expect("subscribe")
        await session.answer(subscribe.request)
        await session.deliver(subscribe.subscription, *map(delivery, range(1, 5)))
        await session.read()

    async def story() -> None:
        async with broker(pushy, serve) as scripted, connect(scripted.address) as client:
            subscription = client.subscribe("//a", window=3)
            await until(lambda: scripted.count == 2)
            await subscription.ready()
            assert subscription.interruptions == 1

    run(story)


def test_missed_documents_are_counted() -> None:
    async def lossy(session: Session) -> None:
        await session.welcome()
        subscribe = await session.expect("subscribe")
        await session.answer(subscribe.request)
        await session.deliver(subscribe.subscription, delivery(1), missed=3)
        await session.deliver(subscribe.subscription, delivery(6), missed=4)
        await serve_on(session)

    async def story() -> None:
        async with broker(lossy) as scripted, connect(scripted.address) as client:
            subscription = client.subscribe("//a")
            await take(subscription, 2)
            assert subscription.missed == 7

    run(story)


def test_a_closed_subscription_ends_its_iteration_and_takes_no_acknowledgement() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            subscription = client.subscribe("//a", durable="desk")
            await subscription.ready()
            await publish(client, 3)
            event = await anext(subscription)
            await subscription.close()
            await subscription.close()
            assert [event async for event in subscription] == []
            with pytest.raises(NetworkError, match="closed"):
                await event.ack()
            with pytest.raises(NetworkError, match="closed"):
                await subscription.ready()
            assert not scripted.sessions[0].attached

    run(story)


def test_leaving_a_loop_and_the_block_around_it() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            async with client.subscribe("//a") as subscription:
                await publish(client, 10)
                async for event in subscription:
                    if event.id.endswith(":5"):
                        break
            assert not scripted.sessions[0].attached

    run(story)


def test_a_subscription_that_the_broker_ends() -> None:
    async def ending(session: Session) -> None:
        await session.welcome()
        subscribe = await session.expect("subscribe")
        await session.answer(subscribe.request)
        await session.deliver(subscribe.subscription, delivery(1, 1))
        problem = messages.Problem(code="taken", reason="attached elsewhere")
        ended = messages.Ended(subscription=subscribe.subscription, problem=problem)
        await session.send(BrokerFrame(ended=ended))
        await serve_on(session)

    async def story() -> None:
        async with broker(ending) as scripted, connect(scripted.address) as client:
            subscription = client.subscribe("//a", durable="desk")
            event = await anext(subscription)
            with pytest.raises(RefusedError, match="attached elsewhere") as caught:
                await anext(subscription)
            assert caught.value.code == "taken"
            with pytest.raises(RefusedError, match="attached elsewhere"):
                await event.ack()
            await subscription.close()
            assert await client.publish("<a/>")

    run(story)


def test_an_ephemeral_subscription_begins_anew_and_counts_it() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            subscription = client.subscribe("//a", window=10)
            await subscription.ready()
            await publish(client, 20)
            await until(lambda: len(subscription._waiting) == 10)
            await scripted.stop()
            await until(lambda: client.broker is None)
            await scripted.start()
            await subscription.ready()
            await client.publish("<b/>")
            events = await take(subscription, 11)
            assert [event.content for event in events[9:]] == [b"<a>9</a>", b"<b/>"]
            assert subscription.interruptions == 1
            await publish(client, 50)
            await take(subscription, 50)

    run(story)


def test_what_waits_stays_bounded_however_often_the_connection_is_lost() -> None:
    async def fill(session: Session) -> None:
        await session.welcome()
        subscribe = await session.expect("subscribe")
        await session.answer(subscribe.request)
        await session.deliver(subscribe.subscription, *map(delivery, range(1, 6)))
        raise Drop

    async def story() -> None:
        async with (
            broker(fill, fill, fill, fill, serve) as scripted,
            connect(scripted.address) as client,
        ):
            subscription = client.subscribe("//a", window=5)
            await until(lambda: scripted.count == 5)
            await subscription.ready()
            assert subscription.missed > 0
            assert len(subscription._waiting) <= 10

    run(story)


def test_cancelling_a_wait_loses_no_event() -> None:
    async def story() -> None:
        async with (
            broker() as scripted,
            connect(scripted.address) as client,
            client.subscribe("//a") as subscription,
        ):
            seen = []
            for number in range(30):
                waiting = asyncio.create_task(anext(subscription))
                await asyncio.sleep(0)
                publishing = asyncio.create_task(client.publish(f"<a>{number}</a>"))
                for _ in range(number % 7):
                    await asyncio.sleep(0)
                waiting.cancel()
                await asyncio.wait({waiting, publishing})
                if not waiting.cancelled():
                    seen.append(waiting.result())
            seen += await take(subscription, 30 - len(seen))
            assert sorted(int(event.content[3:-4]) for event in seen) == list(range(30))

    run(story)
