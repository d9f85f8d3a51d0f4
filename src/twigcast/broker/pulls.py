"""A client that asks for documents of a durable subscription, once: a pull.

    pull ──► attached: takes what waits, or the first that comes ──► lease: it has that for a while
                                                                       │
                  acknowledged, given back, or the lease has ended ◄───┘

A client over HTTP has no connection that would say that it lives.  So a pull has a lease: what is
not acknowledged when the lease ends was given out in vain, and comes again.  Pulls share the
documents among themselves.  A client that is attached for good takes over a subscription that is
not shared from all of them, and a pull takes it over from that client.
"""

from __future__ import annotations

import asyncio

from twigcast.broker.outbox import Keys
from twigcast.broker.pace import BATCH_BYTES
from twigcast.broker.subscriptions import Attachment, DurableSubscription, Given
from twigcast.errors import RefusedError


class Pull(Attachment):
    """A client that takes some documents, and then nothing more."""

    def __init__(self, durable: DurableSubscription, consumer: str, most: int) -> None:
        super().__init__(durable, consumer, 0, most)
        self.credit = most
        self._news = asyncio.Event()

    def give(self, sequence: int, document: bytes, keys: Keys, expires: int) -> bool:
        """Give nothing at once: it takes."""
        return False

    def wake(self) -> None:
        """Let it look whether there is something to take."""
        self._news.set()

    def end(self, reason: str, code: str) -> None:
        """Serve this client no more."""
        super().end(reason, code)
        self._news.set()

    async def documents(self, patience: float) -> tuple[list[Given], int]:
        """Some documents, and how many were missed; none if none come for so many seconds.

        Raises RefusedError if somebody else takes over, and StoreError.
        """
        deadline = asyncio.get_running_loop().time() + patience
        taken: list[Given] = []
        missed = 0
        try:
            while True:
                self._news.clear()
                found, more_missed = await self.take()
                taken += found
                missed += more_missed
                if self.ended is not None:
                    raise RefusedError(*self.ended)
                if found and self.credit and _size(taken) < BATCH_BYTES:
                    continue
                if taken:
                    return taken, missed
                try:
                    async with asyncio.timeout_at(deadline):
                        await self._news.wait()
                except TimeoutError:
                    return [], 0
        finally:
            self.finish()


def _size(documents: list[Given]) -> int:
    return sum(len(each.document) for each in documents)
