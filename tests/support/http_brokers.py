"""A broker with an HTTP port in the event loop of a test, a client, and its event streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from live_brokers import one_broker

from twigcast.broker import BrokerConfig, RunningBroker

TIMEOUT = 45.0


@asynccontextmanager
async def serving(
    folder: Path | None = None, config: BrokerConfig | None = None, token: str = ""
) -> AsyncIterator[tuple[RunningBroker, httpx.AsyncClient]]:
    """A broker, and a client that shows a token."""
    config = replace(BrokerConfig() if config is None else config, http="127.0.0.1:0")
    async with one_broker(folder, config) as running, calling(running, token) as client:
        yield running, client


@asynccontextmanager
async def calling(running: RunningBroker, token: str = "") -> AsyncIterator[httpx.AsyncClient]:
    """A client of the HTTP port of a broker."""
    assert running.http is not None
    headers = {"Twigcast-Request": "1"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    url = f"http://{running.http.address}"
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=TIMEOUT) as client:
        yield client


def run(main: Callable[[], Awaitable[None]]) -> None:
    """Run a test's coroutine, for not too long."""

    async def bounded() -> None:
        async with asyncio.timeout(180):
            await main()

    asyncio.run(bounded())


@dataclass
class Event:
    """One event of a stream; a comment has no name."""

    name: str = ""
    id: str = ""
    data: Any = None
    comment: str = ""


class Events:
    """The events of a stream, one after the other."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.aiter_lines()

    async def next(self, *, comments: bool = False) -> Event | None:
        """The next event; None at the end.  Comments are passed over unless asked for."""
        event = Event()
        async with asyncio.timeout(TIMEOUT):
            async for line in self._lines:
                if not line:
                    if event.name or (comments and event.comment):
                        return event
                    event = Event()
                    continue
                field, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if not field:
                    event.comment = value
                elif field == "data":
                    event.data = json.loads(value)
                elif field == "event":
                    event.name = value
                else:
                    assert field == "id", line
                    event.id = value
        return None

    async def document(self) -> Event:
        """The next event, which is a document."""
        event = await self.next()
        assert event is not None
        assert event.name == "document", event
        return event


@asynccontextmanager
async def subscribed(
    client: httpx.AsyncClient, headers: dict[str, str] | None = None, **parameters: Any
) -> AsyncIterator[Events]:
    """An event stream; the subscription is there when this begins."""
    async with client.stream(
        "GET", "/v1/subscribe", params=parameters, headers=headers
    ) as response:
        if response.status_code != 200:
            await response.aread()
            raise AssertionError(f"{response.status_code}: {response.text}")
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Events(response)


async def publish(client: httpx.AsyncClient, *documents: str) -> list[str]:
    """Publish documents; their ids."""
    answer = await client.post("/v1/publish", json={"documents": documents})
    assert answer.status_code == 200, answer.text
    assert answer.json()["problems"] == []
    ids: list[str] = answer.json()["ids"]
    return ids


def refusal(answer: httpx.Response, status: int, code: str) -> str:
    """Assert that something was refused; the reason."""
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert set(answer.json()) == {"code", "reason"}
    reason: str = answer.json()["reason"]
    return reason
