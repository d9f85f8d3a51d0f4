"""How much is done at once: the same for clients and for neighbours."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from typing import Final, TypeVar

BATCH: Final = 64
"""How many documents one message has at most."""
BATCH_BYTES: Final = 512 * 1024
"""When a message has as many bytes, nothing is added to it."""
TURN: Final = 0.002
"""For how long, in seconds, one client or neighbour may keep the others waiting."""
WAITING_BYTES: Final = 32 * 1024 * 1024
"""Beyond as many bytes that wait for the disk, whoever brings documents is kept waiting."""

_Item = TypeVar("_Item")


async def taking_turns(items: Iterable[_Item]) -> AsyncIterator[_Item]:
    """The items; whenever they have taken a turn's time, others have theirs."""
    began = time.perf_counter()
    for item in items:
        yield item
        if time.perf_counter() - began > TURN:
            await asyncio.sleep(0)
            began = time.perf_counter()
