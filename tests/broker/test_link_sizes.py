"""Large documents on links: what a broker takes crosses, and what cannot cross is said."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from live_brokers import is_whole, one_broker, take, until

from twigcast.broker import BrokerConfig, LinkConfig, RunningBroker
from twigcast.broker.config import LimitsConfig
from twigcast.broker.link_connection import LinkConnection
from twigcast.broker.spill_queue import SpillQueue
from twigcast.broker.status import links, problems
from twigcast.client import connect
from twigcast.wire import MESSAGE_SLACK

SMALL = LimitsConfig(document_bytes=100_000, message_bytes=100_000)


@asynccontextmanager
async def two_brokers(
    first: LimitsConfig, second: LimitsConfig, folder: Path | None = None
) -> AsyncIterator[tuple[RunningBroker, RunningBroker]]:
    """Two linked brokers; the second calls."""
    config = BrokerConfig(name="a", limits=first)
    async with one_broker(None if folder is None else folder / "a", config) as one:
        calling = replace(config, name="b", limits=second, links=(LinkConfig(one.address),))
        async with one_broker(None if folder is None else folder / "b", calling) as other:
            await until(lambda: is_whole(one, 1) and is_whole(other, 1))
            yield one, other


def document(size: int) -> str:
    return f"<a>{'x' * (size - 7)}</a>"


@pytest.mark.parametrize("durable", ["", "kept"])
def test_the_largest_document_that_is_taken_crosses(durable: str, tmp_path: Path) -> None:
    limits = LimitsConfig()

    async def scenario() -> None:
        async with (
            two_brokers(limits, limits, tmp_path) as (one, other),
            connect(one.address) as publisher,
            connect(other.address) as subscriber,
        ):
            wanted = subscriber.subscribe("/a", durable=durable or None)
            await wanted.ready()
            await until(lambda: one.broker.router.table_size == 1)
            await until(lambda: not durable or one.broker.homes.patterns == {"b": 1})
            text = document(limits.document_bytes)
            await publisher.publish(text)
            (event,) = await take(wanted, 1)
            assert event.content == text.encode()
            assert one.broker.links.up["b"].dropped == 0

    asyncio.run(scenario())


def test_what_a_neighbour_does_not_take_is_said(caplog: pytest.LogCaptureFixture) -> None:
    large = replace(SMALL, document_bytes=500_000, message_bytes=500_000)

    async def scenario() -> None:
        with caplog.at_level(logging.WARNING, "twigcast.broker"):
            async with (
                two_brokers(large, SMALL) as (one, other),
                connect(one.address) as publisher,
                connect(other.address) as subscriber,
            ):
                assert "b takes documents of up to 100,000 bytes" in caplog.text
                assert "limits.message_bytes" in caplog.text
                (problem,) = problems(one.broker).values()
                assert problem in caplog.text
                assert not problems(other.broker)
                wanted = subscriber.subscribe("/a")
                await wanted.ready()
                await until(lambda: one.broker.router.table_size == 1)
                for size in (450_000, 450_001, 1_000):
                    await publisher.publish(document(size))
                (event,) = await take(wanted, 1)
                assert len(event.content) == 1_000
                (said,) = links(one.broker)
                assert said["dropped"] == 2
        assert caplog.text.count("may not cross") == 1  # at the beginning
        assert caplog.text.count("cannot cross") == 1  # the first one

    asyncio.run(scenario())


def test_what_is_owed_and_too_large_is_dropped_once_and_then_set_aside(tmp_path: Path) -> None:
    large = replace(SMALL, document_bytes=500_000, message_bytes=500_000)

    async def scenario() -> None:
        async with (
            two_brokers(large, SMALL, tmp_path) as (one, other),
            connect(one.address) as publisher,
            connect(other.address) as subscriber,
        ):
            await subscriber.subscribe("/a", durable="kept").ready()
            await publisher.publish(document(450_000))
            # What is owed is sent again, alone, and only then it is known that it cannot come.
            store = one.broker.store
            assert store is not None
            while not (await store.figures()).letters:
                await asyncio.sleep(0.02)
            (said,) = links(one.broker)
            assert said["dropped"] == 1
            metrics = one.broker.metrics
            assert metrics.value("twigcast_documents_dropped_total", {"to": "neighbour"}) == 1
            assert metrics.value("twigcast_documents_resent_total") == 0

    asyncio.run(scenario())


class _Written:
    def __init__(self) -> None:
        self.sizes: list[int] = []

    async def read(self) -> bytes | None:
        await asyncio.sleep(3600)
        return None

    async def write(self, data: bytes) -> None:
        self.sizes.append(len(data))


def test_a_frame_with_a_large_document_has_room_for_little_else() -> None:
    async def scenario() -> None:
        stream = _Written()
        link = LinkConnection(stream, SpillQueue(), heartbeat=60, suspect_after=180)
        link.largest = 1_000_000
        link.say(bytes(60_000) for _ in range(8))
        assert link.pass_on(bytes(link.largest + 10_000))
        serving = asyncio.create_task(link.serve(lambda item, link: None))
        await until(lambda: sum(stream.sizes) > 1_490_000)
        link.close("")
        await serving
        assert max(stream.sizes) <= link.largest + MESSAGE_SLACK
        link.documents.close()

    asyncio.run(scenario())
