"""A group: several brokers with one database are one broker with several doors."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psycopg
import pytest
from broker_process import free_port
from live_brokers import PATIENCE, QUICK, take, until
from postgres_server import PASSWORD, PostgresServer
from typer.testing import CliRunner

from twigcast.broker import (
    BrokerConfig,
    LinkConfig,
    RunningBroker,
    StandingBy,
    StoreConfig,
    door,
    start_server,
)
from twigcast.broker.forwarding import Forwarder
from twigcast.broker.server import door_of
from twigcast.broker.store.postgres import database
from twigcast.broker.store.postgres.schema import OPEN_LOCK
from twigcast.broker.store.postgres.state import read_state
from twigcast.cli import app
from twigcast.client import Client, Subscription, connect
from twigcast.delivery import StoreState
from twigcast.errors import ConfigError, StoreError


@pytest.fixture
def url(postgres: PostgresServer, tmp_path: Path) -> str:
    """The address of a new database, with the password in a file, as a broker wants it."""
    secret = tmp_path / "password"
    secret.write_text(f"*:*:*:*:{PASSWORD}\n")
    secret.chmod(0o600)
    without = postgres.url(postgres.new_database(), password="").replace(":@", "@")
    return f"{without}?passfile={secret}"


def config_of(url: str, port: int, **more: object) -> BrokerConfig:
    config = BrokerConfig(
        name="rome",
        listen=f"127.0.0.1:{port}",
        store=StoreConfig(url=url, door="127.0.0.1", sync="normal"),
        heartbeat=QUICK,
    )
    return replace(config, **more)  # type: ignore[arg-type]


class LiveDoor:
    """A door in the event loop of a test."""

    def __init__(self, config: BrokerConfig) -> None:
        self.address = config.listen
        self.states: list[RunningBroker | StandingBy] = []
        self.stop = asyncio.Event()
        self._task = asyncio.create_task(door_of(config, self.states.append).run(self.stop))

    @property
    def leads(self) -> bool:
        return bool(self.states) and isinstance(self.states[-1], RunningBroker)

    async def settled(self, *, leads: bool) -> None:
        """Wait until it leads, or stands by."""
        await until(lambda: self._task.done() or (self.states and self.leads is leads))
        assert not self._task.done(), self._task.result()

    async def close(self) -> None:
        self.stop.set()
        await asyncio.wait_for(self._task, PATIENCE)


@asynccontextmanager
async def two_doors(url: str, **more: object) -> AsyncIterator[tuple[LiveDoor, LiveDoor]]:
    """The one that leads, and the one that stands by."""
    first = LiveDoor(config_of(url, free_port(), **more))
    await first.settled(leads=True)
    second = LiveDoor(config_of(url, free_port()))
    try:
        await second.settled(leads=False)
        yield first, second
    finally:
        await asyncio.gather(first.close(), second.close())


def test_a_client_is_served_at_any_door(url: str) -> None:
    async def story() -> None:
        async with (
            two_doors(url) as (first, second),
            connect(second.address) as desk,
            connect(first.address) as publisher,
            desk.subscribe("//a", durable="kept") as kept,
            desk.subscribe("//a") as passing,
        ):
            await publisher.publish("<a>1</a>")
            await desk.publish("<a>2</a>")
            for subscription in (kept, passing):
                texts = [each.content for each in await take(subscription, 2)]
                assert texts == [b"<a>1</a>", b"<a>2</a>"]

    asyncio.run(story())


def test_a_door_takes_over_where_the_other_left_off(url: str) -> None:
    async def story() -> None:
        async with two_doors(url) as (first, second):
            both = f"{first.address},{second.address}"
            async with connect(both) as client, client.subscribe("//a", durable="kept") as kept:
                await client.publish("<a>1</a>", id="one")
                [event] = await take(kept, 1)
                event.acknowledge()
                await kept.flush()
                await client.publish("<a>2</a>", id="two")
                await first.close()
                await second.settled(leads=True)
                await client.publish("<a>1</a>", id="one")  # which the group has
                await client.publish("<a>3</a>", id="three")
                assert [each.content for each in await take(kept, 2)] == [
                    b"<a>2</a>",
                    b"<a>3</a>",
                ]
                assert kept.interruptions == 0

    asyncio.run(story())


def test_a_leader_that_hangs_is_replaced_and_stands_by(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(door, "_BEAT_EACH", 3.0)
    monkeypatch.setattr(door, "HANGS_AFTER", 0.8)

    async def story() -> None:
        async with two_doors(url) as (first, second):
            await second.settled(leads=True)
            monkeypatch.setattr(door, "HANGS_AFTER", 60.0)
            await first.settled(leads=False)
            async with (
                connect(first.address) as client,
                client.subscribe("//a", durable="kept") as kept,
            ):
                await client.publish("<a/>")
                await take(kept, 1)

    asyncio.run(story())
    assert "hangs: it leads no more" in caplog.text
    assert "another broker has opened the store meanwhile" in caplog.text


def test_a_leader_that_has_lost_the_store_answers_for_nothing(url: str) -> None:
    async def story() -> None:
        async with two_doors(url) as (first, second), connect(first.address) as client:
            await second.close()
            await client.publish("<a/>")
            with psycopg.connect(url, autocommit=True) as other:
                statement = f"SELECT pg_advisory_lock({OPEN_LOCK[0]}, {OPEN_LOCK[1]})"
                locking = asyncio.create_task(asyncio.to_thread(other.execute, statement.encode()))
                waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                with psycopg.connect(url, autocommit=True) as looking:
                    await until(lambda: bool(looking.execute(waits).fetchall()))
                    looking.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE application_name = 'twigcast writer'"
                        " AND datname = current_database()"
                    )
                await locking
                # Nobody here wants this; somebody may, where the store is open now.
                publishing = asyncio.create_task(client.publish("<b/>"))
                await first.settled(leads=False)
                assert not publishing.done()
            await first.settled(leads=True)
            assert await publishing

    asyncio.run(story())


def test_a_door_that_opens_a_large_store_does_not_hang(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(door, "_BEAT_EACH", 0.1)
    monkeypatch.setattr(door, "HANGS_AFTER", 1.0)
    monkeypatch.setattr(database, "read_state", slow(read_state))

    async def story() -> None:
        first = LiveDoor(config_of(url, free_port()))
        await asyncio.sleep(0.3)
        second = LiveDoor(config_of(url, free_port()))
        try:
            await until(lambda: first.leads or second.leads)
            await asyncio.sleep(1.0)
            assert len(first.states) + len(second.states) == 2
        finally:
            await asyncio.gather(first.close(), second.close())

    asyncio.run(story())
    assert "hangs" not in caplog.text


def slow(read: Callable[[Any, int], StoreState]) -> Callable[[Any, int], StoreState]:
    def read_slowly(connection: Any, incarnation: int) -> StoreState:
        time.sleep(3.0)
        return read(connection, incarnation)

    return read_slowly


def test_a_broker_that_is_no_door_does_not_take_the_store_of_a_group(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "_LOOK_EACH", 60.0)  # the other door does not take over meanwhile

    async def story() -> None:
        async with two_doors(url) as (first, _):
            await first.close()
            config = config_of(url, free_port())
            with pytest.raises(StoreError, match="whose doors stand by: start this broker with"):
                await start_server(replace(config, store=replace(config.store, door="")))

    asyncio.run(story())


def test_who_stands_by_is_told(url: str) -> None:
    async def story() -> None:
        http = f"127.0.0.1:{free_port()}"
        async with two_doors(url, http=http) as (first, second):
            async with connect(first.address) as client:
                status = await client.status()
            assert (status["door"], status["standing_by"]) == (first.address, [second.address])
            asked = ["network", "status", "--broker", first.address, "--broker", second.address]
            told = await asyncio.to_thread(CliRunner().invoke, app, asked, env={"COLUMNS": "100"})
            rows = [line.strip("│ ").split() for line in told.stdout.splitlines() if "rome" in line]
            assert ["rome", "│", first.address, "│", second.address] in rows
            assert len(rows) == 3, "brokers, doors, documents: the broker once in each"
            page = await asyncio.to_thread(lambda: urlopen(f"http://{http}/metrics").read())
            assert b"twigcast_doors_standing_by 1" in page

    asyncio.run(story())


def test_a_neighbour_follows_the_group(url: str, tmp_path: Path) -> None:
    async def story() -> None:
        async with two_doors(url) as (first, second):
            link = LinkConfig(f"{first.address},{second.address}")
            outside = BrokerConfig(
                name="oslo",
                listen="127.0.0.1:0",
                links=(link,),
                store=StoreConfig(folder=tmp_path / "oslo"),
                heartbeat=QUICK,
            )
            running = await start_server(outside)
            try:
                await until(lambda: running.broker.links.up)
                async with (
                    connect(second.address) as desk,
                    connect(running.address) as publisher,
                    desk.subscribe("//a", durable="kept") as kept,
                ):
                    assert kept.unreached == ()
                    await publisher.publish("<a>1</a>")
                    await take(kept, 1)
                    await first.close()
                    for number in range(20):
                        await publisher.publish(f"<a>{number}</a>")
                    await second.settled(leads=True)
                    # What it had before does not come again; what was owed meanwhile comes late.
                    texts = {each.content for each in await take(kept, 20)}
                    assert texts == {f"<a>{number}</a>".encode() for number in range(20)}
            finally:
                await running.close()

    asyncio.run(story())


def test_doors_have_a_name_in_common(url: str) -> None:
    async def story() -> None:
        first = LiveDoor(config_of(url, free_port()))
        await first.settled(leads=True)
        stranger = LiveDoor(config_of(url, free_port(), name="oslo"))
        with pytest.raises(StoreError, match="it belongs to the broker 'rome', and this is 'oslo'"):
            await stranger.settled(leads=False)
        await first.close()

    asyncio.run(story())


def test_a_broker_that_is_no_door_is_no_leader(url: str) -> None:
    async def story() -> None:
        config = config_of(url, free_port())
        alone = replace(config, store=replace(config.store, door=""))
        running = await start_server(alone)
        try:
            stranger = LiveDoor(config_of(url, free_port()))
            with pytest.raises(StoreError, match="is no door of a group: start it with"):
                await stranger.settled(leads=False)
        finally:
            await running.close()

    asyncio.run(story())


def test_a_door_without_a_leader_closes_connections() -> None:
    async def story() -> None:
        port = free_port()
        forwarder = Forwarder(BrokerConfig(listen=f"127.0.0.1:{port}").listen_address, lambda: None)
        await forwarder.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
        writer.close()
        with pytest.raises(ConfigError, match="cannot listen at"):
            await Forwarder(forwarder._address, lambda: None).start()
        await forwarder.close()

    asyncio.run(story())


def test_connections_to_a_leader_that_is_replaced_are_cut() -> None:
    async def story() -> None:
        async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionResetError):
                await reader.read()
            writer.close()
            ended.release()

        ended = asyncio.Semaphore(0)
        silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
        host, there = silent.sockets[0].getsockname()
        port = free_port()
        address = BrokerConfig(listen=f"127.0.0.1:{port}").listen_address
        forwarder = Forwarder(address, lambda: address._replace(host=host, port=there))
        await forwarder.start()
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            await until(lambda: bool(forwarder._connections))
            forwarder.cut()
            with suppress(ConnectionResetError):
                assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
            writer.close()
            await ended.acquire()
        await forwarder.close()
        silent.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"name": ""}, "the doors of a group have a name in common"),
        ({"listen": "127.0.0.1:0"}, "other doors of the group must know the port"),
        ({"http": "127.0.0.1:0"}, "other doors of the group must know the port"),
    ],
)
def test_what_a_door_needs(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        config_of("postgresql://db/x", 7400, **settings)


def test_a_door_needs_a_database() -> None:
    with pytest.raises(ConfigError, match="the doors of a group share a database"):
        StoreConfig(folder=Path("x"), door="127.0.0.1")
    with pytest.raises(ConfigError, match="is no host"):
        StoreConfig(url="postgresql://db/x", door="a b")


# --- processes --------------------------------------------------------------------------------


class DoorProcess:
    """A door as people start it."""

    def __init__(self, url: str, *options: str) -> None:
        self.url = url
        self.options = options
        self.address = f"127.0.0.1:{free_port()}"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> bool:
        """Start it; whether it leads."""
        command = ["broker", "--name", "rome", "--listen", self.address, "--store", self.url]
        command += ["--door", "127.0.0.1", "--json", *self.options]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "twigcast", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self.said()["stands_by_for"] is None

    def said(self) -> dict[str, object]:
        assert self.process is not None
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the door has ended"
        told: dict[str, object] = json.loads(line)
        return told

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None


class Load:
    """Publishers and a desk at both doors; what was acknowledged, and what came."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.acknowledged: list[str] = []
        self.longest = 0.0
        self.came: Counter[str] = Counter()
        self.is_over = False
        self.is_ready = asyncio.Event()

    async def publish(self, name: str) -> None:
        number = 0
        while not self.is_over:
            number += 1
            text = f"<a>{name}-{number}</a>"
            began = time.monotonic()
            await self.client.publish(text, id=f"{name}-{number}")
            self.longest = max(self.longest, time.monotonic() - began)
            self.acknowledged.append(text)

    async def more(self, count: int) -> None:
        """Wait until some more are acknowledged."""
        wanted = len(self.acknowledged) + count
        await until(lambda: len(self.acknowledged) >= wanted)

    async def receive(self, client: Client) -> None:
        async with client.subscribe("//a", durable="kept") as kept:
            self.is_ready.set()
            async for event in kept:
                self.came[event.content.decode()] += 1
                event.acknowledge()


