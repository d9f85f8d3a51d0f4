"""Asking for stored documents, reading queues, and what a broker tells of itself."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

import grpc
import pytest
from scripted_broker import Drop, Queue, Session, broker, run, serve, until

from twigcast.client import QueueState, connect
from twigcast.errors import ConnectionFailedError, RefusedError
from twigcast.wire import messages


def answers(request: messages.AskRequest) -> list[messages.AskAnswer]:
    """Documents that tell what was asked, in two messages."""
    told = [request.expression.xpath, dict(request.expression.namespaces), request.since]
    first = messages.Delivery(id="b:1:1", content=json.dumps(told).encode(), published=5)
    rest = [
        messages.Delivery(id=f"b:1:{number}", content=b"<a/>", keys=["k"])
        for number in range(2, request.limit + 1)
    ]
    return [
        messages.AskAnswer(documents=[first]),
        messages.AskAnswer(documents=rest, examined=40),
    ]


def test_documents_are_asked_for() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address, token="t0ken") as client:
            scripted.ask = answers
            since = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
            asked = client.ask("//x:a", namespaces={"x": "urn:x"}, limit=3, since=since)
            found = [document async for document in asked]
            assert [document.id for document in found] == ["b:1:1", "b:1:2", "b:1:3"]
            assert json.loads(found[0].content) == ["//Q{urn:x}a", {}, 1000]
            assert found[0].published == datetime(1970, 1, 1, 0, 0, 0, 5000, tzinfo=UTC)
            assert asked.examined == 40
            assert [document async for document in client.ask("//a", since=timedelta(1))]
            with pytest.raises(ValueError, match="limit"):
                client.ask("//a", limit=-1)

    run(story)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, "invalid"),
        (grpc.StatusCode.PERMISSION_DENIED, "not-allowed"),
        (grpc.StatusCode.NOT_FOUND, "unknown"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "quota"),
    ],
)
def test_refusals_have_codes(status: grpc.StatusCode, code: str) -> None:
    def refuse(request: object) -> list[messages.AskAnswer]:
        raise Drop(status, "the reason")

    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            scripted.ask = refuse
            with pytest.raises(RefusedError, match="the reason") as caught:
                await anext(aiter(client.ask("//a")))
            assert caught.value.code == code
            assert await client.publish("<a/>")

    run(story)


@pytest.mark.parametrize("status", [grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE])
def test_lost_calls_are_told(status: grpc.StatusCode) -> None:
    def lose(request: object) -> list[messages.AskAnswer]:
        raise Drop(status)

    def lose_status(request: object) -> messages.StatusAnswer:
        raise Drop(status)

    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            scripted.ask = lose
            scripted.status = lose_status
            with pytest.raises(ConnectionFailedError, match="lost"):
                await anext(aiter(client.ask("//a")))
            with pytest.raises(ConnectionFailedError, match="lost"):
                await client.status()

    run(story)


def test_a_channel_that_is_replaced_cancels_nobody() -> None:
    """A question under way when the stream is lost fails as a question; its task goes on."""

    async def drop(session: Session) -> None:
        await session.welcome()
        await session.broker.status_asked.wait()
        raise Drop

    async def story() -> None:
        async with broker(drop, serve) as scripted, connect(scripted.address) as client:
            scripted.tells_status = False
            with pytest.raises(ConnectionFailedError):
                await client.status()
            assert await client.publish("<a/>")

    run(story)


def test_a_broker_that_does_not_answer_in_time() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            client._connection.timeout = 0.3
            scripted.tells_status = False
            with pytest.raises(ConnectionFailedError, match=r"within 0\.3 seconds"):
                await client.status()
            assert await client.publish("<a/>")

    run(story)


def test_questions_wait_for_the_next_connection() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            await scripted.stop()
            await until(lambda: client.broker is None)
            asking = asyncio.create_task(client.status())
            await asyncio.sleep(0)
            await scripted.start()
            assert await asking == {}

    run(story)


def test_queues_are_read_without_change() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            scripted.durable["desk"] = Queue("desk")
            await client.publish_all(f"<a>{number}</a>" for number in range(10))
            found = [document async for document in client.read_queue("desk", 3, 5)]
            assert [document.sequence for document in found] == [3, 4, 5]
            assert await client.queue_state("desk") == QueueState(10, 0, 1)
            with pytest.raises(RefusedError, match="nothing-here") as caught:
                await client.queue_state("nothing-here")
            assert caught.value.code == "unknown"
            with pytest.raises(RefusedError) as caught:
                await anext(aiter(client.read_queue("nothing-here", 1, 2)))
            assert caught.value.code == "unknown"

    run(story)


def test_the_status_is_what_the_json_says() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            scripted.status = lambda _: messages.StatusAnswer(json='{"broker": "b", "links": []}')
            assert await client.status() == {"broker": "b", "links": []}
            scripted.status = lambda _: messages.StatusAnswer(json="{")
            with pytest.raises(ConnectionFailedError, match="no JSON"):
                await client.status()

    run(story)


def test_answers_that_are_none() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            scripted.garbage = b"\xff\xff"
            with pytest.raises(ConnectionFailedError, match="no answer"):
                await client.status()
            with pytest.raises(ConnectionFailedError, match="no answer"):
                await anext(aiter(client.ask("//a")))

    run(story)


def test_an_answer_left_in_the_middle_is_cancelled() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            scripted.ask = answers
            async for document in client.ask("//a", limit=3):
                assert document.id == "b:1:1"
                break
            assert await client.status() == {}

    run(story)
