"""Brokers in units: who is linked with whom, and who may speak for whom."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from live_brokers import QUICK, until

from twigcast.broker import (
    BrokerConfig,
    LinkConfig,
    RunningBroker,
    StoreConfig,
    start_server,
    status,
)
from twigcast.hierarchy import parts_below


class Site:
    """Brokers in the event loop of a test, by their full names."""

    def __init__(self, stack: AsyncExitStack, folder: Path) -> None:
        self._stack = stack
        self._folder = folder
        self.running: dict[str, RunningBroker] = {}

    async def start(self, name: str, gateway: str = "", calls: str = "", **link: Any) -> None:
        """Start a broker that calls another one."""
        unit, _, own = name.rpartition("/")
        links = [LinkConfig(self.running[calls].address, **link)] if calls else []
        config = BrokerConfig(
            name=own,
            unit=unit,
            gateway=gateway,
            listen="127.0.0.1:0",
            heartbeat=QUICK,
            links=tuple(links),
            store=StoreConfig(self._folder / name.replace("/", "+"), sync="normal"),
        )
        self.running[name] = running = await start_server(config)
        self._stack.push_async_callback(running.close)

    def links(self, name: str) -> list[str]:
        """The neighbours of a broker."""
        return sorted(self.running[name].broker.links.up)

    def known(self, name: str) -> list[list[str]]:
        """The brokers that each level of a broker knows, the innermost level first."""
        levels = self.running[name].broker.router.levels
        return [level.documents.view.brokers for level in levels]

    async def problem(self, name: str) -> str:
        """Why a broker cannot reach the one that it calls."""
        problems = self.running[name].broker.links.problems
        await until(lambda: problems)
        return next(iter(problems.values()))


@asynccontextmanager
async def site(folder: Path) -> AsyncIterator[Site]:
    async with AsyncExitStack() as stack:
        yield Site(stack, folder)


def test_brokers_know_the_units_in_which_they_take_part(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("north/a", "north")
            await brokers.start("north/b", calls="north/a")
            await brokers.start("c", calls="north/a")
            inside, outside = ["north/a", "north/b"], ["c", "north/a"]
            await until(lambda: brokers.known("north/a") == [inside, outside])
            await until(lambda: brokers.known("north/b") == [inside])
            await until(lambda: brokers.known("c") == [outside])
            view = brokers.running["c"].broker.router.documents.view
            assert view.leaves == {"north/@a": ["north/a"]}
            await brokers.running["north/b"].close()
            await until(lambda: brokers.links("north/a") == ["c"])

    asyncio.run(scenario())


def test_the_status_of_a_gateway_has_a_level_for_each_unit(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("north/a", "north")
            await brokers.start("north/b", "north", calls="north/a")
            await brokers.start("south/c", "south", calls="north/a")
            broker = brokers.running["north/a"].broker
            above = broker.router.levels[1]
            three = ["north/a", "north/b", "south/c"]
            await until(lambda: above.documents.view.brokers == three)
            await until(lambda: list(map(len, parts_below(above).values())) == [1, 1])
            inside, outside = status.levels(broker)
            linked = {"north/a": {"north/b": 1.0}, "north/b": {"north/a": 1.0}}
            nothing = {"out": 0, "into": 0, "in_vain": 0, "turned_away": 0}
            assert inside == {
                "unit": "north",
                "topology": linked,
                "gateways": ["north/a", "north/b"],
                "units": {},
                "crossings": nothing,
            }
            crossing = {"north/a": {"north/b": 1.0, "south/c": 1.0}, "south/c": {"north/a": 1.0}}
            assert outside == {
                "unit": "",
                "topology": linked | crossing,
                "gateways": [],
                "units": {
                    "north": [{"gateways": ["north/a", "north/b"], "acting": {"south": "north/a"}}],
                    "south": [{"gateways": ["south/c"], "acting": {"north": "south/c"}}],
                },
                "crossings": None,
            }
            assert status.topology(broker) == linked | crossing

    asyncio.run(scenario())


def test_a_link_that_no_unit_has_is_refused_at_both_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    remedy = "make 'north/b' a gateway of 'north', or link others"

    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("c")
            await brokers.start("north/b", calls="c")
            assert remedy in await brokers.problem("north/b")
            assert brokers.links("c") == brokers.links("north/b") == []

    asyncio.run(scenario())
    said = [each.getMessage() for each in caplog.records if remedy in each.getMessage()]
    assert any(each.startswith("link from ipv4") for each in said)
    assert any(each.startswith("link to 127.0.0.1") for each in said)


def test_a_broker_that_is_called_like_a_unit_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("north")
            await brokers.start("north/b", "north", calls="north")
            assert "give the broker another name" in await brokers.problem("north/b")

    asyncio.run(scenario())


def test_who_answers_under_another_name_than_expected_is_not_linked(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("north/a", "north")
            await brokers.start("c", calls="north/a", broker="south/a")
            assert "'north/a' answers at 127.0.0.1" in await brokers.problem("c")
            await brokers.start("d", calls="north/a", broker="north/a")
            await until(lambda: brokers.links("north/a") == ["d"])
            assert brokers.links("c") == []

    asyncio.run(scenario())
