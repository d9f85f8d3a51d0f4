"""A bounded soak: clients come and go, documents flow, and nothing piles up."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from pathlib import Path

import pytest
from live_brokers import overlay_of, until

from twigcast.broker import RunningBroker
from twigcast.client import connect

RING = [("a", "b"), ("b", "c"), ("a", "c")]


async def _visit(addresses: list[str], choose: random.Random, rounds: int) -> None:
    """A client that connects, subscribes, publishes, reads a little, and leaves."""
    for _ in range(rounds):
        async with connect(choose.choice(addresses)) as client:
            durable = f"d{choose.randrange(5)}" if choose.random() < 0.3 else None
            subscription = client.subscribe(
                f"/x[n>{choose.randrange(100)}]", durable=durable, window=8
            )
            await subscription.ready()
            for _ in range(10):
                await client.publish(f"<x><n>{choose.randrange(100)}</n></x>")
            try:
                for _ in range(5):
                    event = await asyncio.wait_for(anext(subscription), 0.05)
                    if durable is not None and choose.random() < 0.5:
                        await event.ack()
            except TimeoutError:
                pass
            except Exception as error:  # another client has taken the durable subscription over
                if "another client" not in str(error):
                    raise


def _is_empty(running: RunningBroker) -> bool:
    broker = running.broker
    owed = sum(broker.owed.values())
    is_writing = bool(broker.flow.machine._writing)
    return not (broker.router.table_size or owed or is_writing or running.service.sessions)


def _soak(folder: Path, visitors: int, rounds: int) -> None:
    async def scenario() -> None:
        async with overlay_of(RING, folder) as brokers:
            addresses = [each.address for each in brokers.values()]
            visits = [_visit(addresses, random.Random(seed), rounds) for seed in range(visitors)]
            await asyncio.gather(*visits)
            for running in brokers.values():
                async with connect(running.address) as client:
                    for name in list(running.broker.durables):
                        await client.forget(name)
            for running in brokers.values():
                await until(partial(_is_empty, running))
                assert not running.broker.router.clients
                assert not running.service.sessions._quotas
                assert not running.broker.flow._loading
                assert not running.broker.flow._waiting
            await until(lambda: len(asyncio.all_tasks()) < 60)

    asyncio.run(scenario())


def test_nothing_is_left_when_all_have_gone(tmp_path: Path) -> None:
    _soak(tmp_path, visitors=6, rounds=6)


@pytest.mark.slow
def test_nothing_is_left_after_a_long_day(tmp_path: Path) -> None:
    _soak(tmp_path, visitors=12, rounds=100)
