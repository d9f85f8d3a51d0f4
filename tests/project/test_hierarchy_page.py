"""The set-up of live gateways on the page about units is one that works."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from certificates import make_authority, make_certificate
from folders import ROOT
from live_brokers import until

from twigcast.broker import BrokerConfig, check_safe, read_config, start_server

PAGE = (ROOT / "docs" / "hierarchy.md").read_text(encoding="utf-8")


def read(folder: Path, name: str) -> BrokerConfig:
    [text] = re.findall(rf"```toml\n# {name}.toml\n(.*?)```", PAGE, re.DOTALL)
    path = folder / f"{name}.toml"
    path.write_text(text.replace('folder = "kept"', f'folder = "{name}.kept"'), encoding="utf-8")
    config = read_config(path)
    check_safe(config)
    return replace(config, listen="127.0.0.1:0")


def test_the_gateways_of_the_page_link_under_their_own_names(tmp_path: Path) -> None:
    authority = make_authority(tmp_path)
    for name in ("north-b1", "south-b1"):
        make_certificate(tmp_path, authority, name)

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

    asyncio.run(scenario())
