"""How large messages to clients are: bounded, however much waits and however long its keys are."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from live_brokers import one_broker, take

from twigcast.broker import BrokerConfig, client_stream
from twigcast.broker.config import LimitsConfig
from twigcast.broker.outbox import Sendable, encode_documents
from twigcast.broker.pace import BATCH_BYTES
from twigcast.client import Subscription, connect

SPARE = 64 * 1024
"""What a message may have besides what is counted."""


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of messages with documents."""
    written: list[int] = []

    def noted(sendable: Sendable) -> bytes:
        message = encode_documents(sendable)
        written.append(len(message))
        return message

    monkeypatch.setattr(client_stream, "encode_documents", noted)
    return written


async def all_of(subscription: Subscription, count: int) -> list[tuple[str, ...]]:
    """The keys of so many documents."""
    events = await take(subscription, count)
    for event in events:
        event.acknowledge()
    assert (subscription.missed, subscription.interruptions) == (0, 0)
    return [event.keys for event in events]


def test_many_keys_of_waiting_documents_are_divided(tmp_path: Path, sizes: list[int]) -> None:
    names = [f"section-of-the-catalogue-{number:04}{'-and-so-on' * 6}" for number in range(400)]

    async def scenario() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            asked = [f"/d[not({name})]" for name in names]
            async with client.subscribe(asked, durable="d"):
                pass
            await client.publish_all([f"<d><{name}/></d>" for name in names[:64]])
            async with client.subscribe(durable="d") as again:
                keys = await all_of(again, 64)
            assert [len(each) for each in keys] == [399] * 64

    asyncio.run(scenario())
    assert len(sizes) >= 4
    assert max(sizes) <= BATCH_BYTES + SPARE


def test_a_document_with_very_many_keys_comes_in_several_messages(sizes: list[int]) -> None:
    name = "x" * 100

    async def scenario() -> None:
        async with one_broker() as running, connect(running.address) as client:
            subscriptions = [
                client.subscribe([f"/a[not({name}{each}-{key})]" for key in range(20)])
                for each in range(480)
            ]
            for each in subscriptions:
                await each.ready()
            await client.publish("<a/>")
            for each in subscriptions:
                assert [len(keys) for keys in await all_of(each, 1)] == [20]

    asyncio.run(scenario())
    assert len(sizes) >= 2
    assert max(sizes) <= BATCH_BYTES + SPARE


@pytest.mark.parametrize("durable", ["d", None])
def test_a_large_document_behind_small_ones_comes_by_itself(
    durable: str | None, tmp_path: Path, sizes: list[int]
) -> None:
    large = 3_990_000

    async def scenario() -> None:
        async with (
            one_broker(tmp_path) as running,
            connect(running.address) as client,
            connect(running.address) as publisher,
        ):
            reading = client.subscribe("/a", durable=durable, window=40)
            await reading.ready()
            small = [f"<a n='{number}'>{'x' * 49_000}</a>" for number in range(50)]
            await publisher.publish_all([*small, f"<a>{'y' * large}</a>", "<a/>"])
            await all_of(reading, 52)

    asyncio.run(scenario())
    assert max(sizes) <= large + SPARE


def test_messages_keep_to_a_small_limit(tmp_path: Path, sizes: list[int]) -> None:
    limits = LimitsConfig(document_bytes=50_000, message_bytes=50_000)

    async def scenario() -> None:
        config = BrokerConfig(limits=limits)
        async with one_broker(tmp_path, config) as running, connect(running.address) as client:
            async with client.subscribe("/a", durable="d"):
                pass
            await client.publish_all([f"<a n='{n}'>{'x' * 10_000}</a>" for n in range(100)])
            async with client.subscribe(durable="d") as again:
                await all_of(again, 100)

    asyncio.run(scenario())
    assert max(sizes) <= 50_000 + SPARE


@pytest.mark.parametrize("durable", ["d", None])
@pytest.mark.parametrize(("granted", "asked"), [(10, 1024), (1024, 4096), (3, 2), (1, 64)])
def test_a_window_that_the_broker_makes_smaller_goes_on(
    durable: str | None, granted: int, asked: int, tmp_path: Path
) -> None:
    limits = LimitsConfig(window=granted)

    async def scenario() -> None:
        config = BrokerConfig(limits=limits)
        async with one_broker(tmp_path, config) as running, connect(running.address) as client:
            reading = client.subscribe("/a", durable=durable, window=asked)
            await reading.ready()
            await client.publish_all(["<a/>"] * 2 * granted)
            await client.publish_all(["<a/>"] * granted)
            await all_of(reading, 3 * granted)

    asyncio.run(scenario())
