"""Clients that vanish, flood, grab and guess: others are served as if they were not there."""

from __future__ import annotations

import asyncio
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from live_brokers import PATIENCE, one_broker, overlay_of, take, until

from twigcast.broker import BrokerConfig, LinkConfig, RunningBroker
from twigcast.broker.config import HeartbeatConfig, LimitsConfig, PrincipalConfig
from twigcast.broker.store import Store
from twigcast.broker.store.writer import Done
from twigcast.broker.tokens import new_token
from twigcast.client import connect
from twigcast.delivery.writes import Write
from twigcast.errors import RefusedError, StoreError, TwigcastError
from twigcast.language import NO_BINDINGS, parse_all
from twigcast.wire import PROTOCOL, messages, method


class RawClient:
    """A client that keeps to the protocol as far as a test wants it to."""

    def __init__(self, running: RunningBroker, token: str = "") -> None:
        self._channel = grpc.aio.insecure_channel(
            running.address, [("grpc.use_local_subchannel_pool", 1)]
        )
        calls: grpc.aio.StreamStreamMultiCallable[bytes, bytes]
        calls = self._channel.stream_stream(method("Connect"))
        self.call = calls(metadata=[("authorization", f"Bearer {token}")] if token else [])

    async def say(self, **frame: object) -> None:
        await self.call.write(messages.ClientFrame(**frame).SerializeToString())  # type: ignore[arg-type]

    async def hear(self) -> messages.BrokerFrame:
        data = await asyncio.wait_for(self.call.read(), PATIENCE)
        assert isinstance(data, bytes)
        return messages.BrokerFrame.FromString(data)

    async def begin(self) -> None:
        await self.say(hello=messages.Hello(protocol=PROTOCOL))
        await self.hear()

    async def vanish(self) -> None:
        self.call.cancel()
        await self._channel.close()


def publish(contents: list[bytes], ids: list[str]) -> messages.Publish:
    publications = [
        messages.Publication(content=content, id=id_)
        for content, id_ in zip(contents, ids, strict=True)
    ]
    return messages.Publish(request=1, publications=publications)


def test_what_was_taken_goes_out_although_its_publisher_has_vanished(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            overlay_of([("a", "b")], tmp_path) as brokers,
            connect(brokers["b"].address) as client,
        ):
            desk = client.subscribe("/a", durable="d")
            await desk.ready()
            await until(lambda: brokers["a"].broker.homes.patterns.get("b") == 1)
            contents = []
            for number in range(20):
                raw = RawClient(brokers["a"])
                await raw.begin()
                batch = [f"<a>{number}-{each}</a>".encode() for each in range(5)]
                await raw.say(publish=publish(batch, [f"p{number}-{each}" for each in range(5)]))
                await asyncio.sleep(0.002 * (number % 3))
                await raw.vanish()
                # Again, as a client would that has not heard.
                again = publish(batch, [f"p{number}-{each}" for each in range(5)])
                for publication in again.publications:
                    publication.again = True
                raw = RawClient(brokers["a"])
                await raw.begin()
                await raw.say(publish=again)
                assert not (await raw.hear()).answer.problems
                await raw.vanish()
                contents += batch
            events = await take(desk, len(contents))
            assert sorted(each.content for each in events) == sorted(contents)

    asyncio.run(scenario())


def test_nothing_is_left_of_clients_that_have_vanished(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path) as running:
            for number in range(30):
                raw = RawClient(running)
                await raw.begin()
                await raw.say(advertise=messages.Advertise(advertisement="x", anything=True))
                await raw.say(
                    subscribe=messages.Subscribe(
                        request=2,
                        subscription=1,
                        window=1,
                        expressions={"": messages.Expression(xpath="/a")},
                        durable="d" if number % 2 else "",
                    )
                )
                await raw.hear()
                await raw.hear()
                await raw.say(publish=publish([b"<a/>"], [f"{number}"]))
                await raw.vanish()
            await until(lambda: not running.service.sessions)
            assert list(running.broker.router.clients) == ["durable:d"]
            assert not running.broker.router.advertisements()
            assert not running.broker.durables["d"].attached

    asyncio.run(scenario())


