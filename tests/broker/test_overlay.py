"""Brokers linked to each other: documents go where they are wanted, through whatever happens."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from live_brokers import QUICK, is_whole, one_broker, overlay_of, tables, take, until

from twigcast.broker import BrokerConfig, LinkConfig, RunningBroker, StoreConfig, start_server
from twigcast.client import connect
from twigcast.language import parse

CHAIN = [("a", "b"), ("b", "c")]
RING = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]


@pytest.mark.parametrize("strategy", ["flooding", "covering", "advertisements-covering", "xnet"])
def test_a_document_crosses_a_link_only_if_somebody_beyond_wants_it(strategy: str) -> None:
    async def scenario() -> None:
        async with (
            overlay_of(CHAIN, strategy=strategy) as brokers,
            connect(brokers["a"].address) as publisher,
            connect(brokers["b"].address) as middle,
            connect(brokers["c"].address) as end,
        ):
            await publisher.advertise()
            near = middle.subscribe("//near")
            far = end.subscribe("//far")
            await near.ready()
            await far.ready()
            towards_all = strategy in ("flooding", "covering")
            await until(lambda: tables(brokers.values()) == [2, 2, 2 if towards_all else 1])
            for name in ("near", "far", "nobody", "far", "near", "near"):
                await publisher.publish(f"<x><{name}/></x>")
            assert len(await take(far, 2)) == 2
            assert len(await take(near, 3)) == 3
            a, b, c = (brokers[name].broker for name in "abc")
            assert a.links.up["b"].documents_sent == 5
            assert b.links.up["c"].documents_sent == 2
            assert c.links.up["b"].documents_sent == 0
            await near.close()
            await far.close()
            await until(lambda: tables(brokers.values()) == [0, 0, 0])

    asyncio.run(scenario())


def test_whoever_subscribes_is_answered_when_it_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Brokers that gather for hours send at once what somebody waits for, and nothing else."""
    monkeypatch.setattr("twigcast.broker.tables.GATHERING", 10_000.0)

    async def scenario() -> None:
        async with (
            overlay_of([("a", "b")], strategy="covering") as brokers,
            connect(brokers["a"].address) as publisher,
            connect(brokers["b"].address) as subscriber,
        ):
            first = subscriber.subscribe("//first")
            await first.ready()
            await until(lambda: tables(brokers.values()) == [1, 1])
            await first.close()
            second = subscriber.subscribe("//second")
            await second.ready()
            # That the first is over is sent with what the second wants.
            await until(lambda: tables(brokers.values()) == [1, 1])
            await publisher.publish("<x><first/><second/></x>")
            assert len(await take(second, 1)) == 1
            await second.close()
            await until(lambda: tables(brokers.values()) == [1, 0])

    asyncio.run(scenario())


def test_a_schema_is_advertised_across_the_overlay() -> None:
    async def scenario() -> None:
        async with (
            overlay_of(CHAIN, strategy="advertisements-covering") as brokers,
            connect(brokers["a"].address) as publisher,
            connect(brokers["c"].address) as subscriber,
        ):
            await publisher.advertise(
                "<!ELEMENT news (p*)><!ELEMENT p (#PCDATA)><!ATTLIST p lang CDATA #IMPLIED>"
            )
            await until(lambda: brokers["c"].broker.router.advertisements())
            wanted = subscriber.subscribe("//p[@lang='en']")
            other = subscriber.subscribe("//unheard-of")
            await wanted.ready()
            await other.ready()
            await until(lambda: tables(brokers.values()) == [1, 1, 2])
            await publisher.publish("<news><p lang='en'/></news>")
            await take(wanted, 1)

    asyncio.run(scenario())


def test_covering_keeps_what_is_sent_small() -> None:
    async def scenario() -> None:
        async with overlay_of(CHAIN) as brokers, connect(brokers["c"].address) as client:
            many = client.subscribe({str(each): f"/a/b{each}" for each in range(600)})
            await many.ready()
            await until(lambda: tables(brokers.values()) == [600, 600, 600])
            broad = client.subscribe("/a")
            await broad.ready()
            await until(lambda: tables(brokers.values()) == [1, 1, 601])
            await broad.close()
            await until(lambda: tables(brokers.values()) == [600, 600, 600])

    asyncio.run(scenario())


