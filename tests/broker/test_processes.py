"""Networks of real processes: killed, restarted and cut off under load, and nothing is lost.

An observer who knows everything that was published and subscribed to says what each durable
subscriber must end up with.
"""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hostile_proxy import hostile_proxy

from twigcast.broker.local_network import LocalNetwork
from twigcast.client import Client, Subscription, connect
from twigcast.language import parse
from twigcast.routing import Overlay
from twigcast.simulation import parse_topology

EXPRESSIONS = {
    "cheap": "//price[.<30]",
    "dear": "//price[.>70]",
    "gold": "/offer[kind='gold']",
    "all": "/offer",
    "silver": "/offer[kind='silver'][price>20]",
}


def offer(number: int, choose: random.Random) -> str:
    kind = choose.choice(["gold", "silver", "lead"])
    return (
        f"<offer><number>{number}</number><kind>{kind}</kind>"
        f"<price>{choose.randrange(100)}</price></offer>"
    )


class Desk:
    """A durable subscriber that takes and acknowledges whatever comes."""

    def __init__(self, name: str, key: str, subscription: Subscription) -> None:
        self.name = name
        self.pattern = parse(EXPRESSIONS[key])
        self.received: list[str] = []
        self._subscription = subscription

    async def work(self) -> None:
        async for event in self._subscription:
            self.received.append(event.content.decode())
            await event.ack()

    def expects(self, published: Iterable[str]) -> list[str]:
        return sorted(each for each in published if self.pattern.matches(each))


class Observer:
    """Publishers and desks at brokers of a network, and what they must end up with."""

    def __init__(self, stack: AsyncExitStack, seed: int) -> None:
        self.choose = random.Random(seed)
        self.published: list[str] = []
        self.desks: list[Desk] = []
        self._stack = stack
        self._tasks: list[asyncio.Task[None]] = []

    async def client(self, address: str) -> Client:
        return await self._stack.enter_async_context(connect(address, timeout=30))

    async def desk(self, broker: str, address: str, key: str) -> None:
        client = await self.client(address)
        subscription = client.subscribe(EXPRESSIONS[key], durable=f"{broker}-{key}", window=64)
        await subscription.ready()
        desk = Desk(f"{broker}-{key}", key, subscription)
        self.desks.append(desk)
        self._tasks.append(asyncio.create_task(desk.work()))

    async def publish(self, client: Client, count: int) -> None:
        for _ in range(count):
            document = offer(len(self.published), self.choose)
            self.published.append(document)
            await client.publish(document)

    async def settle(self, seconds: float) -> None:
        """Wait until every desk has what it must have; then nothing more may come."""
        deadline = asyncio.get_running_loop().time() + seconds
        while any(len(each.received) < len(each.expects(self.published)) for each in self.desks):
            for task in self._tasks:
                if task.done():
                    task.result()
            if asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        for desk in self.desks:
            assert sorted(desk.received) == desk.expects(self.published), desk.name

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def known_everywhere(
    observer: Observer, addresses: Mapping[str, str], homes: set[str]
) -> None:
    """Until every broker knows what is wanted durably at the others."""
    clients = {name: await observer.client(address) for name, address in addresses.items()}
    for _ in range(300):
        known = 0
        for name, client in clients.items():
            status = await client.status()
            others = {home for home, count in status["homes"].items() if count}
            known += others >= homes - {name}
        if known == len(clients):
            return
        await asyncio.sleep(0.05)
    raise AssertionError("some broker does not know of all durable subscriptions")


async def empty_everywhere(observer: Observer, network: LocalNetwork) -> None:
    """End all durable subscriptions; then all tables must become empty."""
    clients = {name: await observer.client(address) for name, address in network.addresses.items()}
    for client in clients.values():
        for durable in (await client.status())["durable"]:
            await client.forget(durable["name"])
    left: dict[str, int] = {}
    for _ in range(300):
        left = {}
        for name, client in clients.items():
            status = await client.status()
            patterns = status["tables"]["patterns"] + sum(status["owed"].values())
            if patterns:
                left[name] = patterns
        if not left:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"tables are not empty: {left}")


def run_under_fire(overlay: Overlay, folder: Path, victims: list[str], seed: int) -> None:
    """Publish everywhere while brokers are killed and restarted one after the other."""

    async def scenario(network: LocalNetwork) -> None:
        async with AsyncExitStack() as stack:
            observer = Observer(stack, seed)
            names = sorted(network.addresses)
            keys = list(EXPRESSIONS)
            for index, name in enumerate(names):
                key = keys[index % len(keys)]
                await observer.desk(name, network.addresses[name], key)
            if not overlay.gateways:
                await known_everywhere(observer, network.addresses, set(names))
            publishers = [await observer.client(network.addresses[name]) for name in names]
            loads = [
                asyncio.create_task(observer.publish(publisher, 120)) for publisher in publishers
            ]
            for victim in victims:
                await asyncio.sleep(0.3)
                network.kill(victim, signal.SIGKILL)
                await asyncio.sleep(0.4)
                await asyncio.to_thread(network.restart, victim)
            await asyncio.gather(*loads)
            await asyncio.to_thread(network.wait_until_whole, 30)
            await observer.settle(40)
            assert len(observer.published) == 120 * len(names)
            await observer.stop()
            await empty_everywhere(observer, network)

    with LocalNetwork(overlay, folder) as network:
        asyncio.run(scenario(network))


