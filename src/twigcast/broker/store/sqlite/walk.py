"""Finding the entries of a queue by their sequences.

    runs:       segment 7: sequence 120 at position 28,700      segment 9: sequence 131 at ...
    documents:  28,672 ... 28,700 ... 28,741 ... 32,767
    queue:                   120        121

The segment is found by sequence, by halving.  From its first entry of the queue, the documents of
the segment are walked, and each one's entry in the queue is looked up.  Rejected: an index by queue
and sequence, which would dirty a page for each queue that a document goes into.

Cost: a lookup of about half a microsecond for each document that is walked, 4,096 at most before an
entry is found; the same for each segment in which a queue has no entry.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from typing import Final, NamedTuple

from twigcast.broker.store.sqlite import tables

LARGEST: Final = 2**63 - 1
"""Of the numbers that SQLite knows; those of the wire go further."""

_READ_RUNS: Final = 100_000

# CROSS JOIN lets SQLite walk on the left and look up on the right, never the other way round.
_FIRST_RUN: Final = """
    WITH RECURSIVE segments(number) AS (
        SELECT ?1 UNION ALL SELECT number + 1 FROM segments WHERE number < ?2)
    SELECT runs.segment, runs.sequence, runs.position FROM segments
    CROSS JOIN runs ON runs.segment = segments.number AND runs.durable = ?3 LIMIT 1
"""
_WALK: Final = """
    SELECT queue.sequence, documents.number, queue.keys, documents.number FROM documents
    CROSS JOIN queue ON queue.position = documents.number AND queue.durable = ?1
    WHERE documents.number BETWEEN ?2 AND ?3 ORDER BY documents.number
"""
_WALK_AGAIN: Final = """
    SELECT queue.sequence, again.document, queue.keys, again.position FROM again
    CROSS JOIN queue ON queue.position = again.position AND queue.durable = ?1
    WHERE again.position BETWEEN ?2 AND ?3 ORDER BY again.position
"""


class Entry(NamedTuple):
    """A document in a queue; the keys are as they are stored."""

    sequence: int
    document: int
    keys: str
    position: int


class _Run(NamedTuple):
    """The first entry that a queue has in a segment."""

    segment: int
    sequence: int
    position: int

    @property
    def end(self) -> int:
        """The last position of the segment."""
        return ((self.segment + 1) << tables.SEGMENT_BITS) - 1


def entries(connection: sqlite3.Connection, durable: int, first: int, last: int) -> Iterator[Entry]:
    """The entries of a queue from one sequence to another, in order."""
    lowest, highest = _segments(connection)
    run = _run_before(connection, durable, first, lowest, highest)
    while run is not None and run.sequence <= last:
        following = _first_run(connection, durable, run.segment + 1, highest)
        final = last if following is None else min(last, following.sequence - 1)
        if first <= final:
            for entry in _walk(connection, durable, run.position, run.end):
                if first <= entry.sequence <= final:
                    yield entry
                if entry.sequence >= final:
                    break
        run = following


def entries_from(
    connection: sqlite3.Connection, durable: int, position: int
) -> Generator[Entry, None, None]:
    """The entries of a queue that are kept at or after a position, in order."""
    lowest, highest = _segments(connection)
    run = _first_run(connection, durable, max(position >> tables.SEGMENT_BITS, lowest), highest)
    while run is not None:
        yield from _walk(connection, durable, max(position, run.position), run.end)
        run = _first_run(connection, durable, run.segment + 1, highest)


def _first_from(connection: sqlite3.Connection, durable: int, position: int) -> int | None:
    with closing(entries_from(connection, durable, position)) as found:
        return next((entry.sequence for entry in found), None)


def first_of_each(connection: sqlite3.Connection, durables: Iterable[int]) -> dict[int, int]:
    """By queue, the first sequence that is kept; queues of which nothing is kept are left out.

    Where most queues begin is found by reading runs from the beginning, all at once.
    """
    wanted = set(durables)
    positions: dict[int, int] = {}
    count = 0
    runs = connection.execute(
        "SELECT durable, position FROM runs ORDER BY segment, durable LIMIT ?", (_READ_RUNS,)
    )
    with closing(runs):
        for durable, position in runs:
            count += 1
            if durable in wanted:
                positions.setdefault(durable, position)
                if len(positions) == len(wanted):
                    break
    if count == _READ_RUNS:  # the others may begin later
        positions = {durable: positions.get(durable, 0) for durable in wanted}
    found = ((durable, _first_from(connection, durable, at)) for durable, at in positions.items())
    return {durable: sequence for durable, sequence in found if sequence is not None}


def _segments(connection: sqlite3.Connection) -> tuple[int, int]:
    """The first and the last segment."""
    lowest, highest = connection.execute(
        "SELECT (SELECT min(segment) FROM runs), (SELECT max(segment) FROM runs)"
    ).fetchone()
    return (0, -1) if lowest is None else (lowest, highest)


def _first_run(connection: sqlite3.Connection, durable: int, low: int, high: int) -> _Run | None:
    """The first run of a queue in a range of segments."""
    if low > high:
        return None
    row = connection.execute(_FIRST_RUN, (low, high, durable)).fetchone()
    return None if row is None else _Run(*row)


def _run_before(
    connection: sqlite3.Connection, durable: int, sequence: int, low: int, high: int
) -> _Run | None:
    """The last run that begins at or before a sequence; the first run if none does."""
    found = _first_run(connection, durable, low, high)
    if found is None:
        return None
    low = found.segment + 1
    while low <= high:
        middle = (low + high) // 2
        run = _first_run(connection, durable, middle, high)
        if run is None or run.sequence > sequence:
            high = middle - 1
        else:
            found, low = run, run.segment + 1
    return found


def entered(connection: sqlite3.Connection, entry: Entry) -> int:
    """When an entry was stored, which may be later than its document was."""
    (stored,) = connection.execute(
        "SELECT coalesce((SELECT stored FROM again WHERE position = ?1),"
        " (SELECT stored FROM documents WHERE number = ?1))",
        (entry.position,),
    ).fetchone()
    return int(stored)


def _walk(connection: sqlite3.Connection, durable: int, low: int, high: int) -> Iterator[Entry]:
    """The entries of a queue in a range of positions."""
    values = (durable, low, high)
    walks = [connection.execute(_WALK, values), connection.execute(_WALK_AGAIN, values)]
    try:
        # Entries of either kind lie in the order of sequences, for positions do.
        yield from map(Entry._make, heapq.merge(*walks))
    finally:
        for walk in walks:
            walk.close()
