"""Documents that expire: nobody gets them any more, and everybody gets the others."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from live_brokers import one_broker, overlay_of, take, until

from twigcast.broker import BrokerConfig, RunningBroker, StoreConfig, start_server
from twigcast.client import Client, Outgoing, connect
from twigcast.errors import RefusedError

KEPT = BrokerConfig(store=StoreConfig(sync="normal"))
SOON = timedelta(seconds=1.5)
LAST = "<a>last</a>"


async def publish_some(client: Client, seed: int) -> list[bytes]:
    """Publish documents, some of which expire soon; the others, once those have expired."""
    chance = random.Random(seed)
    documents = [f"<a>{number}</a>" for number in range(60)]
    expires = [chance.choice([None, SOON, SOON, timedelta(hours=1)]) for _ in documents]
    expires[0] = None
    pairs = zip(documents, expires, strict=True)
    batch = [Outgoing(document, expires=when) for document, when in pairs]
    results = await client.publish_all(batch)
    assert [each.error for each in results] == [None] * 60
    await asyncio.sleep(SOON.total_seconds() + 0.1)
    await client.publish(LAST)
    return [
        *(each.encode() for each, when in zip(documents, expires, strict=True) if when != SOON),
        LAST.encode(),
    ]


def expired(running: RunningBroker) -> float:
    return running.broker.metrics.value("twigcast_documents_expired_total")


@pytest.mark.parametrize("kind", ["ephemeral", "attached", "away"])
def test_what_expires_in_a_queue_is_not_delivered(tmp_path: Path, kind: str) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path, KEPT) as running, connect(running.address) as client:
            durable = None if kind == "ephemeral" else "d"
            # A window of one: everything but the first waits at the broker.
            desk = client.subscribe("/a", durable=durable, window=1)
            await desk.ready()
            if kind == "away":
                await desk.close()
            wanted = await publish_some(client, 7)
            if kind == "away":
                desk = client.subscribe(durable="d")
            events = await take(desk, len(wanted))
            assert [each.content for each in events] == wanted
            assert expired(running) == 61 - len(wanted)
            assert desk.missed == 0
            for each in events:
                await each.ack()
            if durable is not None:
                await desk.flush()
                queue = running.broker.durables["d"].queue
                await until(lambda: queue.waiting == 0)

    asyncio.run(scenario())


def test_what_has_expired_in_a_queue_is_done_with_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path, KEPT) as running, connect(running.address) as client:
            await client.subscribe("/a", durable="d").ready()
            await client.publish("<a/>", expires=timedelta(milliseconds=200))
            await asyncio.sleep(0.25)
            desk = client.subscribe(durable="d")
            await desk.ready()
            await until(lambda: running.broker.durables["d"].queue.waiting == 0)
        async with one_broker(tmp_path, KEPT) as running:
            assert running.broker.durables["d"].queue.waiting == 0

    asyncio.run(scenario())


def test_what_expires_before_its_home_returns_is_owed_no_more(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with overlay_of([("a", "b")], tmp_path) as brokers:
            async with connect(brokers["b"].address) as client:
                await client.subscribe("/a", durable="d").ready()
            config = replace(brokers["b"].broker.config, listen=brokers["b"].address)
            await brokers["b"].close()
            async with connect(brokers["a"].address) as client:
                wanted = await publish_some(client, 8)
            brokers["b"] = await start_server(config)
            async with connect(brokers["b"].address) as client:
                events = await take(client.subscribe(durable="d"), len(wanted))
            assert sorted(each.content for each in events) == sorted(wanted)
            await until(lambda: brokers["a"].broker.owed == {"b": 0})
            assert expired(brokers["a"]) + expired(brokers["b"]) == 61 - len(wanted)

    asyncio.run(scenario())


def test_what_has_expired_is_refused_and_no_answer(tmp_path: Path) -> None:
    config = BrokerConfig(store=StoreConfig(keep="all", sync="normal"))

    async def scenario() -> None:
        async with one_broker(tmp_path, config) as running, connect(running.address) as client:
            with pytest.raises(RefusedError, match="has expired already"):
                await client.publish("<a/>", expires=datetime.now(UTC) - timedelta(hours=1))
            for long_ago in ("1970-01-01", datetime(1969, 1, 1, tzinfo=UTC)):
                with pytest.raises(RefusedError, match="has expired already"):
                    await client.publish("<a/>", expires=long_ago)
            await client.publish("<a>1</a>", expires="300ms")
            await client.publish("<a>2</a>", expires="1h")
            await asyncio.sleep(0.35)
            [document] = await client.ask("/a")
            assert document.content == b"<a>2</a>"
            assert document.expires is not None
            assert timedelta(minutes=59) < document.expires - datetime.now(UTC) < timedelta(hours=1)
            assert await client.ask("/a").count() == 1
            assert (await client.status())["documents"]["expired"] == 0

    asyncio.run(scenario())


def test_a_publication_that_was_taken_is_answered_after_it_has_expired(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path, KEPT) as running, connect(running.address) as client:
            await client.subscribe("/a", durable="d").ready()
            identity = await client.publish("<a/>", id="one", expires="300ms")
            await asyncio.sleep(0.35)
            long_ago = datetime.now(UTC) - timedelta(minutes=1)
            assert await client.publish("<a/>", id="one", expires=long_ago) == identity
            with suppress(RefusedError):
                await client.publish("<a/>", id="two", expires=long_ago)
                raise AssertionError("it was not there before")

    asyncio.run(scenario())
