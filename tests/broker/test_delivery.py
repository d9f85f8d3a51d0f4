"""What brokers acknowledge they deliver, or they say why not: with real brokers and stores."""

from __future__ import annotations

import asyncio
import math
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from broker_process import free_port
from live_brokers import QUICK, one_broker, overlay_of, take, until

from twigcast.broker import BrokerConfig, LinkConfig, RunningBroker, StoreConfig, start_server
from twigcast.broker.config import LimitsConfig
from twigcast.broker.links import Links
from twigcast.client import connect
from twigcast.errors import RefusedError

CHAIN = [("a", "b"), ("b", "c"), ("c", "d")]
CONTENT = b"<a/>"


@asynccontextmanager
async def calling(
    address: str, name: str, config: BrokerConfig | None = None
) -> AsyncIterator[RunningBroker]:
    """A broker that calls another."""
    config = BrokerConfig() if config is None else config
    links = (LinkConfig(address),)
    running = await start_server(
        replace(config, name=name, listen="127.0.0.1:0", heartbeat=QUICK, links=links)
    )
    try:
        yield running
    finally:
        await running.close()


def both_ways(first: str, second: str) -> list[tuple[str, str, str]]:
    """Two names, each with where it listens and where the other does."""
    here, there = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    return [(first, here, there), (second, there, here)]


def test_a_broker_without_a_store_acknowledges_nothing_that_could_be_lost(tmp_path: Path) -> None:
    async def scenario() -> None:
        kept = BrokerConfig(store=StoreConfig(tmp_path))
        async with one_broker() as origin, connect(origin.address) as publisher:
            async with (
                calling(origin.address, "home", kept) as home,
                connect(home.address) as client,
            ):
                await client.subscribe("/a", durable="d").ready()
                await publisher.publish(CONTENT)
                # It was acknowledged when it was safe at the home.
                assert (await client.queue_state("d")).last == 1
            await until(lambda: not origin.broker.links.up)
            with pytest.raises(
                RefusedError, match="home cannot be reached, and here keeps nothing"
            ):
                await publisher.publish(CONTENT)
            await publisher.publish("<b/>")  # nobody wants that

    asyncio.run(scenario())


def test_a_publisher_that_goes_to_another_broker_publishes_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            overlay_of(CHAIN[:2], tmp_path) as brokers,
            connect(brokers["a"].address) as first,
            connect(brokers["b"].address) as second,
            connect(brokers["c"].address) as subscriber,
        ):
            desk = subscriber.subscribe("/a", durable="d")
            passing = subscriber.subscribe("/a")
            await desk.ready()
            await passing.ready()
            await until(lambda: brokers["a"].broker.router.table_size)
            for number in range(20):
                content = f"<a>{number}</a>"
                await first.publish(content, id=f"p{number}")
                await second.publish(content, id=f"p{number}")
            await first.publish("<a>last</a>")
            expected = [f"<a>{number}</a>".encode() for number in range(20)]
            expected.append(b"<a>last</a>")
            for subscription in (desk, passing):
                events = await take(subscription, 21)
                assert sorted(each.content for each in events) == sorted(expected)
            assert (await subscriber.queue_state("d")).last == 21

    asyncio.run(scenario())


def test_an_id_is_not_given_to_another_document(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            await client.subscribe("/a", durable="d").ready()
            for wanted in ("<a/>", "<b/>"):  # one is stored, the other is not
                await client.publish(wanted, id=wanted)
                with pytest.raises(RefusedError, match="another document was published under"):
                    await client.publish("<a>other</a>", id=wanted)
            assert (await client.queue_state("d")).last == 1

    asyncio.run(scenario())


def test_what_is_published_far_away_after_the_answer_is_not_missed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            overlay_of(CHAIN, tmp_path) as brokers,
            connect(brokers["a"].address) as publisher,
            connect(brokers["d"].address) as subscriber,
        ):
            for number in range(40):
                desk = subscriber.subscribe(f"/a{number}", durable=f"d{number}")
                await desk.ready()
                assert desk.unreached == ()
                await publisher.publish(f"<a{number}/>")
                await take(desk, 1)

    asyncio.run(scenario())


