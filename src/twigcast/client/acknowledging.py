"""Which events of a durable subscription are done with, and what of that is still to be sent.

    1 … upto │ upto+1   [start … end]   [start … end]   …
    all done │ not done   runs of done ones beyond

An event that was never delivered here (it was dropped, or acknowledged in an earlier life) counts
as done, so that ``upto`` passes over it.  Where a subscription begins late in its queue, what lies
before is neither delivered nor done: ``upto`` stays, and what is done beyond is sent one by one.

An event up to ``upto`` may come again, because it was a letter; that it is done is sent by itself.

Where several clients share a queue, nothing is known of the others' events: each event that is done
is sent by itself (:class:`SingleAcknowledgements`).

Cost: constant time for each event, memory for each run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_MOST_SINGLE: Final = 10_000
"""Sequence numbers named one by one in a message."""


class Acknowledgements:
    """The state drawn above; ``acknowledged`` is where the broker says that the queue stands."""

    __slots__ = ("_ends", "_late", "_sent", "_starts", "_unsent", "upto")

    def __init__(self, acknowledged: int) -> None:
        self.upto = acknowledged
        self._sent = acknowledged
        self._unsent: list[int] = []
        self._late: list[int] = []
        # The runs beyond `upto`: their ends by their starts, and the reverse.
        self._ends: dict[int, int] = {}
        self._starts: dict[int, int] = {}

    def add(self, sequence: int) -> None:
        """An event is done with; called once for each."""
        if sequence <= self.upto:
            self._late.append(sequence)
            return
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
        return self.upto > self._sent or bool(self._unsent) or bool(self._late)

    def take(self) -> tuple[int, list[int]]:
        """What to send next: up to where all are done, and which are besides."""
        self._sent = upto = self.upto
        late, self._late = self._late[:_MOST_SINGLE], self._late[_MOST_SINGLE:]
        most = _MOST_SINGLE - len(late)
        unsent, self._unsent = self._unsent[:most], self._unsent[most:]
        return upto, late + [sequence for sequence in unsent if sequence > upto]

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


class SingleAcknowledgements:
    """The events of a shared queue that are done with here."""

    __slots__ = ("_unsent",)

    def __init__(self) -> None:
        self._unsent: list[int] = []

    def add(self, sequence: int) -> None:
        """An event is done with."""
        self._unsent.append(sequence)

    def skip(self, first: int, last: int) -> None:
        """Do nothing: others may have those that are not delivered here."""

    @property
    def waiting(self) -> bool:
        """Whether there is something to send."""
        return bool(self._unsent)

    def take(self) -> tuple[int, list[int]]:
        """What to send next: up to where all are done, which is nowhere, and which are besides."""
        unsent, self._unsent = self._unsent[:_MOST_SINGLE], self._unsent[_MOST_SINGLE:]
        return 0, unsent

    def repeat(self, acknowledged: int) -> None:
        """Do nothing: what was sent before has come, or its document is given to somebody anew."""