def test_doors_are_killed_under_load(url: str) -> None:
    doors = [DoorProcess(url), DoorProcess(url)]
    try:
        assert doors[0].start()
        assert not doors[1].start()
        longest, published = asyncio.run(_under_load(doors))
    finally:
        for each in doors:
            each.kill()
    assert published > 100
    assert longest < 3 * 5.0, "seconds that a publisher waited"  # on a quiet machine, below one


async def _under_load(doors: list[DoorProcess]) -> tuple[float, int]:
    first, second = doors
    async with (
        connect(f"{first.address},{second.address}", timeout=60) as publisher,
        connect(f"{second.address},{first.address}", timeout=60) as desk,
    ):
        load = Load(publisher)
        receiving = asyncio.create_task(load.receive(desk))
        await load.is_ready.wait()
        publishing = [asyncio.create_task(load.publish(f"p{each}")) for each in range(8)]
        leader, other = first, second
        for _ in range(2):
            await load.more(200)
            leader.kill()
            told = await asyncio.to_thread(other.said)
            assert told["stands_by_for"] is None, "it leads now"
            await load.more(200)
            assert not await asyncio.to_thread(leader.start)
            leader, other = other, leader
        load.is_over = True
        await asyncio.gather(*publishing)
        with suppress(AssertionError):  # said below
            await until(lambda: len(load.came) >= len(load.acknowledged), 15)
        receiving.cancel()
    assert set(load.acknowledged) - set(load.came) == set(), "nothing is lost"
    assert set(load.came) - set(load.acknowledged) == set(), "nothing else came"
    assert set(load.came.values()) == {1}, "nothing came twice"
    return load.longest, len(load.acknowledged)


