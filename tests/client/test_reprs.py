"""What a client shows of itself and of what it gets, in a terminal and in a notebook."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from live_brokers import one_broker

from twigcast.broker import BrokerConfig, StoreConfig
from twigcast.client import connect, connect_sync

KEEPING = BrokerConfig(name="rome", store=StoreConfig(keep="all"))


def test_a_client_and_its_subscriptions_show_their_state(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path, KEEPING) as running:
            client = connect(running.address)
            at = f"<Client at {running.address}: "
            assert repr(client) == f"{at}not connected yet with 0 subscriptions>"
            async with client:
                kept = client.subscribe({"k": "//a"}, durable="desk")
                assert repr(kept) == (
                    "<Subscription 'desk' to k: not ready, 0 documents wait, 0 missed>"
                )
                await kept.ready()
                assert repr(client) == f"{at}connected to rome with 1 subscriptions>"
                assert "'desk' to k: ready, " in repr(kept)
                identity = await client.publish("<a>secret</a>")
                event = await anext(kept)
                assert repr(event) == f"<Event {identity} #1: 13 bytes for k>"
                promised = await client.advertise()
                assert repr(promised) == "<Advertised anything>"
                refused = client.subscribe({"long": f"//{'a' * 5_000}"})
                await asyncio.wait([asyncio.ensure_future(refused.ready())])
                assert "to long: ended: " in repr(refused)
                await kept.close()
                assert "to k: closed, " in repr(kept)
            assert repr(client) == f"{at}closed with 0 subscriptions>"

    asyncio.run(scenario())


def test_documents_and_the_status_are_tables_in_a_notebook(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with one_broker(tmp_path, KEEPING) as running, connect(running.address) as client:
            identity = await client.publish("<a>1 &lt; 2</a>")
            asked = client.ask("//a")
            documents = await asked
            assert repr(asked) == "<Asked //a: 1 documents examined>"
            assert repr(documents) == f"[<Document {identity}: 15 bytes>]"
            shown = documents._repr_html_()
            assert f"<td>{identity}</td>" in shown
            assert "<td>&lt;a&gt;1 &amp;lt; 2&lt;/a&gt;</td>" in shown
            status = (await client.status())._repr_html_()
            assert "<th>rome</th>" in status
            assert re.search(r"<tr><td>in</td><td>1</td></tr>", status)

    asyncio.run(scenario())


def test_without_an_event_loop_it_is_the_same(tmp_path: Path) -> None:
    def look(address: str) -> None:
        with connect_sync(address) as client:
            assert repr(client) == (
                f"<SyncClient at {address}: connected to rome with 0 subscriptions>"
            )
            client.publish("<a/>")
            asked = client.ask("//a")
            assert len(asked.all()) == asked.examined == 1
            assert repr(asked) == "<SyncAsked //a: 1 documents examined>"
            with client.subscribe("//a") as subscription:
                assert repr(subscription).startswith("<SyncSubscription to //a: ready, ")

    async def scenario() -> None:
        async with one_broker(tmp_path, KEEPING) as running:
            await asyncio.to_thread(look, running.address)

    asyncio.run(scenario())
