"""A door of a group: several processes with one database that are one broker to everybody else.

             ┌── stands by: passes connections on to the door that leads ◄──┐
    start ───┤                    │ nobody leads                            │ lost the store
             └─► opens the store ─┴─► leads: is the broker ─────────────────┘

The door that has the store open leads.  It is an ordinary broker, with all clients and links of
the group.  When it ends, whichever way, PostgreSQL frees the lock of the store, and another door
opens it: to neighbours and clients that is the broker, started again with its store.  So nothing
has to be agreed on between doors, and what survives the end of a broker survives that of a door.

A leader that hangs keeps the lock.  So it writes something each second; if nothing of it is seen
for ten seconds, a door that stands by cuts its connection to the database.  To open a large store
may take longer, which is allowed for.  A leader that has lost the lock notices it with the next
thing that it writes, and stands by; so it answers for nothing without a write.

Invariant: one door at a time writes.  What it has acknowledged is in the database.

Cost: a connection and four questions a second to the database for each door that stands by.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from twigcast.broker.addresses import Address
from twigcast.broker.config import BrokerConfig
from twigcast.broker.forwarding import Forwarder
from twigcast.broker.store import Store, TakenError
from twigcast.errors import StoreError

if TYPE_CHECKING:
    from twigcast.broker.server import RunningBroker
    from twigcast.broker.store.postgres import Leader

_log = logging.getLogger(__name__)

_LOOK_EACH: Final = 0.25
_BEAT_EACH: Final = 1.0
_OVER_EACH: Final = 0.1
HANGS_AFTER: Final = 10.0
"""For how many seconds nothing may be seen of a leader."""
OPENS_WITHIN: Final = 600.0
"""The same while it opens the store, which may be large."""


class StandingBy(NamedTuple):
    """What a door is while another one leads."""

    name: str
    address: str
    leader: str
    """Where the door is that leads."""


class Door:
    """One door of a group."""

    def __init__(
        self,
        config: BrokerConfig,
        *,
        open_store: Callable[[], Store],
        serve: Callable[[Store], Awaitable[RunningBroker]],
        on_change: Callable[[RunningBroker | StandingBy], None],
    ) -> None:
        """``on_change`` is called when it begins to stand by, and when it begins to lead."""
        from twigcast.broker.store.postgres import Doors

        self._config = config
        self._open_store = open_store
        self._serve = serve
        self._on_change = on_change
        self._own = door_addresses(config)
        self._doors = Doors(config.store.url, self._own["grpc"])
        self._leader: Leader | None = None
        self._forwarders: list[Forwarder] = []
        self._seen = 0.0  # when the leader was last seen to have written
        self._problem = ""
        self._has_begun = False

    async def run(self, stop: asyncio.Event) -> None:
        """Stand by and lead, in turn, until told to stop.

        Raises StoreError and ConfigError where it cannot even begin.
        """
        while (store := await self._stand_by(stop)) is not None:
            await self._lead(store, stop)

    # --- standing by ------------------------------------------------------------------------------

    async def _stand_by(self, stop: asyncio.Event) -> Store | None:
        """Pass connections on until the store is free; then the store, or None to stop."""
        try:
            while not stop.is_set():
                store = await self._look()
                if store is not None:
                    return store
                if not self._forwarders and self._leader is not None:
                    await self._begin_to_forward(self._leader)
                await _wait(stop, _LOOK_EACH)
            return None
        finally:
            await asyncio.gather(*(each.close() for each in self._forwarders))
            self._forwarders.clear()
            await asyncio.to_thread(self._doors.close)

    async def _look(self) -> Store | None:
        """Look who leads; the store, if nobody did and this door is the first to open it."""
        try:
            leader = await asyncio.to_thread(self._doors.look)
            self._note(leader)
            if leader is None:
                return await asyncio.to_thread(self._open_store)
            patience = HANGS_AFTER if leader.has_begun else OPENS_WITHIN
            if time.monotonic() - self._seen > patience:
                _log.warning("the door at %s hangs: it leads no more", _address(leader))
                await asyncio.to_thread(self._doors.end, leader)
            self._problem = ""
        except TakenError:
            pass  # another door was quicker
        except StoreError as error:
            if not self._has_begun:
                raise
            if self._problem != str(error):
                _log.error("%s", error)
            self._problem = str(error)
        return None

    def _note(self, leader: Leader | None) -> None:
        before = self._leader
        if leader is None or before is None or leader.trace != before.trace:
            self._seen = time.monotonic()
        name = self._config.name_at()
        if leader is not None and leader.broker != name:
            raise StoreError(
                f"{self._doors.location}: it belongs to the broker {leader.broker!r}, and this is "
                f"{name!r}: the doors of a group have a name in common"
            )
        if leader is not None and not leader.addresses:
            raise StoreError(
                f"{self._doors.location}: the broker that has this store open is no door of a "
                "group: start it with store.door, too, or stop it"
            )
        self._leader = leader
        if before is not None and leader is not None and leader.addresses != before.addresses:
            for each in self._forwarders:
                each.cut()  # what is connected to a door that hangs would wait for ever

    async def _begin_to_forward(self, leader: Leader) -> None:
        config = self._config
        self._forwarders += [
            Forwarder(address, partial(self._where, spoken))
            for spoken, address in _ports(config).items()
        ]
        for each in self._forwarders:
            await each.start()
        self._has_begun = True
        self._on_change(StandingBy(config.name_at(), str(config.listen_address), _address(leader)))

    def _where(self, spoken: str) -> Address | None:
        """Where the leader speaks something."""
        address = "" if self._leader is None else self._leader.addresses.get(spoken, "")
        if not address or address == self._own[spoken]:
            return None
        return Address.parse(address)

    # --- leading ----------------------------------------------------------------------------------

    async def _lead(self, store: Store, stop: asyncio.Event) -> None:
        self._leader = None
        try:
            running = await self._serve(store)
        except BaseException:
            await store.close()
            raise
        self._has_begun = True
        try:
            self._on_change(running)
            due = 0.0
            while not stop.is_set() and not store.over:
                if time.monotonic() >= due:
                    store.beat()
                    due = time.monotonic() + _BEAT_EACH
                await _wait(stop, _OVER_EACH)
        finally:
            await running.close()
        if store.over:
            _log.warning("%s; standing by", store.over)


def door_addresses(config: BrokerConfig) -> dict[str, str]:
    """Where other doors find a door, by what is spoken there."""
    return {
        spoken: str(address._replace(host=config.store.door))
        for spoken, address in _ports(config).items()
    }


def _ports(config: BrokerConfig) -> dict[str, Address]:
    http = config.http_address
    return {"grpc": config.listen_address} | ({} if http is None else {"http": http})


def _address(leader: Leader) -> str:
    return leader.addresses.get("grpc", "")


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    """Wait for a while, or until told to stop."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
