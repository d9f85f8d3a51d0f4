"""How connections are shared out among those who call.

A peer may hold as many connections as are still free.  So one peer gets half of them, two get a
third each, and there is always room for somebody new, without a number that anybody has to choose.

Rejected: a fixed number for each peer.  Behind a proxy all clients are one peer, and on an open
network a hundred peers can work together: no number fits both.
"""

from __future__ import annotations

from collections import Counter


class Shares:
    """The connections of one port, by peer."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[str] = Counter()
        self._total = 0

    def __len__(self) -> int:
        return self._total

    def enter(self, peer: str) -> bool:
        """Count a connection; False if the peer holds as many as are free."""
        if self._held.get(peer, 0) >= self._most - self._total:
            return False
        self._held[peer] += 1
        self._total += 1
        return True

    def leave(self, peer: str) -> None:
        """Count a connection no more."""
        self._total -= 1
        self._held[peer] -= 1
        if not self._held[peer]:
            del self._held[peer]