def test_hundreds_of_costly_expressions_hold_up_nobody(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            overlay_of([("a", "b")], tmp_path, heartbeat=HeartbeatConfig()) as brokers,
            connect(brokers["a"].address) as greedy,
            connect(brokers["a"].address) as other,
        ):
            deep = "".join(f"[.//x{each}='{'y' * 60}']" for each in range(40))
            texts = {str(each): f"//a{each}{deep}" for each in range(400)}
            patterns = await asyncio.to_thread(parse_all, texts, NO_BINDINGS)
            many = greedy.subscribe(patterns)
            asking = asyncio.create_task(many.ready())
            # Processor time: the machine may have other work.
            answered = [time.process_time()]
            while not asking.done():
                await other.publish("<q/>")
                answered.append(time.process_time())
            await asking
            # In one go, here or at the neighbour, one publication would wait for nearly all of it.
            slowest = max(after - before for before, after in pairwise(answered))
            assert slowest < (answered[-1] - answered[0]) / 4
            assert set(brokers["a"].broker.links.up) == {"b"}
            await until(lambda: brokers["b"].broker.router.table_size == 400, 120)

    asyncio.run(scenario())


def test_programs_of_other_languages_send_bindings() -> None:
    async def answer(raw: RawClient, **expression: Any) -> messages.Answer:
        said = messages.Expression(xpath="Stock[Price > $limit]", **expression)
        await raw.say(
            subscribe=messages.Subscribe(
                request=2, subscription=1, window=1, expressions={"k": said}
            )
        )
        return (await raw.hear()).answer

    async def scenario() -> None:
        async with one_broker() as running:
            raw = RawClient(running)
            await raw.begin()
            for bindings, code, reason in (
                ({}, "bad-expression", "$limit is not bound"),
                ({"variables": {"limit": "five"}}, "invalid", "'five' is no value of $limit"),
                ({"variables": {"$limit": "5"}}, "invalid", "without the $"),
                ({"variables": {"limit": "5"}, "version": "3.1"}, "invalid", "'1.0' or '2.0'"),
                ({"variables": {"limit": "5"}, "relative_to": "root"}, "invalid", "'document'"),
                ({"namespaces": {"xml": "urn:x"}}, "invalid", "belong together"),
                (
                    {"variables": {"limit": json.dumps(list(range(100_000)))}},
                    "invalid",
                    "more than 4000 characters together",
                ),
                (
                    {"variables": {"limit": json.dumps(list(range(500)))}},
                    "bad-expression",
                    "more than 200 steps",
                ),
            ):
                (problem,) = (await answer(raw, **bindings)).problems
                assert problem.code == code
                assert reason in problem.reason
            said = await answer(
                raw, variables={"limit": "5"}, relative_to="document", version="2.0"
            )
            assert not said.problems
            wanted = running.broker.router.patterns_by_source().values()
            assert [str(each) for patterns in wanted for each in patterns] == [
                "/Stock[xpath-2.0(Price>5)]"
            ]
            await raw.vanish()

    asyncio.run(scenario())


def test_a_flood_of_documents_in_a_message_ends_the_stream_at_once() -> None:
    async def scenario() -> None:
        async with one_broker() as running:
            raw = RawClient(running)
            await raw.begin()
            few = messages.Publish(publications=[messages.Publication(content=b"<a/>")])
            await raw.say(publish=few)
            await raw.hear()
            await raw.say(publish=messages.Publish(publications=[messages.Publication()] * 10_001))
            with pytest.raises(grpc.aio.AioRpcError, match="at most 10,000 documents"):
                await raw.hear()
            await raw.vanish()

    asyncio.run(scenario())


def test_a_flood_of_acknowledgements_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path) as running:
            raw = RawClient(running)
            await raw.begin()
            await raw.say(
                acknowledged=messages.Acknowledged(
                    entries=[messages.Acknowledge(subscription=1, sequences=[1] * 100_000)]
                )
            )
            with pytest.raises(grpc.aio.AioRpcError, match="at most"):
                await raw.hear()
            await raw.vanish()

    asyncio.run(scenario())


def test_who_may_do_nothing_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TWIGCAST_TOKEN", raising=False)
    token, hashed = new_token()
    config = BrokerConfig(
        principals=(PrincipalConfig("alice", (hashed,)),), limits=LimitsConfig(clients=2)
    )

    async def scenario() -> None:
        async with one_broker(config=config) as running:
            strangers = [RawClient(running) for _ in range(5)]
            for each in strangers:
                with pytest.raises((grpc.aio.AioRpcError, asyncio.InvalidStateError)):
                    await each.begin()
            async with connect(running.address, token=token) as alice:
                await alice.publish("<a/>")
                await alice.status()
            for each in strangers:
                await each.vanish()
            with pytest.raises(TwigcastError):
                async with connect(running.address) as stranger:
                    await stranger.status()

    asyncio.run(scenario())


