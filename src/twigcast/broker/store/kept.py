"""All that a store keeps, as tables that are the same for every store: what moves between stores.

    SQLite file ──► Source ──► rows of TABLES ──► Target ──► PostgreSQL
                               Identity

Each store has a :class:`Source`, which reads its own tables as these, and a :class:`Target`, which
makes its own tables of these.  What a store can count or derive is not among them: what waits, the
sizes of accounts, where entries lie.  Nor is what counts for nothing: what durable subscriptions
and homes have left that were dropped.  So two stores keep the same if and only if their rows are
the same, in whatever order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

from twigcast.errors import StoreError

Row: TypeAlias = tuple[Any, ...]

TABLES: Final[Mapping[str, str]] = {
    "durables": "number int4, name text, owner text, is_shared bool, key text, most_attempts int4,"
    " scope int4, last int8, acknowledged int8, missed int8, missed_reported int8",
    "expressions": "durable int4, key text, xpath text",
    "gaps": "durable int4, after int8, upto int8",
    "beyond": "durable int4, sequence int8",
    "revived": "durable int4, sequence int8",
    "attempts": "durable int4, sequence int8, count int8",
    "documents": "number int8, id text, published int8, stored int8, headers text, expires int8,"
    " publication text, publisher text, scope int4, size int4",
    "contents": "document int8, content bytea",
    "destinations": "document int8, broker text, durable text",
    "released": "document int8, at int8",
    "queue": "durable int4, sequence int8, document int8, stored int8, keys text",
    "debts": "number int4, home text",
    "owed": "debt int4, document int8",
    "letters": "number int8, document int8, durable int4, durable_name text, home text,"
    " sequence int8, keys text, reason text, at int8",
    "publications": "publication text, id text, digest bytea, stored int8",
    "homes": "name text, epoch int8, version int8",
    "home_patterns": "home text, pattern text",
    "bits": "unit text, member text, bit int4",
    "received": "origin text, incarnation int8, settled int8",
    "received_numbers": "origin text, incarnation int8, number int8",
}
"""The columns of each table with their types in PostgreSQL, in the order in which all are written.

``gaps`` has those after ``acknowledged`` and the last one of each queue.  Rows of ``queue`` come in
the order of sequences within each queue, those of ``publications`` in the order of time.  ``debts``
are the homes that documents are owed to.  ``durable`` of a letter is 0 if it was in no queue, or if
the durable subscription was dropped.
"""

MOVED_TO: Final = "moved_to"
"""The fact of a store that was moved: where to."""
MOVED_FROM: Final = "moved_from"
"""The fact of a store that is being moved: where from.  It goes when the other one is marked."""


def columns(table: str) -> list[str]:
    """The names of a table's columns."""
    return [each.split()[0] for each in TABLES[table].split(", ")]


def types(table: str) -> list[str]:
    """The types of a table's columns."""
    return [each.split()[1] for each in TABLES[table].split(", ")]


class Identity(NamedTuple):
    """What there is once in each store."""

    broker: str
    incarnation: int
    """The highest that was ever begun."""
    home_epoch: int
    home_version: int
    last_letter: int
    """The highest number that a letter ever had."""
    has_fallen_back: bool
    """Whether sequences may have been given that the store does not know."""


class Digest:
    """How many rows there are, and a digest of them that their order does not change."""

    def __init__(self) -> None:
        self.rows = 0
        self.bytes = 0
        """Of values that are bytes."""
        self._sum = 0

    def add(self, row: Row) -> None:
        """Count a row in."""
        blobs = [each for each in row if isinstance(each, bytes)]
        plain = [
            len(each) if isinstance(each, bytes) else int(each) if isinstance(each, bool) else each
            for each in row
        ]
        hasher = blake2b(repr(plain).encode(), digest_size=16)
        for blob in blobs:
            hasher.update(blob)
            self.bytes += len(blob)
        self._sum = (self._sum + int.from_bytes(hasher.digest(), "big")) % 2**128
        self.rows += 1

    @property
    def text(self) -> str:
        """The digest in hexadecimal digits."""
        return f"{self._sum:032x}"


class Kept(ABC):
    """A store that no other process opens meanwhile."""

    location: str
    """Where it is, for messages; without a password."""

    @abstractmethod
    def identity(self) -> Identity:
        """What there is once."""

    @abstractmethod
    def count(self, table: str) -> int:
        """How many rows a table has, about."""

    @abstractmethod
    def read(self, table: str) -> Iterator[Row]:
        """The rows of a table, one after the other."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""


class Source(Kept):
    """A store that is moved away; nothing is changed in it before ``mark_moved``."""

    moved_to: str
    """Where it was moved to before; empty if it was not."""

    @abstractmethod
    def mark_moved(self, where: str) -> None:
        """Keep brokers from opening it again."""


class Target(Kept):
    """A place without a store.  What is written is there after ``install`` only."""

    unfinished_from: str
    """Where a store was to be moved from to here, and has not arrived; empty if none was."""

    @abstractmethod
    def begin(self, broker: str) -> None:
        """Make empty tables, instead of what a move has left."""

    @abstractmethod
    def write(self, table: str, rows: Iterable[Row]) -> None:
        """Write the rows of a table; each table once, in the order of ``TABLES``."""

    @abstractmethod
    def finish(self, identity: Identity) -> None:
        """Derive the rest; everything can be read then."""

    @abstractmethod
    def install(self, moved_from: str) -> None:
        """Put the store where a broker finds it, but refuses to open it."""

    @abstractmethod
    def release(self) -> None:
        """Let brokers open it."""


def refuse_moved(location: str, facts: Mapping[str, object]) -> None:
    """Raise StoreError if a store was moved away, or has not arrived."""
    if MOVED_TO in facts:
        raise StoreError(
            f"{location}: this store was moved to {facts[MOVED_TO]}: name that one; to come back, "
            "move it from there to an empty folder or database"
        )
    if MOVED_FROM in facts:
        raise StoreError(
            f"{location}: the move of a store from {facts[MOVED_FROM]} to here was not finished: "
            "run twigcast admin move-store again"
        )


def refuse_other_move(location: str, source: str) -> StoreError:
    """What is wrong with a target that the store of another source has not arrived at."""
    return StoreError(
        f"{location}: the move of a store from {source} to here was not finished: run that one "
        "again, or name another target"
    )


def refuse_full(location: str) -> StoreError:
    """What is wrong with a target that has a store already."""
    return StoreError(
        f"{location}: there is a store already, and nothing is moved over it: name an empty folder "
        "or database"
    )


def refuse_nothing(location: str) -> StoreError:
    """What is wrong with a source that has no store."""
    return StoreError(f"{location}: there is no store: name the folder or database of a broker")
