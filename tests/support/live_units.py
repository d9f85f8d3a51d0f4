"""Brokers of units in the event loop of a test, started one after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from live_brokers import QUICK, until

from twigcast.broker import BrokerConfig, LinkConfig, RunningBroker, StoreConfig, start_server


class Site:
    """Brokers in the event loop of a test, by their full names."""

    def __init__(self, stack: AsyncExitStack, folder: Path) -> None:
        self._stack = stack
        self._folder = folder
        self.running: dict[str, RunningBroker] = {}

    async def start(self, name: str, gateway: str = "", calls: str = "", **link: Any) -> None:
        """Start a broker that calls others, whose names have blanks in between."""
        unit, _, own = name.rpartition("/")
        links = [LinkConfig(self.running[each].address, **link) for each in calls.split()]
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
    """A site whose brokers have their stores in a folder; in the end they are closed."""
    async with AsyncExitStack() as stack:
        yield Site(stack, folder)
