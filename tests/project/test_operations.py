"""What the pages say about running brokers is true: figures, configuration, the first program."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from certificates import make_authority, make_certificate
from folders import ROOT
from live_brokers import one_broker, until

from twigcast.broker import BrokerConfig, StoreConfig, check_safe, read_config
from twigcast.client import connect

OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def test_every_metric_that_is_worth_an_alarm_is_there(tmp_path: Path) -> None:
    async def scenario() -> str:
        settings = replace(BrokerConfig(), http="127.0.0.1:0")
        async with one_broker(tmp_path, settings) as running, connect(running.address) as client:
            await client.subscribe("/a", durable="d").ready()
            # Of somebody who is away, and owed a document.
            running.broker.router.documents.set_home("away", _wants_all())
            await client.publish("<a/>")
            running.broker.metrics.refused("invalid")
            assert running.http is not None
            async with httpx.AsyncClient() as http:
                place = f"http://{running.http.address}"
                assert (await http.head(f"{place}/health")).status_code == 200
                response = await http.get(f"{place}/metrics")
            return response.text

    told = asyncio.run(scenario())
    named = set(re.findall(r"`(twigcast_\w+)`", OPERATIONS))
    assert len(named) >= 7
    named.remove("twigcast_doors_standing_by")  # of groups only, whose tests look for it
    for name in named:
        assert re.search(rf"^{name}(_bucket|_count)?[ {{]", told, re.MULTILINE), name


def _wants_all() -> Any:
    from twigcast.covering import Change
    from twigcast.language import parse

    return Change((parse("/*"),))


def test_the_configuration_on_the_page_is_one(tmp_path: Path) -> None:
    [text] = re.findall(r"```text\n# /etc/twigcast/broker.toml\n(.*?)```", OPERATIONS, re.DOTALL)
    authority = make_authority(tmp_path)
    make_certificate(tmp_path, authority, "rome")
    path = tmp_path / "broker.toml"
    path.write_text(text, encoding="utf-8")
    read = read_config(path)
    check_safe(read)
    assert read.name == "rome"
    assert read.store.folder == Path("/var/lib/twigcast")


def test_the_first_program_of_the_readme_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [program] = [
        block
        for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
        if "twigcast.connect" in block
    ]

    async def scenario() -> None:
        settings = BrokerConfig(store=StoreConfig(keep="all"))
        async with one_broker(tmp_path, settings) as running:
            names: dict[str, Any] = {}
            defined, _, started = program.rpartition("asyncio.run(main())")
            assert not started.strip()
            exec(defined.replace("127.0.0.1:7400", running.address), names)
            task = asyncio.create_task(names["main"]())
            durables = running.broker.durables
            await until(
                lambda: any(each.queue.acknowledged for each in durables.values()) or task.done()
            )
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert [each.queue.acknowledged for each in durables.values()] == [1]

    asyncio.run(scenario())
    assert "b'<Stock><Price>17</Price></Stock>'" in capsys.readouterr().out