@pytest.mark.parametrize("is_gateway", [False, True])
def test_a_group_is_in_a_unit_and_a_door_is_killed(
    url: str, tmp_path: Path, is_gateway: bool
) -> None:
    unit = ("--unit", "north", *(("--gateway", "north") if is_gateway else ()))
    doors = [DoorProcess(url, *unit), DoorProcess(url, *unit)]
    try:
        assert doors[0].start()
        assert not doors[1].start()
        asyncio.run(_across_units(doors, tmp_path, is_gateway=is_gateway))
    finally:
        for each in doors:
            each.kill()


async def _across_units(doors: list[DoorProcess], folder: Path, *, is_gateway: bool) -> None:
    """Two units: a group and another broker in north, a broker in south.  One of them links."""
    group = ",".join(each.address for each in doors)

    async def start(unit: str, gateway: str, calls: str) -> RunningBroker:
        config = BrokerConfig(
            name="a",
            unit=unit,
            gateway=gateway,
            listen="127.0.0.1:0",
            links=(LinkConfig(calls),),
            store=StoreConfig(folder / unit, sync="normal"),
            heartbeat=QUICK,
        )
        running = await start_server(config)
        stack.push_async_callback(running.close)
        return running

    async with AsyncExitStack() as stack:
        north = await start("north", "" if is_gateway else "north", group)
        south = await start("south", "south", group if is_gateway else north.address)
        clients = {
            "rome": await stack.enter_async_context(connect(group)),
            "north": await stack.enter_async_context(connect(north.address)),
            "south": await stack.enter_async_context(connect(south.address)),
        }
        await until(lambda: all(each.broker.links.up for each in (north, south)))
        queues = {name: await _confirmed(client, f"at {name}") for name, client in clients.items()}
        published: list[bytes] = []

        async def publish(name: str, count: int) -> None:
            for _ in range(count):
                published.append(f"<a>{name} {len(published)}</a>".encode())
                await clients[name].publish(published[-1])

        async def publish_everywhere(count: int) -> None:
            await asyncio.gather(*(publish(name, count) for name in clients))

        await publish_everywhere(10)
        doors[0].kill()
        await publish_everywhere(10)
        assert (await asyncio.to_thread(doors[1].said))["stands_by_for"] is None
        await publish_everywhere(10)
        for name, queue in queues.items():
            came = Counter(each.content for each in await take(queue, len(published)))
            assert came == Counter(published), name


async def _confirmed(client: Client, durable: str) -> Subscription:
    """A durable subscription that all brokers know; on a busy machine one answers too late."""
    subscription = client.subscribe("//a", durable=durable)
    await subscription.ready()
    while subscription.unreached:
        await subscription.close()
        subscription = client.subscribe("//a", durable=durable)
        await subscription.ready()
    return subscription
