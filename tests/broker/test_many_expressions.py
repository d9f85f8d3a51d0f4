"""A link comes up between brokers with very many expressions: no flap, and clients are served."""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path

import pytest
from live_brokers import PATIENCE, is_whole, until
from many_expressions import AT_ONCE, EACH, LIMITS, Publisher, expressions

from twigcast.broker import BrokerConfig, LinkConfig, StoreConfig, start_server
from twigcast.broker.config import HeartbeatConfig
from twigcast.broker.link_connection import LinkConnection, SuspectedError
from twigcast.broker.spill_queue import SpillQueue
from twigcast.client import connect


async def link(count: int, folder: Path | None, heartbeat: HeartbeatConfig) -> tuple[float, float]:
    """Link a broker with so many expressions to an empty one: seconds, and the longest publish."""
    config = BrokerConfig(name="a", listen="127.0.0.1:0", heartbeat=heartbeat, limits=LIMITS)
    if folder is not None:
        config = BrokerConfig(
            name="a",
            listen="127.0.0.1:0",
            heartbeat=heartbeat,
            limits=LIMITS,
            store=StoreConfig(folder / "a", sync="normal"),
        )
    full = await start_server(config)
    try:
        async with connect(full.address) as client:
            for first in range(0, count, AT_ONCE):
                some = dict(list(expressions(count).items())[first : first + AT_ONCE])
                durable = None if folder is None else f"d{first}"
                await client.subscribe(some, durable=durable).ready()
            calling = BrokerConfig(
                name="b",
                listen="127.0.0.1:0",
                heartbeat=heartbeat,
                links=(LinkConfig(full.address),),
                store=StoreConfig(None if folder is None else folder / "b", sync="normal"),
            )
            publisher = Publisher(full)
            await asyncio.sleep(5 * EACH)
            began = time.perf_counter()
            empty = await start_server(calling)
            try:
                await until(lambda: is_whole(empty, 1) and is_whole(full, 1))
                (only,) = empty.broker.links.up.values()
                other = Publisher(empty)
                durably = 0 if folder is None else count
                await until(
                    lambda: (
                        empty.broker.router.table_size == count
                        and sum(empty.broker.homes.patterns.values()) == durably
                        and not empty.broker.router.is_behind
                    ),
                    2 * PATIENCE,
                )
                seconds = time.perf_counter() - began
                assert empty.broker.links.up == {"a": only}, "the link has not been down"
                longest = max(await publisher.stop(), await other.stop())
            finally:
                await empty.close()
    finally:
        await full.close()
    return seconds, longest


@pytest.mark.parametrize("is_durable", [False, True])
def test_a_link_with_many_expressions_comes_up_and_publishers_do_not_wait(
    is_durable: bool, tmp_path: Path
) -> None:
    quick = HeartbeatConfig(interval=0.1, suspect_after=0.5)
    # A share of the whole: in one go it is most of it.  A busy machine may take a turn itself, but
    # not each time.
    for attempt in range(3):
        folder = tmp_path / str(attempt) if is_durable else None
        gc.freeze()  # what other tests have left is not to be collected meanwhile
        seconds, longest = asyncio.run(link(6_000, folder, quick))
        if longest < seconds / 2:
            return
    raise AssertionError(f"a publisher waited for {longest:.2f} of {seconds:.2f} s")


@pytest.mark.slow
@pytest.mark.parametrize("is_durable", [False, True])
def test_a_link_with_100_000_expressions_comes_up_with_default_settings(
    is_durable: bool, tmp_path: Path
) -> None:
    folder = tmp_path if is_durable else None
    seconds, longest = asyncio.run(link(100_000, folder, HeartbeatConfig()))
    # Both brokers and both clients share one core here, on a machine that may be three times slow.
    assert seconds < 60
    assert longest < 1.0


class _Silent:
    """A stream on which a frame comes only after the event loop has been busy."""

    async def read(self) -> bytes | None:
        await asyncio.sleep(3600)
        return None

    async def write(self, data: bytes) -> None:
        """Nobody hears it."""


def test_a_link_is_not_suspected_while_its_own_event_loop_is_busy() -> None:
    async def scenario() -> float:
        link = LinkConnection(_Silent(), SpillQueue(), heartbeat=60, suspect_after=0.4)
        serving = asyncio.create_task(link.serve(lambda item, link: None))
        await asyncio.sleep(0.05)
        time.sleep(1.0)  # as a long piece of work would
        began = time.perf_counter()
        with pytest.raises(SuspectedError):
            await serving
        link.documents.close()
        return time.perf_counter() - began

    assert asyncio.run(scenario()) > 0.15
