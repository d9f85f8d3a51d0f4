"""Moving a store from one place to another, whatever databases they are in.

    source                 target
    read            ──►    written aside, read back and compared
                           placed, with the mark that it has not arrived     brokers refuse it
    marked as moved                                                          brokers refuse both
                           the mark is removed

So there is no moment at which brokers could open both.  Whoever is interrupted runs the same again:
a target with the mark is made anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from twigcast.broker.store.kept import (
    MOVED_TO,
    TABLES,
    Digest,
    Kept,
    Row,
    Source,
    Target,
    refuse_moved,
    refuse_other_move,
)
from twigcast.broker.store.opening import require_psycopg
from twigcast.broker.store.sqlite.moving import SqliteSource, SqliteTarget
from twigcast.errors import StoreError

_SHOWN: Final = 1000
"""After how many rows progress is told."""


class Progress(Protocol):
    """Is told what is being done, and how much of it is done."""

    def __call__(self, work: str, done: int = 0, total: int = 0) -> None: ...


class Moved(NamedTuple):
    """What was moved."""

    broker: str
    source: str
    target: str
    tables: dict[str, Digest]
    seconds: float

    @property
    def bytes(self) -> int:
        """Of the contents of documents."""
        return self.tables["contents"].bytes

    def rows(self, table: str) -> int:
        """How many rows of a table there are."""
        return self.tables[table].rows

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "broker": self.broker,
            "from": self.source,
            "to": self.target,
            "documents": self.rows("documents"),
            "bytes": self.bytes,
            "queues": self.rows("durables"),
            "entries": self.rows("queue"),
            "owed": self.rows("owed"),
            "letters": self.rows("letters"),
            "seconds": round(self.seconds, 3),
            "tables": {
                name: {"rows": each.rows, "digest": each.text} for name, each in self.tables.items()
            },
        }


def move_store(source: Path | str, target: Path | str, show: Progress) -> Moved:
    """Move a store; each place is a folder, or the address of a PostgreSQL database.

    Raises StoreError, with the remedy, if a running broker has either place open, if the target is
    not empty, or if what is read back is not what was written.  The target has nothing then.
    """
    started = time.monotonic()
    with closing(_open_source(source)) as old, closing(_open_target(target, old)) as new:
        if new.unfinished_from not in ("", old.location):
            raise refuse_other_move(new.location, new.unfinished_from)
        if old.moved_to and not (new.unfinished_from and old.moved_to == new.location):
            refuse_moved(old.location, {MOVED_TO: old.moved_to})
        identity = old.identity()
        new.begin(identity.broker)
        tables = {table: _copy(table, old, new, show) for table in TABLES}
        show("deriving the rest")
        new.finish(identity)
        if new.identity() != identity:
            raise _differs(new, "identity")
        for table, written in tables.items():
            found = Digest()
            for row in _showing(f"checking {table}", new, table, show):
                found.add(row)
            if (found.rows, found.text) != (written.rows, written.text):
                raise _differs(new, table)
        new.install(old.location)
        old.mark_moved(new.location)
        new.release()
        seconds = time.monotonic() - started
        return Moved(identity.broker, old.location, new.location, tables, seconds)


def _open_source(where: Path | str) -> Source:
    if isinstance(where, Path):
        return SqliteSource(where)
    require_psycopg()
    from twigcast.broker.store.postgres.moving import PostgresSource

    return PostgresSource(where)


def _open_target(where: Path | str, source: Source) -> Target:
    if isinstance(where, Path):
        _refuse_same(source, str(where.resolve()))
        return SqliteTarget(where)
    require_psycopg()
    from twigcast.broker.store.postgres.address import location_of
    from twigcast.broker.store.postgres.moving import PostgresTarget

    _refuse_same(source, location_of(where))
    return PostgresTarget(where)


def _refuse_same(source: Source, location: str) -> None:
    if source.location == location:
        raise StoreError(f"{location}: a store is moved from one place to another: name two")


def _copy(table: str, old: Source, new: Target, show: Progress) -> Digest:
    digest = Digest()

    def rows() -> Iterator[Row]:
        for row in _showing(f"moving {table}", old, table, show):
            digest.add(row)
            yield row

    new.write(table, rows())
    return digest


def _showing(work: str, kept: Kept, table: str, show: Progress) -> Iterator[Row]:
    """The rows of a table, while it is told how many of them there were."""
    total = kept.count(table)
    show(work, 0, total)
    for done, row in enumerate(kept.read(table), 1):
        yield row
        if not done % _SHOWN:
            show(work, done, total)


def _differs(new: Target, what: str) -> StoreError:
    return StoreError(
        f"{new.location}: what is read back of {what} is not what was written, and nothing was "
        "moved: look for faults of the disk or memory, and run it again"
    )
