"""Event streams: what comes, where a reader goes on, and what a slow one costs."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from http_brokers import Events, publish, run, serving, subscribed
from live_brokers import until

from twigcast.broker import BrokerConfig, RunningBroker, StoreConfig
from twigcast.broker.config import LimitsConfig
from twigcast.broker.ephemeral import EphemeralSubscription

STORE = StoreConfig(sync="normal")


def durable(**settings: object) -> dict[str, Any]:
    return {"xpath": "//a", "durable": "desk", **settings}


async def sequences(events: Events, count: int) -> list[int]:
    return [(await events.document()).data["sequence"] for _ in range(count)]


def test_documents_come_with_the_expressions_that_they_match() -> None:
    async def main() -> None:
        async with (
            serving() as (_, client),
            subscribed(client, xpath=["//a", "//b"]) as events,
        ):
            ids = await publish(client, "<a/>", "<c/>", "<x><b/><a>\n\u2028</a></x>")
            first = await events.document()
            assert first.id == first.data["id"] == ids[0]
            assert first.data["keys"] == ["//a"]
            assert first.data["sequence"] is None
            second = await events.document()
            assert second.id == ids[2]
            assert sorted(second.data["keys"]) == ["//a", "//b"]
            assert second.data["content"] == "<x><b/><a>\n\u2028</a></x>"
            assert second.data["published"] >= first.data["published"] > "2026"
            assert second.data["headers"] == {}
            assert second.data["expires"] is None

    run(main)


def test_a_reader_that_goes_leaves_nothing_behind() -> None:
    async def main() -> None:
        async with serving() as (running, client):
            async with subscribed(client, xpath="//a"):
                assert running.broker.router.table_size == 1
                assert len(running.service.sessions) == 1
            await until(lambda: not running.service.sessions)
            assert running.broker.router.table_size == 0

    run(main)


def test_silence_is_broken_by_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twigcast.broker.http.subscribing.KEEP_ALIVE", 0.05)

    async def main() -> None:
        async with serving() as (_, client), subscribed(client, xpath="//a") as events:
            comments = [await events.next(comments=True) for _ in range(3)]
            assert [each and each.comment for each in comments] == [
                "subscribed",
                "keep-alive",
                "keep-alive",
            ]
            await publish(client, "<a/>")
            assert (await events.document()).data["content"] == "<a/>"

    run(main)


def test_a_durable_subscription_goes_on_where_it_was(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, BrokerConfig(store=STORE)) as (running, client):
            async with subscribed(client, **durable()) as events:
                await publish(client, "<a/>", "<a/>")
                first = await events.document()
                assert first.id == "1"
                assert await sequences(events, 1) == [2]
                # They were acknowledged as they were written.
                await until(lambda: running.broker.durables["desk"].queue.acknowledged == 2)
            await until(lambda: not running.broker.durables["desk"].attached)
            await publish(client, "<a/>", "<b/>", "<a/>")
            async with subscribed(client, durable="desk") as events:  # as it is
                assert await sequences(events, 2) == [3, 4]

    run(main)


def test_the_last_event_id_goes_before_since(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, BrokerConfig(store=STORE)) as (running, client):
            async with subscribed(client, **durable()) as events:
                await publish(client, *["<a/>"] * 5)
                assert await sequences(events, 5) == [1, 2, 3, 4, 5]
                await until(lambda: running.broker.durables["desk"].queue.acknowledged == 5)
            async with subscribed(client, **durable(since=2)) as events:
                assert await sequences(events, 4) == [2, 3, 4, 5]
            header = {"Last-Event-ID": "3"}
            async with subscribed(client, header, **durable(since=2)) as events:
                assert await sequences(events, 2) == [4, 5]
            async with subscribed(client, **durable(since="2020-01-01T00:00:00Z")) as events:
                assert await sequences(events, 5) == [1, 2, 3, 4, 5]
            # What readers send by themselves for an ephemeral one means nothing there.
            header = {"Last-Event-ID": "here:1:2"}
            async with subscribed(client, header, xpath="//a") as events:
                await publish(client, "<a/>")
                assert (await events.document()).data["sequence"] is None
            answer = await client.get("/v1/subscribe", params=durable(), headers=header)
            assert answer.status_code == 400

    run(main)


def test_what_is_not_acknowledged_comes_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, BrokerConfig(store=STORE)) as (running, client):
            async with subscribed(client, **durable(ack="manual")) as events:
                await publish(client, *["<a/>"] * 4)
                assert await sequences(events, 4) == [1, 2, 3, 4]
                said = {"upto": 1, "sequences": [3]}
                await client.post("/v1/subscriptions/desk/ack", json=said)
            await until(lambda: not running.broker.durables["desk"].attached)
            async with subscribed(client, **durable(ack="manual")) as events:
                assert await sequences(events, 2) == [2, 4]

    run(main)


def test_acknowledging_as_they_are_written_passes_over_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, BrokerConfig(store=STORE)) as (running, client):
            async with subscribed(client, **durable(ack="manual")):
                await publish(client, *["<a/>"] * 4)
            async with subscribed(client, **durable(since=3)) as events:
                assert await sequences(events, 2) == [3, 4]
                await until(lambda: running.broker.durables["desk"].queue.waiting == 2)
            await until(lambda: not running.broker.durables["desk"].attached)
            async with subscribed(client, **durable()) as events:
                assert await sequences(events, 2) == [1, 2]

    run(main)


def test_a_second_reader_takes_over(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            serving(tmp_path, BrokerConfig(store=STORE)) as (_, client),
            subscribed(client, **durable()) as first,
            subscribed(client, **durable()) as second,
        ):
            ended = await first.next()
            assert ended is not None
            assert (ended.name, ended.data["code"]) == ("ended", "taken")
            assert await first.next() is None
            await publish(client, "<a/>")
            assert await sequences(second, 1) == [1]

    run(main)


def test_it_survives_a_restart_of_the_broker(tmp_path: Path) -> None:
    async def main() -> None:
        config = BrokerConfig(store=STORE)
        async with (
            serving(tmp_path, config) as (_, client),
            subscribed(client, **durable(ack="manual")) as events,
        ):
            await publish(client, "<a>1</a>", "<a>2</a>")
            last = (await events.document()).id
        async with (
            serving(tmp_path, config) as (_, client),
            subscribed(client, {"Last-Event-ID": last}, **durable()) as events,
        ):
            assert (await events.document()).data["content"] == "<a>2</a>"

    run(main)


def test_quotas_hold_for_streams() -> None:
    limits = LimitsConfig(clients=3, expressions_per_client=2)

    async def main() -> None:
        async with serving(config=BrokerConfig(limits=limits)) as (_, client):
            parameters = {"xpath": ["//a", "//b", "//c"]}
            answer = await client.get("/v1/subscribe", params=parameters)
            assert answer.status_code == 429
            assert answer.json()["code"] == "quota"

    run(main)


# --- slow readers ---------------------------------------------------------------------------------


@asynccontextmanager
async def reader_that_does_not_read(
    running: RunningBroker, query: str
) -> AsyncIterator[asyncio.StreamReader]:
    """A connection of which nothing is read beyond a small buffer."""
    assert running.http is not None
    host, _, port = running.http.address.rpartition(":")
    small = socket.socket()
    small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    small.setblocking(False)
    await asyncio.get_running_loop().sock_connect(small, (host, int(port)))
    reader, writer = await asyncio.open_connection(sock=small, limit=4096)
    try:
        headers = "Host: localhost\r\nTwigcast-Request: 1\r\n\r\n"
        writer.write(f"GET /v1/subscribe?{query} HTTP/1.1\r\n{headers}".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        yield reader
    finally:
        writer.transport.abort()


async def contents(reader: asyncio.StreamReader) -> AsyncIterator[tuple[str, int]]:
    """Names of events and their numbers, out of the chunks of a response."""
    pending = b""
    while True:
        size = int(await reader.readline(), 16)
        pending += await reader.readexactly(size)
        await reader.readexactly(2)
        while b"\n\n" in pending:
            event, _, pending = pending.partition(b"\n\n")
            if b"event: " not in event:
                continue
            name = event.split(b"event: ")[1].split(b"\n")[0].decode()
            data = json.loads(event.split(b"data: ")[1])
            yield name, data["missed"] if name == "missed" else int(data["content"][3:9])


def test_a_slow_reader_costs_a_bounded_queue_and_holds_up_nobody() -> None:
    limits = LimitsConfig(queue_memory=200_000, queue_disk=1_000_000, queues_memory=200_000)
    count, size = 120, 50_000

    async def main() -> None:
        async with (
            serving(config=BrokerConfig(limits=limits)) as (running, client),
            reader_that_does_not_read(running, "xpath=//a") as reader,
        ):
            [session] = running.service.sessions
            [held] = session.subscriptions()
            assert isinstance(held, EphemeralSubscription)
            async with subscribed(client, xpath="//a") as quick:
                for number in range(count):
                    await publish(client, f"<a>{number:06}{'x' * size}</a>")
                    event = await quick.document()
                    assert event.data["content"].startswith(f"<a>{number:06}")
            dropped = held.queue.dropped
            assert 0 < dropped < count
            assert held.queue.waiting_bytes < 1_200_000
            assert running.broker.queues.memory_bytes_used <= 200_000
            # It reads again: everything but what was dropped comes, in order, and it is told.
            numbers: list[int] = []
            missed = 0
            async with asyncio.timeout(30):
                async for name, number in contents(reader):
                    if name == "missed":
                        missed += number
                    else:
                        numbers.append(number)
                    if len(numbers) == count - dropped:
                        break
            assert numbers == sorted(set(numbers))
            assert missed == dropped

    run(main)


def test_what_a_reader_never_got_is_not_acknowledged(tmp_path: Path) -> None:
    count, size = 100, 50_000

    async def main() -> None:
        async with serving(tmp_path, BrokerConfig(store=STORE)) as (running, client):
            async with reader_that_does_not_read(running, "xpath=//a&durable=desk"):
                kept = running.broker.durables["desk"]
                for number in range(count):
                    await publish(client, f"<a>{number:06}{'x' * size}</a>")
                await until(lambda: kept.queue.last == count)
                # What was written is in buffers of the system; the rest waits.
                acknowledged = kept.queue.acknowledged
                assert acknowledged < count
            await until(lambda: not kept.attached)
            # What could not be written when the connection broke was not taken for written.
            assert kept.queue.acknowledged == acknowledged
            async with subscribed(client, **durable()) as events:
                rest = await sequences(events, count - acknowledged)
            assert rest == list(range(acknowledged + 1, count + 1))

    run(main)
