"""A link between live brokers comes back: only what has changed crosses it, and nobody waits."""

from __future__ import annotations

import asyncio
import gc
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from cutting_proxy import CuttingProxy
from live_brokers import PATIENCE, overlay_of, until
from live_units import site
from many_expressions import AT_ONCE, LIMITS, Publisher, expressions

from twigcast.broker import BrokerConfig, LinkConfig, RunningBroker, StoreConfig, start_server
from twigcast.broker.config import HeartbeatConfig
from twigcast.client import connect
from twigcast.language import Pattern


class Return(NamedTuple):
    """How a link came back: seconds from then on, the longest wait of a publisher, bytes."""

    seconds: float
    longest: float
    first_bytes: int
    bytes: int


def wanted(running: RunningBroker) -> set[Pattern]:
    """What a broker knows that its neighbours want."""
    levels = running.broker.router.levels
    return {entry.pattern for level in levels for entry in level.subscriptions()}


def sent(running: RunningBroker) -> set[Pattern]:
    """What a broker has sent its neighbours."""
    return {
        pattern
        for neighbour in running.broker.router.neighbours.values()
        for channel in neighbour.outgoing.values()
        for pattern in channel.sent
    }


def is_at_rest(one: RunningBroker, other: RunningBroker) -> bool:
    """Whether both brokers have taken in what the other one has sent, and nothing is left."""
    routers = one.broker.router, other.broker.router
    if any(router.is_behind or router.has_news for router in routers):
        return False
    there = {level.depth: level for level in routers[1].levels}
    pairs = 0
    for ours in routers[0].levels:
        theirs = there.get(ours.depth)
        if theirs is None or theirs.name not in ours.neighbours:
            continue
        if ours.name not in theirs.neighbours:
            return False
        ends = ours.neighbours[theirs.name], theirs.neighbours[ours.name]
        for sender, receiver in (ends, ends[::-1]):
            journal = sender.sent._journal
            if not sender.is_ready or journal is None or journal.mark != receiver.received.mark:
                return False
            pairs += 1
    return pairs > 0


async def come_back(count: int, changed: int, *, restarts: bool = False) -> Return:
    """Let a link go, change so many of a broker's expressions, and let the link come back."""
    heartbeat = HeartbeatConfig(interval=0.1, suspect_after=5.0)
    full = await start_server(
        BrokerConfig(name="a", listen="127.0.0.1:0", heartbeat=heartbeat, limits=LIMITS)
    )
    proxy = CuttingProxy(int(full.address.rpartition(":")[2]))
    calling = BrokerConfig(
        name="b",
        listen="127.0.0.1:0",
        heartbeat=heartbeat,
        links=(LinkConfig(f"127.0.0.1:{proxy.port}"),),
        store=StoreConfig(None),
    )
    other = await start_server(calling)
    try:
        async with connect(full.address) as client:
            texts = list(expressions(count + changed).items())
            for first in range(0, count - changed, AT_ONCE):
                await client.subscribe(
                    dict(texts[first : min(first + AT_ONCE, count - changed)])
                ).ready()
            former = client.subscribe(dict(texts[count - changed : count]))
            await former.ready()
            await until(lambda: other.broker.router.table_size == count, 2 * PATIENCE)
            first_bytes = full.broker.links.up["b"].bytes_sent
            publishers = Publisher(full), Publisher(other)
            proxy.is_down = True
            proxy.cut_clients()
            await until(lambda: not (other.broker.links.up or full.broker.links.up))
            await former.close()
            await client.subscribe(dict(texts[count:])).ready()
            if restarts:
                await publishers[1].stop()
                await other.close()
                other = await start_server(calling)
            for each in publishers:
                each.longest = 0.0
            proxy.is_down = False
            await until(lambda: other.broker.links.up and full.broker.links.up)
            began = time.perf_counter()
            await until(lambda: is_at_rest(full, other), 2 * PATIENCE)
            seconds = time.perf_counter() - began
            longest = max([await each.stop() for each in publishers])
            assert wanted(other) == sent(full)
            assert len(wanted(other)) == other.broker.router.table_size == count
            return Return(seconds, longest, first_bytes, full.broker.links.up["b"].bytes_sent)
    finally:
        proxy.close()
        await other.close()
        await full.close()


@pytest.mark.parametrize("changed", [1, 20])
def test_little_crosses_a_link_that_comes_back(changed: int) -> None:
    came = asyncio.run(come_back(2_000, changed))
    assert came.bytes < came.first_bytes / 10


def test_everything_crosses_a_link_to_a_broker_that_has_restarted() -> None:
    came = asyncio.run(come_back(500, 5, restarts=True))
    assert came.bytes > came.first_bytes / 2


async def flap(one: RunningBroker, other: RunningBroker) -> int:
    """Let the link between two brokers go and come back; how many bytes cross it then."""
    ours, theirs = one.broker.router, other.broker.router
    links = one.broker.links.up
    former = links[theirs.name]
    former.close("for a moment")
    await until(lambda: any(level.remembered() for level in ours.levels))
    await until(lambda: links.get(theirs.name) not in (None, former))
    await until(lambda: is_at_rest(one, other))
    assert not any(level.remembered() for level in ours.levels)
    return links[theirs.name].bytes_sent + links[theirs.name].bytes_received


def test_gateways_go_on_in_each_unit_around_them(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            brokers = await stack.enter_async_context(site(tmp_path))
            await brokers.start("north/a", "north")
            await brokers.start("south/c", "south", calls="north/a")
            await brokers.start("north/b", calls="north/a")
            north, south, inner = brokers.running.values()
            client = await stack.enter_async_context(connect(inner.address))
            await client.subscribe(expressions(500)).ready()
            await until(lambda: len(wanted(south)) == 500)
            first_bytes = inner.broker.links.up["north/a"].bytes_sent
            assert await flap(north, inner) < first_bytes / 5
            await until(lambda: len(wanted(south)) == 500 and is_at_rest(north, south))
            assert await flap(north, south) < first_bytes / 5
            await client.subscribe({"more": "/more"}).ready()
            assert await flap(south, north) < first_bytes / 5
            await until(lambda: len(wanted(south)) == 501)

    asyncio.run(scenario())


def test_a_link_that_stays_down_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with overlay_of([("a", "b")]) as brokers:
            ours = brokers["a"].broker.router
            async with connect(brokers["b"].address) as client:
                await client.subscribe({"one": "/a", "two": "/b"}).ready()
                await until(lambda: ours.table_size == 2)
                monkeypatch.setattr("twigcast.broker.neighbours.REMEMBERED", PATIENCE)
                brokers["a"].broker.links.up["b"].close("for a moment")
                await until(ours.remembered)
                assert ours.table_size == 2
                # The link that comes back is not forgotten when it has been up for a while.
                await until(lambda: ours.neighbours["b"].is_ready if ours.neighbours else False)
                assert not ours.remembered()
                assert not brokers["a"].broker.neighbours.remembered
                monkeypatch.setattr("twigcast.broker.neighbours.REMEMBERED", 0.05)
            await brokers["b"].close()
            await until(lambda: not (ours.neighbours or ours.remembered() or ours.table_size))

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_link_with_100_000_expressions_comes_back_and_publishers_do_not_wait() -> None:
    gc.freeze()  # what other tests have left is not to be collected meanwhile
    came = asyncio.run(come_back(100_000, 1_000))
    assert came.bytes < came.first_bytes / 10
    # Both brokers and both clients share one core here, on a machine that may be three times slow.
    assert came.seconds < 3
    assert came.longest < 0.15
