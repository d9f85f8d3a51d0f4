"""The endpoints of the HTTP port, one by one."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from http_brokers import publish, refusal, run, serving, subscribed
from live_brokers import one_broker, until

from twigcast.broker import BrokerConfig, LinkConfig, StoreConfig, start_server
from twigcast.broker.http.times import milliseconds
from twigcast.broker.links import Links
from twigcast.broker.store.records import StoredDocument
from twigcast.errors import ConfigError, RefusedError, StoreError

ALL = BrokerConfig(store=StoreConfig(keep="all", sync="normal"))


# --- asking ---------------------------------------------------------------------------------------


def test_asking_gives_the_newest_first_up_to_a_limit(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, ALL) as (_, client):
            ids = await publish(client, *(f"<a><b>{number}</b></a>" for number in range(500)))

            async def ask(**parameters: str | int) -> list[str]:
                answer = await client.get("/v1/ask", params=parameters)
                assert answer.status_code == 200, answer.text
                return [json.loads(line)["id"] for line in answer.text.splitlines()]

            assert await ask(xpath="//b") == ids[::-1]
            assert await ask(xpath="//b", limit=3) == ids[:-4:-1]
            assert await ask(xpath="//b[. = 7]") == [ids[7]]
            assert await ask(xpath="//c") == []
            assert await ask(xpath="//b", since="2000-01-01T00:00:00Z", limit=1) == ids[-1:]
            assert await ask(xpath="//b", since="2100-01-01") == []
            assert await ask(xpath="//b", since="1h", limit=1) == ids[-1:]

    run(main)


def test_namespaces_are_bound_by_parameters(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, ALL) as (_, client):
            parameters: dict[str, Any] = {"xpath": "//cap:alert", "ns.cap": "urn:x"}
            async with subscribed(client, **parameters) as events:
                await publish(client, "<alert/>", "<alert xmlns='urn:x'/>")
                assert (await events.document()).data["content"] == "<alert xmlns='urn:x'/>"
            asked = await client.get("/v1/ask", params=parameters)
            assert [json.loads(each)["content"] for each in asked.text.splitlines()] == [
                "<alert xmlns='urn:x'/>"
            ]
            default = {"xpath": "//alert", "ns.": "urn:x"}
            again = await client.get("/v1/ask", params=default)
            assert again.text == asked.text
            for path in ("/v1/ask", "/v1/subscribe"):
                answer = await client.get(path, params={"xpath": "//cap:alert"})
                assert "cap" in refusal(answer, 400, "bad-expression")

    run(main)


def test_variables_and_choices_are_parameters(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, ALL) as (_, client):
            parameters: dict[str, Any] = {
                "xpath": "Stock[Price > $limit][Kind = $kinds]",
                "variable.limit": "5",
                "variable.kinds": '["A", "B"]',
                "relative-to": "document",
                "version": "2.0",
            }
            good = "<Stock><Price>7</Price><Kind>B</Kind></Stock>"
            async with subscribed(client, **parameters) as events:
                await publish(client, good.replace("B", "C"), f"<x>{good}</x>", good)
                event = await events.document()
                assert event.data["content"] == good
                assert event.data["keys"] == [parameters["xpath"]]
            asked = await client.get("/v1/ask", params=parameters)
            assert [json.loads(each)["content"] for each in asked.text.splitlines()] == [good]
            for path in ("/v1/ask", "/v1/subscribe"):
                for given, code, reason in (
                    ({}, "bad-expression", "$limit is not bound"),
                    ({"variable.limit": "GHI"}, "invalid", "a text in double quotes"),
                    ({"variable.": "5"}, "invalid", "is no name of a variable"),
                    ({"version": "3.1"}, "invalid", "version"),
                    ({"relative-to": "root"}, "invalid", "relative-to"),
                    ({"relative_to": "document"}, "invalid", "relative-to, version, ns.PREFIX"),
                ):
                    refused = await client.get(path, params={"xpath": "//a[b > $limit]", **given})
                    assert reason in refusal(refused, 400, code)

    run(main)


def test_a_broker_without_a_store_keeps_nothing() -> None:
    async def main() -> None:
        async with serving() as (_, client):
            refusal(await client.get("/v1/ask", params={"xpath": "//a"}), 503, "unavailable")
            parameters = {"xpath": "//a", "durable": "desk"}
            answer = await client.get("/v1/subscribe", params=parameters)
            refusal(answer, 503, "unavailable")
            refusal(await client.post("/v1/backup"), 503, "unavailable")
            refusal(await client.delete("/v1/subscriptions/desk"), 404, "unknown")

    run(main)


def test_an_answer_that_breaks_off_has_no_proper_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Whatever commands that ran before in this process made of the root's level.
    caplog.set_level(logging.INFO, logger="twigcast")

    async def main() -> None:
        async with serving(tmp_path, ALL) as (running, client):
            await publish(client, "<a/>")
            store = running.broker.store
            assert store is not None
            whole = store.newest_first

            async def broken(since: int, batch: int) -> AsyncIterator[list[StoredDocument]]:
                async for documents in whole(since, batch):
                    yield documents
                raise StoreError("the disk is gone")

            monkeypatch.setattr(store, "newest_first", broken)
            with pytest.raises(httpx.RemoteProtocolError):
                await client.get("/v1/ask", params={"xpath": "//a"})
            assert "the disk is gone" in caplog.text
            assert (await client.get("/health")).status_code == 200

    run(main)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01T01:00:01+01:00", 1000),
        ("1970-01-01T01:00:01 01:00", 1000),
        ("1970-01-02", 86_400_000),
        ("1969-12-31", 0),
    ],
)
def test_times(text: str, expected: int) -> None:
    assert milliseconds("since", text) == expected


@pytest.mark.parametrize(
    "text", ["yesterday", "-1", "0", "1700000000000", "1e3", "9" * 16, "0001-01-01T00:00+99:00"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(RefusedError, match="is no time"):
        milliseconds("since", text)


BAD_PARAMETERS: list[tuple[str, dict[str, str]]] = [
    ("/v1/ask", {}),
    ("/v1/ask", {"xpath": "//a", "limit": "-1"}),
    ("/v1/ask", {"xpath": "//a", "limit": "many"}),
    ("/v1/ask", {"xpath": "//a", "sinse": "2026-01-01"}),
    ("/v1/ask", {"xpath": "//a", "since": "soon"}),
    ("/v1/ask", {"xpath": "//a", "ns.a": "{"}),
    ("/v1/subscribe", {"xpath": "//a", "ns.a": "{"}),
    ("/v1/subscribe", {}),
    ("/v1/subscribe", {"xpath": "//a", "duarble": "desk"}),
    ("/v1/subscribe", {"xpath": "//a", "since": "1"}),
    ("/v1/subscribe", {"xpath": "//a", "ack": "manual"}),
    ("/v1/subscribe", {"xpath": "//a", "durable": "d", "ack": "never"}),
    ("/v1/subscribe", {"xpath": "//a", "durable": "d", "since": "soon"}),
    ("/v1/subscribe", {"xpath": "//a", "durable": "\n"}),
]


def test_bad_parameters_are_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path) as (_, client):
            for path, parameters in BAD_PARAMETERS:
                refusal(await client.get(path, params=parameters), 400, "invalid")

    run(main)


# --- what the broker tells ------------------------------------------------------------------------


def test_health_and_readiness() -> None:
    async def main() -> None:
        async with serving() as (_, client):
            assert (await client.get("/health")).json() == {"status": "ok"}
            answer = await client.get("/ready")
            assert answer.status_code == 200
            assert answer.json() == {"ready": True, "reasons": []}

    run(main)


def test_a_broker_is_ready_when_links_were_called_and_the_store_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with one_broker(config=BrokerConfig(name="there")) as there:
            called = asyncio.Event()
            call = Links._call

            async def call_late(self: Links, target: LinkConfig, address: str) -> None:
                await called.wait()
                await call(self, target, address)

            monkeypatch.setattr(Links, "_call", call_late)
            # The first is a group with another door; nobody listens at the second.
            links = (LinkConfig(f"{there.address},127.0.0.1:1"), LinkConfig("127.0.0.1:2"))
            config = BrokerConfig(links=links)
            async with serving(tmp_path, config) as (running, client):
                answer = await client.get("/ready")
                assert answer.status_code == 503
                assert answer.json()["ready"] is False
                assert answer.json()["reasons"] == [
                    f"the link to {each.address} was not called yet" for each in links
                ]
                called.set()
                await until(lambda: running.broker.links.up and running.broker.links.problems)
                assert (await client.get("/ready")).status_code == 200

                async def fail() -> None:
                    raise StoreError(f"{tmp_path}: secret")

                monkeypatch.setattr(running.broker.store, "figures", fail)
                answer = await client.get("/ready")
                assert answer.json() == {"ready": False, "reasons": ["the store cannot be read"]}
                assert "\ntwigcast_store_answers 0.0\n" in (await client.get("/metrics")).text
                status = (await client.get("/v1/status")).json()
                assert status["problems"]["store"] == f"{tmp_path}: secret"
                assert (status["letters"], status["standing_by"]) == (None, None)

    run(main)


def test_a_store_that_is_taken_away_is_a_problem(tmp_path: Path) -> None:
    async def main() -> None:
        folder = tmp_path / "store"
        async with serving(folder) as (_, client):
            await client.put("/v1/subscriptions/d", params={"xpath": "//a"})
            shutil.rmtree(folder)
            refusal(await client.post("/v1/publish", content="<a/>"), 507, "unavailable")
            answer = await client.get("/ready")
            assert answer.json()["ready"] is False
            assert "the store cannot be" in answer.json()["reasons"][0]
            problems = (await client.get("/v1/status")).json()["problems"]
            assert "removed or replaced while the broker ran" in problems["store"]
            refusal(
                await client.post("/v1/backup", headers={"Twigcast-Request": "1"}),
                503,
                "unavailable",
            )

    run(main)


def test_status_topology_links_and_metrics(tmp_path: Path) -> None:
    async def main() -> None:
        async with one_broker(tmp_path / "there", BrokerConfig(name="there")) as there:
            config = BrokerConfig(links=(LinkConfig(there.address),))
            async with serving(tmp_path / "here", config) as (running, client):
                await until(lambda: len(running.broker.router.overlay) == 2)
                async with (
                    subscribed(client, xpath="//a", durable="desk") as kept,
                    subscribed(client, xpath=["//a", "//a/b"]) as events,
                ):
                    await publish(client, "<a/>", "<z/>")
                    await events.document()
                    await kept.document()
                    told = (await client.get("/v1/status")).json()
                    metrics = (await client.get("/metrics")).text
                assert told["broker"] == "here"
                assert told["documents"]["in"] == 2
                assert told["documents"]["filtered"] == 1
                assert [each["name"] for each in told["durable"]] == ["desk"]
                links_known = {"here": {"there": 1.0}, "there": {"here": 1.0}}
                assert (await client.get("/v1/topology")).json() == {
                    "broker": "here",
                    "links": links_known,
                    "levels": [
                        {
                            "unit": "",
                            "bits": {},
                            "topology": links_known,
                            "gateways": [],
                            "units": {},
                            "crossings": None,
                        }
                    ],
                }
                links = (await client.get("/v1/links")).json()
                assert [each["broker"] for each in links["up"]] == ["there"]
                figures = dict(
                    line.rsplit(" ", 1) for line in metrics.splitlines() if line[:1] != "#"
                )
                for name, value in {
                    "documents_in_total": 2,
                    "documents_matched_total": 1,
                    "documents_filtered_total": 1,
                    "table_subscriptions": 3,
                    "table_patterns": 2,
                    'table_sent{neighbour="there"}': 1,
                    "durable_expressions": 1,
                    "durable_patterns": 1,
                    "clients": 3,
                    "client_subscriptions": 2,
                    "links_up": 1,
                    'durable_attached{durable="desk"}': 1,
                    'link_waiting_documents{neighbour="there"}': 0,
                    "store_documents": 1,
                    "store_bytes": 4,
                    "match_seconds_count": 2,
                    "publish_seconds_count": 1,
                }.items():
                    assert float(figures[f"twigcast_{name}"]) == value, name

    run(main)


def test_subscriptions_are_listed_with_their_clients(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            serving(tmp_path) as (_, client),
            subscribed(client, xpath="//a", durable="desk", ack="manual") as events,
        ):
            await publish(client, "<a/>", "<a/>")
            await events.document()
            told = (await client.get("/v1/subscriptions")).json()
            [queue] = told["durable"]
            assert queue["expressions"] == {"//a": "//a"}
            assert (queue["last"], queue["acknowledged"], queue["waiting"]) == (2, 0, 2)
            assert queue["attached"] is True
            [held] = [each for each in told["clients"] if each["subscriptions"]]
            assert held["principal"] == "anonymous"
            assert held["client"].startswith("python-httpx")
            assert held["subscriptions"][0]["durable"] == "desk"

    run(main)


# --- changing -------------------------------------------------------------------------------------


def test_documents_are_acknowledged_and_a_subscription_forgotten(tmp_path: Path) -> None:
    name = "a desk/with odd: names%2F?"

    async def main() -> None:
        async with serving(tmp_path) as (running, client):
            place = f"/v1/subscriptions/{quote(name, safe='')}"
            async with subscribed(client, xpath="//a", durable=name, ack="manual") as events:
                await publish(client, "<a/>", "<a/>", "<a/>")
                for _ in range(3):
                    await events.document()
                answer = await client.post(f"{place}/ack", json={"sequences": [2]})
                assert answer.json() == {"first": 1, "last": 3, "acknowledged": 0}
                answer = await client.post(f"{place}/ack", json={"upto": 1})
                assert answer.json()["acknowledged"] == 2
                answer = await client.post(f"{place}/ack", json={"upto": 99, "sequences": [7]})
                assert answer.json() == {"first": 1, "last": 3, "acknowledged": 3}
                for body in ({"upto": -1}, {"up": 1}, {"sequences": ["1"]}, {"upto": 2**63}):
                    answer = await client.post(f"{place}/ack", json=body)
                    refusal(answer, 400, "invalid")
                assert (await client.delete(place)).status_code == 204
                ended = await events.next()
                assert ended is not None
                assert (ended.name, ended.data["code"]) == ("ended", "unknown")
                assert await events.next() is None
            assert not running.broker.durables
            refusal(await client.delete(place), 404, "unknown")
            refusal(await client.post(f"{place}/ack", json={"upto": 1}), 404, "unknown")

    run(main)


def test_a_home_that_will_not_return_is_forgotten(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path / "here", BrokerConfig(name="here")) as (running, client):
            refusal(await client.delete("/v1/homes/there"), 404, "unknown")
            calls = BrokerConfig(name="there", links=(LinkConfig(running.address),))
            async with (
                serving(tmp_path / "there", calls) as (_, other),
                subscribed(other, xpath="//a", durable="desk"),
            ):
                await until(lambda: running.broker.homes.patterns.get("there"))
                refusal(await client.delete("/v1/homes/there"), 409, "taken")
            await until(lambda: not running.broker.links.up)
            await publish(client, "<a/>")
            assert (await client.get("/v1/status")).json()["owed"] == {"there": 1}
            assert (await client.delete("/v1/homes/there")).json() == {"dropped": 1}
            assert (await client.get("/v1/status")).json()["homes"] == {"there": 0}
            assert running.broker.owed.get("there", 0) == 0

    run(main)


def test_a_backup_is_a_store_beside_the_store(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, ALL) as (_, client):
            await publish(client, "<a/>")
            answer = await client.post("/v1/backup", json={"path": "monday.sqlite"})
            assert answer.status_code == 200, answer.text
            path = tmp_path / "backups" / "monday.sqlite"
            assert answer.json() == {"path": str(path), "bytes": path.stat().st_size}
            connection = sqlite3.connect(path)
            assert connection.execute("SELECT count(*) FROM documents").fetchone() == (1,)
            connection.close()
            answer = await client.post("/v1/backup", json={"path": "monday.sqlite"})
            refusal(answer, 409, "taken")
            for name in ("../x", "/tmp/x", "a/b", "", "..", ".x", "x.unfinished", "a\n"):
                answer = await client.post("/v1/backup", json={"path": name})
                refusal(answer, 400, "invalid")
            answers = await asyncio.gather(*(client.post("/v1/backup") for _ in range(3)))
            assert [each.status_code for each in answers] == [200] * 3
            assert len(list((tmp_path / "backups").iterdir())) == 4

    run(main)


# --- the port -------------------------------------------------------------------------------------


def test_the_page_loads_nothing_from_elsewhere() -> None:
    async def main() -> None:
        async with serving() as (_, client):
            page = await client.get("/")
            assert page.status_code == 200
            assert page.headers["content-type"].startswith("text/html")
            assert "http" not in page.text.replace("https", "http").split("<style>")[0]
            assert "src=" not in page.text
            document = (await client.get("/openapi.json")).json()
            for path in document["paths"]:
                assert path in page.text
            assert "curl" in page.text
            for path in ("/docs", "/redoc", "/v1", "/v1/status/"):
                refusal(await client.get(path), 404, "unknown")
            answer = await client.put("/v1/publish", content=b"<a/>")
            refusal(answer, 405, "invalid")
            assert answer.headers["allow"] == "POST"

    run(main)


def test_a_port_that_is_taken_is_reported() -> None:
    async def main() -> None:
        async with serving() as (running, _):
            assert running.http is not None
            from twigcast.broker.http.api import HttpServer

            config = replace(running.broker.config, http=running.http.address)
            running.broker.config = config
            second = HttpServer(running.service.sessions)
            with pytest.raises(ConfigError, match="cannot listen"):
                await second.start()

    run(main)


def test_the_port_listens_where_it_says_and_stops_without_its_grace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("twigcast.broker.http.api._GRACE", 600)

    async def main() -> None:
        config = BrokerConfig(listen="127.0.0.1:0", http="localhost:0")
        running = await start_server(config)
        assert running.http is not None
        url = f"http://{running.http.address}"
        assert url.startswith("http://localhost:")
        async with httpx.AsyncClient(timeout=30) as client:
            assert (await client.get(f"{url}/health")).status_code == 200
            async with subscribed(
                httpx_client := httpx.AsyncClient(base_url=url), xpath="//a"
            ) as events:
                async with asyncio.timeout(30):
                    await running.close()
                assert await events.next() is None
            await httpx_client.aclose()
            with pytest.raises(httpx.ConnectError):
                await client.get(f"{url}/health")

    run(main)
