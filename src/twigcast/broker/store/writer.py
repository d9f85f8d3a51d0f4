"""The thread that writes a broker's store: many writes in one transaction, in order.

    event loop ──submit──► waiting ──take a batch──► Database.write ──► on_done, in the event loop
                              ▲                          │
                              └──── trimming: one slice, then behind the others again

While one batch is being committed the next one gathers, so the more there is to write the more a
commit carries: no write waits for others to come, and a disk that needs milliseconds for a commit
takes thousands of documents a second.

A batch that fails is tried again in halves, down to single writes, so that a write that cannot be
done fails alone.  Where nothing can be written at all, the batch fails as a whole.  Nothing stops
the thread: what comes later is tried anew.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from twigcast.broker.store.database import Database, UnavailableError
from twigcast.broker.store.retention import Trimmed
from twigcast.delivery import KeepDocument, Result, Write
from twigcast.errors import StoreError

_BATCH_WRITES: Final = 2000
_BATCH_BYTES: Final = 16 * 2**20
_WRITE_BYTES: Final = 512
_REFERENCE_BYTES: Final = 128
"""About what a write takes in memory, and each queue or home in it, besides the content."""

Done: TypeAlias = list[tuple[int, Result | StoreError]]
"""Tickets of writes, and what each of them gave."""

_log = logging.getLogger(__name__)


class _Waiting(NamedTuple):
    ticket: int
    write: Write
    size: int


class _Trimming(NamedTuple):
    slices: Iterator[Trimmed]
    parts: list[Trimmed]
    future: asyncio.Future[Trimmed]


class StoreWriter:
    """Runs writes in a thread of its own; what is public is for the event loop."""

    def __init__(
        self,
        database: Database,
        loop: asyncio.AbstractEventLoop,
        on_done: Callable[[Sequence[Write], Done], None],
    ) -> None:
        self._database = database
        self._loop = loop
        self._on_done = on_done
        self._waiting: deque[_Waiting | _Trimming] = deque()
        self._wake = threading.Condition()
        self._is_closing = False
        self._last_error = ""
        self._stopped: asyncio.Future[None] = loop.create_future()
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self.waiting_bytes = 0
        self._thread.start()

    def submit(self, ticket: int, write: Write) -> None:
        """Queue a write; ``on_done`` tells when it is committed, or why it is not."""
        size = memory_of(write)
        self.waiting_bytes += size
        self._put(_Waiting(ticket, write, size))

    def trim(self, slices: Iterator[Trimmed]) -> asyncio.Future[Trimmed]:
        """Queue a trimming behind what waits; the future has what all its slices dropped."""
        future: asyncio.Future[Trimmed] = self._loop.create_future()
        self._put(_Trimming(slices, [], future))
        return future

    async def close(self) -> None:
        """Write what is queued, and end the thread."""
        self._database.hurry()
        with self._wake:
            self._is_closing = True
            self._wake.notify()
        await asyncio.shield(self._stopped)
        self._thread.join()

    def _put(self, what: _Waiting | _Trimming) -> None:
        with self._wake:
            self._waiting.append(what)
            self._wake.notify()

    # ---- in the thread --------------------------------------------------------------------------

    def _work(self) -> None:
        while batch := self._take():
            if isinstance(batch, _Trimming):
                self._trim(batch)
            else:
                self._write(batch)
        self._call(self._stopped.set_result, None)

    def _take(self) -> list[_Waiting] | _Trimming:
        """What to do next, waiting for it; nothing when all is done and no more will come."""
        with self._wake:
            while not self._waiting and not self._is_closing:
                self._wake.wait()
            batch: list[_Waiting] = []
            size = 0
            while self._waiting and len(batch) < _BATCH_WRITES and size < _BATCH_BYTES:
                first = self._waiting[0]
                if isinstance(first, _Trimming):
                    if not batch:
                        self._waiting.popleft()
                        return first
                    break
                batch.append(first)
                size += first.size
                self._waiting.popleft()
            return batch

    def _write(self, batch: list[_Waiting]) -> None:
        results: list[Result | StoreError]
        try:
            results = self._database.write([each.write for each in batch])
        except Exception as error:  # whatever is wrong with a write, the thread goes on
            if len(batch) > 1 and not isinstance(error, UnavailableError):
                half = len(batch) // 2
                self._write(batch[:half])
                self._write(batch[half:])
                return
            results = [self._as_store_error(error)] * len(batch)
        self._log_errors(results)
        self._call(self._report, batch, results)

    def _log_errors(self, results: list[Result | StoreError]) -> None:
        """Log why writes failed, but not again and again."""
        errors = [str(result) for result in results if isinstance(result, StoreError)]
        if errors and errors[0] != self._last_error:
            _log.error("%d of %d writes failed: %s", len(errors), len(results), errors[0])
        self._last_error = errors[0] if errors else ""

    def _trim(self, trimming: _Trimming) -> None:
        try:
            part = next(trimming.slices, None)
        except Exception as error:  # as above
            failure = self._as_store_error(error)
            _log.error("not trimmed: %s", failure)
            self._call(_settle, trimming.future, failure)
            return
        if part is not None:
            trimming.parts.append(part)
        if part is None or self._is_closing:
            self._call(_settle, trimming.future, Trimmed.total(trimming.parts))
        else:
            self._put(trimming)

    def _as_store_error(self, error: Exception) -> StoreError:
        if isinstance(error, StoreError):
            return error
        return StoreError(f"{self._database.location}: {error!r}")

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            location = self._database.location
            _log.warning("%s: the event loop ended before its store was closed", location)

    def _report(self, batch: list[_Waiting], results: list[Result | StoreError]) -> None:
        """In the event loop: hand out the results, once for all of them."""
        self.waiting_bytes -= sum(each.size for each in batch)
        done = [(each.ticket, result) for each, result in zip(batch, results, strict=True)]
        self._on_done([each.write for each in batch], done)


def memory_of(write: Write) -> int:
    """About how many bytes of memory a write holds."""
    if isinstance(write, KeepDocument):
        references = len(write.entries) + len(write.homes)
        return _WRITE_BYTES + len(write.parcel.content) + _REFERENCE_BYTES * references
    return _WRITE_BYTES


def _settle(future: asyncio.Future[Trimmed], result: Trimmed | StoreError) -> None:
    if future.done():  # whoever waited for it gave up
        return
    if isinstance(result, StoreError):
        future.set_exception(result)
        future.exception()  # it is in the log; nobody has to ask for it
    else:
        future.set_result(result)
