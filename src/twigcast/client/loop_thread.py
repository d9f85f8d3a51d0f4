"""An event loop on a thread of its own, for callers that have none."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Generic, TypeVar

from twigcast.client.failures import closed

_Value = TypeVar("_Value")


class LoopThread:
    """Runs coroutines for other threads until it is stopped.

    The thread is a daemon: a program that ends without stopping it is not kept alive.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="twigcast client", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, _Value]) -> _Value:
        """What a coroutine returns or raises; interrupting the wait cancels it."""
        future = self._start(coroutine)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise closed("client") from None
        except BaseException:
            future.cancel()
            raise

    def start(self, coroutine: Coroutine[Any, Any, None]) -> Callable[[], object]:
        """Begin a coroutine; what is returned cancels it."""
        return self._start(coroutine).cancel

    def call(self, function: Callable[[], None]) -> None:
        """Have a function called on the thread, soon."""
        self._loop.call_soon_threadsafe(function)

    @property
    def is_stopped(self) -> bool:
        """Whether nothing can be run any more."""
        return self._loop.is_closed()

    def stop(self) -> None:
        """Cancel what still runs and end the thread."""
        if not self._loop.is_closed():
            self.run(_cancel_others())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _start(self, coroutine: Coroutine[Any, Any, _Value]) -> concurrent.futures.Future[_Value]:
        if self.is_stopped:
            coroutine.close()
            raise closed("client")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()


class Handover(Generic[_Value]):
    """Values put in by any thread, taken out on the thread of the loop.

    However many are put, the loop is woken once until it looks.
    """

    def __init__(self, thread: LoopThread) -> None:
        self._thread = thread
        self._values: deque[_Value] = deque()
        self._is_woken = False
        self._is_ended = False
        self._arrival = asyncio.Event()

    def put(self, value: _Value) -> None:
        """Hand a value over; on any thread."""
        self._values.append(value)
        self._wake()

    def end(self) -> None:
        """There will be no more; on any thread."""
        self._is_ended = True
        self._wake()

    def __aiter__(self) -> AsyncIterator[_Value]:
        return self

    async def __anext__(self) -> _Value:
        while not self._values:
            if self._is_ended and not self._values:
                raise StopAsyncIteration
            self._arrival.clear()
            await self._arrival.wait()
        return self._values.popleft()

    def _wake(self) -> None:
        if not self._is_woken:
            self._is_woken = True
            self._thread.call(self._on_woken)

    def _on_woken(self) -> None:
        self._is_woken = False
        self._arrival.set()


async def _cancel_others() -> None:
    """End every task of this loop but the one that runs this, and what grew from them."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
