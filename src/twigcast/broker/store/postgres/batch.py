"""A batch of writes as one transaction: few statements, however many writes there are.

    writes ──► runs of common ones    look up what they name      one round trip
           │                          decide each, in order       none
           │                          write what was decided      none: nobody waits for answers
           └─► rare ones between      statement by statement      some

The writes of a run are decided one after the other, but what they change is written together:
first what :class:`Settling` has gathered, then what :class:`Keeping` has.  Where that would make a
difference, both are written in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, cast

from twigcast.broker.store.postgres.changing import change
from twigcast.broker.store.postgres.connection import Connection
from twigcast.broker.store.postgres.keeping import Keeping
from twigcast.broker.store.postgres.lookup import CommonWrite, look_up
from twigcast.broker.store.postgres.settling import Settling
from twigcast.delivery import (
    Acknowledge,
    Confirm,
    KeepDocument,
    NoteAttempts,
    NoteReceived,
    Result,
    Write,
)

_COMMON: Final = (KeepDocument, NoteReceived, Acknowledge, Confirm, NoteAttempts)


def apply(connection: Connection, writes: Sequence[Write]) -> list[Result]:
    """Apply writes in order within a transaction that is begun; what they give."""
    results: list[Result] = []
    for is_common, run in groupby(writes, lambda write: isinstance(write, _COMMON)):
        if is_common:
            results += _Run(connection, [*cast("Iterable[CommonWrite]", run)]).apply()
        else:
            results += [change(write, connection) for write in run]
    return results


class _Run:
    """Common writes that follow each other."""

    def __init__(self, connection: Connection, writes: list[CommonWrite]) -> None:
        self._connection = connection
        self._writes = writes
        known = look_up(connection, writes)
        self._settling = Settling(known)
        self._keeping = Keeping(known)

    def apply(self) -> list[Result]:
        results = [self._decide(write) for write in self._writes]
        self._flush()
        return results

    def _decide(self, write: CommonWrite) -> Result:
        if isinstance(write, KeepDocument):
            return self._keeping.keep(write)
        if isinstance(write, NoteReceived):
            self._keeping.note_received(write.id, write.settled)
        elif isinstance(write, Acknowledge):
            self._flush_early(write.durable, (write.upto, *write.sequences))
            self._settling.acknowledge(write)
        elif isinstance(write, NoteAttempts):
            self._flush_early(write.durable, write.attempts)
            self._settling.note_attempts(write)
        else:
            self._flush_owed(write)
            self._settling.confirm(write)
        return None

    def _flush(self) -> None:
        self._settling.flush(self._connection)
        self._keeping.flush(self._connection)

    def _flush_early(self, durable: str, sequences: Iterable[int]) -> None:
        if self._keeping.is_adding_to(durable) and self._settling.is_early(durable, sequences):
            self._flush()

    def _flush_owed(self, write: Confirm) -> None:
        if any(self._keeping.is_owing(write.home, str(each)) for each in write.ids):
            self._flush()
