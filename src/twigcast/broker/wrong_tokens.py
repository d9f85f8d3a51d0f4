"""Wrong tokens: whoever shows many waits for the answers.

    wrong token ──► counted, logged ──► the answer waits ──► refused

Five wrong tokens of a peer are answered at once, and then five a second: each one is answered 0.2
seconds after the one before, however many come at a time.  So guesses are slow and visible.  A
right token is never kept waiting, for behind a proxy, or on one machine, it may come from the same
address as the guesses.

Invariant: one peer changes nothing for others.  An answer waits ten seconds at most.  Beyond a
thousand answers that wait, further ones do not: what waits takes memory, and nobody guesses 256
random bits, see :mod:`~twigcast.broker.tokens`.

Rejected: to refuse all tokens of a peer for a while.  Anybody behind the same proxy could then keep
all others out.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from twigcast.broker.access import Access, Principal, UnknownTokenError, bearer_token
from twigcast.broker.metrics import Metrics

_log = logging.getLogger(__name__)

_EACH: Final = 0.2
_FREE: Final = 5
_LONGEST: Final = 10.0
_MOST_PEERS: Final = 10_000
_MOST_WAITING: Final = 1_000


class WrongTokens:
    """Until when the wrong tokens of each peer keep it busy, for those who came last."""

    def __init__(self) -> None:
        self._busy: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._busy)

    def add(self, peer: str, now: float) -> float:
        """Count a wrong token; for how many seconds its answer waits."""
        busy = max(0.0, self._busy.get(peer, now) - now)
        wait = min(max(0.0, busy - (_FREE - 1) * _EACH), _LONGEST)
        self._busy[peer] = now + min(busy, _LONGEST + (_FREE - 1) * _EACH) + _EACH
        self._busy.move_to_end(peer)
        if len(self._busy) > _MOST_PEERS:
            self._busy.popitem(last=False)
        return wait


class Identification:
    """Says who calls, at whichever port."""

    def __init__(self, access: Access, metrics: Metrics) -> None:
        self._access = access
        self._metrics = metrics
        self._wrong = WrongTokens()
        self._waiting = 0

    async def identify(
        self, peer: str, authorization: str | None, certificate_names: Sequence[str]
    ) -> Principal:
        """Who calls; AccessError for bad credentials, after a while if a peer has shown many.

        ``authorization`` is the header or metadata of that name, ``peer`` where the call is from.
        """
        try:
            return self._access.identify(
                token=bearer_token(authorization), certificate_names=certificate_names
            )
        except UnknownTokenError:
            self._metrics.wrong_token()
            _log.warning("wrong token from %s", peer)
            await self._wait(self._wrong.add(peer, time.monotonic()))
            raise

    async def _wait(self, seconds: float) -> None:
        if self._waiting >= _MOST_WAITING:
            return
        self._waiting += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._waiting -= 1
