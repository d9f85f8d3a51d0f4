"""Durable subscriptions that several clients share, and documents that are given back."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from http_brokers import publish, refusal, run, serving, subscribed
from live_brokers import PATIENCE, one_broker, take, until

from twigcast.broker import RunningBroker
from twigcast.client import Client, Event, connect
from twigcast.client.sync import connect_sync
from twigcast.errors import NetworkError, RefusedError


async def publish_numbers(client: Client, *numbers: int, customer: str = "c") -> None:
    for number in numbers:
        await client.publish(f'<order customer="{customer}">{number}</order>')


def numbers(events: list[Event]) -> list[int]:
    return [int(event.content.split(b">")[1].split(b"<")[0]) for event in events]


def waiting(running: RunningBroker, durable: str = "desk") -> int:
    return running.broker.durables[durable].queue.waiting


def test_each_document_is_for_one_of_the_clients(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            one = client.subscribe("//order", durable="desk", shared=True, window=4)
            await one.ready()
            async with connect(running.address) as other:
                two = other.subscribe(durable="desk", window=4)
                await two.ready()
                assert (one.shared, two.shared) == (True, True)
                await publish_numbers(client, *range(8))
                first, second = await take(one, 4), await take(two, 4)
                assert sorted(numbers(first + second)) == list(range(8))
                for event in first + second:
                    await event.ack()
                await one.flush()
                await two.flush()
                await until(lambda: waiting(running) == 0)

    run(story)


def test_a_client_that_leaves_gives_back_what_it_has(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            async with client.subscribe("//order", durable="desk", shared=True) as one:
                await publish_numbers(client, 1, 2, 3)
                events = await take(one, 3)
                await events[1].ack()
            async with client.subscribe(durable="desk") as two:
                again = await take(two, 2)
                assert numbers(again) == [1, 3]
                for event in again:
                    await event.ack()
            assert waiting(running) == 0

    run(story)


def test_documents_of_one_value_stay_in_order_at_one_client(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            one = client.subscribe(
                "//order", durable="desk", shared=True, ordered_by="/order/@customer", window=2
            )
            two = client.subscribe(durable="desk", window=2)
            await one.ready()
            await two.ready()
            for number in range(40):
                await publish_numbers(client, number, customer=f"c{number % 3}")
            out: dict[str, set[int]] = {}
            came: dict[bytes, list[int]] = {}

            async def consume(name: str, subscription: Any) -> None:
                async for event in subscription:
                    customer = event.content.split(b'"')[1]
                    holders = [key for key, held in out.items() if customer[-1] in held]
                    assert holders in ([], [name]), "another client has some of this value"
                    out.setdefault(name, set()).add(customer[-1])
                    came.setdefault(customer, []).extend(numbers([event]))
                    await asyncio.sleep(0)
                    out[name].discard(customer[-1])
                    await event.ack()

            tasks = [
                asyncio.create_task(consume("one", one)),
                asyncio.create_task(consume("two", two)),
            ]
            await until(lambda: sum(map(len, came.values())) == 40)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert all(each == sorted(each) for each in came.values())
            assert running.broker.durables["desk"].queue.options.key == "/order/@customer"

    run(story)


def test_documents_without_the_value_are_shared_one_by_one(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            one = client.subscribe(
                "//order", durable="desk", shared=True, ordered_by="/order/@none", window=1
            )
            two = client.subscribe(durable="desk", window=1)
            await one.ready()
            await two.ready()
            await publish_numbers(client, 1, 2)
            assert sorted(numbers(await take(one, 1) + await take(two, 1))) == [1, 2]

    run(story)


def test_other_options_than_those_kept_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            async with client.subscribe("//order", durable="desk", shared=True, deliveries=3):
                pass
            others: list[tuple[dict[str, Any], str]] = [
                ({"shared": False}, "shared"),
                ({"ordered_by": "//a"}, "ordered_by"),
                ({"deliveries": 4}, "deliveries"),
                ({"since": 1}, "since"),
            ]
            for other, option in others:
                with pytest.raises(RefusedError, match=option):
                    await client.subscribe(durable="desk", **other).ready()
            with pytest.raises(RefusedError, match="say shared"):
                await client.subscribe("//a", durable="new", ordered_by="//a").ready()
            async with client.subscribe(
                "//order", durable="desk", shared=True, deliveries=3
            ) as one:
                assert (one.shared, one.ordered_by, one.deliveries) == (True, "", 3)
        # They are kept over a restart, and with other expressions.
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            async with client.subscribe("//a", durable="desk") as one:
                assert (one.shared, one.deliveries) == (True, 3)
            assert running.broker.durables["desk"].queue.options.most_attempts == 3

    run(story)


def test_a_document_that_is_given_back_comes_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            async with client.subscribe("//order", durable="desk") as desk:
                await publish_numbers(client, 1, 2, 3)
                one, two, three = await take(desk, 3)
                await two.give_back()
                await two.give_back()  # a second time changes nothing
                (again,) = await take(desk, 1)
                assert (again.sequence, again.attempts, two.attempts) == (2, 1, 0)
                await again.give_back(timedelta(milliseconds=20))
                (again,) = await take(desk, 1)
                assert (again.sequence, again.attempts) == (2, 2)
                for event in (three, again, one):
                    await event.ack()
            assert waiting(running) == 0
            with pytest.raises(ValueError, match="from 0 to"):
                await again.give_back(-1)
            async with client.subscribe("//order") as passing:
                await publish_numbers(client, 4)
                with pytest.raises(NetworkError, match="subscribe with durable"):
                    await (await take(passing, 1))[0].give_back()

    run(story)


def test_a_document_becomes_a_letter_after_so_many_deliveries(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            async with client.subscribe("//order", durable="desk", deliveries=2) as desk:
                await publish_numbers(client, 1, 2)
                one, two = await take(desk, 2)
                await one.give_back()
                (one,) = await take(desk, 1)
                await one.give_back()
                await two.ack()
                await until(lambda: waiting(running) == 0)
            assert running.broker.store is not None
            (letter,) = await running.broker.store.letters()
            assert (letter.durable, letter.sequence) == ("desk", 1)
            assert letter.reason == "given out 2 times in vain"

    run(story)


def test_the_first_document_of_a_client_that_is_lost_was_tried(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running:
            client = await connect(running.address, reconnect=False).open()
            desk = client.subscribe("//order", durable="desk", deliveries=5)
            await desk.ready()
            await publish_numbers(client, 1, 2)
            await take(desk, 1)
            stream = client._connection._stream
            assert stream is not None
            await stream.close()  # as if its process had ended
            await until(lambda: not running.broker.durables["desk"].attached)
            async with (
                connect(running.address) as client,
                client.subscribe(durable="desk") as desk,
            ):
                assert [each.attempts for each in await take(desk, 2)] == [1, 0]

    run(story)


def test_who_takes_a_document_and_leaves_has_tried_in_vain(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running:
            async with connect(running.address) as client:
                async with client.subscribe("//order", durable="desk", deliveries=3):
                    await publish_numbers(client, 1, 2)
                for attempt in range(2):
                    async with client.subscribe(durable="desk") as desk:
                        assert (await anext(desk)).attempts == attempt
                # Likewise with its connection; and what only waited at a client was not tried.
                desk = client.subscribe(durable="desk")
                (event,) = await take(desk, 1)
                assert event.attempts == 2
            await until(lambda: not running.broker.durables["desk"].attached)
            assert running.broker.store is not None
            store = running.broker.store
            await until(lambda: waiting(running) == 1)
            (letter,) = await store.letters()
            assert letter.reason == "given out 3 times in vain"

    run(story)


@pytest.mark.parametrize("ordered_by", [None, "/order/@customer"])
def test_what_nobody_has_taken_was_not_tried(ordered_by: str | None, tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            async with client.subscribe(
                "//order", durable="desk", shared=True, ordered_by=ordered_by, deliveries=1
            ):
                pass
            filler = "x" * 20_000
            await client.publish_all(
                [f"<order customer='c{each}'>{filler}</order>" for each in range(100)]
            )
            for wait in (0.0, 0.001, 0.002, 0.004, 0.01):  # while documents are read for it
                async with client.subscribe(durable="desk"):
                    await asyncio.sleep(wait)
            assert waiting(running) == 100
            assert running.broker.durables["desk"].queue.attempts == {}

    run(story)


def test_values_are_shared_among_those_who_take_more(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            first = client.subscribe(
                "//order", durable="desk", shared=True, ordered_by="/order/@customer", window=4
            )
            await first.ready()
            workers = [first, *(client.subscribe(durable="desk", window=4) for _ in range(2))]
            for each in workers:
                await each.ready()
            took = [0, 0, 0]

            async def work(number: int) -> None:
                async for event in workers[number]:
                    took[number] += 1
                    await asyncio.sleep(0.002)
                    await event.ack()

            tasks = [asyncio.create_task(work(number)) for number in range(3)]
            for number in range(120):
                await publish_numbers(client, number, customer=f"c{number % 3}")
            await until(lambda: sum(took) == 120)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert sum(each > 0 for each in took) >= 2

    run(story)


def test_without_an_event_loop(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running:
            await asyncio.to_thread(_share, running.address)
            assert waiting(running) == 0

    run(story)


def _share(address: str) -> None:
    with (
        connect_sync(address) as client,
        client.subscribe("//order", durable="desk", shared=True, deliveries=9) as desk,
    ):
        assert (desk.shared, desk.ordered_by, desk.deliveries) == (True, "", 9)
        client.publish("<order/>")
        event = desk.next(PATIENCE)
        assert event is not None
        event.give_back()
        again = desk.next(PATIENCE)
        assert again is not None
        assert (again.sequence, again.attempts, again.headers) == (1, 1, {})
        again.ack()
        desk.flush()


def test_over_http(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path) as (running, client):
            options: dict[str, Any] = {
                "durable": "desk",
                "shared": "true",
                "deliveries": "3",
                "ack": "manual",
            }
            order: dict[str, Any] = {"ordered-by": "/o:order/@customer"}
            answer = await client.get("/v1/subscribe", params={"xpath": "//a", **options, **order})
            assert "'o' is not bound" in refusal(answer, 400, "bad-expression")
            order["ns.o"] = "urn:o"
            async with subscribed(client, xpath="//a", **options, **order) as events:
                await publish(client, "<a/>")
                assert (await events.document()).data["attempts"] == 0
                answer = await client.post(
                    "/v1/subscriptions/desk/nack", json={"sequences": [1, 7], "delay": "10ms"}
                )
                assert answer.json() == {"sequences": [1]}
                assert (await events.document()).data["attempts"] == 1
                async with subscribed(client, {"Last-Event-ID": "5"}, durable="desk") as others:
                    await publish(client, "<a/>", "<a/>")
                    assert others.response.status_code == 200
                    assert len(running.broker.durables["desk"].attached) == 2
            queue = (await client.get("/v1/subscriptions")).json()["durable"][0]
            assert (queue["shared"], queue["deliveries"]) == (True, 3)
            assert queue["ordered_by"] == "/Q{urn:o}order/@customer"

    run(story)
