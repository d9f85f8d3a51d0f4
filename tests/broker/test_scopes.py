"""Live brokers keep documents, subscriptions and advertisements within a unit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from live_brokers import QUICK, until

from twigcast.broker import BrokerConfig, LinkConfig, RunningBroker, StoreConfig, start_server
from twigcast.client import Client, Outgoing, Subscription, connect
from twigcast.errors import RefusedError

LINKS = {"n/a": "", "n/b": "n/a", "s/a": "n/a", "s/b": "s/a"}
"""By broker, the one that it calls; a is the gateway of its unit."""


async def start(name: str, folder: Path, calls: str) -> RunningBroker:
    """Start a broker of a unit."""
    unit, _, own = name.rpartition("/")
    return await start_server(
        BrokerConfig(
            name=own,
            unit=unit,
            gateway=unit if own == "a" else "",
            listen="127.0.0.1:0",
            heartbeat=QUICK,
            links=(LinkConfig(calls),) if calls else (),
            strategy="advertisements-covering",
            store=StoreConfig(folder / name.replace("/", "+"), sync="normal"),
        )
    )


def is_linked(running: RunningBroker) -> bool:
    """Whether a broker knows another one, and what lies outside, in each of its units."""
    views = [level.documents.view for level in running.broker.router.levels]
    return all(len(view.brokers) > 1 and view.leaves for view in views)


@asynccontextmanager
async def two_units(folder: Path) -> AsyncIterator[dict[str, RunningBroker]]:
    """Two units of two brokers, which know each other."""
    running: dict[str, RunningBroker] = {}
    try:
        for name, calls in LINKS.items():
            address = running[calls].address if calls else ""
            running[name] = await start(name, folder, address)
        for each in running.values():
            await until(partial(is_linked, each))
        yield running
    finally:
        for each in reversed(running.values()):
            await each.close()


async def got(subscription: Subscription, count: int) -> list[bytes]:
    """The contents of the next documents, acknowledged."""
    contents = []
    for _ in range(count):
        event = await asyncio.wait_for(anext(aiter(subscription)), 20)
        contents.append(event.content)
        if subscription.durable:
            await event.ack()
    return contents


def test_a_document_stays_in_its_unit_and_a_subscription_gets_no_others(tmp_path: Path) -> None:
    async def scenario(
        running: dict[str, RunningBroker], north: Client, near: Client, south: Client
    ) -> None:
        """What is published in one unit after the other comes where it may, durably or not."""
        subscriptions: dict[str, Subscription] = {}
        for durable in (None, "kept"):
            end = durable or "passing"
            subscriptions |= {
                f"far {end}": south.subscribe("//p", durable=durable and f"far {durable}"),
                f"near {end}": near.subscribe(
                    "//p", durable=durable and f"near {durable}", scope="n"
                ),
            }
        for each in subscriptions.values():
            await asyncio.wait_for(each.ready(), 30)
            assert not each.unreached
        wanted = running["n/b"].broker.router.subscriptions
        await until(lambda: {each.scope for each in wanted()} == {0, 1})
        assert await north.publish("<p>1</p>", scope="cluster")
        results = [each async for each in north.publish_all([Outgoing("<p>2</p>"), "<p>3</p>"])]
        assert all(each.error is None for each in results)
        assert await south.publish("<p>4</p>")
        assert await north.publish("<p>5</p>")
        for name, each in subscriptions.items():
            inside, outside = (
                [b"<p>1</p>", b"<p>2</p>", b"<p>3</p>", b"<p>5</p>"],
                [*(b"<p>2</p>", b"<p>3</p>", b"<p>4</p>", b"<p>5</p>")],
            )
            expected = inside if name.startswith("near") else outside
            assert sorted(await got(each, 4)) == expected, name
        # What follows is next, so nothing else came.
        await north.publish("<p>6</p>")
        for each in subscriptions.values():
            assert await got(each, 1) == [b"<p>6</p>"]

    async def run() -> None:
        async with (
            two_units(tmp_path) as running,
            connect(running["n/b"].address) as north,
            connect(running["n/a"].address) as near,
            connect(running["s/b"].address) as south,
        ):
            for each in (north, south):
                await each.advertise()
            await scenario(running, north, near, south)

    asyncio.run(run())


def test_an_advertisement_is_known_in_its_unit_only(tmp_path: Path) -> None:
    async def run() -> None:
        async with two_units(tmp_path) as running, connect(running["n/b"].address) as client:
            advertised = await client.advertise(scope="cluster")
            near, far = running["n/a"].broker.router, running["s/b"].broker.router
            await until(lambda: len(near.advertisements()) == 1)
            await client.advertise("/a/b")
            await until(lambda: len(far.advertisements()) == 1)
            assert [str(each.promise) for each in far.advertisements()] == ["/a/b"]
            await advertised.end()
            await until(lambda: len(near.advertisements()) == 1)

    asyncio.run(run())


def test_a_scope_is_kept_with_a_durable_subscription(tmp_path: Path) -> None:
    async def run() -> None:
        folder = tmp_path / "one"
        running = await start("n/b", folder, "")
        async with connect(running.address) as client:
            await client.advertise()
            await client.subscribe("//p", durable="d", scope="cluster", confirmed=False).ready()
        await running.close()
        running = await start("n/b", folder, "")
        broker = running.broker
        assert broker.durables["d"].queue.options.scope == 1
        assert [each.scope for each in broker.router.subscriptions()] == [1]
        async with connect(running.address) as client:
            for durable, scope, unit in (
                ("d", "", "n"),
                ("d", "n", "n"),
                ("e", "", ""),
                (None, "cluster", "n"),
                (None, "", ""),
            ):
                async with client.subscribe("//p", durable=durable, scope=scope) as subscription:
                    assert subscription.scope == unit
            with pytest.raises(RefusedError, match="made with scope = '', not 'n': leave scope"):
                await client.subscribe("//p", durable="e", scope="n").ready()
        await running.close()

    asyncio.run(run())


def test_a_scope_that_the_broker_is_not_in_is_refused(tmp_path: Path) -> None:
    async def refusals(client: Client, scope: str, remedy: str) -> None:
        with pytest.raises(RefusedError, match=remedy):
            await client.advertise(scope=scope)
        with pytest.raises(RefusedError, match=remedy):
            await client.subscribe("//p", scope=scope).ready()
        with pytest.raises(RefusedError, match=remedy):
            await client.subscribe("//p", durable="d", scope=scope).ready()
        await client.advertise()
        with pytest.raises(RefusedError, match=remedy) as raised:
            await client.publish("<p/>", scope=scope)
        assert raised.value.code == "invalid"

    async def run() -> None:
        for name, scope, remedy in (
            ("b", "cluster", "leave the scope out"),
            ("n/b", "s", "choose a scope among: cluster, n$"),
        ):
            running = await start(name, tmp_path / name.replace("/", "+"), "")
            async with connect(running.address) as client:
                await refusals(client, scope, remedy)
                if name == "n/b":
                    await client.publish("<p/>", scope="n", id="p")
                    with pytest.raises(RefusedError, match="or the same one for others"):
                        await client.publish("<p/>", id="p")
            await running.close()

    asyncio.run(run())
