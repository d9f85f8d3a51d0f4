"""Links and clients behind a hostile proxy: whatever it does, durable subscribers miss nothing."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hostile_proxy import HostileProxy, hostile_proxy
from live_brokers import QUICK, is_whole, one_broker, until

from twigcast.broker import BrokerConfig, LinkConfig, RunningBroker, StoreConfig, start_server
from twigcast.client import Client, PublishResult, connect


class Pair:
    """Two brokers whose link goes through a proxy, a publisher at one, a desk at the other."""

    def __init__(self, proxy: HostileProxy, brokers: list[RunningBroker]) -> None:
        self.proxy = proxy
        self.here, self.there = brokers

    async def publish(self, publisher: Client, first: int, count: int) -> set[bytes]:
        contents = {f"<a>{number}</a>".encode() for number in range(first, first + count)}
        results = await publisher.publish_all(sorted(contents))
        assert all(result.error is None for result in results)
        return contents


async def open_pair(stack: AsyncExitStack, folder: Path, seed: int = 0) -> Pair:
    here = await start_server(
        BrokerConfig(
            name="here",
            listen="127.0.0.1:0",
            heartbeat=QUICK,
            store=StoreConfig(folder / "here", sync="normal"),
        )
    )
    stack.push_async_callback(here.close)
    proxy = await stack.enter_async_context(hostile_proxy(here.address, seed))
    there = await start_server(
        BrokerConfig(
            name="there",
            listen="127.0.0.1:0",
            heartbeat=QUICK,
            links=(LinkConfig(proxy.address),),
            store=StoreConfig(folder / "there", sync="normal"),
        )
    )
    stack.push_async_callback(there.close)
    await until(lambda: is_whole(here, 1) and is_whole(there, 1))
    return Pair(proxy, [here, there])


async def _cut(pair: Pair) -> None:
    for _ in range(3):
        pair.proxy.cut()
        await asyncio.sleep(0.15)


async def _swallow(pair: Pair) -> None:
    pair.proxy.swallows = True
    await until(lambda: not pair.here.broker.links.up and not pair.there.broker.links.up)
    pair.proxy.swallows = False
    pair.proxy.cut()


async def _delay(pair: Pair) -> None:
    pair.proxy.delay = 0.05
    await asyncio.sleep(0.5)


async def _inject(pair: Pair) -> None:
    pair.proxy.injected = 0.2
    await asyncio.sleep(1.5)


async def _spoil(pair: Pair) -> None:
    pair.proxy.spoiled = 0.3
    await asyncio.sleep(1.5)


@pytest.mark.parametrize("trouble", [_cut, _swallow, _delay, _inject, _spoil])
def test_a_durable_subscriber_ends_with_exactly_what_was_published(
    trouble: object, tmp_path: Path
) -> None:
    assert callable(trouble)

    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            pair = await open_pair(stack, tmp_path)
            publisher = await stack.enter_async_context(connect(pair.here.address))
            client = await stack.enter_async_context(connect(pair.there.address))
            desk = client.subscribe("/a", durable="desk")
            await desk.ready()
            await until(lambda: pair.here.broker.homes.patterns.get("there") == 1)
            expected = await pair.publish(publisher, 0, 100)
            troubled = asyncio.create_task(trouble(pair))
            for round_ in range(1, 6):
                expected |= await pair.publish(publisher, 100 * round_, 100)
                await asyncio.sleep(0.1)
            await troubled
            expected |= await pair.publish(publisher, 900, 50)
            pair.proxy.delay = pair.proxy.injected = pair.proxy.spoiled = 0.0
            pair.proxy.cut()
            received: list[bytes] = []
            while len(received) < len(expected):
                event = await asyncio.wait_for(anext(desk), 60)
                received.append(event.content)
                await event.ack()
            assert len(received) == len(set(received))
            assert set(received) == expected
            await until(lambda: pair.here.broker.owed == {"there": 0})

    asyncio.run(scenario())


async def _all(client: Client, documents: list[str]) -> list[PublishResult]:
    return await client.publish_all(documents)


def test_a_client_behind_a_bad_line_publishes_and_receives_everything_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            one_broker(tmp_path) as running,
            hostile_proxy(running.address) as proxy,
            connect(proxy.address) as client,
        ):
            desk = client.subscribe("/a", durable="desk")
            await desk.ready()

            async def trouble() -> None:
                for _ in range(8):
                    await asyncio.sleep(0.1)
                    proxy.cut()

            troubled = asyncio.create_task(trouble())
            documents = [f"<a>{number}</a>" for number in range(2000)]
            published = asyncio.create_task(_all(client, documents))
            received: list[str] = []
            while len(received) < len(documents):
                event = await asyncio.wait_for(anext(desk), 60)
                received.append(event.content.decode())
                await event.ack()
            assert sorted(received) == sorted(documents)
            results = await published
            assert all(result.error is None for result in results)
            assert len({result.id for result in results}) == len(documents)
            await troubled
            await desk.flush()
            await until(lambda: running.broker.durables["desk"].queue.waiting == 0)

    asyncio.run(scenario())


def test_garbage_at_the_port_harms_nobody() -> None:
    async def scenario() -> None:
        async with one_broker() as running, connect(running.address) as client:
            everything = client.subscribe("/*")
            await everything.ready()
            host, _, port = running.address.rpartition(":")
            for garbage in (
                b"GET / HTTP/1.1\r\n\r\n",
                b"\x00" * 1000,
                b"\x16\x03\x01\x02\x00\x01\x00",
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 500,
            ):
                _, writer = await asyncio.open_connection(host, int(port))
                writer.write(garbage)
                await writer.drain()
                writer.transport.abort()
            await client.publish("<a/>")
            await asyncio.wait_for(anext(everything), 30)

    asyncio.run(scenario())


def _call(path: bytes) -> bytes:
    """The bytes of HTTP/2 that call a method of gRPC."""

    def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
        head = len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big")
        return head + payload

    def text(value: bytes) -> bytes:
        return bytes((len(value),)) + value

    settings, headers, end_headers = 4, 1, 4
    # POST, http and the names :path, :authority and content-type are of HPACK's static table.
    block = b"\x83\x86\x04" + text(path) + b"\x01" + text(b"here")
    block += b"\x0f\x10" + text(b"application/grpc") + b"\x00" + text(b"te") + text(b"trailers")
    start = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(settings, 0, 0, b"")
    return start + frame(headers, end_headers, 1, block)


def test_a_method_that_is_no_text_does_not_end_the_service(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, logger="twigcast")

    async def gave_up(times: int) -> None:
        await until(lambda: caplog.text.count("gave up") == times)

    async def scenario() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            desk = client.subscribe("/a", durable="desk")
            await desk.ready()
            host, _, port = running.address.rpartition(":")
            for number in range(2):
                _, writer = await asyncio.open_connection(host, int(port))
                writer.write(_call(b"/twig\xe3ast.v1.Broker/Link"))
                await gave_up(number + 1)
                writer.transport.abort()
                async with connect(running.address) as another:
                    await another.publish(f"<a>{number}</a>")
                event = await asyncio.wait_for(anext(desk), 60)
                assert event.content == f"<a>{number}</a>".encode()
                await event.ack()

    asyncio.run(scenario())
