"""The one door to a broker's store, whatever database is behind it: what the event loop calls."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from twigcast.broker.store.database import Database
from twigcast.broker.store.readers import StoreReaders
from twigcast.broker.store.records import (
    Letter,
    OwedDocuments,
    Queued,
    StoredDocument,
    StoreFigures,
)
from twigcast.broker.store.retention import Retention, Trimmed
from twigcast.broker.store.writer import Done, StoreWriter
from twigcast.delivery import NOTHING, KeepDocument, StoreState, Write
from twigcast.errors import StoreError
from twigcast.routing import DocumentId


class Store:
    """A broker's store; written and read after ``start``, until ``close``."""

    def __init__(self, database: Database, retention: Retention) -> None:
        self._database = database
        self._retention = retention
        self._writer: StoreWriter | None = None
        self._readers: StoreReaders | None = None
        self._is_closed = False
        self._on_done: Callable[[Done], None] | None = None
        self._publications: Counter[str] = Counter()  # how often each is being written
        self._written: dict[str, asyncio.Future[None]] = {}  # for those who wait for one
        self.state: StoreState = database.state
        """What there was at opening."""

    def start(self, loop: asyncio.AbstractEventLoop, on_done: Callable[[Done], None]) -> None:
        """Begin to write and read, for an event loop.

        ``on_done`` is called in it with the results of many writes at once, in the order in which
        they were submitted; a write that failed has a StoreError for its result.
        """
        if self._writer is not None or self._is_closed:
            raise StoreError(f"{self._database.location}: a store is started once; open it again")
        self._on_done = on_done
        self._writer = StoreWriter(self._database, loop, self._report)
        self._readers = StoreReaders(self._database)

    @property
    def waiting_bytes(self) -> int:
        """Bytes of memory that hold what is to be written and not yet committed, about."""
        return 0 if self._writer is None else self._writer.waiting_bytes

    @property
    def full(self) -> str:
        """Why documents cannot be kept now, with the remedy; empty if they can."""
        return self._database.full

    @property
    def over(self) -> str:
        """Why nothing can be written ever again, unless it is opened anew; empty if it can."""
        return self._database.over

    # ---- writing --------------------------------------------------------------------------------

    def submit(self, ticket: int, write: Write) -> None:
        """Write something; ``on_done`` gets the ticket with the result when it is safe."""
        self._writing().submit(ticket, write)
        if isinstance(write, KeepDocument) and write.parcel.publication:
            self._publications[write.parcel.publication] += 1

    def beat(self) -> None:
        """Write something that changes nothing: whoever looks sees that this broker is at work."""
        self.submit(0, NOTHING)

    async def trim(self, now: int, *, room: int | None = None) -> Trimmed:
        """Drop what retention does not keep; other writes have their turn in between.

        With ``room``, what nobody needs leaves as many bytes free, and a tenth of what may be kept.
        """
        retention = self._retention if room is None else self._retention.leaving(room)
        slices = self._database.trim(retention, now)
        return await self._writing().trim(slices)

    def _writing(self) -> StoreWriter:
        if self._writer is None or self._is_closed:
            raise self._not_open()
        return self._writer

    def _report(self, writes: Sequence[Write], done: Done) -> None:
        for write in writes:
            if isinstance(write, KeepDocument) and write.parcel.publication:
                self._note_written(write.parcel.publication)
        assert self._on_done is not None
        self._on_done(done)

    def _note_written(self, publication: str) -> None:
        self._publications[publication] -= 1
        if not self._publications[publication]:
            del self._publications[publication]
            written = self._written.pop(publication, None)
            if written is not None and not written.done():
                written.set_result(None)

    # ---- reading --------------------------------------------------------------------------------

    async def find_publication(self, publication: str) -> tuple[str, bytes] | None:
        """The id of the document kept under a publication, and the digest of its content.

        The digest is BLAKE2b of 16 bytes.  A publication that is being written is waited for.
        """
        readers = self._reading()
        if publication in self._publications:
            loop = asyncio.get_running_loop()
            written = self._written.setdefault(publication, loop.create_future())
            await asyncio.shield(written)
        return await readers.run(lambda reader: reader.find_publication(publication))

    async def read_queue(
        self, durable: str, first: int, last: int, *, limit: int, max_bytes: int
    ) -> list[Queued]:
        """Entries of a queue from ``first`` to ``last`` in order; one at least, if there is any."""
        return await self._reading().run(
            lambda reader: reader.read_queue(durable, first, last, limit, max_bytes)
        )

    async def first_since(self, durable: str, stored: int) -> int:
        """The first sequence stored at or after a time; one after the last if none was."""
        return await self._reading().run(lambda reader: reader.first_since(durable, stored))

    async def read_owed(
        self, home: str, ids: Sequence[DocumentId], *, max_bytes: int
    ) -> OwedDocuments:
        """Documents owed to a home; one at least, if there is any."""
        return await self._reading().run(lambda reader: reader.read_owed(home, ids, max_bytes))

    def newest_first(self, since: int, batch: int) -> AsyncIterator[list[StoredDocument]]:
        """Documents stored at or after a time, the newest first, at most ``batch`` at a time."""
        return self._reading().newest_first(since, batch)

    async def figures(self) -> StoreFigures:
        """How much is stored, queued, owed and set aside."""
        return await self._reading().run(lambda reader: reader.figures())

    async def letters(
        self, durable: str = "", home: str = "", after: int = 0, limit: int = 100
    ) -> list[Letter]:
        """Letters with numbers after one, in order; of a queue or home only, if one is named."""
        return await self._reading().run(lambda reader: reader.letters(durable, home, after, limit))

    async def read_letter(self, number: int) -> tuple[Letter, StoredDocument] | None:
        """A letter with its document; None if there is none of this number."""
        return await self._reading().run(lambda reader: reader.read_letter(number))

    async def backup(self, path: Path) -> None:
        """Copy the store to a new file, while it goes on; the copy appears when it is whole."""
        unfinished = path.with_name(path.name + ".unfinished")
        try:
            if path.exists():
                raise StoreError(f"{path}: there is something already: name a new file")
            unfinished.unlink(missing_ok=True)
            try:
                await self._reading().backup(unfinished)
                unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror or error}") from error

    def _reading(self) -> StoreReaders:
        if self._readers is None or self._is_closed:
            raise self._not_open()
        return self._readers

    def _not_open(self) -> StoreError:
        state = "closed" if self._is_closed else "not started"
        return StoreError(f"{self._database.location}: the store is {state}")

    # ---- the end --------------------------------------------------------------------------------

    async def close(self) -> None:
        """Write everything that was submitted, end the threads, let others open the store."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._writer is not None and self._readers is not None:
            await self._writer.close()
            await self._readers.close()
        self._database.close()
