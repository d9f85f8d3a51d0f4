"""What publishers say beside documents, and what of it a broker takes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from live_brokers import one_broker, overlay_of, take

from twigcast.broker import BrokerConfig, StoreConfig
from twigcast.broker.headers import MOST_BYTES, MOST_HEADERS, check_headers
from twigcast.client import Outgoing, connect, connect_sync
from twigcast.errors import RefusedError

TRACE = {
    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "tracestate": "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
    "content-type": "application/xml; charset=utf-8",
    "x-desk": "Zürich = 7",
}


def test_headers_cross_links_and_stores(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            overlay_of([("a", "b")], tmp_path) as brokers,
            connect(brokers["a"].address) as publisher,
            connect(brokers["b"].address) as client,
        ):
            desk = client.subscribe("/a", durable="d", deliveries=1)
            await desk.ready()
            await publisher.publish("<a/>", headers=TRACE)
            batch: list[str | Outgoing] = [Outgoing("<a>1</a>", headers={"n": "1"}), "<a>2</a>"]
            await publisher.publish_all(batch)
            events = await take(desk, 3)
            assert [each.headers for each in events] == [TRACE, {"n": "1"}, {}]
            assert [each.headers for each in await client.ask("/a")] == [{}, {"n": "1"}, TRACE]
            await events[0].give_back()
            await desk.flush()
            while not (letters := await client.letters("d")):
                await asyncio.sleep(0.02)
            letter = await client.read_letter(letters[0].number)
            assert letter.document is not None
            assert letter.document.headers == TRACE

    asyncio.run(scenario())


def test_programs_without_an_event_loop_have_headers(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path, BrokerConfig(store=StoreConfig(sync="normal"))) as running:
            await asyncio.to_thread(talk, running.address)

    def talk(address: str) -> None:
        with connect_sync(address) as client, client.subscribe("/a", durable="d") as desk:
            client.publish("<a/>", headers=TRACE, expires="1h")
            client.publish_all([Outgoing("<a/>", "", {"n": "1"})])
            first, second = desk.next(45), desk.next(45)
            assert first is not None
            assert second is not None
            assert (first.headers, second.headers) == (TRACE, {"n": "1"})
            assert first.expires is not None
            assert second.expires is None
            assert client.ask("/a", since="1h").count() == 2

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"Content-Type": "text/xml"}, "cannot be the name"),
        ({"": "x"}, "cannot be the name"),
        ({"a b": "x"}, "cannot be the name"),
        ({"a\n": "x"}, "cannot be the name"),
        ({"é": "x"}, "cannot be the name"),
        ({"a" * 129: "x"}, "cannot be the name"),
        ({"a": "x\r\nb: y"}, "a value is one line"),
        ({"a": "x" * MOST_BYTES}, "8,192"),
        ({f"a{number}": "" for number in range(MOST_HEADERS + 1)}, "65 headers"),
    ],
)
def test_what_a_broker_does_not_take(headers: dict[str, str], reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        check_headers(tuple(headers.items()))


def test_half_a_character_is_refused_before_it_is_sent() -> None:
    async def scenario() -> None:
        async with one_broker() as running, connect(running.address) as client:
            for headers in ({"x": "\udce4"}, {"\udce4": "x"}):
                with pytest.raises(ValueError, match="has a lone surrogate at 0"):
                    await client.publish("<a/>", headers=headers)
            with pytest.raises(ValueError, match="the id has a lone surrogate at 1"):
                await client.publish("<a/>", id="a\udce4")
            with pytest.raises(RefusedError, match="printable"):
                await client.publish("<a/>", id="a\0")
            with pytest.raises(RefusedError, match="NUL"):
                await client.subscribe({"a\0": "//a"}).ready()
            assert await client.publish("<a/>")

    asyncio.run(scenario())


def test_a_broker_says_why_and_takes_the_rest() -> None:
    async def scenario() -> None:
        async with one_broker() as running, connect(running.address) as client:
            desk = client.subscribe("/a")
            await desk.ready()
            bad, good = await client.publish_all(
                [Outgoing("<a/>", headers={"A": "1"}), Outgoing("<a/>", headers={"a": "1" * 8191})]
            )
            assert "'A' cannot be the name of a header" in str(bad.error)
            assert good.error is None
            [event] = await take(desk, 1)
            assert event.headers == {"a": "1" * 8191}
            with pytest.raises(TypeError, match="a name and a text"):
                await client.publish("<a/>", headers={"a": 1})  # type: ignore[dict-item]

    asyncio.run(scenario())
