"""What is said beside documents over HTTP: headers, CloudEvents, times at which they expire."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_brokers import refusal, run, serving, subscribed
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from twigcast.broker import BrokerConfig, StoreConfig
from twigcast.broker.config import LimitsConfig
from twigcast.broker.headers import check_headers
from twigcast.broker.http.documents import cloud_event_id, http_headers, read_headers
from twigcast.client import connect
from twigcast.errors import RefusedError

ALL = BrokerConfig(store=StoreConfig(keep="all", sync="normal"))
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
EVENT = {
    "ce-specversion": "1.0",
    "ce-id": "17",
    "ce-source": "/shop",
    "ce-type": "example.order",
}

NAMES = st.sampled_from(["content-type", "traceparent", "ce-subject", "x-desk", "content-length"])
VALUES = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\u2028\u2029"), max_size=20
)


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_headers_come_out_as_they_went_in(said: dict[str, str]) -> None:
    check_headers(tuple(said.items()))
    for name in ("content-type", "traceparent"):
        # These are sent as they are, so what HTTP cannot carry changes.
        value = said.get(name)
        if value is not None and (not value.strip().isascii() or value != value.strip()):
            del said[name]
    if not said.get("content-type", "x"):
        del said["content-type"]
    written = http_headers(tuple(said.items()))
    for name, value in written.items():
        assert name == name.lower()
        assert value.isascii()
        assert value.isprintable()
    raw = [(name.encode(), value.encode("ascii")) for name, value in written.items()]
    assert read_headers(Headers(raw=raw)) == said


def test_only_what_is_of_the_document_is_carried() -> None:
    headers = {
        "content-type": "application/x-www-form-urlencoded",
        "user-agent": "curl",
        "authorization": "Bearer x",
        "twigcast-request": "1",
        "traceparent": TRACE,
        "tracestate": "a=1",
        "Twigcast-Header-Level": "9",
    }
    raw = [(b"baggage", "a=é".encode()), (b"content-type", "text/xml; a=é".encode())]
    said = read_headers(Headers(raw=raw))
    assert said == {"baggage": "a=é", "content-type": "text/xml; a=é"}
    assert read_headers(Headers(headers)) == {
        "traceparent": TRACE,
        "tracestate": "a=1",
        "level": "9",
    }


def test_a_cloud_event_has_an_id_by_its_source() -> None:
    assert cloud_event_id(EVENT) == "/shop 17"
    assert cloud_event_id({"traceparent": TRACE}) == ""
    pairs = [("/x", "1 2"), ("/x 1", "2"), ("/x%201", "2")]
    found = {cloud_event_id(EVENT | {"ce-source": one, "ce-id": two}) for one, two in pairs}
    assert len(found) == 3
    for name in EVENT:
        with pytest.raises(RefusedError, match=name):
            cloud_event_id({key: value for key, value in EVENT.items() if key != name})
    with pytest.raises(RefusedError, match="ce-bad_name is no attribute"):
        cloud_event_id(EVENT | {"ce-bad_name": "1"})
    with pytest.raises(RefusedError, match=r"0\.3"):
        cloud_event_id(EVENT | {"ce-specversion": "0.3"})
    with pytest.raises(RefusedError, match="binary mode"):
        read_headers(Headers({"content-type": "application/cloudevents+json"}))
    for value in ("100%", "%zz", "%ff", b"\xff".decode("latin-1")):
        with pytest.raises(RefusedError, match="percent encoded"):
            read_headers(Headers(raw=[(b"ce-subject", value.encode("latin-1"))]))
    with pytest.raises(RefusedError, match="twice"):
        read_headers(Headers(raw=[(b"ce-id", b"1"), (b"ce-id", b"2")]))


def test_what_is_said_reaches_every_kind_of_client(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            serving(tmp_path, ALL) as (running, client),
            connect(running.address) as other,
            subscribed(client, xpath="//a") as events,
        ):
            desk = other.subscribe("//a")
            await desk.ready()
            said = EVENT | {"traceparent": TRACE, "content-type": "text/xml"}
            for _ in range(2):  # the second is the same event
                answer = await client.post(
                    "/v1/publish", params={"expires": "2h"}, content=b"<a/>", headers=said
                )
                assert answer.status_code == 200, answer.text
            other_content = await client.post("/v1/publish", content=b"<a>2</a>", headers=said)
            refusal(other_content, 409, "taken")
            both = await client.post(
                "/v1/publish", params={"id": "mine"}, content=b"<a/>", headers=said
            )
            assert "ce-source and ce-id" in refusal(both, 400, "invalid")
            event = await anext(desk)
            assert event.headers == said
            assert event.expires is not None
            data = (await events.document()).data
            assert data["headers"] == said
            assert data["expires"] == event.expires.isoformat(timespec="milliseconds").replace(
                "+00:00", "Z"
            )
            await other.publish("<a>3</a>", headers={"x": "ü"})
            assert (await events.document()).data["headers"] == {"x": "ü"}
            asked = await client.get("/v1/ask", params={"xpath": "//a"})
            lines = [json.loads(line) for line in asked.text.splitlines()]
            assert [each["headers"] for each in lines] == [{"x": "ü"}, said]
            counted = await client.get("/v1/ask", params={"xpath": "//a", "count": True})
            assert counted.json() == {"matched": 2, "examined": 2}

    run(main)


def test_each_document_of_many_says_its_own(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            serving(tmp_path, ALL) as (_, client),
            subscribed(client, xpath="//a") as events,
        ):
            documents: list[Any] = [
                "<a/>",
                {"content": "<a/>", "headers": {"level": "9"}, "expires": "1h"},
                {"content": "PGEvPg==", "encoding": "base64", "headers": {"traceparent": "own"}},
            ]
            answer = await client.post(
                "/v1/publish",
                json={"documents": documents},
                headers={"traceparent": TRACE, "tracestate": "a=1"},
            )
            assert answer.json()["problems"] == []
            found = [(await events.document()).data for _ in documents]
            trace = {"traceparent": TRACE, "tracestate": "a=1"}
            assert [each["headers"] for each in found] == [
                trace,
                trace | {"level": "9"},
                {"traceparent": "own"},
            ]
            assert [each["expires"] is None for each in found] == [True, False, True]
            assert {each["content"] for each in found} == {"<a/>"}
            own: list[dict[str, Any]] = [
                {"headers": {"Twigcast-Header-X": "1"}},
                {"headers": {"ce-id": "1"}},
                {"params": {"expires": "1h"}},
            ]
            for each in own:
                answer = await client.post("/v1/publish", json={"documents": ["<a/>"]}, **each)
                assert "each document has its own" in refusal(answer, 400, "invalid")
            for document, reason in (
                ({"content": "<a/>", "expires": "soon"}, "expires"),
                ({"content": "é", "encoding": "base64"}, "base64"),
                ({"content": "<a/>", "header": {}}, "header"),
                ({"content": "<a/>", "headers": {"A": "1"}}, "cannot be the name"),
            ):
                answer = await client.post("/v1/publish", json={"documents": [document]})
                told = answer.json()
                problem = told if "reason" in told else told["problems"][0]
                assert reason in problem["reason"]

    run(main)


# --- packed bodies --------------------------------------------------------------------------------

SMALL = BrokerConfig(limits=LimitsConfig(document_bytes=20_000, message_bytes=40_000))


async def post(client: httpx.AsyncClient, content: bytes, **headers: str) -> httpx.Response:
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return await client.post("/v1/publish", content=content, headers=headers)


def test_a_body_may_be_packed() -> None:
    async def main() -> None:
        async with (
            serving(None, SMALL) as (_, client),
            subscribed(client, xpath="//a") as events,
        ):
            body = b"<a>" + b"x" * 19_000 + b"</a>"
            members = gzip.compress(body[:100]) + gzip.compress(body[100:])
            for packed in (gzip.compress(body), members):
                answer = await post(client, packed, content_encoding="gzip")
                assert answer.status_code == 200, answer.text
                assert (await events.document()).data["content"].encode() == body
            many = gzip.compress(json.dumps({"documents": ["<a/>"] * 100}).encode())
            answer = await post(
                client, many, content_encoding="gzip", content_type="application/json"
            )
            assert len(answer.json()["ids"]) == 100

    run(main)


@pytest.mark.parametrize(
    ("body", "coding", "status", "reason"),
    [
        (gzip.compress(b"x" * 20_001), "gzip", 413, "document_bytes"),
        (gzip.compress(b"x" * 50_000_000), "gzip", 413, "document_bytes"),
        (b"\0" * 20_001, "gzip", 413, "document_bytes"),
        (gzip.compress(b"<a/>")[:-1], "gzip", 400, "breaks off"),
        (gzip.compress(b"<a/>") + b"tail", "gzip", 400, "no gzip"),
        (b"<a/>", "gzip", 400, "no gzip"),
        (b"", "gzip", 400, "breaks off"),
        (b"<a/>", "br", 400, "unpacks gzip only"),
        (gzip.compress(b"<a/>"), "identity", 400, "Content-Encoding: gzip"),
    ],
    ids=[
        *("large", "bomb", "declared", "half", "tail", "plain", "empty", "another", "untold"),
    ],
)
def test_what_cannot_be_unpacked_is_refused(
    body: bytes, coding: str, status: int, reason: str
) -> None:
    async def main() -> None:
        async with serving(None, SMALL) as (_, client):
            code = {413: "too-large"}.get(status, "malformed" if "Content" in reason else "invalid")
            answer = await post(client, body, content_encoding=coding)
            assert reason in refusal(answer, status, code)
            assert (await client.get("/health")).status_code == 200

    run(main)


def test_answers_are_packed_for_who_accepts_that(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, ALL) as (_, client):
            await post(client, b"<a>" + b"x" * 5000 + b"</a>")
            for coding in ("gzip", "identity"):
                async with client.stream(
                    "GET",
                    "/v1/ask",
                    params={"xpath": "//a"},
                    headers={"Accept-Encoding": coding},
                ) as answer:
                    raw = b"".join([each async for each in answer.aiter_raw()])
                assert (len(raw) < 1000) is (coding == "gzip")

    run(main)
