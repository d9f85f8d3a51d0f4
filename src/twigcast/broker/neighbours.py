"""What neighbours say: decoded, judged, and handed to the router or to the machine of delivery.

A neighbour may say what :mod:`~twigcast.broker.objections` has nothing against.  When its link goes
down, its tables are remembered for a while, in case it returns.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Final

from twigcast.broker.delivery_codec import (
    HomeParts,
    decode_addressed,
    decode_document,
    decode_versions,
)
from twigcast.broker.flow import DocumentFlow
from twigcast.broker.link_codec import LinkProtocolError, decode_update, decode_want
from twigcast.broker.link_connection import LinkConnection
from twigcast.broker.objections import permitted
from twigcast.broker.pace import WAITING_BYTES, taking_turns
from twigcast.broker.store import Store
from twigcast.broker.tables import Tables
from twigcast.delivery import Came, HomeState, NeighbourUp
from twigcast.hierarchy import Gateway
from twigcast.language import Pattern
from twigcast.routing import LinkDown, LinkKind, LinkUp
from twigcast.wire import messages

_log = logging.getLogger(__name__)

_DISK_EACH: Final = 0.005
REMEMBERED: Final = 600.0
"""For how long, in seconds, a broker remembers what it had sent on a link that is down."""


class Neighbours:
    """What the neighbours of one broker say."""

    def __init__(self, tables: Tables, flow: DocumentFlow, store: Store | None) -> None:
        self._tables = tables
        self._router = tables.router
        self._flow = flow
        self._store = store
        self._home_parts: dict[str, HomeParts] = {}
        self._forgetting: dict[str, asyncio.TimerHandle] = {}
        self._taking_home = asyncio.Lock()
        self._turned_away = 0

    def close(self) -> None:
        """Remember nobody any more."""
        for timer in self._forgetting.values():
            timer.cancel()

    @property
    def remembered(self) -> list[str]:
        """Those whose links are down, and may go on where they were."""
        return list(self._forgetting)

    def link_up(self, link: LinkConnection) -> None:
        """Note that a link is up, and send the neighbour what it does not know."""
        if link.name in self._forgetting:
            self._forgetting.pop(link.name).cancel()
        self._home_parts[link.name] = HomeParts()
        self._tables.route(LinkUp(LinkKind.BROKER, link.cost, link.speaker.depths), link.name)
        if not self._router.has_link(link.name):
            raise LinkProtocolError(f"{link.name!r} cannot be a neighbour of {self._router.name!r}")
        self._flow.happen(NeighbourUp(link.name))

    def link_down(self, link: LinkConnection) -> None:
        """Note that a link is down."""
        self._home_parts.pop(link.name, None)
        if self._router.has_link(link.name):
            self._tables.route(LinkDown(), link.name)
            loop = asyncio.get_running_loop()
            self._forgetting[link.name] = loop.call_later(REMEMBERED, self._forget, link.name)

    def _forget(self, neighbour: str) -> None:
        """Let a link go that has been down for long."""
        del self._forgetting[neighbour]
        for level in self._router.levels:
            level.forget(neighbour)
        self._tables.go_on()

    def handle(self, item: messages.LinkItem, link: LinkConnection) -> Awaitable[None] | None:
        """Handle an item from a neighbour; raises LinkProtocolError for what it may not send."""
        if not link.is_up:
            return None
        kind = item.WhichOneof("item")
        if kind == "document":
            document = decode_document(item.document, self._flow.numberings.known)
            self._flow.came(permitted(document, link), link)
            self._note_turned_away(link)
            if self._store is not None and self._store.waiting_bytes > WAITING_BYTES:
                return self._until_disk_follows(self._store)
        elif kind == "update":
            self._tables.route(permitted(decode_update(item.update), link), link.name)
            self._router.prepare()
        elif kind == "addressed":
            self._flow.came(permitted(decode_addressed(item.addressed), link), link)
        elif kind == "home_versions":
            self._flow.came(permitted(decode_versions(item.home_versions), link), link)
        elif kind == "home_state":
            state = self._home_parts[link.name].add(item.home_state)
            return None if state is None else self._take_home(permitted(state, link), link)
        elif kind == "refused":
            _log.warning("%s refuses a message: %s", link.name, item.refused)
        elif kind != "heartbeat":
            raise LinkProtocolError(f"{link.name!r} sends an item that is not known here: {kind}")
        return None

    def _note_turned_away(self, link: LinkConnection) -> None:
        """Report documents that were not let into a unit, which may be forged."""
        gateways = [level for level in self._router.levels if isinstance(level, Gateway)]
        turned_away = sum(each.crossings.turned_away for each in gateways)
        if turned_away > self._turned_away:
            self._turned_away = turned_away
            _log.warning(
                "a document has come over the link to %s from outside, under the name of a broker "
                "inside: it was not let in",
                link.name,
            )

    async def _until_disk_follows(self, store: Store) -> None:
        while store.waiting_bytes > WAITING_BYTES:
            await asyncio.sleep(_DISK_EACH)

    async def _take_home(self, state: HomeState, link: LinkConnection) -> None:
        """Take in what a home wants; others have their turn while the expressions are read."""
        async with self._taking_home:
            read: dict[str, Pattern] = {}
            async for text in taking_turns(self._flow.machine.announcing.unread(state)):
                read[text] = decode_want(text)
                self._tables.note_growth(len(read))
            self._flow.happen(Came(link.name, state, read))
            self._tables.go_on()
