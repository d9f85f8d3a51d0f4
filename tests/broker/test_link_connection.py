"""A link connection ends when it is closed, whatever happens at the same moment."""

from __future__ import annotations

import asyncio

import pytest

from twigcast.broker.link_connection import LinkConnection
from twigcast.broker.spill_queue import SpillQueue


class _Silent:
    """A stream on which nothing comes."""

    async def read(self) -> bytes | None:
        await asyncio.Event().wait()
        return None

    async def write(self, data: bytes) -> None:
        """Nobody hears it."""


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("is_closed", [False, True])
def test_a_link_ends_also_while_something_is_sent(turns: int, is_closed: bool) -> None:
    async def scenario() -> None:
        link = LinkConnection(_Silent(), SpillQueue(), heartbeat=60, suspect_after=60)
        serving = asyncio.create_task(link.serve(lambda item, link: None))
        await asyncio.sleep(0.01)
        if is_closed:
            link.close("it is over")
        else:
            link.say((b"item",))
        for _ in range(turns):
            await asyncio.sleep(0)
        if is_closed:
            link.say((b"item",))
        else:
            link.close("it is over")
        async with asyncio.timeout(10):
            await serving
        link.documents.close()

    asyncio.run(scenario())
