"""Documents that are addressed, in live brokers: by gRPC, by HTTP and by the command line."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import pytest
from http_brokers import refusal, run, serving
from live_brokers import QUICK, one_broker, take, until

from twigcast.broker import BrokerConfig, LinkConfig, RunningBroker, StoreConfig, start_server
from twigcast.broker.config import Permission, PrincipalConfig, RuleConfig
from twigcast.broker.destinations import read_destinations
from twigcast.broker.store.sqlite.disk import FILE
from twigcast.broker.tokens import hash_token
from twigcast.client import Outgoing, connect
from twigcast.client.sync import connect_sync
from twigcast.delivery import Destination
from twigcast.errors import RefusedError

UNITS = (
    ("north/a", "north", ""),
    ("north/b", "", "north/a"),
    ("south/c", "south", "north/a"),
    ("south/d", "", "south/c"),
)
"""Brokers in two units: for which unit each stands, and whom it calls."""


@asynccontextmanager
async def units(folder: Path) -> AsyncIterator[dict[str, RunningBroker]]:
    """Two units of two brokers, in the row b, a, c, d."""
    running: dict[str, RunningBroker] = {}
    async with AsyncExitStack() as stack:
        for name, gateway, calls in UNITS:
            unit, _, own = name.partition("/")
            config = BrokerConfig(
                name=own,
                unit=unit,
                gateway=gateway,
                listen="127.0.0.1:0",
                http="127.0.0.1:0",
                heartbeat=QUICK,
                links=(LinkConfig(running[calls].address),) if calls else (),
                store=StoreConfig(folder / own, sync="normal"),
            )
            running[name] = await start_server(config)
            stack.push_async_callback(running[name].close)
        await until(
            lambda: all(_reaches(running[name], "north/a") for name in ("north/b", "south/c"))
        )
        await until(lambda: _reaches(running["south/d"], "south/c"))
        yield running


def _reaches(running: RunningBroker, broker: str) -> bool:
    return any(each.documents.can_reach(broker) for each in running.broker.router.levels)


def test_a_document_goes_to_a_subscription_in_another_unit_and_to_nobody_else(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with units(tmp_path) as running, AsyncExitStack() as stack:
            clients = {
                name: await stack.enter_async_context(connect(each.address))
                for name, each in running.items()
            }
            inbox = await stack.enter_async_context(
                clients["south/d"].subscribe("//never", durable="inbox")
            )
            others = [
                await stack.enter_async_context(clients["south/d"].subscribe("//a", durable="any")),
                await stack.enter_async_context(clients["north/b"].subscribe("//a")),
            ]
            identity = await clients["north/b"].publish("<a>1</a>", to="south/d:inbox")
            [result] = await clients["north/b"].publish_all(
                [Outgoing("<a>2</a>", to=["south/d:inbox", "south/d:inbox"])]
            )
            assert result.error is None
            one, two = await take(inbox, 2)
            assert (one.id, one.content, one.keys) == (identity, b"<a>1</a>", ())
            assert (two.content, two.keys) == (b"<a>2</a>", ())
            await clients["north/b"].publish("<a>3</a>")
            for each in others:
                [plain] = await take(each, 1)
                assert plain.content == b"<a>3</a>"

    run(story)


def test_every_door_takes_destinations_and_says_what_lacks(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path) as (running, web), connect(running.address) as client:
            name = running.broker.name
            async with client.subscribe("//b", durable="inbox") as inbox:
                said = {"to": f"{name}:inbox"}
                answer = await web.post("/v1/publish", params=said, content=b"<a>1</a>")
                assert answer.status_code == 200
                many = {"documents": [{"content": "<a>2</a>", "to": [f"{name}:inbox"]}]}
                assert (await web.post("/v1/publish", json=many)).json()["problems"] == []
                assert [each.content for each in await take(inbox, 2)] == [b"<a>1</a>", b"<a>2</a>"]
                answer = await web.post("/v1/publish", params=said, json=many)
                assert "leave out to of the request" in refusal(answer, 400, "invalid")
                answer = await web.post("/v1/publish", params={"to": "rome"}, content=b"<a/>")
                assert "cannot be addressed to 'rome'" in refusal(answer, 400, "invalid")
                said = {"to": f"{name}:outbox"}
                answer = await web.post("/v1/publish", params=said, content=b"<a/>")
                assert "no durable subscription 'outbox'" in refusal(answer, 404, "unknown")
                await _publish_by_command(running, tmp_path)
                [third] = await take(inbox, 1)
                assert third.content == b"<a>3</a>"
                await asyncio.to_thread(_publish_from_a_thread, running)
                [fourth] = await take(inbox, 1)
                assert fourth.content == b"<a>4</a>"
            with pytest.raises(TypeError, match="is addressed to texts as 'oslo:inbox', not 5"):
                await client.publish("<a/>", to=[5])  # type: ignore[list-item]

    run(story)


async def _publish_by_command(running: RunningBroker, folder: Path) -> None:
    document = folder / "a.xml"
    document.write_text("<a>3</a>")
    said = ["--to", f"{running.broker.name}:inbox", "--broker", running.address]
    command = [sys.executable, "-m", "twigcast", "publish", str(document), *said]
    process = await asyncio.create_subprocess_exec(*command)
    assert await process.wait() == 0


def _publish_from_a_thread(running: RunningBroker) -> None:
    with connect_sync(running.address) as client:
        client.publish("<a>4</a>", to=f"{running.broker.name}:inbox")


def test_nothing_has_to_be_advertised(tmp_path: Path) -> None:
    async def story() -> None:
        config = BrokerConfig(strategy="advertisements")
        async with (
            one_broker(tmp_path, config) as running,
            connect(running.address) as client,
            client.subscribe("//b", durable="inbox") as inbox,
        ):
            await client.publish("<a/>", to=f"{running.broker.name}:inbox")
            await take(inbox, 1)

    run(story)


def test_a_rule_says_whom_documents_may_be_addressed_to(tmp_path: Path) -> None:
    config = BrokerConfig(
        name="rome",
        principals=(PrincipalConfig("ann", tokens=(hash_token("ann"),)),),
        rules=(
            RuleConfig("ann", frozenset({Permission.PUBLISH}), to=("rome:in-*",)),
            RuleConfig("ann", frozenset({Permission.SUBSCRIBE})),
        ),
    )

    async def story() -> None:
        async with (
            one_broker(tmp_path, config) as running,
            connect(running.address, token="ann") as client,
            client.subscribe("//b", durable="in-1") as inbox,
        ):
            await client.publish("<a/>", to="rome:in-1")
            await take(inbox, 1)
            with pytest.raises(RefusedError, match="address documents to 'rome:out'; ask"):
                await client.publish("<a/>", to="rome:out")

    run(story)


def test_a_letter_goes_again_to_whom_it_was_addressed(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            units(tmp_path) as running,
            connect(running["north/b"].address) as publisher,
            connect(running["south/d"].address) as reader,
            connect(running["south/c"].address) as owner,
        ):
            await publisher.publish("<a/>", to="south/d:inbox")
            store = running["south/c"].broker.store
            assert store is not None
            await until(lambda: _letters(tmp_path / "c" / FILE) == 1)
            [letter] = await owner.letters()
            assert (letter.home, letter.durable) == ("south/d", "")
            assert "no durable subscription 'inbox' at south/d" in letter.reason
            async with (
                reader.subscribe("//never", durable="inbox") as inbox,
                reader.subscribe("//a", durable="wanting") as wanting,
            ):
                await owner.replay_letters([letter.number])
                assert [each.content for each in await take(inbox, 1)] == [b"<a/>"]
                await owner.publish("<a>next</a>")
                assert [each.content for each in await take(wanting, 1)] == [b"<a>next</a>"]

    run(story)


def _letters(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM letters").fetchone()[0])


def test_destinations_are_read_and_counted_once() -> None:
    listed = ["n/a:in:box", "b:x", "n/a:in:box"]
    assert read_destinations(listed) == (Destination("n/a", "in:box"), Destination("b", "x"))
    assert [str(each) for each in read_destinations(listed)] == ["n/a:in:box", "b:x"]


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        (["rome"], "the name of a durable subscription follows the colon; write the full name"),
        (["rome:"], "the name of a durable subscription follows the colon"),
        (["rome:\n"], "the name of a durable subscription follows the colon"),
        ([":inbox"], "the name of a broker is a path of up to 4 names"),
        (["a/b/c/d/e:inbox"], "the name of a broker is a path of up to 4 names"),
        (["^north/a:inbox"], "the name of a broker is a path of up to 4 names"),
        ([f"b:{number}" for number in range(257)], "more than the 256 that a broker takes"),
    ],
)
def test_what_is_no_destination_is_refused(listed: list[str], reason: str) -> None:
    with pytest.raises(RefusedError, match=reason) as refused:
        read_destinations(listed)
    assert refused.value.code == "invalid"
