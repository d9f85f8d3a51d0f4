"""The brokers of a group at one database: who serves a queue, and what the others have written.

A queue is served by one broker at a time, which holds its lock: an advisory lock of PostgreSQL's,
which goes when the broker's connection does.

    event loop ── lock_queue, unlock_queue ──► one thread with a connection of its own
               ◄── on_news, on_lost ──────────┘

A connection that is lost takes the locks with it: ``on_lost`` says so, and whoever serves a queue
must end that at once, for another broker may begin.  The thread connects anew by itself.  Then
``on_news`` gets a :class:`MaybeMissed`, and locks can be taken again.
"""

from __future__ import annotations

import asyncio
import logging
import select
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

import psycopg

from twigcast.broker.store.postgres.address import as_store_error, location_of, store_error
from twigcast.broker.store.postgres.connection import Connection, connect
from twigcast.broker.store.postgres.news import CHANNEL, MaybeMissed, News, parse_news
from twigcast.errors import StoreError

_LOCK_CLASS: Final = 0x54776744
"""The first number of the advisory locks of queues; the second one is the queue's."""
_NUMBER: Final = "SELECT number FROM durables WHERE name = %s"
_LOCK: Final = "SELECT pg_try_advisory_lock(%s, %s)"
_UNLOCK: Final = "SELECT pg_advisory_unlock(%s, %s)"

_FIRST_WAIT: Final = 0.05
_LONGEST_WAIT: Final = 2.0

_log = logging.getLogger(__name__)


class _Call(NamedTuple):
    run: Callable[[Connection], bool]
    future: asyncio.Future[bool]


class Group:
    """A broker's place among the others of its group; what is public is for the event loop."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        on_news: Callable[[News], None],
        on_lost: Callable[[], None],
    ) -> None:
        """Begin to listen; ``token`` is that of the store whose own writes are no news."""
        self._location = location_of(url)
        self._connect = partial(connect, url, self._location, "group")
        self._token = token
        self._on_news = on_news
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._calls: deque[_Call] = deque()
        self._wake, self._woken = socket.socketpair()
        self._is_closing = threading.Event()
        self._held: dict[str, int] = {}  # the number of each queue that is locked
        self._connection = self._listen()
        self._thread = threading.Thread(target=self._work, name="store-group", daemon=True)
        self._thread.start()

    async def lock_queue(self, durable: str) -> bool:
        """Begin to serve a queue; False if another broker does, or there is no such queue."""
        return await self._call(lambda connection: self._take(connection, durable))

    async def unlock_queue(self, durable: str) -> None:
        """Let others serve a queue."""
        await self._call(lambda connection: self._leave(connection, durable))

    async def close(self) -> None:
        """Let others serve all queues, and listen no more."""
        if self._is_closing.is_set():
            return
        self._is_closing.set()
        self._wake.send(b"!")
        await asyncio.to_thread(self._thread.join)
        self._wake.close()
        self._woken.close()

    async def _call(self, run: Callable[[Connection], bool]) -> bool:
        if self._is_closing.is_set():
            raise StoreError(f"{self._location}: the group is closed")
        call = _Call(run, self._loop.create_future())
        self._calls.append(call)
        self._wake.send(b"!")
        return await call.future

    # ---- in the thread --------------------------------------------------------------------------

    def _listen(self) -> Connection:
        connection = self._connect()
        connection.add_notify_handler(lambda notify: self._hear(notify.payload.encode()))
        with as_store_error(self._location):
            connection.execute(f"LISTEN {CHANNEL}".encode())
        return connection

    def _work(self) -> None:
        while not self._is_closing.is_set():
            try:
                self._turn(self._connection)
            except psycopg.Error as error:
                self._lose(error)
        for call in self._calls:
            self._answer(call, StoreError(f"{self._location}: the group is closed"))
        with suppress(psycopg.Error):  # a server that is away has let go of them
            self._connection.execute("SELECT pg_advisory_unlock_all()")
        self._connection.close()

    def _turn(self, connection: Connection) -> None:
        """Wait for calls or news, and deal with those that are there."""
        woken = self._woken.fileno()
        ready, _, _ = select.select([woken, connection.fileno()], [], [])
        if woken in ready:
            self._woken.recv(4096)
        else:
            connection.pgconn.consume_input()
        while (notify := connection.pgconn.notifies()) is not None:
            self._hear(notify.extra)
        while self._calls and not self._is_closing.is_set():
            call = self._calls.popleft()
            try:
                self._answer(call, call.run(connection))
            except psycopg.Error as error:
                self._answer(call, store_error(self._location, error))
                raise

    def _hear(self, payload: bytes) -> None:
        news = parse_news(self._token, payload)
        if news is not None:
            self._report(self._on_news, news)

    def _lose(self, error: psycopg.Error) -> None:
        """Connect anew, however long that takes."""
        _log.warning("%s", store_error(self._location, error))
        self._held.clear()
        self._report(self._on_lost)
        self._connection.close()
        wait = _FIRST_WAIT
        while not self._is_closing.wait(wait):
            try:
                self._connection = self._listen()
            except (StoreError, psycopg.Error) as again:
                failure = (
                    again if isinstance(again, StoreError) else store_error(self._location, again)
                )
                while self._calls:
                    self._answer(self._calls.popleft(), failure)
                wait = min(2 * wait, _LONGEST_WAIT)
            else:
                self._report(self._on_news, MaybeMissed())
                return

    def _take(self, connection: Connection, durable: str) -> bool:
        rows = connection.execute(_NUMBER, (durable,)).fetchall()
        number = rows[0][0] if rows else None
        if number is not None and self._held.get(durable) == number:
            return True
        self._leave(connection, durable)  # of that name there was another before
        if number is None:
            return False
        [(is_taken,)] = connection.execute(_LOCK, (_LOCK_CLASS, number)).fetchall()
        if is_taken:
            self._held[durable] = number
        return bool(is_taken)

    def _leave(self, connection: Connection, durable: str) -> bool:
        number = self._held.pop(durable, None)
        if number is not None:
            connection.execute(_UNLOCK, (_LOCK_CLASS, number))
        return number is not None

    def _answer(self, call: _Call, answer: bool | StoreError) -> None:
        self._report(_settle, call.future, answer)

    def _report(self, function: Callable[..., object], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            _log.warning("%s: the event loop ended before its group was closed", self._location)


def _settle(future: asyncio.Future[bool], answer: bool | StoreError) -> None:
    if future.done():  # whoever waited for it gave up
        return
    if isinstance(answer, StoreError):
        future.set_exception(answer)
    else:
        future.set_result(answer)
