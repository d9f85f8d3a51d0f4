"""Those who publish over HTTP: each has one client session, which outlives its requests.

The session stays for a while after a request, so that what a client may publish in a second, and
the order of what it publishes, count over its requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fastapi import Request

from twigcast.broker.batches import Problem, Publication
from twigcast.broker.client_publishing import RETRY
from twigcast.broker.client_session import ClientSession
from twigcast.broker.http.bodies import unless_gone

if TYPE_CHECKING:
    from twigcast.broker.http.context import Caller

_IDLE: Final = 10.0
"""For how long, in seconds, the session of a publisher stays without a request."""


class Publishers:
    """The client sessions of those who publish."""

    def __init__(self) -> None:
        self._publishers: dict[str, _Publisher] = {}

    async def publish(
        self, request: Request, caller: Caller, publications: Sequence[Publication]
    ) -> tuple[list[str], list[Problem]]:
        """Publish documents; returns when they are safe, with their event ids and the problems.

        What is held back holds up no other request, and is given up if the caller goes.
        """
        ids, problems = await self._publish(caller, publications)
        broker = caller.broker
        while broker.config.store.is_held_back:
            held = sorted(each.index for each in problems if each.code == "full")
            if not held:
                break
            with broker.flow.holding():
                await unless_gone(request, asyncio.sleep(RETRY), caller.api.stopping)
            more, still = await self._publish(caller, [publications[each] for each in held])
            problems = [each for each in problems if each.code != "full"]
            problems += [replace(each, index=held[each.index]) for each in still]
            for index, id_ in zip(held, more, strict=True):
                ids[index] = id_
        return ids, problems

    async def _publish(
        self, caller: Caller, publications: Sequence[Publication]
    ) -> tuple[list[str], list[Problem]]:
        publisher = self._publishers.get(caller.key)
        if publisher is None:
            publisher = self._publishers[caller.key] = _Publisher(caller.open_session())
        publisher.begin()
        try:
            batch = await publisher.session.publishing.publish(publications, may_wait=False)
            try:
                await batch.wait()
                return batch.outcome()
            finally:
                publisher.session.publishing.answered(batch)
        finally:
            publisher.requests -= 1
            if not publisher.requests:
                loop = asyncio.get_running_loop()
                publisher.leaving = loop.call_later(_IDLE, self._leave, caller.key)

    def _leave(self, key: str) -> None:
        self._publishers.pop(key).session.close()

    def close(self) -> None:
        """End all sessions."""
        for publisher in self._publishers.values():
            publisher.begin()
            publisher.session.close()
        self._publishers.clear()


class _Publisher:
    def __init__(self, session: ClientSession) -> None:
        self.session = session
        self.requests = 0
        self.leaving: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Count a request, and keep the session."""
        self.requests += 1
        if self.leaving is not None:
            self.leaving.cancel()
            self.leaving = None
