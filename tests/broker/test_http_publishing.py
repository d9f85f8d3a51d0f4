"""Publishing over HTTP: one document, many, and what is refused."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from http_brokers import publish, refusal, run, serving, subscribed

from twigcast.broker import BrokerConfig, StoreConfig
from twigcast.broker.config import LimitsConfig
from twigcast.broker.store.sqlite.database import SqliteDatabase

ALL = BrokerConfig(store=StoreConfig(keep="all", sync="normal"))


def test_a_document_is_published_and_asked_for(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, ALL) as (_, client):
            answer = await client.post(
                "/v1/publish",
                content=b"<news><stock>7</stock></news>",
                headers={"Content-Type": "application/xml"},
            )
            assert answer.status_code == 200
            [identity] = answer.json()["ids"]
            assert answer.json()["problems"] == []
            asked = await client.get("/v1/ask", params={"xpath": "//stock"})
            assert asked.headers["content-type"].startswith("application/x-ndjson")
            [line] = asked.text.splitlines()
            told = json.loads(line)
            assert told["id"] == identity
            assert told["content"] == "<news><stock>7</stock></news>"
            assert told["encoding"] == "utf-8"

    run(main)


def test_documents_over_http_are_kept_within_a_unit(tmp_path: Path) -> None:
    config = BrokerConfig(name="b", unit="north", store=StoreConfig(keep="all", sync="normal"))

    async def main() -> None:
        async with (
            serving(tmp_path, config) as (server, client),
            subscribed(client, xpath="/a", scope="cluster") as events,
        ):
            router = server.broker.router
            assert [each.scope for each in router.subscriptions()] == [1]
            answer = await client.post("/v1/publish?scope=north", content=b"<a/>")
            assert answer.status_code == 200
            assert (await events.document()).data["content"] == "<a/>"
            many = {"documents": [{"content": "<a/>", "scope": "cluster"}, "<a/>"]}
            assert (await client.post("/v1/publish", json=many)).json()["problems"] == []
            await client.put("/v1/subscriptions/kept?xpath=/a&scope=cluster")
            await client.put("/v1/subscriptions/wide?xpath=/a")
            told = (await client.get("/v1/subscriptions")).json()["durable"]
            assert {each["name"]: each["scope"] for each in told} == {"kept": "north", "wide": None}
            changed = await client.put("/v1/subscriptions/kept?xpath=/b&scope=north")
            assert changed.status_code == 200
            other = (await client.put("/v1/subscriptions/wide?xpath=/a&scope=north")).json()
            assert other["reason"].startswith("the durable subscription 'wide' was made with scope")
            assert "leave scope out, or end the subscription and make it anew" in other["reason"]
            for refused in (
                await client.post("/v1/publish?scope=south", content=b"<a/>"),
                await client.put("/v1/subscriptions/more?xpath=/a&scope=south"),
                await client.get("/v1/subscribe?xpath=/a&scope=south"),
            ):
                assert refused.status_code == 400
                assert "choose a scope among: cluster, north" in refused.json()["reason"]
            assert (await client.post("/v1/publish?scope=", content=b"<a/>")).status_code == 400
            answer = await client.post("/v1/publish?scope=north", json=many)
            assert "leave out scope of the request" in answer.json()["reason"]

    run(main)


def test_bytes_that_are_not_utf_8_come_back_as_they_were(tmp_path: Path) -> None:
    content = '<?xml version="1.0" encoding="ISO-8859-1"?><a>\u00e9</a>'.encode("latin-1")

    async def main() -> None:
        async with serving(tmp_path, ALL) as (_, client), subscribed(client, xpath="/a") as events:
            answer = await client.post("/v1/publish", content=content)
            assert answer.status_code == 200, answer.text
            event = await events.document()
            asked = await client.get("/v1/ask", params={"xpath": "/a"})
            for told in (event.data, json.loads(asked.text)):
                assert told["encoding"] == "base64"
                assert b64decode(told["content"]) == content

    run(main)


def test_many_documents_are_answered_each() -> None:
    async def main() -> None:
        async with serving() as (_, client):
            answer = await client.post(
                "/v1/publish",
                json={"documents": [{"content": "<a/>", "id": "1"}, "<b", {"content": "<c/>"}]},
            )
            assert answer.status_code == 200
            told = answer.json()
            assert [each is None for each in told["ids"]] == [False, True, False]
            [problem] = told["problems"]
            assert (problem["index"], problem["code"]) == (1, "malformed")

    run(main)


@pytest.mark.parametrize("is_stored", [False, True])
def test_an_id_makes_publishing_again_harmless(tmp_path: Path, is_stored: bool) -> None:
    folder = tmp_path if is_stored else None

    async def main() -> None:
        async with serving(folder, ALL) as (running, client):
            async with subscribed(client, xpath="//a") as events:
                ids = set()
                for _ in range(2):
                    answer = await client.post(
                        "/v1/publish", params={"id": "mine"}, content=b"<a/>"
                    )
                    ids.update(answer.json()["ids"])
                answer = await client.post(
                    "/v1/publish", json={"documents": [{"content": "<a/>", "id": "mine"}]}
                )
                ids.update(answer.json()["ids"])
                assert len(ids) == 1
                [last] = await publish(client, "<a>last</a>")
                assert {(await events.document()).data["id"]} == ids
                assert (await events.document()).data["id"] == last
            assert running.broker.metrics.value("twigcast_documents_in_total") == 2

    run(main)


def test_what_is_not_xml_is_refused() -> None:
    async def main() -> None:
        async with serving() as (running, client):
            for content in (b"", b"<a>", b"\xff\xfe\x00", b"<a/><b/>"):
                refusal(await client.post("/v1/publish", content=content), 400, "malformed")
            refused = running.broker.metrics.value("twigcast_refused_total", {"code": "malformed"})
            assert refused == 4

    run(main)


BAD_BODIES = [
    "",
    "[]",
    "{",
    '{"documents": "<a/>"}',
    '{"documents": []}',
    '{"documents": [1]}',
    '{"documents": ["<a/>"], "ids": []}',
    '{"documents": ["<a/>"], "ids": ["a", "b"]}',
    '{"documents": ["<a/>"], "ids": ["\\u0000"]}',
    '{"documents": ["<a/>"], "id": "typo"}',
    '{"documents": ["<a/>"]}\x00',
]


def test_json_of_another_form_is_refused() -> None:
    async def main() -> None:
        async with serving() as (_, client):
            for body in BAD_BODIES:
                answer = await client.post(
                    "/v1/publish",
                    content=body.encode(),
                    headers={"Content-Type": "application/json; charset=utf-8"},
                )
                refusal(answer, 400, "invalid")

    run(main)


def test_an_id_is_given_once_and_is_not_too_long() -> None:
    async def main() -> None:
        async with serving() as (_, client):
            for query, status in (
                ("id=a&id=b", 400),
                ("id=" + 1_025 * "x", 400),
                ("id=" + 1_024 * "x", 200),
            ):
                answer = await client.post(f"/v1/publish?{query}", content=b"<a/>")
                assert answer.status_code == status, query[:20]

    run(main)


def test_large_bodies_are_refused_while_they_are_read() -> None:
    limits = LimitsConfig(document_bytes=1_000, message_bytes=5_000)
    sent = 0

    async def endless(count: int) -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(count):
            sent += 1
            yield b"<a>" * 10_000

    async def main() -> None:
        async with serving(config=BrokerConfig(limits=limits)) as (_, client):
            fits = b"<a>" + b"x" * 993 + b"</a>"
            assert (await client.post("/v1/publish", content=fits)).status_code == 200
            reason = refusal(
                await client.post("/v1/publish", content=fits + b" "), 413, "too-large"
            )
            assert "limits.document_bytes" in reason
            answer = await client.post("/v1/publish", content=endless(20))
            refusal(answer, 413, "too-large")
            answer = await client.post("/v1/publish", json={"documents": ["<a/>" * 1_250]})
            assert "limits.message_bytes" in refusal(answer, 413, "too-large")
            # Two of 1,000 fit into a message, and one that is too large is refused alone.
            documents = [fits.decode(), fits.decode() + " "]
            told = (await client.post("/v1/publish", json={"documents": documents})).json()
            assert [each["code"] for each in told["problems"]] == ["too-large"]
            assert told["ids"][0]
            # The rest of what has no end is not waited for.
            with suppress(httpx.HTTPError):  # it may go on sending until the connection is cut
                answer = await client.post("/v1/publish", content=endless(100_000))
                refusal(answer, 413, "too-large")
            assert sent < 20_000

    run(main)


def test_whoever_waits_to_be_asked_is_refused_before_it_sends() -> None:
    async def main() -> None:
        limits = LimitsConfig(document_bytes=1_000)
        async with serving(config=BrokerConfig(limits=limits)) as (running, _):
            assert running.http is not None
            host, _, port = running.http.address.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(
                b"POST /v1/publish HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                b"Content-Length: 100000000\r\n\r\n"
            )
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
            assert head.startswith(b"HTTP/1.1 413")
            assert b"connection: close" in head.lower()
            writer.close()
            await writer.wait_closed()

    run(main)


def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twigcast.broker.http.bodies.PATIENCE", 0.05)

    async def main() -> None:
        async with serving() as (running, _):
            assert running.http is not None
            host, _, port = running.http.address.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            head = b"POST /v1/publish HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
            writer.write(head + b"<a")
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
            assert head.startswith(b"HTTP/1.1 408")
            writer.close()
            await writer.wait_closed()

    run(main)


def test_a_document_that_cannot_be_stored_is_507(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, ALL) as (running, client):
            await publish(client, "<a/>")
            store = running.broker.store
            assert store is not None
            database = store._database
            assert isinstance(database, SqliteDatabase)
            connection = database._connection
            # From here on the file may not grow: as on a full disk.
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
            large = b"<a>" + b"x" * 1_000_000 + b"</a>"
            reason = refusal(await client.post("/v1/publish", content=large), 507, "unavailable")
            assert "full" in reason
            connection.execute("PRAGMA max_page_count = 1000000").fetchall()
            # The store looks for room each second.
            while (await client.post("/v1/publish", content=large)).status_code != 200:
                await asyncio.sleep(0.1)

    run(main)


def test_the_pace_of_a_publisher_counts_over_its_requests() -> None:
    limits = LimitsConfig(publications_per_second=20)

    async def main() -> None:
        async with serving(config=BrokerConfig(limits=limits)) as (running, client):
            loop = asyncio.get_running_loop()
            began = loop.time()
            for _ in range(30):  # the first twenty are free
                assert (await client.post("/v1/publish", content=b"<a/>")).status_code == 200
            assert 0.3 < loop.time() - began < 20
            assert len(running.service.sessions) == 1

    run(main)


def test_a_network_that_needs_advertisements_says_so() -> None:
    async def main() -> None:
        config = BrokerConfig(strategy="advertisements")
        async with serving(config=config) as (_, client):
            answer = await client.post("/v1/publish", content=b"<a/>")
            assert "advertise" in refusal(answer, 400, "invalid")

    run(main)
