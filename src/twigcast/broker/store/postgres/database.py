"""A PostgreSQL database as a broker's store."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

from twigcast.broker.store.database import Database
from twigcast.broker.store.postgres import opening, trimming
from twigcast.broker.store.postgres.address import as_store_error, location_of
from twigcast.broker.store.postgres.batch import apply
from twigcast.broker.store.postgres.connection import WRITER, connect
from twigcast.broker.store.postgres.reading import PostgresReader
from twigcast.broker.store.postgres.session import Session
from twigcast.broker.store.postgres.state import read_state
from twigcast.broker.store.retention import Retention, Trimmed
from twigcast.delivery import Result, Write
from twigcast.errors import StoreError


class PostgresDatabase(Database):
    """A store in PostgreSQL, which one broker at a time has open."""

    def __init__(
        self,
        url: str,
        *,
        broker: str,
        sync: Literal["full", "normal"],
        door: Mapping[str, str] | None = None,
    ) -> None:
        """Open the store at an address, or make it.

        Raises StoreError, with the remedy, if it cannot be reached, or another broker has it open,
        or it is not this broker's, or newer than this program.
        """
        self.location = location_of(url)
        self._url = url
        token = secrets.token_hex(8)
        commit: Literal["on", "off"] = "on" if sync == "full" else "off"
        connect_writer = partial(connect, url, self.location, WRITER, commit)
        patience = opening.DOOR_PATIENCE if door else opening.PATIENCE
        lock = partial(opening.take_open_lock, location=self.location, patience=patience)
        connection = connect_writer()
        try:
            with as_store_error(self.location):
                lock(connection)
                incarnation = opening.begin(
                    connection,
                    self.location,
                    broker,
                    token,
                    door=door or {},
                    is_at_risk=sync == "normal",
                )
                self.state = read_state(connection, incarnation)
                remedy = {"remedy": ""} if door else {}  # a door stands by, without being told
                self._session = Session(
                    self.location, token, connection, connect_writer, lock, **remedy
                )
        except BaseException:
            connection.close()
            raise

    @property
    def full(self) -> str:  # type: ignore[override]  # it is read, never set
        """Why documents cannot be kept now."""
        return self._session.full

    @property
    def over(self) -> str:  # type: ignore[override]  # as above
        """Why nothing can be written ever again."""
        return self._session.over

    def write(self, writes: Sequence[Write]) -> list[Result | StoreError]:
        return [*self._session.run(lambda connection: apply(connection, writes))]

    def trim(self, retention: Retention, now: int) -> Iterator[Trimmed]:
        return trimming.slices(self._session.run, retention, now)

    def reader(self) -> PostgresReader:
        return PostgresReader(self.location, partial(connect, self._url, self.location, "reader"))

    def hurry(self) -> None:
        self._session.hurry()

    def close(self) -> None:
        self._session.close(opening.end)
