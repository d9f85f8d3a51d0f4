"""The threads that read a broker's store, each with a reader of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from twigcast.broker.store.database import Database, Reader
from twigcast.broker.store.records import StoredDocument
from twigcast.errors import StoreError

_THREADS: Final = 2
_ASK_BYTES: Final = 2**20
"""In a batch of documents for somebody who asks; many may ask at once, and each holds a batch."""
_LARGEST: Final = 2**63 - 1
_END: Final = (_LARGEST, _LARGEST)
"""A position after all documents."""

Answer = TypeVar("Answer")


class StoreReaders:
    """The threads that read, and what can be asked of them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="store-reader")
        # A backup may take minutes, and whoever asks may look at everything there is; others, who
        # wait for their next document, are not to wait for that.
        self._copier = ThreadPoolExecutor(1, thread_name_prefix="store-copier")
        self._asker = ThreadPoolExecutor(1, thread_name_prefix="store-asker")
        self._own = threading.local()
        self._readers: list[Reader] = []

    async def run(
        self, question: Callable[[Reader], Answer], pool: ThreadPoolExecutor | None = None
    ) -> Answer:
        """Ask something in one of the threads."""
        try:
            future = asyncio.get_running_loop().run_in_executor(
                pool or self._pool, lambda: question(self._reader())
            )
        except RuntimeError as error:
            raise StoreError(f"{self._database.location}: the store is closed") from error
        return await future

    def _reader(self) -> Reader:
        reader: Reader | None = getattr(self._own, "reader", None)
        if reader is None:
            reader = self._own.reader = self._database.reader()
            self._readers.append(reader)
        return reader

    async def backup(self, path: Path) -> None:
        """Write a consistent copy of the store to a file."""
        await self.run(lambda reader: reader.backup(path), self._copier)

    async def newest_first(self, since: int, batch: int) -> AsyncIterator[list[StoredDocument]]:
        """Documents stored at or after a time, the newest first, some at a time."""
        position = _END
        while True:
            documents, position = await self.run(
                _newest_before(position, since, batch), self._asker
            )
            if not documents:
                return
            yield documents

    async def close(self) -> None:
        """End the threads when what they are doing is done."""
        for pool in (self._pool, self._copier, self._asker):
            await asyncio.to_thread(pool.shutdown)
        for reader in self._readers:
            reader.close()


def _newest_before(
    position: tuple[int, int], since: int, batch: int
) -> Callable[[Reader], tuple[list[StoredDocument], tuple[int, int]]]:
    return lambda reader: reader.newest_before(position, since, batch, _ASK_BYTES)
