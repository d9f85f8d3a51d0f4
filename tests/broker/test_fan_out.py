"""Many subscriptions of few connections: each gets exactly its documents, with exact keys."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from live_brokers import one_broker, take
from lxml import etree

from twigcast.broker import BrokerConfig
from twigcast.broker.config import LimitsConfig
from twigcast.client import Client, Event, Subscription, connect

NAMES = "abcdef"
EXPRESSIONS = [
    *(f"/d/{name}" for name in NAMES),
    *(f"//{name}[@n>{value}]" for name in NAMES for value in (2, 5)),
    "/d",
    "/d[a]/b",
]


def draw_document(number: int, chance: random.Random) -> bytes:
    inner = "".join(
        f"<{name} n='{chance.randrange(8)}'/>" for name in NAMES if chance.random() < 0.4
    )
    return f"<d number='{number}'>{inner}{'x' * chance.choice((0, 10, 30_000))}</d>".encode()


def keys_of(document: bytes, expressions: dict[str, str]) -> set[str]:
    tree = etree.fromstring(document).getroottree()
    return {key for key, xpath in expressions.items() if tree.xpath(xpath)}


class Reader:
    """A subscription that reads in fits and starts, or not at all until the end."""

    def __init__(self, subscription: Subscription, wanted: dict[str, str], pace: float) -> None:
        self.subscription = subscription
        self.wanted = wanted
        self.pace = pace
        self.got: list[Event] = []
        self.left_after: int | None = None

    async def run(self, done: asyncio.Event, chance: random.Random) -> None:
        if self.pace == 0:
            await done.wait()
        async for event in self.subscription:
            self.got.append(event)
            await event.ack()
            if chance.random() < self.pace:
                await asyncio.sleep(0.002)


async def open_readers(
    clients: list[Client], count: int, kind: str, chance: random.Random
) -> list[Reader]:
    readers = []
    for number in range(count):
        wanted = {
            f"k{index}": xpath
            for index, xpath in enumerate(chance.sample(EXPRESSIONS, chance.choice((1, 1, 2, 5))))
        }
        durable = f"{kind}-{number}" if kind != "ephemeral" else None
        subscription = chance.choice(clients).subscribe(
            wanted,
            durable=durable,
            shared=True if kind == "shared" else None,
            window=chance.choice((1, 2, 7, 256)),
        )
        readers.append(Reader(subscription, wanted, chance.choice((0, 0.2, 1, 0.01))))
    for each in readers:
        await each.subscription.ready()
    return readers


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_each_subscription_gets_exactly_its_documents(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    documents = [draw_document(number, chance) for number in range(250)]
    limits = LimitsConfig(queues_memory=1_500_000)  # so that what waits is on disk, too

    async def scenario() -> None:
        async with one_broker(tmp_path, config=BrokerConfig(limits=limits)) as running:
            clients = [connect(running.address) for _ in range(3)]
            for client in clients:
                await client.open()
            readers = [
                each
                for kind, count in (("ephemeral", 60), ("durable", 25), ("shared", 10))
                for each in await open_readers(clients, count, kind, chance)
            ]
            done = asyncio.Event()
            tasks = [asyncio.create_task(each.run(done, chance)) for each in readers]
            leaving = [each for each in readers[:60] if each.pace and chance.random() < 0.2]
            for number, document in enumerate(documents):
                await clients[number % 3].publish(document)
                if number == 120:
                    for each in leaving:
                        await each.subscription.close()
                        each.left_after = number
            done.set()
            expected = [[one for one in documents if keys_of(one, each.wanted)] for each in readers]
            async with asyncio.timeout(60):
                for each, wanted in zip(readers, expected, strict=True):
                    while each.left_after is None and len(each.got) < len(wanted):
                        assert each.subscription.missed == 0
                        await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)  # for what should not come
            for each, wanted in zip(readers, expected, strict=True):
                contents = [event.content for event in each.got]
                assert contents == wanted[: len(contents)]
                assert each.left_after is not None or len(contents) == len(wanted)
                assert each.subscription.missed == 0
                for event in each.got:
                    assert set(event.keys) == keys_of(event.content, each.wanted)
                    assert len(set(event.keys)) == len(event.keys)
            for client in clients:
                await client.close()
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(scenario())


def test_a_document_goes_to_a_connection_once() -> None:
    async def scenario() -> None:
        async with one_broker() as running, connect(running.address) as client:
            subscriptions = [client.subscribe({"k": "/a"}) for _ in range(200)]
            for each in subscriptions:
                await each.ready()
            sent: list[int] = []
            [session] = running.service.sessions
            take = session.outbox.next

            def noted() -> object:
                sendable = take()
                if sendable is not None:
                    sent.extend(len(entry.numbers) for _, entry in sendable.documents)
                return sendable

            session.outbox.next = noted  # type: ignore[method-assign,assignment] # only counts
            await client.publish("<a/>")
            events = [await anext(each) for each in subscriptions]
            assert sent == [200]
            assert all(event.content is events[0].content for event in events)

    asyncio.run(scenario())


def test_whoever_is_given_credit_by_a_loss_gets_what_is_queued_in_the_same_moment() -> None:
    limits = LimitsConfig(queues_memory=60_000, queues_disk=40_000)

    async def scenario() -> None:
        async with (
            one_broker(config=BrokerConfig(limits=limits)) as running,
            connect(running.address) as publisher,
            connect(running.address) as one,
            connect(running.address) as another,
        ):
            slow = one.subscribe("/d[a]", window=1)
            quick = another.subscribe("/d[not(zzz)]", window=1000)
            for each in (slow, quick):
                await each.ready()
            texts = [f"<d>{tag}{'x' * 20_000}</d>" for tag in ("<a/>", "", "", "<a/>")]
            await publisher.publish_all(texts)
            # At most one was lost, and the subscription goes on in any case.
            assert len(await take(slow, 1)) == 1

    asyncio.run(scenario())


def test_a_subscription_that_takes_nothing_holds_up_no_other() -> None:
    async def scenario() -> None:
        async with one_broker() as running, connect(running.address) as client:
            stalled = [client.subscribe("/a", window=2) for _ in range(50)]
            reading = client.subscribe("/a", window=2)
            for each in (*stalled, reading):
                await each.ready()
            for number in range(100):
                await client.publish(f"<a>{number}</a>")
                async with asyncio.timeout(10):
                    assert (await anext(reading)).content == f"<a>{number}</a>".encode()
            for each in stalled:  # in the end they have all of it, in order
                contents = [(await anext(each)).content for _ in range(100)]
                assert contents == [f"<a>{number}</a>".encode() for number in range(100)]

    asyncio.run(scenario())
