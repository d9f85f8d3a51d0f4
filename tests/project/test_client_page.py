"""What docs/brokers.md shows is true: the network of two brokers links, the program runs."""

from __future__ import annotations

import asyncio
import re
import shlex
import socket
import time
from pathlib import Path

import pytest
from certificates import make_authority, make_certificate
from folders import DOCS
from live_brokers import one_broker
from live_commands import PATIENCE, command

from twigcast.broker import BrokerConfig, StoreConfig
from twigcast.client import connect, connect_sync

PAGE = (DOCS / "brokers.md").read_text("utf-8")


def files_of(machine: str) -> dict[str, str]:
    """The files that a machine shows with ``cat``."""
    shown = re.findall(rf"^{machine}\$ cat (\S+)\n(.*?)(?=^{machine}\$)", PAGE, re.M | re.S)
    return dict(shown)


def command_of(machine: str) -> list[str]:
    """The command with which a machine starts its broker."""
    [found] = re.findall(rf"^{machine}\$ twigcast (broker .*)$", PAGE, re.M)
    return shlex.split(found)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def test_the_network_of_the_page_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_certificate(tmp_path, make_authority(tmp_path), "rome")
    places = {
        "10.0.0.1:7400": f"127.0.0.1:{free_port()}",
        "127.0.0.1:7400": f"127.0.0.1:{free_port()}",
    }
    for machine in ("rome", "paris"):
        for name, text in files_of(machine).items():
            told = re.sub("|".join(places), lambda found: places[found[0]], text)
            (tmp_path / name).write_text(told, encoding="utf-8")
            (tmp_path / name).chmod(0o600)
    with (
        command(tmp_path, *command_of("rome"), "--json") as rome,
        command(tmp_path, *command_of("paris"), "--json") as paris,
    ):
        rome.until(rome.json_lines)
        paris.until(paris.json_lines)
        assert rome.json_lines()[0]["address"] == places["10.0.0.1:7400"]
        with connect_sync(places["127.0.0.1:7400"]) as client:
            deadline = time.monotonic() + PATIENCE
            while client.status()["topology"]["paris"] != {"rome": 1.0}:
                assert time.monotonic() < deadline, (client.status(), paris.errors, rome.errors)
                time.sleep(0.05)
        assert paris.end() == 0
        assert rome.end() == 0


def test_the_program_of_the_page_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [program] = re.findall(r"^```python\n(import asyncio.*?)^```", PAGE, re.M | re.S)
    program, run = program.rsplit("\n", 2)[0], program.splitlines()[-1]
    assert run == "asyncio.run(main())"

    async def scenario() -> None:
        async with one_broker(tmp_path, BrokerConfig(store=StoreConfig(keep="all"))) as running:
            names: dict[str, object] = {}
            exec(program.replace("127.0.0.1:7400", running.address), names)
            async with asyncio.timeout(30):
                await names["main"]()  # type: ignore[operator]
            async with connect(running.address) as client:
                assert (await client.queue_state("desk-7")).acknowledged == 1

    asyncio.run(scenario())
    printed = capsys.readouterr().out
    assert "1 ('dear',) b'<Stock><Price>17</Price></Stock>'" in printed
    assert "b'<story><n>0</n></story>'" in printed
    assert "refused" not in printed
