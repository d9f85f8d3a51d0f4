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


def test_who_waits_for_a_frame_can_be_stopped_as_it_comes() -> None:
    async def scenario() -> None:
        link = LinkConnection(_Silent(), SpillQueue(), heartbeat=60, suspect_after=60)
        frame = asyncio.get_running_loop().create_future()
        link._stream.read = lambda: frame  # type: ignore[method-assign, assignment, return-value]

        async def receive_and_go_on() -> None:
            await link.receive()
            await asyncio.Event().wait()

        waiting = asyncio.create_task(receive_and_go_on())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        frame.set_result(None)
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting], timeout=5)
        assert waiting.cancelled()

    asyncio.run(scenario())
