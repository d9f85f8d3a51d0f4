"""Brokers in the event loop of a test, linked as an overlay says, with or without stores."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from twigcast.broker import BrokerConfig, LinkConfig, RunningBroker, StoreConfig, start_server
from twigcast.broker.config import HeartbeatConfig
from twigcast.client import Event, Subscription

QUICK = HeartbeatConfig(interval=0.2, suspect_after=1.0)


PATIENCE = 45.0
"""Seconds within which something comes, also on a machine that does much else."""


async def until(holds: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait for something that is about to happen; fail if it does not."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not holds():
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(f"not within {seconds} s")
        await asyncio.sleep(0.01)


@asynccontextmanager
async def one_broker(
    folder: Path | None = None, config: BrokerConfig | None = None
) -> AsyncIterator[RunningBroker]:
    """A broker that listens at a port of the system's choice."""
    config = BrokerConfig() if config is None else config
    config = replace(config, name=config.name or "here", listen="127.0.0.1:0", heartbeat=QUICK)
    if folder is not None:
        config = replace(config, store=replace(config.store, folder=folder))
    running = await start_server(config)
    try:
        yield running
    finally:
        await running.close()


@asynccontextmanager
async def overlay_of(
    links: Iterable[tuple[str, str]],
    folder: Path | None = None,
    *,
    strategy: str = "covering",
    heartbeat: HeartbeatConfig = QUICK,
) -> AsyncIterator[dict[str, RunningBroker]]:
    """Brokers by name; the second of each pair calls the first.  All are linked to begin with."""
    pairs = list(links)
    running: dict[str, RunningBroker] = {}
    try:
        for name in dict.fromkeys(name for pair in pairs for name in pair):
            calls = [first for first, second in pairs if second == name]
            running[name] = await start_server(
                BrokerConfig(
                    name=name,
                    listen="127.0.0.1:0",
                    strategy=strategy,
                    heartbeat=heartbeat,
                    links=tuple(LinkConfig(running[each].address) for each in calls),
                    store=StoreConfig(None if folder is None else folder / name, sync="normal"),
                )
            )
        await until(lambda: all(is_whole(each, len(pairs)) for each in running.values()))
        yield running
    finally:
        for each in running.values():
            await each.close()


def is_whole(running: RunningBroker, links: int) -> bool:
    """Whether a broker sees all links of the overlay."""
    seen = running.broker.router.overlay.values()
    return sum(len(each) for each in seen) == 2 * links


def tables(brokers: Iterable[RunningBroker]) -> Sequence[int]:
    """How many patterns each broker has to match."""
    return [each.broker.router.table_size for each in brokers]


async def take(subscription: Subscription, count: int) -> list[Event]:
    """The next events, or a failure if they do not come."""
    return [await asyncio.wait_for(anext(subscription), PATIENCE) for _ in range(count)]
