"""A broker that drops the connection at every turn loses nothing and doubles nothing."""

from __future__ import annotations

import asyncio
import gc
import random
from pathlib import Path

import grpc
import pytest
from scripted_broker import Drop, Script, Session, broker, run, serve, until

from twigcast.client import Client, Subscription, connect, connection

DOCUMENTS = 400
STATUSES = [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL]


def unreliable(chance: random.Random) -> Script:
    """A script that handles some frames and then fails, before or after handling the next."""

    async def script(session: Session) -> None:
        if chance.random() < 0.1:
            raise Drop(chance.choice(STATUSES))
        await session.welcome()
        for _ in range(chance.randrange(8)):
            frame = await session.read()
            if frame is None:
                return
            await session.handle(frame)
        frame = await session.read()
        if frame is None:
            return
        way = chance.randrange(4)
        if way == 0:
            for publication in frame.publish.publications:
                session.broker.accept(publication)  # taken, and not answered
        elif way == 1:
            await session.handle(frame)
        elif way == 2:
            await session.send_garbage(b"\xff\xff")
            await session.read()
        raise Drop(chance.choice(STATUSES))

    return script


async def begin(session: Session) -> None:
    """Lets a client subscribe and publish a little, so that its queue is there."""
    await session.welcome()
    for _ in range(3):
        frame = await session.read()
        assert frame is not None
        await session.handle(frame)
    raise Drop


async def _publish(client: Client, chance: random.Random) -> list[str]:
    results = []
    async for result in client.publish_all(f"<a>{n}</a>" for n in range(DOCUMENTS // 2)):
        results.append(result.id)
        if chance.random() < 0.2:
            await asyncio.sleep(0)
    for number in range(DOCUMENTS // 2, DOCUMENTS, 50):
        documents = (f"<a>{n}</a>" for n in range(number, number + 50))
        results += await asyncio.gather(*map(client.publish, documents))
    return results


async def _consume(subscription: Subscription, chance: random.Random) -> list[int]:
    """Take every event, and acknowledge in an order of one's own."""
    seen: list[int] = []
    held = []
    while len(seen) < DOCUMENTS:
        event = await anext(subscription)
        seen.append(event.sequence)
        held.append(event)
        if chance.random() < 0.3 or len(seen) == DOCUMENTS:
            chance.shuffle(held)
            keep = 0 if len(seen) == DOCUMENTS else chance.randrange(len(held) + 1)
            while len(held) > keep:
                await held.pop().ack()
    return seen


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_lost_or_doubled(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(connection, "_LONGEST_PAUSE", 0.005)
    chance = random.Random(seed)

    async def story() -> None:
        async with broker(begin, *[unreliable(chance)] * 60, serve) as scripted:
            async with connect(scripted.address) as client:
                subscription = client.subscribe(
                    "//a", durable="desk", window=chance.choice([1, 3, 20, 256])
                )
                await subscription.ready()
                publishing = asyncio.create_task(_publish(client, chance))
                consuming = asyncio.create_task(_consume(subscription, chance))
                ids = await publishing
                assert await consuming == list(range(1, DOCUMENTS + 1))
                await subscription.flush()
                await until(lambda: scripted.durable["desk"].acknowledged == DOCUMENTS)
            assert len(set(ids)) == DOCUMENTS
            assert len(scripted.published) == DOCUMENTS
            half = list(scripted.published.values())[: DOCUMENTS // 2]
            assert [one.content for one in half] == [b"<a>%d</a>" % n for n in range(len(half))]
            assert scripted.count > 2

    run(story, seconds=30)


def test_connections_that_were_lost_leave_no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(connection, "_LONGEST_PAUSE", 0.005)

    async def drop(session: Session) -> None:
        await session.welcome()
        await session.expect("publish")
        raise Drop

    async def story() -> None:
        async with broker(*[drop] * 50, serve) as scripted, connect(scripted.address) as client:
            before = len(list(Path("/proc/self/fd").iterdir()))
            gc.disable()
            try:
                await client.publish("<a/>")
                assert scripted.count == 51
                await until(lambda: len(list(Path("/proc/self/fd").iterdir())) < before + 10)
            finally:
                gc.enable()

    run(story)