def test_brokers_that_call_each_other_have_one_link() -> None:
    async def scenario() -> None:
        async with one_broker(config=BrokerConfig(name="x")) as first:
            config = BrokerConfig(
                name="y",
                listen="127.0.0.1:0",
                heartbeat=QUICK,
                links=(LinkConfig(first.address),),
            )
            second = await start_server(config)
            port = int(second.address.rpartition(":")[2])
            await until(lambda: is_whole(first, 1))
            await second.close()
            await until(lambda: not first.broker.links.up)
            calling = replace(first.broker.config, name="w", links=(LinkConfig(second.address),))
            async with one_broker(config=calling) as third:
                config = replace(
                    config,
                    listen=f"127.0.0.1:{port}",
                    links=(LinkConfig(first.address), LinkConfig(third.address)),
                )
                second = await start_server(config)
                try:
                    await until(lambda: is_whole(first, 2) and is_whole(third, 2))
                    await asyncio.sleep(0.5)
                    for each, others in ((first, {"y"}), (second, {"x", "w"}), (third, {"y"})):
                        assert set(each.broker.links.up) == others
                finally:
                    await second.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("config", "broker", "reason"),
    [
        (BrokerConfig(name="x"), "", "both brokers are called 'x'"),
        (BrokerConfig(name="y", strategy="flooding"), "", "same strategy"),
        (BrokerConfig(name="y"), "z", "not 'z': correct address or broker"),
    ],
)
def test_both_of_two_brokers_that_do_not_fit_say_so(
    config: BrokerConfig, broker: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with one_broker(config=BrokerConfig(name="x")) as first:
            calling = replace(config, links=(LinkConfig(first.address, broker=broker),))
            async with one_broker(config=calling) as second:
                problems = second.broker.links.problems
                await until(lambda: reason in problems.get(first.address, ""))
                assert not first.broker.links.up
                refused = first.broker.links.refused_lately
                await until(lambda: reason in refused().get("127.0.0.1", ""))
                await asyncio.sleep(0.3)  # it calls again
        assert caplog.text.count("a link from 127.0.0.1 is refused: ") == 1

    asyncio.run(scenario())


def test_durable_subscribers_get_what_was_published_while_their_broker_was_away(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with overlay_of(CHAIN, tmp_path) as brokers:
            async with connect(brokers["c"].address) as client:
                await client.subscribe("/a", durable="d").ready()
            await until(lambda: brokers["a"].broker.homes.patterns.get("c") == 1)
            config = replace(brokers["c"].broker.config, listen=brokers["c"].address)
            await brokers["c"].close()
            async with connect(brokers["a"].address) as publisher:
                ids = [await publisher.publish(f"<a>{number}</a>") for number in range(300)]
                assert brokers["a"].broker.owed == {"c": 300}
                await publisher.publish("<b/>")
                brokers["c"] = await start_server(config)
                async with connect(brokers["c"].address) as client:
                    desk = client.subscribe(None, durable="d")
                    events = await take(desk, 300)
                    assert sorted(each.id for each in events) == sorted(ids)
                    last = await publisher.publish("<a>last</a>")
                    [event] = await take(desk, 1)
                    assert event.id == last
            await until(lambda: brokers["a"].broker.owed == {"c": 0})
            async with connect(brokers["c"].address) as client:
                await client.forget("d")
            await until(lambda: tables(brokers.values()) == [0, 0, 0])
            await until(lambda: brokers["a"].broker.homes.patterns.get("c") == 0)

    asyncio.run(scenario())


def test_an_origin_that_was_away_goes_on_with_what_it_owes(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with overlay_of(CHAIN, tmp_path) as brokers:
            async with connect(brokers["c"].address) as client:
                await client.subscribe("/a", durable="d").ready()
            await until(lambda: brokers["a"].broker.homes.patterns.get("c") == 1)
            middle = replace(brokers["b"].broker.config, listen=brokers["b"].address)
            await brokers["b"].close()
            async with connect(brokers["a"].address) as publisher:
                ids = [await publisher.publish(f"<a>{number}</a>") for number in range(10)]
            config = replace(brokers["a"].broker.config, listen=brokers["a"].address)
            await brokers["a"].close()
            brokers["a"] = await start_server(config)
            async with connect(brokers["a"].address) as publisher:
                ids += [await publisher.publish(f"<a>{number}</a>") for number in range(10)]
                brokers["b"] = await start_server(middle)
                async with connect(brokers["c"].address) as client:
                    events = await take(client.subscribe(None, durable="d"), 20)
                    assert sorted(each.id for each in events) == sorted(ids)

    asyncio.run(scenario())


def test_with_redundant_links_a_dead_broker_is_gone_round(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            overlay_of(RING, tmp_path) as brokers,
            connect(brokers["a"].address) as publisher,
            connect(brokers["c"].address) as client,
        ):
            desk = client.subscribe("/a", durable="d")
            await desk.ready()
            await until(lambda: brokers["a"].broker.homes.patterns.get("c") == 1)
            await publisher.publish("<a>0</a>")
            await take(desk, 1)
            for dead in ("b", "d"):
                config = replace(brokers[dead].broker.config, listen=brokers[dead].address)
                await brokers[dead].close()
                ids = [await publisher.publish(f"<a>{number}</a>") for number in range(20)]
                events = await take(desk, 20)
                assert sorted(each.id for each in events) == sorted(ids)
                brokers[dead] = await start_server(config)
                await until(lambda: all(is_whole(each, 4) for each in brokers.values()))

    asyncio.run(scenario())


def test_a_broker_without_a_store_passes_on_what_is_owed_to_others(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(config=BrokerConfig(name="m")) as middle:
            ends = []
            for name in ("x", "y"):
                config = BrokerConfig(
                    name=name,
                    listen="127.0.0.1:0",
                    heartbeat=QUICK,
                    links=(LinkConfig(middle.address),),
                    store=StoreConfig(tmp_path / name),
                )
                ends.append(await start_server(config))
            try:
                await until(lambda: all(is_whole(each, 2) for each in ends))
                async with (
                    connect(ends[0].address) as publisher,
                    connect(ends[1].address) as client,
                ):
                    desk = client.subscribe("/a", durable="d")
                    await desk.ready()
                    await until(lambda: ends[0].broker.homes.patterns.get("y") == 1)
                    await publisher.publish("<a/>")
                    await take(desk, 1)
                    await until(lambda: ends[0].broker.owed == {"y": 0})
            finally:
                for each in ends:
                    await each.close()

    asyncio.run(scenario())


async def settled(brokers: Iterable[RunningBroker]) -> None:
    """Until no table has changed for a while."""
    before: list[list[str]] = []
    same = 0
    for _ in range(500):
        now = [sorted(str(each) for each in one.broker.router.subscriptions()) for one in brokers]
        same = same + 1 if now == before else 0
        if same == 20:
            return
        before = now
        await asyncio.sleep(0.01)
    raise AssertionError("tables do not come to rest")


def test_an_observer_who_knows_everything_finds_no_document_where_nobody_wants_it() -> None:
    """Seven brokers, a subscriber and a publisher at each; every link is counted."""
    tree = [("1", "2"), ("1", "3"), ("2", "4"), ("2", "5"), ("3", "6"), ("3", "7")]
    choose = random.Random(4)
    wanted = {
        name: parse(f"/x[n>{choose.randrange(40, 99)}][k='{choose.choice('ab')}']")
        for name in "1234567"
    }

    def beyond(near: str, far: str) -> set[str]:
        """The brokers behind a link."""
        found, new = {far}, [far]
        while new:
            here = new.pop()
            around = {other for pair in tree if here in pair for other in pair} - {near} - found
            found |= around
            new += around
        return found

    async def scenario() -> None:
        async with overlay_of(tree) as brokers, AsyncExitStack() as stack:
            clients = {
                name: await stack.enter_async_context(connect(running.address))
                for name, running in brokers.items()
            }
            subscriptions = {
                name: clients[name].subscribe(pattern) for name, pattern in wanted.items()
            }
            for each in subscriptions.values():
                await each.ready()
            expected: Counter[tuple[str, str]] = Counter()
            due: Counter[str] = Counter()
            await settled(brokers.values())
            for _ in range(200):
                origin = choose.choice("1234567")
                document = f"<x><n>{choose.randrange(100)}</n><k>{choose.choice('ab')}</k></x>"
                homes = {name for name, pattern in wanted.items() if pattern.matches(document)}
                due.update(homes)
                for near, far in [*tree, *(pair[::-1] for pair in tree)]:
                    behind = beyond(near, far)
                    if origin not in behind and homes & behind:
                        expected[near, far] += 1
                await clients[origin].publish(document)
            for name, count in due.items():
                await take(subscriptions[name], count)
            for near, far in [*tree, *(pair[::-1] for pair in tree)]:
                link = brokers[near].broker.links.up[far]
                assert link.documents_sent == expected[near, far], (near, far)

    asyncio.run(scenario())
