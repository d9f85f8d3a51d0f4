"""Running a coroutine as a command: Ctrl-C ends it, whenever it comes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


def run_interruptible(main: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine until it ends, or until Ctrl-C.

    ``asyncio.run`` alone may sleep through Ctrl-C: a signal that comes after the loop has looked
    for signals, and before it waits for events, is noticed with the next event only.  A loop with a
    signal handler of its own is woken by the signal.
    """

    async def interruptible() -> _T:
        current = asyncio.current_task()
        assert current is not None, "this is a coroutine"
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, current.cancel)
        return await main

    try:
        return asyncio.run(interruptible())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
