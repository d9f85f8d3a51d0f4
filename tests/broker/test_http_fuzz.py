"""The HTTP port keeps to its own description, whatever it is asked.

Requests are made up from the OpenAPI document, and wild ones beside them.  Every answer has a
status that the document names for that operation, with a body of the form that it gives, and is
never 500.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from http_brokers import TIMEOUT, publish, serving
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twigcast.broker import BrokerConfig, StoreConfig
from twigcast.broker.config import LimitsConfig

CONFIG = BrokerConfig(
    store=StoreConfig(keep="all", sync="normal"),
    limits=LimitsConfig(document_bytes=20_000, message_bytes=20_000),
)
METHODS = ("get", "post", "put", "patch", "delete", "options", "head")


class Port:
    """A broker with an HTTP port, in an event loop that goes on between requests."""

    def __init__(self, runner: asyncio.Runner, client: httpx.AsyncClient) -> None:
        self._runner = runner
        self._client = client
        self.document: dict[str, Any] = self.send("GET", "/openapi.json").json()
        self.operations = [
            (method, path, item[method])
            for path, item in self.document["paths"].items()
            for method in METHODS
            if method in item
        ]

    def send(self, method: str, url: str, **what: Any) -> httpx.Response:
        """The answer; of an endless one only the beginning."""
        return self._runner.run(self._send(method, url, **what))

    async def _send(self, method: str, url: str, **what: Any) -> httpx.Response:
        async with asyncio.timeout(TIMEOUT), self._client.stream(method, url, **what) as response:
            if response.headers.get("content-type", "").startswith("text/event-stream"):
                async for chunk in response.aiter_bytes():
                    assert chunk.startswith(b":")
                    break
                return response
            await response.aread()
        return response


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    folder: Path = tmp_path_factory.mktemp("store")
    context = serving(folder, CONFIG)
    with asyncio.Runner() as runner:
        _, client = runner.run(context.__aenter__())
        try:
            runner.run(publish(client, "<a><b>1</b></a>", "<c/>"))
            yield Port(runner, client)
        finally:
            runner.run(context.__aexit__(None, None, None))


# --- schemas: to check what comes, and to make up what goes ---------------------------------------

TOLD = {"title", "description", "default", "style", "explode"}
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def check(value: Any, schema: dict[str, Any], document: dict[str, Any]) -> None:
    """Assert that a value has the form that a schema gives; each word of the schema is known."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/components/schemas/")
        check(value, document["components"]["schemas"][name], document)
        return
    known = {
        *("type", "enum", "const", "anyOf", "properties", "required", "additionalProperties"),
        *("items", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
        *("pattern", "patternProperties"),
    }
    assert set(schema) <= known | TOLD, schema
    if "anyOf" in schema:
        assert any(fits(value, each, document) for each in schema["anyOf"]), (value, schema)
    if "type" in schema:
        assert isinstance(value, TYPES[schema["type"]]), (value, schema)
        assert isinstance(value, bool) is (schema["type"] == "boolean"), (value, schema)
    if "enum" in schema:
        assert value in schema["enum"], (value, schema)
    if "const" in schema:
        assert value == schema["const"]
    assert value >= schema.get("minimum", value) if isinstance(value, int) else True
    assert value <= schema.get("maximum", value) if isinstance(value, int) else True
    if isinstance(value, list) and "items" in schema:
        for each in value:
            check(each, schema["items"], document)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        assert set(schema.get("required", ())) <= set(value), (value, schema)
        others = schema.get("additionalProperties", True)
        for key, each in value.items():
            if key in properties:
                check(each, properties[key], document)
            else:
                assert others is not False, (key, schema)
                if isinstance(others, dict):
                    check(each, others, document)


def fits(value: Any, schema: dict[str, Any], document: dict[str, Any]) -> bool:
    try:
        check(value, schema, document)
    except AssertionError:
        return False
    return True


TEXTS = st.one_of(
    st.sampled_from(
        ["a", "//a", "//a[b = 1]", "x" * 201, "2026-01-01", "2h", "7", "auto", "desk", "ä/ö"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)
DOCUMENTS = st.sampled_from(["<a/>", "<a><b>1</b></a>", "<a", "", "<a>" + "x" * 20_001 + "</a>"])


def made_up(schema: dict[str, Any], document: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of the form that a schema gives."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/components/schemas/")
        return made_up(document["components"]["schemas"][name], document)
    if "anyOf" in schema:
        return st.one_of([made_up(each, document) for each in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "string":
        if "pattern" in schema:
            return st.from_regex(schema["pattern"].replace("$", r"\Z"), fullmatch=True)
        return st.one_of(TEXTS, DOCUMENTS)
    if kind == "integer":
        most = schema.get("maximum", 2**70)
        return st.integers(schema.get("minimum", -(2**70)), most) | st.integers(0, 9)
    if kind == "array":
        return st.lists(
            made_up(schema["items"], document),
            min_size=schema.get("minItems", 0),
            max_size=5,
        )
    if kind == "null":
        return st.none()
    if kind == "boolean":
        return st.booleans()
    if kind == "number":
        return st.floats(schema.get("minimum", 0), schema.get("maximum", 1e9))
    if "patternProperties" in schema:
        return st.dictionaries(TEXTS.map(lambda text: f"ns.{text}"), TEXTS, max_size=2)
    if "properties" not in schema:
        return st.dictionaries(TEXTS, made_up(schema["additionalProperties"], document), max_size=2)
    required = set(schema.get("required", ()))
    properties = schema["properties"]
    return st.fixed_dictionaries(
        {key: made_up(properties[key], document) for key in required},
        optional={
            key: made_up(each, document) for key, each in properties.items() if key not in required
        },
    )


WILD_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
HEADERS = st.dictionaries(
    st.sampled_from(
        [
            *("Authorization", "Content-Type", "Origin", "Last-Event-ID", "Accept"),
            *("Sec-Fetch-Site", "Content-Encoding", "Accept-Encoding", "Twigcast-Header-x"),
            *("traceparent", "ce-id", "ce-specversion"),
        ]
    ),
    st.sampled_from(
        [
            *("Bearer x", "application/json", "application/xml", "null", "3", "a:1:2", "none"),
            *("*/*", "", "é", "gzip", "1.0", "%zz"),
        ]
    ),
    max_size=2,
).map(lambda found: {key: value.encode("latin-1") for key, value in found.items()})


@st.composite
def requests(draw: st.DrawFn, port: Port) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
    """An operation, and a request to it: of the form that it describes, or a little off it."""
    method, path, operation = draw(st.sampled_from(port.operations))
    is_wild = draw(st.integers(0, 3)) == 0
    query: list[tuple[str, str]] = []
    headers: dict[str, Any] = draw(HEADERS) if is_wild else {}
    for parameter in operation.get("parameters", ()):
        schema = parameter["schema"]
        value = draw(TEXTS if is_wild else made_up(schema, port.document))
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", quote(str(value or "x"), safe=""))
        elif not parameter["required"] and draw(st.booleans()):
            continue
        elif parameter["in"] == "header":
            headers[parameter["name"]] = value.strip().encode("ascii", "ignore")
        elif schema.get("type") == "object" and isinstance(value, dict):
            query += value.items()
        else:
            values = value if isinstance(value, list) else [value]
            query += [(parameter["name"], str(each)) for each in values]
    if is_wild and draw(st.booleans()):
        query.append((draw(TEXTS), draw(TEXTS)))
    what: dict[str, Any] = {"params": query}
    if "requestBody" in operation:
        kind = draw(st.sampled_from(sorted(operation["requestBody"]["content"])))
        schema = operation["requestBody"]["content"][kind]["schema"]
        if draw(st.integers(0, 5)) == 0:
            what["content"] = draw(st.binary(max_size=50))
        elif kind == "application/json":
            body = draw(WILD_JSON if is_wild else made_up(schema, port.document))
            what["content"] = json.dumps(body).encode()
        else:
            what["content"] = draw(DOCUMENTS | TEXTS).encode()
        headers.setdefault("Content-Type", kind)
    # A header is a line of its own, without blanks around it.
    what["headers"] = {
        name: value
        for name, value in headers.items()
        if re.fullmatch(rb"[!-~\x80-\xff]([ -~\x80-\xff]*[!-~\x80-\xff])?|", _raw(value))
    }
    return method, path, operation, what


def _raw(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def check_answer(answer: httpx.Response, operation: dict[str, Any], port: Port) -> None:
    described = operation["responses"].get(str(answer.status_code))
    assert described is not None, f"{answer.status_code} is not described: {answer.text}"
    if "content" not in described:
        assert answer.content == b""
        return
    kind = answer.headers["content-type"].partition(";")[0]
    media = described["content"].get(kind)
    assert media is not None, f"{kind} is not described"
    if kind == "application/json":
        check(answer.json(), media["schema"], port.document)
    elif kind == "application/x-ndjson":
        for line in answer.text.splitlines():
            check(json.loads(line), media["x-line"], port.document)
    else:
        assert media["schema"] == {"type": "string"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_answers_are_as_described(port: Port, data: st.DataObject) -> None:
    method, path, operation, what = data.draw(requests(port))
    answer = port.send(method.upper(), path, **what)
    check_answer(answer, operation, port)
    if path == "/v1/backup" and answer.status_code == 200:
        Path(answer.json()["path"]).unlink()


@settings(max_examples=300)
@given(
    method=st.sampled_from([each.upper() for each in METHODS]),
    path=st.text(st.characters(codec="utf-8"), max_size=30).map(
        lambda text: quote(text, safe="/%")
    ),
    prefix=st.sampled_from(["/", "/v1/", "/v1/subscriptions/", "/v1/homes/", "/health/"]),
    body=st.binary(max_size=20),
)
def test_what_is_not_there_is_refused_properly(
    port: Port, method: str, path: str, prefix: str, body: bytes
) -> None:
    answer = port.send(method, prefix + path, content=body)
    if answer.status_code >= 400 and method != "HEAD":
        assert answer.status_code < 500
        check(answer.json(), {"$ref": "#/components/schemas/Problem"}, port.document)
    else:
        assert answer.status_code in (200, 204, 404, 405)


def _is_end(operation: tuple[str, str, dict[str, Any]]) -> bool:
    return operation[0] == "delete" and "subscriptions" in operation[1]


def test_every_operation_can_succeed_and_is_as_described(port: Port) -> None:
    """What is made up at random may be refused for ever; these are not."""
    stream = {"params": {"xpath": "//a", "durable": "desk"}}
    sent: dict[tuple[str, str], dict[str, Any]] = {
        ("post", "/v1/publish"): {"content": b"<a/>"},
        ("get", "/v1/subscribe"): stream,
        ("get", "/v1/ask"): {"params": {"xpath": "//a"}},
        ("put", "/v1/subscriptions/{name}"): {"params": {"xpath": "//a"}},
        ("post", "/v1/subscriptions/{name}/pull"): {"params": {"limit": 3}},
        ("post", "/v1/subscriptions/{name}/ack"): {"json": {"upto": 1}},
        ("post", "/v1/subscriptions/{name}/nack"): {"json": {"sequences": [1]}},
        ("post", "/v1/backup"): {"json": {"path": "copy"}},
        ("post", "/v1/letters/replay"): {"json": {"durable": "desk"}},
        ("delete", "/v1/letters"): {"params": {"durable": "desk"}},
    }
    expected = {
        ("delete", "/v1/homes/{name}"): 404,
        ("get", "/v1/letters/{number}"): 404,
        ("delete", "/v1/letters/{number}"): 404,
        ("delete", "/v1/letters"): 200,
    }
    port.send("PUT", "/v1/subscriptions/desk", params={"xpath": "//a"})
    for method, path, operation in sorted(port.operations, key=_is_end):
        what = sent.get((method, path), {})
        path_sent = path.replace("{name}", "desk").replace("{number}", "7")
        answer = port.send(method.upper(), path_sent, **what)
        status = expected.get((method, path), 204 if method == "delete" else 200)
        assert answer.status_code == status, (path, answer.text)
        check_answer(answer, operation, port)
    assert {"/health", "/ready", "/metrics", "/v1/status"} <= set(port.document["paths"])


def test_the_description_names_only_what_is_there(port: Port) -> None:
    text = json.dumps(port.document)
    for name in set(re.findall(r"#/components/schemas/(\w+)", text)):
        assert name in port.document["components"]["schemas"], name
    assert "422" not in text
    assert "HTTPValidationError" not in text
    for _, path, operation in port.operations:
        assert ("security" in operation) is (path not in ("/health", "/ready"))
        for status, described in operation["responses"].items():
            if int(status) >= 400 and path != "/ready":
                schema = described["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Problem"}


def test_the_checker_can_tell() -> None:
    """A checker that finds nothing wrong would make all of the above worthless."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 0}, "b": {"enum": ["x"]}},
        "required": ["a"],
        "additionalProperties": False,
    }
    check({"a": 1, "b": "x"}, schema, {})
    wrong: list[Any] = [
        {},
        {"a": -1},
        {"a": True},
        {"a": "1"},
        {"a": 1, "b": "y"},
        {"a": 1, "c": 1},
    ]
    for value in (*wrong, [], None):
        with pytest.raises(AssertionError):
            check(value, schema, {})
    with pytest.raises(AssertionError):
        check(1, {"unheard": 1}, {})
