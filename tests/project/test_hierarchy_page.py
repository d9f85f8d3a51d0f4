"""The set-up of two sites on the page about units is one that works."""

from __future__ import annotations

import asyncio
import re
import subprocess
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from folders import ROOT
from live_brokers import until

from twigcast.broker import BrokerConfig, check_safe, read_config, start_server
from twigcast.client import connect

PAGE = (ROOT / "docs" / "hierarchy.md").read_text(encoding="utf-8")


def read(folder: Path, name: str) -> BrokerConfig:
    [text] = re.findall(rf"```toml\n# {name}.toml\n(.*?)```", PAGE, re.DOTALL)
    path = folder / f"{name}.toml"
    path.write_text(text.replace('folder = "kept"', f'folder = "{name}.kept"'), encoding="utf-8")
    config = read_config(path)
    check_safe(config)
    return replace(config, listen="127.0.0.1:0")


def test_two_sites_of_the_page_link_and_show_their_state(tmp_path: Path) -> None:
    [commands] = re.findall(r"```sh\n(curve=.*?)```", PAGE, re.DOTALL)
    here = re.sub(r"IP:10\.\d\.0\.1", "IP:127.0.0.1", commands)
    subprocess.run(["sh", "-ec", here], cwd=tmp_path, check=True, capture_output=True, timeout=60)

    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            north = await start_server(read(tmp_path, "north"))
            stack.push_async_callback(north.close)
            config = read(tmp_path, "south")
            [link] = config.links
            calling = replace(config, links=(replace(link, address=north.address),))
            south = await start_server(calling)
            stack.push_async_callback(south.close)
            await until(lambda: list(north.broker.links.up) == ["south/b1"])
            assert [level.depth for level in south.broker.router.levels] == [1, 0]
            async with connect(
                north.address,
                ca=tmp_path / "authority.pem",
                certificate=tmp_path / "operator.pem",
                key=tmp_path / "operator.key",
            ) as operator:
                [_, outside] = (await operator.status())["levels"]
                assert sorted(outside["units"]) == ["north", "south"]
                await operator.publish("<stock/>")

    asyncio.run(scenario())
