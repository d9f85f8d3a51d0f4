"""Durable subscriptions by request: kept without a stream, pulled from, and what became of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_brokers import TIMEOUT, publish, refusal, run, serving, subscribed
from live_brokers import until

from twigcast.broker import BrokerConfig, RunningBroker, StoreConfig
from twigcast.client import connect
from twigcast.errors import RefusedError

KEPT = BrokerConfig(store=StoreConfig(sync="normal"))
DESK = "/v1/subscriptions/desk"


async def keep(client: httpx.AsyncClient, **parameters: Any) -> dict[str, Any]:
    answer = await client.put(DESK, params={"xpath": "//a", **parameters})
    assert answer.status_code == 200, answer.text
    state: dict[str, Any] = answer.json()
    return state


async def pull(client: httpx.AsyncClient, **parameters: Any) -> list[dict[str, Any]]:
    answer = await client.post(f"{DESK}/pull", params=parameters)
    assert answer.status_code == 200, answer.text
    documents: list[dict[str, Any]] = answer.json()["documents"]
    return documents


async def contents(client: httpx.AsyncClient, **parameters: Any) -> list[str]:
    return [each["content"] for each in await pull(client, **parameters)]


async def acknowledge(client: httpx.AsyncClient, *sequences: int) -> None:
    answer = await client.post(f"{DESK}/ack", json={"sequences": sequences})
    assert answer.status_code == 200, answer.text


def leases(running: RunningBroker) -> list[str]:
    return running.broker.durables["desk"].queue.leased()


def test_a_subscription_is_kept_and_pulled_from(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, KEPT) as (running, client):
            state = await keep(client)
            assert state == {"first": 1, "last": 0, "acknowledged": 0, "unreached": []}
            ids = await publish(client, "<a>1</a>", "<b/>", "<a>2</a>", "<a>3</a>")
            first, second = await pull(client, limit=2)
            assert [first["id"], second["id"]] == [ids[0], ids[2]]
            assert (first["sequence"], first["attempts"]) == (1, 0)
            assert first["keys"] == ["//a"]
            await acknowledge(client, 1, 2)
            assert not leases(running)
            assert await contents(client, limit=9) == ["<a>3</a>"]
            assert len(leases(running)) == 1
            assert (await keep(client))["last"] == 3

    run(main)


def test_who_pulls_waits_for_the_first_document(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, KEPT) as (running, client):
            await keep(client)
            assert await contents(client) == []
            assert await contents(client, wait="10ms") == []
            waiting = asyncio.create_task(contents(client, wait="45s", limit=5))
            await until(lambda: bool(running.broker.durables["desk"].attached))
            await publish(client, "<a/>")
            assert await waiting == ["<a/>"]
            assert not running.broker.durables["desk"].attached

    run(main)


def test_what_is_not_acknowledged_in_time_comes_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, KEPT) as (running, client):
            await keep(client, shared=True, deliveries=2)
            await publish(client, "<a>1</a>", "<a>2</a>")
            assert len(await pull(client, limit=2, lease="1s")) == 2
            again = await pull(client, limit=2, wait="45s", lease="1s")
            assert [(each["content"], each["attempts"]) for each in again] == [
                ("<a>1</a>", 1),
                ("<a>2</a>", 1),
            ]
            await until(lambda: not leases(running))
            async with asyncio.timeout(TIMEOUT):
                while len(letters := (await client.get("/v1/letters")).json()["letters"]) < 2:
                    await asyncio.sleep(0.02)  # they are being written
            assert [each["reason"] for each in letters] == ["given out 2 times in vain"] * 2

    run(main)


def test_pulls_of_a_shared_subscription_get_different_documents(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, KEPT) as (_, client):
            await keep(client, shared=True, **{"ordered-by": "/a/@k"})
            await publish(client, *(f"<a k='{number % 2}'>{number}</a>" for number in range(6)))
            [first] = await pull(client)
            [second] = await pull(client)
            assert [each["sequence"] for each in (first, second)] == [1, 2]
            # What has the same values stays with those that have some of it.
            assert await pull(client, limit=9) == []
            await acknowledge(client, 2)
            assert [each["sequence"] for each in await pull(client, limit=9)] == [4, 6]

    run(main)


def test_a_pull_and_an_open_stream_take_over_from_each_other(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            serving(tmp_path, KEPT) as (running, client),
            connect(running.address) as elsewhere,
        ):
            await keep(client, deliveries=5)
            waiting = asyncio.create_task(client.post(f"{DESK}/pull", params={"wait": "45s"}))
            await until(lambda: bool(running.broker.durables["desk"].attached))
            async with elsewhere.subscribe(durable="desk") as desk:
                assert "another client" in refusal(await waiting, 409, "taken")
                await publish(client, "<a>1</a>", "<a>2</a>")
                assert (await anext(desk)).sequence == 1
                [first] = await pull(client)
                assert (first["sequence"], first["attempts"]) == (1, 0)
                await anext(desk)  # which it had already
                with pytest.raises(RefusedError, match="another client"):
                    await anext(desk)
            # A document that one pull has is not given to another.
            [second] = await pull(client)
            assert (second["sequence"], second["attempts"]) == (2, 0)
            assert len(leases(running)) == 2
            async with subscribed(client, durable="desk", ack="manual") as events:
                assert (await events.document()).data["sequence"] == 1
            assert not leases(running)

    run(main)


def test_what_was_pulled_is_given_back(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, KEPT) as (running, client):
            await keep(client, shared=True)
            await publish(client, "<a>1</a>", "<a>2</a>")
            assert len(await pull(client, limit=2)) == 2
            answer = await client.post(f"{DESK}/nack", json={"sequences": [2, 3]})
            assert answer.json() == {"sequences": [2]}
            [second] = await pull(client)
            assert (second["sequence"], second["attempts"]) == (2, 1)
            await acknowledge(client, 1, 2)
            assert not leases(running)

    run(main)


def test_a_caller_that_goes_takes_nothing_along(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, KEPT) as (running, client):
            await keep(client)
            durable = running.broker.durables["desk"]
            waiting = asyncio.create_task(client.post(f"{DESK}/pull", params={"wait": "45s"}))
            await until(lambda: bool(durable.attached))
            waiting.cancel()
            await until(lambda: not durable.attached)
            await publish(client, "<a/>")
            assert not durable.queue.consumers
            [document] = await pull(client)
            assert document["attempts"] == 0

    run(main)


def test_a_document_comes_as_it_is_to_who_accepts_xml(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, KEPT) as (_, client):
            await keep(client)
            said = {
                "Content-Type": "text/xml; charset=iso-8859-1",
                "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                "ce-specversion": "1.0",
                "ce-id": "17",
                "ce-source": "/shop/Z%C3%BCrich",
                "ce-type": "example.order",
                "Twigcast-Header-X-Desk": "a%20%25",
            }
            content = "<?xml version='1.0' encoding='iso-8859-1'?><a>Zürich</a>".encode("latin-1")
            answer = await client.post("/v1/publish?expires=1h", content=content, headers=said)
            [identity] = answer.json()["ids"]
            got = await client.post(f"{DESK}/pull", headers={"Accept": "application/xml"})
            assert got.content == content
            assert {name: got.headers[name] for name in said} == said
            assert got.headers["twigcast-id"] == identity
            assert got.headers["twigcast-sequence"] == "1"
            assert got.headers["twigcast-expires"] > got.headers["twigcast-published"]
            none = await client.post(f"{DESK}/pull", headers={"Accept": "text/xml"})
            assert (none.status_code, none.content) == (204, b"")
            answer = await client.post(
                f"{DESK}/pull", headers={"Accept": "text/xml"}, params={"limit": 2}
            )
            assert "one document" in refusal(answer, 400, "invalid")

    run(main)


def test_what_no_pull_can_be(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, KEPT) as (_, client):
            refusal(await client.post(f"{DESK}/pull"), 404, "unknown")
            refusal(await client.put(DESK), 404, "unknown")
            await keep(client)
            for name, text in (
                ("wait", "61s"),
                ("lease", "13h"),
                ("wait", "soon"),
                ("lease", "0s"),
            ):
                answer = await client.post(f"{DESK}/pull", params={name: text})
                assert name in refusal(answer, 400, "invalid")
            for limit in (0, 65):
                answer = await client.post(f"{DESK}/pull", params={"limit": limit})
                refusal(answer, 400, "invalid")
            for answer in (
                await client.put(DESK, content="xpath=//a"),
                await client.post(f"{DESK}/pull", json={"limit": 3}),
            ):
                assert "put what it says into the address" in refusal(answer, 400, "invalid")
            answer = await client.post(f"{DESK}/nack", json={"sequences": [1], "delay": "8d"})
            assert "delay: '8d' is no time from 0s to 7d" in refusal(answer, 400, "invalid")
            answer = await client.put(DESK, params={"xpath": "//a", "shared": True})
            assert "shared" in refusal(answer, 400, "invalid")
            refusal(await client.put("/v1/subscriptions/" + "x" * 201), 400, "invalid")
            del client.headers["Twigcast-Request"]
            refusal(await client.post(f"{DESK}/pull"), 403, "not-allowed")

    run(main)


def test_a_pull_ends_with_the_broker(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, KEPT) as (running, client):
            await keep(client)
            waiting = asyncio.create_task(client.post(f"{DESK}/pull", params={"wait": "45s"}))
            await until(lambda: bool(running.broker.durables["desk"].attached))
            assert running.http is not None
            await running.http.close()
            refusal(await waiting, 503, "unavailable")

    run(main)
