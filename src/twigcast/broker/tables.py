"""The router of a broker, driven: messages in, and what it answers to the queues of links.

    message ──► begin ──► what cannot wait ────────────────► links
                  └──► go_on, in turns ──► gathered ──► begin_flush, in a moment

Nothing here waits.  What takes long goes on in turns, while others have theirs.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from itertools import repeat
from typing import Final

from twigcast.broker.link_codec import encode_update
from twigcast.broker.link_connection import LinkConnection
from twigcast.broker.long_lived import LongLived
from twigcast.broker.pace import taking_turns
from twigcast.errors import RefusedError
from twigcast.routing import GATHERING, Message, Refused, Router, Send, Update
from twigcast.wire import messages

_log = logging.getLogger(__name__)

_PATTERNS: Final = 500
"""How many patterns of a channel are sent before others have their turn."""
_STEPS: Final = 20
"""How many patterns the router looks at before the time is looked at."""


class Tables:
    """What a broker does with its router.

    ``link`` gives the connection to a neighbour, if it is up; ``subscriptions`` how many there are.
    """

    def __init__(
        self,
        router: Router,
        link: Callable[[str], LinkConnection | None],
        subscriptions: Callable[[], int],
    ) -> None:
        self.router = router
        self._link = link
        self._subscriptions = subscriptions
        self._going_on: asyncio.Task[None] | None = None
        self._flushing: asyncio.TimerHandle | None = None
        self._long_lived = LongLived()

    async def close(self) -> None:
        """Stop, whatever is left to be done."""
        if self._flushing is not None:
            self._flushing.cancel()
        if self._going_on is not None:
            self._going_on.cancel()
            await asyncio.gather(self._going_on, return_exceptions=True)

    def route(self, message: Message, link: str, client: str = "") -> None:
        """Give the router a message, and queue what it answers.

        What takes long goes on in turns, and what the router gathers is sent in a moment.  Raises
        what the router refuses ``client``.
        """
        self._dispatch(self.router.begin(message, link), client)
        self.go_on()

    def send(self, sends: list[Send]) -> None:
        """Queue what the router has said, and send what it has gathered, at once."""
        self._dispatch(sends)
        self.flush()  # who subscribes durably awaits documents by the shortest way from then on

    def note_growth(self, more: int = 0) -> None:
        """Note how much there is of what stays for long, ``more`` besides."""
        tables = sum(level.memory_size for level in self.router.levels)
        self._long_lived.grown(tables + self._subscriptions() + more)

    def go_on(self) -> None:
        """Let the router do what it has left to be done, in turns."""
        self.note_growth()
        self._flush_soon()
        if self._going_on is None and self.router.is_behind:
            self._going_on = asyncio.create_task(self._catch_up(), name="tables")

    async def _catch_up(self) -> None:
        try:
            async for most in taking_turns(repeat(_STEPS)):
                is_behind = self.router.go_on(most)
                self.note_growth()
                self._flush_soon()
                if not is_behind:
                    return
        finally:
            self._going_on = None

    def _flush_soon(self) -> None:
        """Send what the router has gathered in a moment, if there is anything."""
        if self._flushing is None and self.router.has_news:
            loop = asyncio.get_running_loop()
            self._flushing = loop.call_later(GATHERING, self.flush, _PATTERNS)

    def flush(self, most: int = sys.maxsize) -> None:
        """Send neighbours what the router has gathered, so many patterns of each channel."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        self._dispatch(self.router.begin_flush(most))
        self.go_on()

    def _dispatch(self, sends: list[Send], client: str = "") -> None:
        """Queue what the router answers; raises what the router refuses a client."""
        refused = None
        for to, message in sends:
            if isinstance(message, Refused):
                if to == client:
                    refused = RefusedError(message.reason, "invalid")
                    continue
                _log.warning("refused: %s", message.reason)
                said = [messages.LinkItem(refused=message.reason).SerializeToString()]
            elif isinstance(message, Update):
                said = encode_update(message)
            else:
                continue
            link = self._link(to)
            if link is not None:
                link.say(said)
        if refused is not None:
            raise refused