def test_durable_subscriptions_count_as_their_owners(tmp_path: Path) -> None:
    limits = LimitsConfig(subscriptions_per_client=2, expressions_per_client=3)

    async def scenario() -> None:
        async with one_broker(tmp_path, BrokerConfig(limits=limits)) as running:
            for name in ("one", "two"):
                async with connect(running.address) as client:
                    await client.subscribe("/a", durable=name).ready()
            async with connect(running.address) as client:
                with pytest.raises(RefusedError, match="subscriptions_per_client") as caught:
                    await client.subscribe("/a", durable="three").ready()
                assert caught.value.code == "quota"
                with pytest.raises(RefusedError, match="expressions_per_client"):
                    await client.subscribe(
                        {str(each): f"/a{each}" for each in range(3)}, durable="two"
                    ).ready()
                await client.forget("one")
                await client.subscribe("/a", durable="three").ready()

    asyncio.run(scenario())


def test_a_rate_holds_over_all_connections_of_a_client() -> None:
    token, hashed = new_token()
    config = BrokerConfig(
        principals=(PrincipalConfig("alice", (hashed,)),),
        limits=LimitsConfig(publications_per_second=100),
    )

    async def scenario() -> None:
        async with one_broker(config=config) as running:
            published = 0

            async def work() -> None:
                nonlocal published
                async with connect(running.address, token=token) as client:
                    while True:
                        await client.publish("<a/>")
                        published += 1

            began = time.monotonic()
            tasks = [asyncio.create_task(work()) for _ in range(8)]
            await asyncio.sleep(1.5)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            # A second's worth at once, then a hundred a second, and one for each connection.
            assert published < 100 + 100 * (time.monotonic() - began) + 50

    asyncio.run(scenario())


def failing(store: Store, ticket: int, write: Write) -> None:
    assert store._on_done is not None
    done: Done = [(ticket, StoreError("the disk is full"))]
    asyncio.get_running_loop().call_soon(store._on_done, done)


def test_a_subscription_that_cannot_be_stored_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            with monkeypatch.context() as patched:
                patched.setattr(Store, "submit", failing)
                with pytest.raises(RefusedError, match="disk is full"):
                    await client.subscribe("/a", durable="d").ready()
            assert not running.broker.durables
            await client.publish("<a/>")
            desk = client.subscribe("/a", durable="d")
            await desk.ready()
            await client.publish("<a/>")
            await take(desk, 1)

    asyncio.run(scenario())


def test_a_reader_is_given_another_try_when_the_store_fails_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            await client.subscribe("/a", durable="d").ready()
            for number in range(3):
                await client.publish(f"<a>{number}</a>")
        real = Store.read_queue
        failures = 1

        async def sometimes(self: Store, *arguments: object, **named: object) -> object:
            nonlocal failures
            if failures:
                failures -= 1
                raise StoreError("once")
            return await real(self, *arguments, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(Store, "read_queue", sometimes)
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            assert len(await take(client.subscribe(None, durable="d"), 3)) == 3
            assert not failures

    asyncio.run(scenario())


def test_a_link_passes_on_no_document_that_the_neighbour_does_not_take(tmp_path: Path) -> None:
    async def scenario() -> None:
        large = BrokerConfig(
            name="large", limits=LimitsConfig(document_bytes=8_000_000, message_bytes=8_000_000)
        )
        async with one_broker(tmp_path / "large", large) as first:
            small = BrokerConfig(name="small", links=(LinkConfig(first.address),))
            async with (
                one_broker(tmp_path / "small", small) as second,
                connect(first.address) as publisher,
                connect(second.address) as client,
            ):
                desk = client.subscribe("/a", durable="d")
                await desk.ready()
                await until(lambda: first.broker.homes.patterns.get("small") == 1)
                await publisher.publish(f"<a>{'x' * 6_000_000}</a>")
                await publisher.publish("<a>small</a>")
                [event] = await take(desk, 1)
                assert event.content == b"<a>small</a>"
                await until(lambda: first.broker.owed["small"] == 1)
                assert set(first.broker.links.up) == {"small"}

    asyncio.run(scenario())
