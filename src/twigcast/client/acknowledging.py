"""Which events of a durable subscription are done with, and what of that is still to be sent.

    1 … upto │ upto+1   [start … end]   [start … end]   …
    all done │ not done   runs of done ones beyond

An event that was never delivered here (it was dropped, or acknowledged in an earlier life) counts
as done, so that ``upto`` passes over it.  Where a subscription begins late in its queue, what lies
before is neither delivered nor done: ``upto`` stays, and what is done beyond is sent one by one.

Cost: constant time for each event, memory for each run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_MOST_SINGLE: Final = 10_000
"""Sequence numbers named one by one in a message."""


class Acknowledgements:
    """The state drawn above; ``acknowledged`` is where the broker says that the queue stands."""

    __slots__ = ("_ends", "_sent", "_starts", "_unsent", "upto")

    def __init__(self, acknowledged: int) -> None:
        self.upto = acknowledged
        self._sent = acknowledged
        self._unsent: list[int] = []
        # The runs beyond `upto`: their ends by their starts, and the reverse.
        self._ends: dict[int, int] = {}
        self._starts: dict[int, int] = {}

    def add(self, sequence: int) -> None:
        """An event is done with; called once for each."""
        if sequence > self.upto:
            self._join(sequence, sequence)
            if sequence > self.upto:
                self._unsent.append(sequence)

    def skip(self, first: int, last: int) -> None:
        """Those from ``first`` to ``last`` are not delivered."""
        first = max(first, self.upto + 1)
        if first <= last:
            self._join(first, last)

    @property
    def waiting(self) -> bool:
        """Whether there is something to send."""
        return self.upto > self._sent or bool(self._unsent)

    def take(self) -> tuple[int, list[int]]:
        """What to send next: up to where all are done, and which are besides."""
        self._sent = upto = self.upto
        unsent, self._unsent = self._unsent[:_MOST_SINGLE], self._unsent[_MOST_SINGLE:]
        return upto, [sequence for sequence in unsent if sequence > upto]

    def repeat(self, acknowledged: int) -> None:
        """A new connection, whose broker knows of this much; the rest is to be sent again."""
        if acknowledged > self.upto:
            runs = [(start, end) for start, end in self._ends.items() if end > acknowledged]
            self.upto = acknowledged
            self._ends.clear()
            self._starts.clear()
            for start, end in runs:
                self._join(max(start, acknowledged + 1), end)
        self._sent = acknowledged
        self._unsent = [
            sequence for start, end in self._runs() for sequence in range(start, end + 1)
        ]

    def _join(self, first: int, last: int) -> None:
        """Add a run, none of which is done; runs that touch become one."""
        if self._ends:
            before = self._starts.pop(first - 1, None)
            if before is not None:
                del self._ends[before]
                first = before
            after = self._ends.pop(last + 1, None)
            if after is not None:
                del self._starts[after]
                last = after
        if first == self.upto + 1:
            self.upto = last
        else:
            self._ends[first] = last
            self._starts[last] = first

    def _runs(self) -> Iterator[tuple[int, int]]:
        return iter(sorted(self._ends.items()))
