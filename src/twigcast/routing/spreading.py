"""How wants spread: each one is noted for its source, and with every channel that it flows into.

::

    want, unwant ──► Interests
                 ──► channels that take from the source ──► what neighbours are sent

    plan_anew    ──► plan() asks the Planner ──► advertisements sent, courses of channels
    close        ──► a source that no channel takes from; it is cleared when there is time

Invariant: every channel to a neighbour that is up has the course that the
:class:`~twigcast.routing.planning.Planner` gave last, and has taken in every want of its sources,
but for those that it lags behind with.  Only a change of courses makes channels lag, and only
:meth:`Spreading.catch_up` ends that; a source that closes is left with what it wants until
:meth:`Spreading.clear_closed` has come to it.

Cost: a want takes as much as there are channels that its source flows into.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import islice

from twigcast.language import Pattern
from twigcast.routing.aggregates import Counters
from twigcast.routing.channels import Channel
from twigcast.routing.interests import Interests
from twigcast.routing.neighbour import Neighbour
from twigcast.routing.planning import Planner
from twigcast.routing.strategy import Strategy


class Spreading:
    """The channels of a router to all its neighbours, and what flows into them."""

    def __init__(
        self,
        strategy: Strategy,
        counters: Counters,
        planner: Planner,
        interests: Interests,
        neighbours: Mapping[str, Neighbour],
    ) -> None:
        self._strategy = strategy
        self._counters = counters
        self._planner = planner
        self._interests = interests
        self._neighbours = neighbours
        self._channels: list[Channel] = []  # to all neighbours
        self._stale: set[str] | None = set()  # trees to be planned anew; None stands for all
        self._closing: deque[int] = deque()  # sources of channels that are no more

    # --- wants ------------------------------------------------------------------------------------

    def want(self, source: int, pattern: Pattern) -> None:
        """Take in that a source wants a pattern, once or once more."""
        fed = [channel for channel in self._channels if channel.takes(source)]
        first = [not channel.wants(pattern) for channel in fed]
        self._interests.add(source, pattern)
        for channel, is_first in zip(fed, first, strict=True):
            channel.add(pattern, is_first)

    def unwant(self, source: int, pattern: Pattern) -> None:
        """Take in that a source ceases to want a pattern, or does so once less."""
        self._interests.remove(source, pattern)
        for channel in self._channels:
            if channel.takes(source):
                channel.remove(pattern, not channel.wants(pattern))

    def unwant_all(self, source: int, pattern: Pattern) -> None:
        """Take in that a source ceases to want a pattern, however often it did."""
        for _ in range(self._interests.patterns(source)[pattern]):
            self.unwant(source, pattern)

    # --- planning ---------------------------------------------------------------------------------

    def plan_anew(self, trees: Iterable[str]) -> None:
        """Note trees about which something has changed; :meth:`plan` comes to them."""
        if self._stale is not None:
            self._stale.update(trees)

    def plan_all_anew(self) -> None:
        """Note that something has changed about any tree: the links."""
        self._stale = None

    def plan(self) -> None:
        """Bring the advertisements sent, and the channels, in line with what is known now."""
        if self._stale is not None and not self._stale:
            return
        plan = self._planner.plan(self._stale)
        self._stale = set()
        for name, origin, advertised in plan.advertised:
            if name in self._neighbours:
                self._neighbours[name].send_advertised(origin, advertised)
        for name, courses in plan.courses.items():
            if name in self._neighbours:
                neighbour = self._neighbours[name]
                neighbour.arrange(courses, partial(self._new_channel, neighbour))
        self._channels = [
            channel
            for neighbour in self._neighbours.values()
            for channel in neighbour.outgoing.values()
        ]

    def _new_channel(self, to: Neighbour, number: int) -> Channel:
        return Channel(number, to.gather, self._interests, self._strategy, self._counters)

    def close(self, neighbour: Neighbour, numbers: Iterable[int]) -> None:
        """Forget channels of a neighbour, once no channel of our own takes from them."""
        sources = [neighbour.incoming.pop(number).source for number in numbers]
        if sources:
            self.plan()
        self._closing.extend(sources)

    # --- catching up ------------------------------------------------------------------------------

    @property
    def is_behind(self) -> bool:
        """Whether something is left to do, here or in a channel."""
        return bool(self._closing) or any(channel.is_behind for channel in self._channels)

    def catch_up(self, most: int) -> int:
        """Let channels look at up to so many patterns; how many are left of ``most``."""
        for channel in self._channels:
            most = channel.catch_up(most)
        return most

    def clear_closed(self, most: int) -> None:
        """Forget up to so many patterns of sources that are closed."""
        while self._closing and most > 0:
            source = self._closing[0]  # no channel takes from it
            for pattern in list(islice(self._interests.patterns(source), most)):
                self.unwant_all(source, pattern)
                most -= 1
            if not self._interests.patterns(source):
                self._interests.close(self._closing.popleft())
