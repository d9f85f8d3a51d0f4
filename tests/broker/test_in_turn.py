"""What a client publishes is handled in order, while the rest of what it says is heard."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from http_brokers import run, serving
from live_brokers import one_broker, take, until

from twigcast.broker import BrokerConfig, StoreConfig
from twigcast.broker.in_turn import _MOST, InTurn
from twigcast.client import connect
from twigcast.wire import messages

HOLDS = BrokerConfig(store=StoreConfig(queue_documents=3, full="hold"))


def frame(number: int) -> messages.ClientFrame:
    return messages.ClientFrame(publish=messages.Publish(request=number))


def test_messages_are_handled_in_order_and_have_a_bound() -> None:
    async def scenario() -> None:
        handled: list[int] = []
        may_go_on = asyncio.Event()

        async def handle(each: messages.ClientFrame) -> None:
            await may_go_on.wait()
            handled.append(each.publish.request)

        in_turn = InTurn(handle)
        for number in range(_MOST):
            await in_turn.put(frame(number), 1)
        one_more = asyncio.create_task(in_turn.put(frame(_MOST), 1))
        await asyncio.sleep(0.05)
        assert not one_more.done()
        may_go_on.set()
        await one_more
        await in_turn.finish()
        assert handled == [*range(_MOST + 1)]
        in_turn.task.cancel()

    asyncio.run(scenario())


def test_what_handling_raises_is_raised_to_who_serves() -> None:
    async def scenario() -> None:
        async def handle(each: messages.ClientFrame) -> None:
            raise ValueError(str(each.publish.request))

        in_turn = InTurn(handle)
        await in_turn.put(frame(7), 1)
        with pytest.raises(ValueError, match="7"):
            await in_turn.finish()
        with pytest.raises(ValueError, match="7"):
            await in_turn.put(frame(8), 1)
        in_turn.task.cancel()

    asyncio.run(scenario())


def test_a_client_that_is_held_back_reads_and_acknowledges_meanwhile(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path, HOLDS) as running, connect(running.address) as client:
            reading = client.subscribe("/a", durable="d")
            await reading.ready()
            publishing = asyncio.ensure_future(client.publish_all(["<a/>"] * 12))
            for _ in range(12):
                (event,) = await take(reading, 1)
                await event.ack()
            assert [each.error for each in await publishing] == [None] * 12

    asyncio.run(scenario())


def test_who_publishes_and_is_held_back_hears_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="twigcast")
    monkeypatch.setattr("twigcast.client.publishing._PATIENCE", 0.05)

    async def scenario() -> None:
        async with one_broker(tmp_path, HOLDS) as running, connect(running.address) as client:
            reading = client.subscribe("/a", durable="d")
            await reading.ready()
            publishing = asyncio.ensure_future(client.publish_all(["<a/>"] * 4))
            await until(lambda: "has not answered for" in caplog.text)
            assert "to 4 documents: perhaps it holds publishers back" in caplog.text
            (event,) = await take(reading, 1)
            await event.ack()
            await publishing

    asyncio.run(scenario())


def test_over_http_one_that_is_held_back_holds_up_no_other(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(tmp_path, HOLDS) as (running, client):
            for name, xpath in (("d", "/a"), ("e", "/b")):
                await client.put(f"/v1/subscriptions/{name}", params={"xpath": xpath})
            body = {"documents": ["<a/>"] * 3}
            assert (await client.post("/v1/publish", json=body)).json()["problems"] == []
            held = asyncio.create_task(client.post("/v1/publish", content="<a/>", timeout=60))
            many = {"documents": ["<b/>", "<a/>", "<b", "<c/>"]}
            also_held = asyncio.create_task(client.post("/v1/publish", json=many, timeout=60))
            await until(lambda: running.broker.flow.held == 2)
            for document in ("<b/>", "<c/>"):
                answer = await client.post("/v1/publish", content=document)
                assert answer.status_code == 200
            assert not held.done()
            mark = {"Twigcast-Request": "1"}
            read = {"sequences": [1, 2]}
            await client.post("/v1/subscriptions/d/ack", json=read, headers=mark)
            assert (await held).status_code == 200
            told = (await also_held).json()
            assert [bool(each) for each in told["ids"]] == [True, True, False, True]
            assert [each["index"] for each in told["problems"]] == [2]
            assert not running.broker.metrics.value("twigcast_refused_total", {"code": "full"})
            lost = asyncio.create_task(client.post("/v1/publish", content="<a/>", timeout=60))
            await until(lambda: running.broker.flow.held == 1)
            lost.cancel()
            await until(lambda: running.broker.flow.held == 0)

    run(scenario)


def test_over_http_nothing_overtakes_what_is_held_back(tmp_path: Path) -> None:
    config = BrokerConfig(store=StoreConfig(retention_size=10_000, full="hold"))

    async def scenario() -> None:
        async with serving(tmp_path, config) as (running, client):
            await client.put("/v1/subscriptions/d", params={"xpath": "/a"})
            texts = [f"<a>{n}{'x' * size}</a>" for n, size in enumerate((6_000, 6_000, 1, 1))]
            body = {"documents": texts}
            publishing = asyncio.create_task(client.post("/v1/publish", json=body, timeout=60))
            await until(lambda: running.broker.flow.held == 1)
            mark = {"Twigcast-Request": "1"}
            came: list[str] = []
            while len(came) < 4:
                pulled = await client.post(
                    "/v1/subscriptions/d/pull", params={"limit": 4, "wait": "1s"}, headers=mark
                )
                found = pulled.json()["documents"]
                came += [each["content"][3] for each in found]
                read = {"sequences": [each["sequence"] for each in found]}
                await client.post("/v1/subscriptions/d/ack", json=read, headers=mark)
            assert came == ["0", "1", "2", "3"]
            assert (await publishing).json()["problems"] == []

    run(scenario)
