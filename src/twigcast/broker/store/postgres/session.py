"""The connection that writes: one transaction after the other, and the truth when it is lost.

A commit whose answer did not come is in doubt.  So each transaction writes its number into the row
that this session has in the table ``writers``.  After connecting anew that row tells whether the
transaction was committed:

    lost connection                         new connection
      BEGIN
      writers: batch = 7, if generation = 2
      ...                                     writers: generation = 3, returning batch
      COMMIT   ✗ no answer

The new connection waits for the row until the old transaction has ended.  If the old one had not
even begun, it finds another generation when it begins, and fails.  So the answer is final.

A row that is behind what was known to be committed shows that the database has fallen back; where
somebody else has the lock, or the row is gone, another broker has opened the store.  The broker
then must not go on with what it knows: the session is over.

While the connection is lost, a thread of its own tries to make it anew, with growing waits.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar, cast

import psycopg

from twigcast.broker.store.database import TakenError, UnavailableError
from twigcast.broker.store.postgres.address import store_error
from twigcast.broker.store.postgres.connection import Connection
from twigcast.errors import StoreError

_FIRST_WAIT: Final = 0.05
_LONGEST_WAIT: Final = 2.0
_LAST_PATIENCE: Final = 5.0
"""Seconds that are waited for the truth when the store is being closed."""

_MARK: Final = (
    "UPDATE writers SET batch = CASE WHEN generation = %s THEN %s END WHERE token = %s RETURNING 1"
)
"""A row of another generation gets no batch, which it must have; so the transaction fails."""
_MYSELF: Final = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_END_OLD: Final = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND backend_start = %s"
)
_NEXT_GENERATION: Final = (
    "UPDATE writers SET generation = generation + 1 WHERE token = %s RETURNING generation, batch"
)

_TAKEN_OVER: Final = "another broker has opened the store meanwhile, or a backup has replaced it"
_FALLEN_BACK: Final = (
    "the database has fallen back behind what was committed, as when a backup was restored"
)

_UNAVAILABLE: Final = ("08", "53", "57", "58", "25006")
"""The beginnings of SQLSTATEs with which other writes fail, too."""

_log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


class Session:
    """Runs transactions in the thread that writes; what is public is read from any thread."""

    def __init__(
        self,
        location: str,
        token: str,
        connection: Connection,
        connect: Callable[[], Connection],
        lock: Callable[[Connection], None],
        remedy: str = ": start this broker again",
    ) -> None:
        self._location = location
        self._token = token
        self._connection = connection
        self._connect = connect
        self._lock = lock
        self._remedy = remedy
        self._myself = _myself(connection)
        self._generation = 0
        self._batch = 0  # the number of the last transaction that was begun
        self._committed = 0  # that of the last one that is known to be committed
        self._answer: Any = None  # what that has given, or will if it is committed
        self._is_in_doubt = False
        self._is_mended = threading.Event()
        self._is_mended.set()
        self._is_closing = threading.Event()
        self._closing_until = 0.0
        self._mender: threading.Thread | None = None
        self.full = ""
        """Why documents cannot be kept now."""
        self.over = ""
        """Why they cannot be kept in this session ever again."""

    def run(self, work: Callable[[Connection], Answer]) -> Answer:
        """Do some work in one transaction; return when it is safe.

        Raises an UnavailableError if other work would fail, too, and another StoreError if not.
        """
        reason = self.full
        if self.over or (reason and not self._is_mended.is_set()):
            raise UnavailableError(reason)
        self._is_mended.wait()  # a connection that was made anew counts as such in a moment
        for is_last in (False, True):
            try:
                return self._attempt(work)
            except _LostError as lost:
                if self._is_in_doubt:
                    return cast("Answer", self._find_out(lost))
                # Nothing was committed.  A server that was restarted meanwhile is there again.
                is_mended = not is_last and self._mend() is None
                if self.over:
                    raise UnavailableError(self.over) from lost
                if not is_mended:
                    self._begin_mending(lost)
                    raise UnavailableError(self.full) from lost
        raise AssertionError("the last attempt has an end")

    def _attempt(self, work: Callable[[Connection], Answer]) -> Answer:
        self._batch += 1
        self._is_in_doubt = False
        try:
            answer = self._transact(self._connection, work)
        except BaseException as error:
            if not self._roll_back():
                raise _LostError(str(store_error(self._location, error))) from error
            if isinstance(error, psycopg.Error):
                raise self._as_store_error(error) from error
            raise
        self._committed = self._batch
        self.full = ""
        return answer

    def _transact(self, connection: Connection, work: Callable[[Connection], Answer]) -> Answer:
        """Few round trips: the answers to what is sent here come when the pipeline ends."""
        with connection.pipeline():
            connection.execute("BEGIN")
            mark = connection.execute(_MARK, (self._generation, self._batch, self._token))
            self._answer = answer = work(connection)
            if not mark.fetchall():
                raise self._end(_TAKEN_OVER)
            self._is_in_doubt = True
            commit = connection.execute("COMMIT")
        if commit.statusmessage != "COMMIT":
            raise StoreError(f"{self._location}: the server has answered {commit.statusmessage!r}")
        return answer

    def _roll_back(self) -> bool:
        """Whether the connection is still there; one that cannot do this is given up."""
        if self._connection.closed or self._connection.broken:
            return False
        try:
            self._connection.execute("ROLLBACK")
        except psycopg.Error:  # the server has gone, and psycopg has not noticed it before
            self._connection.close()
            return False
        return True

    def _as_store_error(self, error: psycopg.Error) -> StoreError:
        told = store_error(self._location, error)
        if (error.sqlstate or "").startswith(_UNAVAILABLE):
            self.full = str(told)
            return UnavailableError(self.full)
        return told

    def _end(self, reason: str) -> UnavailableError:
        self.full = self.over = f"{self._location}: {reason}{self._remedy}"
        return UnavailableError(self.over)

    # ---- after a loss ---------------------------------------------------------------------------

    def _find_out(self, lost: _LostError) -> Any:
        """Wait for a connection that tells whether the last transaction was committed."""
        self._begin_mending(lost)
        assert self._mender is not None
        self._mender.join()
        if not self._is_mended.is_set():
            raise UnavailableError(
                f"{self._location}: the connection was lost during a commit, and the store is "
                "closed before it is known whether that was done; see it in the queues"
            )
        if self.over:
            raise UnavailableError(self.over)
        if self._committed == self._batch:
            return self._answer
        raise UnavailableError(f"{lost}; nothing was committed")

    def _begin_mending(self, lost: _LostError) -> None:
        self.full = self.full or f"{lost}; it is tried again"
        self._is_mended.clear()
        _log.warning("%s", self.full)
        self._mender = threading.Thread(target=self._keep_mending, name="store-mender", daemon=True)
        self._mender.start()

    def _keep_mending(self) -> None:
        wait = _FIRST_WAIT
        while (error := self._mend()) is not None:
            self.full = f"{error}; it is tried again"
            if self._is_closing.wait(wait) and not self._is_worth_waiting():
                return
            wait = min(2 * wait, _LONGEST_WAIT)
        if not self.over:
            _log.warning("%s: the connection is there again", self._location)
            self.full = ""
        self._is_mended.set()

    def _is_worth_waiting(self) -> bool:
        """Whether something is still in doubt when the store is being closed."""
        time.sleep(_FIRST_WAIT)
        return self._is_in_doubt and time.monotonic() < self._closing_until

    def _mend(self) -> StoreError | None:
        """Connect anew, and find out what was committed; or why that is not possible."""
        try:
            connection = self._connect()
        except StoreError as error:
            return error
        try:
            myself = _myself(connection)
            connection.execute(_END_OLD, self._myself)
            self._lock(connection)
            row = connection.execute(_NEXT_GENERATION, (self._token,)).fetchone()
        except psycopg.Error as error:
            connection.close()
            return store_error(self._location, error)
        except TakenError:
            connection.close()
            self._end(_TAKEN_OVER)
            return None
        self._connection.close()
        self._connection, self._myself = connection, myself
        if row is None:
            self._end(_TAKEN_OVER)
        elif row[1] < self._committed:
            self._end(_FALLEN_BACK)
        else:
            self._generation, self._committed = row
        return None

    def hurry(self) -> None:
        """Wait no longer than a moment for a connection that is lost."""
        self._closing_until = time.monotonic() + _LAST_PATIENCE
        self._is_closing.set()

    def close(self, end: Callable[[Connection, str], None]) -> None:
        """End the session, after what ``end`` does with it if it is there."""
        self._is_in_doubt = False
        self.hurry()
        if self._mender is not None:
            self._mender.join()
        with suppress(psycopg.Error):
            if self._is_mended.is_set() and not self.over:
                end(self._connection, self._token)
        self._connection.close()


class _LostError(Exception):
    """The connection is lost, and why."""


def _myself(connection: Connection) -> tuple[Any, ...]:
    """What names a connection on its server."""
    [myself] = connection.execute(_MYSELF).fetchall()
    return myself