def test_who_subscribes_hears_which_brokers_could_not_be_reached(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with overlay_of(CHAIN[:2], tmp_path) as brokers:
            await brokers["a"].close()
            await until(lambda: "a" not in brokers["b"].broker.links.up)
            async with connect(brokers["c"].address) as client:
                desk = client.subscribe("/a", durable="d")
                await desk.ready()
                assert desk.unreached == ("a",)
                hasty = client.subscribe("/a", durable="e", confirmed=False)
                await hasty.ready()
                assert hasty.unreached == ()

    asyncio.run(scenario())


def test_a_broker_without_a_store_that_starts_anew_first_hears_what_is_wanted(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path) as home, connect(home.address) as client:
            reading = client.subscribe("/a", durable="d")
            await reading.ready()
            for _ in range(3):
                async with (
                    calling(home.address, "other") as other,
                    connect(other.address) as publisher,
                ):
                    await publisher.publish(CONTENT)  # at once, before it is linked
            assert len(await take(reading, 3)) == 3

    asyncio.run(scenario())


def test_a_broker_without_a_store_waits_for_a_home_that_starts_later(tmp_path: Path) -> None:
    async def scenario() -> None:
        address = f"127.0.0.1:{free_port()}"
        config = BrokerConfig(
            name="home", listen=address, heartbeat=QUICK, store=StoreConfig(tmp_path)
        )
        home = await start_server(config)
        async with connect(address) as client:
            await client.subscribe("/a", durable="d").ready()
        await home.close()
        async with calling(address, "other") as other, connect(other.address) as publisher:
            publishing = asyncio.create_task(publisher.publish(CONTENT))
            await asyncio.sleep(0.2)
            assert not publishing.done()
            home = await start_server(config)
            try:
                await publishing
                async with connect(address) as client:
                    assert len(await take(client.subscribe(durable="d"), 1)) == 1
            finally:
                await home.close()

    asyncio.run(scenario())


def test_who_subscribes_before_the_links_are_up_waits_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = Links._call

    async def call_late(*asked: Any) -> None:
        await asyncio.sleep(0.3)
        await call(*asked)

    monkeypatch.setattr(Links, "_call", call_late)

    async def scenario() -> None:
        kept = BrokerConfig(store=StoreConfig(tmp_path))
        async with (
            one_broker() as origin,
            connect(origin.address) as publisher,
            calling(origin.address, "home", kept) as home,
            connect(home.address) as client,
        ):
            desk = client.subscribe("/a", durable="d")
            await desk.ready()
            assert desk.unreached == ()
            await publisher.publish(CONTENT)
            await take(desk, 1)

    asyncio.run(scenario())


def test_who_subscribes_hears_of_neighbours_that_were_never_found(tmp_path: Path) -> None:
    async def scenario() -> None:
        address = f"127.0.0.1:{free_port()}"
        kept = BrokerConfig(store=StoreConfig(tmp_path))
        async with calling(address, "home", kept) as home, connect(home.address) as client:
            desk = client.subscribe("/a", durable="d")
            await desk.ready()
            assert desk.unreached == (address,)

    asyncio.run(scenario())


def test_neighbours_that_call_each_other_have_no_problem(tmp_path: Path) -> None:
    async def scenario() -> None:
        configs = [
            BrokerConfig(
                name=name,
                listen=listen,
                heartbeat=QUICK,
                links=(LinkConfig(other),),
                store=StoreConfig(tmp_path / name),
            )
            for name, listen, other in both_ways("a", "b")
        ]
        running = [await start_server(each) for each in configs]
        try:
            await until(lambda: all(each.broker.links.up for each in running))
            for each in running:
                async with connect(each.address) as client:
                    desk = client.subscribe("/a", durable="d")
                    await desk.ready()
                    assert desk.unreached == ()
                await until(lambda links=each.broker.links: not links.uncalled)  # type: ignore[misc]
                await until(lambda links=each.broker.links: not links.problems)  # type: ignore[misc]
        finally:
            for each in running:
                await each.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("count", [1, pytest.param(300, marks=pytest.mark.slow)])
def test_what_a_home_cannot_take_becomes_a_letter_and_the_rest_goes_on(
    tmp_path: Path, count: int
) -> None:
    small = LimitsConfig(document_bytes=2_000, message_bytes=2_000)

    async def scenario() -> None:
        kept = BrokerConfig(store=StoreConfig(tmp_path / "home", sync="normal"), limits=small)
        async with (
            one_broker(tmp_path / "origin") as origin,
            calling(origin.address, "home", kept) as home,
            connect(home.address) as client,
            connect(origin.address) as publisher,
        ):
            desk = client.subscribe("/a", durable="d")
            await desk.ready()
            large = f"<a>{'x' * 150_000}</a>"  # more than what may come on top of documents
            async for result in publisher.publish_all([large] * count):
                assert result.error is None
            await publisher.publish(CONTENT)
            (event,) = await take(desk, 1)
            assert event.content == CONTENT
            await until(lambda: origin.broker.owed == {"home": 0})
            store = origin.broker.store
            assert store is not None
            while len(letters := await store.letters(home="home", limit=1_000)) < count:
                await asyncio.sleep(0.01)  # they are being written
            assert len(letters) == count
            assert "limits.message_bytes" in letters[0].reason

    asyncio.run(scenario())


def test_a_publisher_at_its_limit_costs_others_nothing(tmp_path: Path) -> None:
    config = BrokerConfig(store=StoreConfig(retention_size=10_000, acknowledged_age=0.0))

    async def scenario() -> None:
        async with one_broker(tmp_path, config) as running, connect(running.address) as client:
            desk = client.subscribe("/a", durable="d")
            await desk.ready()
            text = f"<a>{'x' * 990}</a>"
            for _ in range(10):
                await client.publish(text)
            with pytest.raises(RefusedError, match=r"store\.retention_size") as refused:
                await client.publish(text)
            assert refused.value.code == "full"
            assert "store.retention_size" in (await client.status())["problems"]["publishers"]
            events = await take(desk, 10)
            for event in events:
                await event.ack()
            await desk.flush()
            await until(lambda: running.broker.durables["d"].queue.waiting == 0)
            running.broker.flow._trimmed_in_vain = -math.inf  # it was, when all were unread
            await client.publish(text)  # what is acknowledged makes room

    asyncio.run(scenario())


@pytest.mark.parametrize("limit", ["retention_size", "publisher_size"])
def test_a_feed_that_is_read_is_never_refused(limit: str, tmp_path: Path) -> None:
    settings = StoreConfig(**{limit: 100_000})  # type: ignore[arg-type]  # one of the sizes
    config = BrokerConfig(store=settings, limits=LimitsConfig(document_bytes=5_000))

    async def scenario() -> None:
        async with one_broker(tmp_path, config) as running, connect(running.address) as client:
            desk = client.subscribe("/a", durable="d")
            await desk.ready()
            for number in range(30):
                batch = [f"<a><n>{number}-{each}</n>{'x' * 980}</a>" for each in range(20)]
                results = await client.publish_all(batch)
                assert [each.error for each in results] == [None] * 20
                for event in await take(desk, 20):
                    event.acknowledge()
                await desk.flush()
            assert running.broker.store is not None
            assert (await running.broker.store.figures()).bytes <= 100_000

    asyncio.run(scenario())


def test_documents_of_a_batch_count_while_they_are_written(tmp_path: Path) -> None:
    config = BrokerConfig(store=StoreConfig(queue_documents=50))

    async def scenario() -> None:
        async with one_broker(tmp_path, config) as running, connect(running.address) as client:
            await client.subscribe("/a", durable="d").ready()
            results = await client.publish_all([CONTENT] * 60)
            errors = [str(each.error) for each in results if each.error is not None]
            assert len(errors) == 10
            assert errors[0].startswith("50 documents wait for the durable subscription 'd', and")

    asyncio.run(scenario())


def test_a_publisher_may_be_held_back_until_there_is_room(tmp_path: Path) -> None:
    config = BrokerConfig(store=StoreConfig(queue_documents=3, full="hold"))

    async def scenario() -> None:
        async with (
            one_broker(tmp_path, config) as running,
            connect(running.address) as publisher,
            connect(running.address) as subscriber,
        ):
            desk = subscriber.subscribe("/a", durable="d")
            await desk.ready()
            for _ in range(3):
                await publisher.publish(CONTENT)
            fourth = asyncio.create_task(publisher.publish(CONTENT))
            await until(lambda: running.broker.flow.held == 1)
            assert not fourth.done()
            said = (await subscriber.status())["problems"]["publishers"]
            assert said.startswith("publishers are held back (1): 3 documents wait for")
            (event,) = await take(desk, 1)
            await event.ack()
            await asyncio.wait_for(fourth, 30)

    asyncio.run(scenario())


def test_a_store_that_is_taken_away_ends_acknowledgements_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        folder = tmp_path / "store"
        async with one_broker(folder) as running, connect(running.address) as client:
            await client.subscribe("/a", durable="d").ready()
            await client.publish(CONTENT)
            shutil.rmtree(folder)
            with pytest.raises(RefusedError, match="removed or replaced while the broker ran"):
                await client.publish(CONTENT)

    asyncio.run(scenario())
