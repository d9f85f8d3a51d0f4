"""What a database must do to be a broker's store: one side writes, the other reads.

    Store ──► StoreWriter ──► Database    one thread, which alone writes
          └─► StoreReaders ─► Reader      a few threads, each with a reader of its own

Whatever a database refuses is raised as a StoreError that names the place and the remedy.

What is alike in every database, beside what :mod:`twigcast.delivery.writes` says:

* ``Acknowledge`` takes a revived sequence as delivered only if ``sequences`` names it: ``upto`` is
  sent again with whatever is acknowledged besides, and must not take what was not delivered.
* ``acknowledged`` always stands just before the first entry that waits, or at ``last``; gaps and
  entries that retention has dropped count as acknowledged.
* Of a ``KeepDocument`` whose publication is known with another document nothing is done: it is not
  noted as received, nor kept as a letter.
* A document without a queue or home is one unrouted letter at most, however often it is set aside.
* A letter stays when its durable subscription or home is dropped.  ``Replay`` leaves a letter whose
  durable subscription is gone, also if there is a new one of its name; a home is owed it again.
* ``SetAside``, ``SetAsideOwed`` and ``NoteAttempts`` pass over what does not wait.  What is
  acknowledged or set aside has no attempts any more.
* ``read_queue`` gives every entry that is kept, acknowledged or not.
* ``trim`` drops by age first.  Then it notes the time for documents that nobody needs any more, and
  drops those for which it noted that longer than ``acknowledged_age`` ago, by ``at < now - age``.
  Then it drops by size, of those noted.  A document that is needed anew is noted no more.
* While ``full`` is not empty, a ``KeepDocument`` is refused with it, and other writes are tried.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

from twigcast.broker.store.records import (
    Letter,
    OwedDocuments,
    Queued,
    StoredDocument,
    StoreFigures,
)
from twigcast.broker.store.retention import Retention, Trimmed
from twigcast.delivery import Result, StoreState, Write
from twigcast.errors import StoreError
from twigcast.routing import DocumentId


class UnavailableError(StoreError):
    """Nothing can be written now, whatever it is: the disk fails, or the connection is lost."""


class TakenError(StoreError):
    """Another broker has the store open."""


class Database(ABC):
    """An open database.  One thread calls ``write`` and ``trim``; ``full`` is read from any."""

    location: str
    """Where it is, for messages."""
    state: StoreState
    """What there was at opening."""
    full: str = ""
    """Why documents cannot be kept now, with the remedy; empty if they can.

    It is looked at anew with each ``write`` and ``trim``, so it ends when the trouble does.
    """
    over: str = ""
    """Why nothing can be written ever again, unless the store is opened anew; empty if it can."""

    @abstractmethod
    def write(self, writes: Sequence[Write]) -> list[Result | StoreError]:
        """Apply writes one after the other in one transaction, and return when it is safe.

        A write that is refused gets its StoreError in its place, and leaves nothing.  If the
        transaction fails, an error is raised and nothing is kept: an UnavailableError where other
        writes would fail, too; otherwise the writer tries again with fewer of them.
        """

    @abstractmethod
    def trim(self, retention: Retention, now: int) -> Iterator[Trimmed]:
        """Drop what retention does not keep, in slices of some milliseconds.

        Each step is a transaction of its own, after which other writes have their turn.
        """

    @abstractmethod
    def reader(self) -> Reader:
        """A new reader, for the thread that calls this."""

    def hurry(self) -> None:  # noqa: B027 - most have nothing to wait for
        """The store is being closed: from now on, wait for nothing that may not come."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it; the readers are closed before."""


class Reader(ABC):
    """Reads what was committed before; used by one thread, and closed by any.

    Each method sees one state of the store.
    """

    @abstractmethod
    def read_queue(
        self, durable: str, first: int, last: int, limit: int, max_bytes: int
    ) -> list[Queued]:
        """The entries of a queue in a range, in order: as many as fit, but one if any."""

    @abstractmethod
    def first_since(self, durable: str, stored: int) -> int:
        """The first sequence stored at or after a time; one after the last if none was.

        The answer for a queue that there is not is 1.
        """

    @abstractmethod
    def read_owed(self, home: str, ids: Sequence[DocumentId], max_bytes: int) -> OwedDocuments:
        """Documents owed to a home, in the order of the ids: as many as fit, but one if any.

        What follows the first that does not fit is not read either, but it is seen if it is gone.
        """

    @abstractmethod
    def find_publication(self, publication: str) -> tuple[str, bytes] | None:
        """The id of the document that was kept under a publication, and its content's digest."""

    @abstractmethod
    def newest_before(
        self, position: tuple[int, int], since: int, batch: int, max_bytes: int
    ) -> tuple[list[StoredDocument], tuple[int, int]]:
        """Documents stored from ``since`` on and before a position, the newest first.

        A position is a time and a number of the database's; the result has that of the last
        document, to go on from.  As many as fit, but one if any.
        """

    @abstractmethod
    def figures(self) -> StoreFigures:
        """How much there is."""

    @abstractmethod
    def letters(self, durable: str, home: str, after: int, limit: int) -> list[Letter]:
        """Letters with numbers after one, in order; of a queue or home only, if one is named."""

    @abstractmethod
    def read_letter(self, number: int) -> tuple[Letter, StoredDocument] | None:
        """A letter with its document."""

    @abstractmethod
    def backup(self, path: Path) -> None:
        """Write a consistent copy of the store to a new file, readable for its owner only."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""