def test_seven_brokers_killed_one_after_the_other(tmp_path: Path) -> None:
    overlay = parse_topology("tree:levels=3,fanout=2")
    names = sorted(overlay)
    # The root, a broker in between, and a leaf with its subscriber.
    run_under_fire(overlay, tmp_path, [names[0], names[1], names[-1]], seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_seven_brokers_killed_all_and_often(tmp_path: Path, seed: int) -> None:
    overlay = parse_topology("tree:levels=3,fanout=2")
    victims = sorted(overlay) * 2
    random.Random(seed).shuffle(victims)
    run_under_fire(overlay, tmp_path, victims, seed)


def test_two_units_whose_gateways_are_killed(tmp_path: Path) -> None:
    overlay = parse_topology("hierarchy:2x2,gateways=2")
    run_under_fire(overlay, tmp_path, ["c1/b1", "c2/b1"], seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_three_units_whose_gateways_are_killed_often(tmp_path: Path, seed: int) -> None:
    overlay = parse_topology("hierarchy:3x3,gateways=2")
    victims = sorted(overlay.gateways) * 2
    random.Random(seed).shuffle(victims)
    run_under_fire(overlay, tmp_path, victims, seed)


def test_a_ring_goes_on_while_a_broker_is_dead(tmp_path: Path) -> None:
    overlay = Overlay(["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])

    async def scenario(network: LocalNetwork) -> None:
        async with AsyncExitStack() as stack:
            observer = Observer(stack, 5)
            await observer.desk("c", network.addresses["c"], "all")
            await known_everywhere(observer, network.addresses, {"c"})
            publisher = await observer.client(network.addresses["a"])
            await observer.publish(publisher, 20)
            network.kill("b", signal.SIGKILL)
            await observer.publish(publisher, 50)
            await observer.settle(20)
            await asyncio.to_thread(network.restart, "b")
            await asyncio.to_thread(network.wait_until_whole, 30)
            network.kill("d", signal.SIGKILL)
            await observer.publish(publisher, 50)
            await observer.settle(20)
            await observer.stop()

    with LocalNetwork(overlay, tmp_path) as network:
        asyncio.run(scenario(network))


@pytest.mark.slow
def test_processes_behind_hostile_proxies(tmp_path: Path) -> None:
    """A chain of three whose links go through proxies that cut, delay and inject."""

    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            observer = Observer(stack, 9)
            networks: list[LocalNetwork] = []
            proxies = []
            arguments: tuple[str, ...] = ()
            for name in ("x", "y", "z"):
                network = LocalNetwork(
                    Overlay([name], []), tmp_path / name, extra_arguments=arguments
                )
                await asyncio.to_thread(network.start)
                stack.callback(network.stop)
                networks.append(network)
                proxy = await stack.enter_async_context(
                    hostile_proxy(network.addresses[name], seed=len(networks))
                )
                proxies.append(proxy)
                arguments = ("--link", proxy.address)
            addresses = {
                name: each for network in networks for name, each in network.addresses.items()
            }
            await observer.desk("z", addresses["z"], "all")
            await observer.desk("x", addresses["x"], "gold")
            await known_everywhere(observer, addresses, {"x", "z"})
            publishers = [await observer.client(each) for each in addresses.values()]
            loads = [asyncio.create_task(observer.publish(each, 150)) for each in publishers]
            for round_ in range(6):
                await asyncio.sleep(0.2)
                for proxy in proxies[:2]:
                    proxy.delay = observer.choose.choice([0.0, 0.02])
                    proxy.injected = observer.choose.choice([0.0, 0.3])
                    if round_ % 2:
                        proxy.cut()
            for proxy in proxies:
                proxy.delay = proxy.injected = 0.0
            await asyncio.gather(*loads)
            await observer.settle(30)
            await observer.stop()

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_broker_that_hangs_is_left(tmp_path: Path) -> None:
    async def scenario(addresses: str, network: LocalNetwork) -> None:
        async with connect(addresses) as client, client.subscribe("//a") as subscription:
            await client.publish("<a/>")
            network.kill("a", signal.SIGSTOP)
            async with asyncio.timeout(120):
                await client.publish("<a/>")
            assert subscription.interruptions == 1
            assert client.broker == "b"

    with LocalNetwork(Overlay(["a", "b"], []), tmp_path, store=False) as network:
        try:
            asyncio.run(scenario(",".join(network.addresses.values()), network))
        finally:
            network.kill("a", signal.SIGCONT)
