"""Letters: documents that a broker has set aside, listed, read, replayed and dropped.

    given out too often in vain ──┐              ┌──► replay: back to the queue, or published anew
    a home can never take it ─────┼──► letter ───┤
    nobody wants it ──────────────┘              └──► drop, or retention

The letters of a durable subscription are its owner's.  All others, and those of a subscription that
has ended, are for whoever administers the broker.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final

from twigcast.broker.access import Permission, Principal
from twigcast.broker.store import Letter, StoredDocument
from twigcast.delivery import Asked, DropLetters, Published, Replay, stands_for
from twigcast.errors import AccessError, NetworkError, RefusedError
from twigcast.routing import ANYTHING

if TYPE_CHECKING:
    from twigcast.broker.broker import Broker

_BATCH: Final = 200
MOST: Final = 10_000
"""How many letters are changed at once."""


class Letters:
    """The letters of one broker, for whoever may see them."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._links = count(1)

    async def listed(
        self, principal: Principal, durable: str = "", after: int = 0, limit: int = 0
    ) -> list[Letter]:
        """Somebody's letters with numbers after one; of a durable subscription if one is named.

        Raises RefusedError, AccessError and StoreError.
        """
        letters: list[Letter] = []
        async for each in self._all(principal, durable, after):
            letters.append(each)
            if limit and len(letters) >= limit:
                break
        if durable and not letters and not after:
            self._broker.keeper.of(principal, durable)  # or else its name is mistyped
        return letters

    async def _all(self, principal: Principal, durable: str, after: int) -> AsyncIterator[Letter]:
        store = self._broker.keeper.require_store()
        self._broker.access.require(principal, Permission.SUBSCRIBE)
        if durable and not self._administers(principal):
            self._broker.keeper.of(principal, durable)
        while batch := await store.letters(durable, after=after, limit=_BATCH):
            after = batch[-1].number
            for each in batch:
                if self._may_see(principal, each):
                    yield each

    async def read(self, principal: Principal, number: int) -> tuple[Letter, StoredDocument]:
        """A letter with its document; raises RefusedError, AccessError and StoreError."""
        self._broker.access.require(principal, Permission.SUBSCRIBE)
        row = await self._broker.keeper.require_store().read_letter(number)
        if row is None:
            raise RefusedError(f"there is no letter {number}", "unknown")
        if not self._may_see(principal, row[0]):
            raise AccessError(
                f"the letter {number} is for {self._readers(row[0])}, not for {principal.name!r}"
            )
        return row

    def _may_see(self, principal: Principal, letter: Letter) -> bool:
        durable = self._broker.durables.get(letter.durable)
        is_owner = durable is not None and durable.owner == principal.name
        return is_owner or self._administers(principal)

    def _administers(self, principal: Principal) -> bool:
        return self._broker.access.may(principal, Permission.ADMINISTER)

    def _readers(self, letter: Letter) -> str:
        durable = self._broker.durables.get(letter.durable)
        return "whoever administers" if durable is None else repr(durable.owner)

    async def drop(
        self, principal: Principal, numbers: Sequence[int], durable: str = ""
    ) -> list[int]:
        """Let go of letters, or of all of a durable subscription; the numbers of those dropped."""
        chosen = [each.number for each in await self._chosen(principal, numbers, durable)]
        await self._drop(chosen)
        return chosen

    async def replay(
        self, principal: Principal, numbers: Sequence[int], durable: str = ""
    ) -> list[int]:
        """Give letters back to their queues, and publish those anew that have none any more.

        Returns the numbers of all that were replayed, which are no letters any more.
        """
        broker = self._broker
        chosen = await self._chosen(principal, numbers, durable)
        queued = tuple(each.number for each in chosen if each.durable in broker.durables)
        if queued:
            write = Replay(queued, _now())
            await broker.flow.ask(lambda ticket: Asked(ticket, write))
            for name in {each.durable for each in chosen if each.number in queued}:
                if name in broker.durables:
                    broker.durables[name].wake()
        rest = [each for each in chosen if each.number not in queued]
        if rest:
            await self._publish_anew(principal, rest)
        return [each.number for each in chosen]

    async def _chosen(
        self, principal: Principal, numbers: Sequence[int], durable: str
    ) -> list[Letter]:
        if bool(numbers) == bool(durable):
            raise RefusedError(
                "name letters by their numbers, or a durable subscription for all of its letters",
                "invalid",
            )
        if len(numbers) > MOST:
            raise RefusedError(f"at most {MOST:,} letters are changed at once", "invalid")
        if durable:
            return await self.listed(principal, durable, limit=MOST)
        return [(await self.read(principal, each))[0] for each in dict.fromkeys(numbers)]

    async def _publish_anew(self, principal: Principal, letters: Sequence[Letter]) -> None:
        """Publish documents under new ids, and drop each letter once its document is safe."""
        broker = self._broker
        link = f"letters/{next(self._links)}"
        broker.open_publisher(link)
        try:
            for letter in letters:
                _, document = await self.read(principal, letter.number)
                if letter.home:  # others have had it
                    to = [each for each in document.to if stands_for(letter.home, each.broker)]
                    document = document._replace(to=tuple(to))
                try:
                    await self._publish(link, principal, document)
                except NetworkError:  # this network wants to know what comes
                    broker.advertise(link, "letters", ANYTHING)
                    await self._publish(link, principal, document)
                await self._drop([letter.number])
        finally:
            broker.close_publisher(link)

    async def _publish(self, link: str, principal: Principal, document: StoredDocument) -> None:
        content, headers, expires = document.content, document.headers, document.expires
        name, scope = principal.name, document.scope
        await self._broker.flow.ask(
            lambda ticket: Published(
                ticket, link, content, "", name, headers, expires, scope=scope, to=document.to
            )
        )

    async def _drop(self, numbers: Sequence[int]) -> None:
        write = DropLetters(tuple(numbers), _now())
        await self._broker.flow.ask(lambda ticket: Asked(ticket, write))


def _now() -> int:
    return time.time_ns() // 1_000_000
