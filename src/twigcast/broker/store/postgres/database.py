"""A PostgreSQL database as a broker's store."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal

from twigcast.broker.store.database import Database
from twigcast.broker.store.postgres import opening, trimming
from twigcast.broker.store.postgres.address import as_store_error, location_of
from twigcast.broker.store.postgres.batch import apply
from twigcast.broker.store.postgres.connection import Connection, connect
from twigcast.broker.store.postgres.group import Group
from twigcast.broker.store.postgres.news import News, send_news
from twigcast.broker.store.postgres.reading import PostgresReader
from twigcast.broker.store.postgres.session import Session
from twigcast.broker.store.postgres.state import read_state
from twigcast.broker.store.retention import Retention, Trimmed
from twigcast.delivery import Result, Write
from twigcast.errors import StoreError


class PostgresDatabase(Database):
    """A store in PostgreSQL, for one broker, or shared by the brokers of a group."""

    def __init__(
        self, url: str, *, broker: str, sync: Literal["full", "normal"], is_shared: bool = False
    ) -> None:
        """Open the store at an address, or make it.

        Raises StoreError, with the remedy, if it cannot be reached, or another broker has it open,
        or it is not this broker's, or newer than this program.
        """
        self.location = location_of(url)
        self._url = url
        self._is_shared = is_shared
        self._token = token = secrets.token_hex(8)
        commit: Literal["on", "off"] = "on" if sync == "full" else "off"
        connect_writer = partial(connect, url, self.location, "writer", commit)
        lock = partial(opening.take_open_lock, location=self.location, is_shared=is_shared)
        connection = connect_writer()
        try:
            with as_store_error(self.location):
                lock(connection)
                incarnation = opening.begin(
                    connection,
                    self.location,
                    broker,
                    token,
                    is_shared=is_shared,
                    is_at_risk=sync == "normal",
                )
                self.state = read_state(connection, incarnation)
                self._session = Session(self.location, token, connection, connect_writer, lock)
        except BaseException:
            connection.close()
            raise

    @property
    def full(self) -> str:  # type: ignore[override]  # it is read, never set
        """Why documents cannot be kept now."""
        return self._session.full

    def write(self, writes: Sequence[Write]) -> list[Result | StoreError]:
        return [*self._session.run(lambda connection: self._apply(connection, writes))]

    def _apply(self, connection: Connection, writes: Sequence[Write]) -> list[Result]:
        results, grown = apply(connection, writes)
        if self._is_shared:
            send_news(connection, self._token, writes, results, grown)
        return results

    def trim(self, retention: Retention, now: int) -> Iterator[Trimmed]:
        return trimming.slices(self._session.run, retention, now)

    def reader(self) -> PostgresReader:
        return PostgresReader(self.location, partial(connect, self._url, self.location, "reader"))

    def join_group(self, *, on_news: Callable[[News], None], on_lost: Callable[[], None]) -> Group:
        """Begin to share queues with other brokers; call it in the event loop."""
        return Group(self._url, self._token, on_news=on_news, on_lost=on_lost)

    def hurry(self) -> None:
        self._session.hurry()

    def close(self) -> None:
        self._session.close(opening.end)
