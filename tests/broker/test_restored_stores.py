"""What happens between neighbours when one of them goes on from an older copy of its store."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from live_brokers import QUICK, one_broker, take, until

from twigcast.broker import BrokerConfig, LinkConfig, RunningBroker, StoreConfig, start_server
from twigcast.client import connect
from twigcast.errors import RefusedError


class Neighbours:
    """An origin at which documents are published, and a home with a durable subscription."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @asynccontextmanager
    async def origin(self) -> AsyncIterator[RunningBroker]:
        config = BrokerConfig(name="origin", store=StoreConfig(self.folder / "origin"))
        async with one_broker(None, config) as running:
            yield running

    @asynccontextmanager
    async def home(self, origin: RunningBroker) -> AsyncIterator[RunningBroker]:
        config = BrokerConfig(
            name="home",
            listen="127.0.0.1:0",
            heartbeat=QUICK,
            links=(LinkConfig(origin.address),),
            store=StoreConfig(self.folder / "home"),
        )
        running = await start_server(config)
        try:
            await until(lambda: origin.broker.links.up)
            yield running
        finally:
            await running.close()

    def back_up(self, name: str) -> None:
        shutil.copytree(self.folder / name, self.folder / f"{name}.copy")

    def restore(self, name: str) -> None:
        shutil.rmtree(self.folder / name)
        (self.folder / f"{name}.copy").rename(self.folder / name)


async def publish(origin: RunningBroker, *texts: str) -> None:
    async with connect(origin.address) as publisher:
        for text in texts:
            await publisher.publish(text, id=text)


async def taken(home: RunningBroker, count: int, acknowledged: int, durable: str = "d") -> str:
    """The next documents of a durable subscription, of which the first are acknowledged."""
    async with connect(home.address) as client:
        subscription = client.subscribe("/a", durable=durable)
        events = await take(subscription, count)
        for event in events[:acknowledged]:
            await event.ack()
        await subscription.close()
    return " ".join(bytes(event.content).decode()[3:-4] for event in events)


async def subscribed(home: RunningBroker, durable: str, expression: str = "/a") -> None:
    async with connect(home.address) as client:
        await client.subscribe(expression, durable=durable).ready()


def test_a_restored_origin_sends_again_what_its_copy_owes_and_nothing_counts_twice(
    tmp_path: Path,
) -> None:
    neighbours = Neighbours(tmp_path)

    async def before() -> None:
        async with neighbours.origin() as origin:
            async with neighbours.home(origin) as home:
                await subscribed(home, "d")
            await until(lambda: not origin.broker.links.up)
            await publish(origin, "<a>1</a>", "<a>2</a>")

    async def after() -> None:
        async with neighbours.origin() as origin, neighbours.home(origin) as home:
            assert await taken(home, 2, 2) == "1 2"
            await subscribed(home, "late")
            await publish(origin, "<a>3</a>")
            assert await taken(home, 1, 1) == "3"

    async def restored() -> None:
        async with neighbours.origin() as origin, neighbours.home(origin) as home:
            await until(lambda: not any(origin.broker.owed.values()))
            # The publication is not known here any more, but where the document was delivered.
            await publish(origin, "<a>3</a>", "<a>4</a>")
            assert await taken(home, 1, 1) == "4"
            assert await taken(home, 2, 2, "late") == "3 4"

    asyncio.run(before())
    neighbours.back_up("origin")
    asyncio.run(after())
    neighbours.restore("origin")
    asyncio.run(restored())


def test_a_restored_home_has_lost_what_it_had_confirmed_since_the_copy(tmp_path: Path) -> None:
    neighbours = Neighbours(tmp_path)

    async def before() -> None:
        async with neighbours.origin() as origin, neighbours.home(origin) as home:
            await subscribed(home, "d")
            await publish(origin, "<a>1</a>", "<a>2</a>")
            assert await taken(home, 2, 1) == "1 2"

    async def after() -> None:
        async with neighbours.origin() as origin, neighbours.home(origin) as home:
            assert await taken(home, 1, 1) == "2"
            await subscribed(home, "late", "/b")
            await publish(origin, "<a>3</a>", "<b/>")
            await until(lambda: not any(origin.broker.owed.values()))

    async def away() -> None:
        async with neighbours.origin() as origin:
            await publish(origin, "<a>4</a>")

    async def restored() -> None:
        async with neighbours.origin() as origin, neighbours.home(origin) as home:
            await publish(origin, "<a>5</a>")
            # The second again, which was acknowledged since; the third is lost.
            assert sorted(await taken(home, 3, 3)) == sorted("2 4 5")
            async with connect(home.address) as client:
                with pytest.raises(RefusedError):
                    await client.queue_state("late")
            await until(lambda: origin.broker.homes.patterns["home"] == 1)

    asyncio.run(before())
    neighbours.back_up("home")
    asyncio.run(after())
    asyncio.run(away())
    neighbours.restore("home")
    asyncio.run(restored())
