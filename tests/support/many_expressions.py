"""Very many expressions for brokers, and a publisher who notes how long it is kept waiting."""

from __future__ import annotations

import asyncio
import time

from twigcast.broker import RunningBroker
from twigcast.broker.config import LimitsConfig
from twigcast.client import connect

EACH = 0.02
LIMITS = LimitsConfig(expressions_per_client=200_000)


def expressions(count: int) -> dict[str, str]:
    """Expressions of which none covers another."""
    kinds = (
        '//Stock[Symbol="S{0}"]',
        '/orders/order[customer="C{0}"][status="open"]',
        "/Quotes/Stock[Price>{1}][Symbol='S{0}']/News",
        "/nitf/body/p{0}//em",
        '//item[@id="i{0}"][price<{1}]',
    )
    return {str(n): kinds[n % 5].format(n, n % 97) for n in range(count)}


AT_ONCE = 50_000
"""Expressions of one subscription: more do not fit into a message."""


class Publisher:
    """A client that publishes a small document each 20 ms, and notes the longest wait."""

    def __init__(self, running: RunningBroker) -> None:
        self.longest = 0.0
        self._task = asyncio.create_task(self._run(running.address))

    async def _run(self, address: str) -> None:
        async with connect(address) as client:
            while True:
                began = time.perf_counter()
                await client.publish("<probe/>")
                self.longest = max(self.longest, time.perf_counter() - began)
                await asyncio.sleep(EACH)

    async def stop(self) -> float:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        return self.longest
