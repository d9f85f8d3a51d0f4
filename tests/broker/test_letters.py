"""Letters: who sees them, reading, replaying and dropping them, by every door."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from http_brokers import calling, refusal, run, serving
from live_brokers import one_broker, take, until
from typer.testing import CliRunner

from twigcast.broker import BrokerConfig, PrincipalConfig, RunningBroker, StoreConfig
from twigcast.broker.config import Permission, RuleConfig
from twigcast.broker.tokens import hash_token
from twigcast.cli.commands import app
from twigcast.client import Client, connect
from twigcast.client.sync import connect_sync
from twigcast.errors import AccessError, RefusedError

KNOWN = BrokerConfig(
    principals=tuple(
        PrincipalConfig(name, tokens=(hash_token(name),)) for name in ("ann", "bob", "root")
    ),
    rules=(
        RuleConfig(who="root", allow=frozenset(Permission)),
        RuleConfig(who="*", allow=frozenset({Permission.PUBLISH, Permission.SUBSCRIBE})),
    ),
)


async def set_aside(client: Client, durable: str, *documents: str) -> None:
    """Make letters of documents."""
    subscription = client.subscribe("//a", durable=durable, deliveries=1)
    async with subscription as desk:
        for document in documents:
            await client.publish(document)
        for event in await take(desk, len(documents)):
            await event.give_back()
        await desk.flush()


async def count(running: RunningBroker) -> int:
    assert running.broker.store is not None
    return (await running.broker.store.figures()).letters


def test_letters_are_listed_read_replayed_and_dropped(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            await set_aside(client, "desk", "<a>1</a>", "<a>2</a>", "<a>3</a>")
            one, two, three = await client.letters("desk")
            assert (one.durable, one.sequence, one.keys) == ("desk", 1, ("//a",))
            assert (one.reason, one.home, one.size) == ("given out in vain", "", 8)
            read = await client.read_letter(two.number)
            assert read.document is not None
            assert (read.document.content, read.document.id) == (b"<a>2</a>", two.id)
            assert (await client.status())["letters"] == 3
            async with client.subscribe(durable="desk") as desk:
                assert await client.replay_letters([two.number]) == [two.number]
                (again,) = await take(desk, 1)
                assert (again.sequence, again.attempts) == (2, 0)
                await again.ack()
            assert await client.drop_letters([one.number]) == [one.number]
            assert await client.letters() == [three]
            with pytest.raises(RefusedError, match="no letter 1"):
                await client.read_letter(one.number)
            with pytest.raises(ValueError, match="by their numbers"):
                await client.drop_letters()
            with pytest.raises(RefusedError, match="no durable subscription 'dusk'"):
                await client.letters("dusk")
            with pytest.raises(RefusedError, match="no durable subscription 'dusk'"):
                await client.replay_letters(durable="dusk")
            assert await client.drop_letters(durable="desk") == [three.number]
            assert running.broker.durables["desk"].queue.waiting == 0

    run(story)


def test_what_nobody_wants_is_a_letter_and_is_published_anew(tmp_path: Path) -> None:
    async def story() -> None:
        config = BrokerConfig(store=StoreConfig(unrouted=True))
        async with one_broker(tmp_path, config) as running, connect(running.address) as client:
            first = await client.publish("<a/>")
            (letter,) = await client.letters()
            assert (letter.id, letter.reason) == (first, "nobody wants it")
            async with client.subscribe("//a", durable="desk") as desk:
                assert await client.replay_letters([letter.number]) == [letter.number]
                (event,) = await take(desk, 1)
                assert event.content == b"<a/>"
                assert event.id != first
                assert await client.letters() == []

    run(story)


def test_a_letter_of_a_subscription_that_has_ended_is_published_anew(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            await set_aside(client, "desk", "<a/>")
            await client.forget("desk")
            (letter,) = await client.letters()
            async with client.subscribe("//a", durable="other") as other:
                await client.replay_letters([letter.number])
                assert (await take(other, 1))[0].content == b"<a/>"
            assert await client.letters() == []

    run(story)


def test_letters_are_for_owners_and_administrators(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            one_broker(tmp_path, KNOWN) as running,
            connect(running.address, token="ann") as ann,
            connect(running.address, token="bob") as bob,
            connect(running.address, token="root") as root,
        ):
            await set_aside(ann, "anns", "<a/>")
            await set_aside(bob, "bobs", "<a/>")
            assert [each.durable for each in await ann.letters()] == ["anns"]
            assert [each.durable for each in await root.letters()] == ["anns", "bobs"]
            (letter,) = await bob.letters("bobs")
            with pytest.raises((AccessError, RefusedError), match="bob"):
                await ann.read_letter(letter.number)
            with pytest.raises((AccessError, RefusedError), match="bob"):
                await ann.drop_letters([letter.number])
            with pytest.raises((AccessError, RefusedError), match="bob"):
                await ann.letters("bobs")
            assert len(await root.letters("bobs")) == 1

    run(story)


def test_over_http(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path) as (running, client):
            async with connect(running.address) as other:
                await set_aside(other, "desk", "<a>1</a>", "<a>2</a>", "<a>3</a>")
            answer = (await client.get("/v1/letters", params={"limit": 2})).json()
            first, second = (each["number"] for each in answer["letters"])
            letter = (await client.get(f"/v1/letters/{second}")).json()
            assert letter["document"]["content"] == "<a>2</a>"
            assert (letter["durable"], letter["home"], letter["sequence"]) == ("desk", None, 2)
            answer = await client.post("/v1/letters/replay", json={"numbers": [second]})
            assert answer.json() == {"numbers": [second]}
            assert (await client.delete(f"/v1/letters/{first}")).json() == {"numbers": [first]}
            refusal(await client.get(f"/v1/letters/{first}"), 404, "unknown")
            refusal(await client.post("/v1/letters/replay", json={}), 400, "invalid")
            assert "twigcast_store_letters 1.0" in (await client.get("/metrics")).text
            await client.delete("/v1/letters", params={"durable": "desk"})
            assert await count(running) == 0
            async with calling(running) as unmarked:
                del unmarked.headers["Twigcast-Request"]
                answer = await unmarked.post("/v1/letters/replay", json={"numbers": [second]})
                refusal(answer, 403, "not-allowed")

    run(story)


def test_by_commands(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as running, connect(running.address) as client:
            await set_aside(client, "desk", "<a>1</a>", "<a>2</a>")
            await asyncio.to_thread(_command, running.address)
            await until(lambda: running.broker.durables["desk"].queue.waiting == 1)

    run(story)


def _command(address: str) -> None:
    def call(*arguments: str, status: int = 0) -> str:
        result = CliRunner().invoke(app, ["letters", *arguments, "--broker", address])
        assert result.exit_code == status, result.output
        return result.output

    assert "desk #1" in call("list", "--durable", "desk")
    lines = call("list", "--json").splitlines()
    first, _ = (json.loads(line)["number"] for line in lines)
    assert "<a>1</a>" in call("show", str(first))
    assert json.loads(call("show", str(first), "--json"))["content"] == "<a>1</a>"
    assert "1 letter replayed" in call("replay", str(first))
    assert "1 letter dropped" in call("drop", "--durable", "desk")
    assert "no letters" in call("list")
    call("drop", status=2)
    with connect_sync(address) as client:
        assert client.letters() == []


def test_a_broker_without_a_store_has_no_letters() -> None:
    async def story() -> None:
        async with one_broker() as running, connect(running.address) as client:
            with pytest.raises(RefusedError, match="keeps nothing"):
                await client.letters()
            assert (await client.status())["letters"] == 0

    run(story)
