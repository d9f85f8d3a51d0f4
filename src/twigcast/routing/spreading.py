"""How wants spread: each one is noted for its source, and with every channel that it flows into.

::

    want, unwant ──► Interests
                 ──► channels that take from the source ──► what neighbours are sent

    plan_anew    ──► plan() asks the Planner ──► advertisements sent, courses of channels
    close        ──► a source that no planned channel takes from, or of a client that is gone; it
                     is cleared when there is time

    remember     ──► channels of a link that is down, which want and unwant go on to concern
    recall       ──► a neighbour that goes on with them, when both ends have agreed on that

Invariant: every channel to a neighbour that is ready has the course that the
:class:`~twigcast.routing.planning.Planner` gave last; every channel, also of a neighbour that is
remembered, has taken in every want of its sources, but for those that it lags behind with.  Only a
change of courses makes channels lag, and only :meth:`Spreading.catch_up` ends that; a source that
closes is left with what it wants until :meth:`Spreading.clear_closed` has come to it.

Cost: a want takes as much as there are channels that its source flows into.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final

from twigcast.language import Pattern
from twigcast.routing.aggregates import Counters
from twigcast.routing.channels import Channel
from twigcast.routing.interests import Interests
from twigcast.routing.messages import START, Mark, Update
from twigcast.routing.neighbour import Incoming, Memory, Neighbour
from twigcast.routing.planning import Planner
from twigcast.routing.sent import Sent
from twigcast.routing.strategy import Strategy

MOST_REMEMBERED: Final = 64
"""How many links that are down a router remembers."""


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
        self._memories: dict[str, Memory] = {}  # by neighbour, the longest without a link first
        self._channels: list[Channel] = []  # to all neighbours, and those that are remembered
        self._due: dict[str, None] = {}  # neighbours whose channels are to be arranged
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
        if self._stale is None or self._stale or self._planner.is_outdated:
            plan = self._planner.plan(self._stale)
            self._stale = set()
            for name, origin, advertised in plan.advertised:
                if name in self._neighbours:
                    self._neighbours[name].send_advertised(origin, advertised)
            for name, courses in plan.courses.items():
                if name in self._neighbours:
                    self._neighbours[name].courses = courses
                    self._due[name] = None
        self._arrange()

    def _arrange(self) -> None:
        """Give channels their courses, to all neighbours that are ready for that."""
        for name in list(self._due):
            neighbour = self._neighbours.get(name)
            if neighbour is not None and not neighbour.is_ready:
                continue
            del self._due[name]
            if neighbour is not None:
                neighbour.sent.arrange(neighbour.courses)
            self._list_channels()

    def _list_channels(self) -> None:
        sent = [neighbour.sent for neighbour in self._neighbours.values()]
        sent += [memory.sent for memory in self._memories.values()]
        self._channels = [channel for each in sent for channel in each.channels.values()]

    def new_channel(self, number: int, on_news: Callable[[], None]) -> Channel:
        """A channel for nothing so far."""
        return Channel(number, on_news, self._interests, self._strategy, self._counters)

    # --- what neighbours send on channels ---------------------------------------------------------

    def take_in(self, neighbour: Neighbour, update: Update) -> list[str]:
        """Take in what an update says of channels; what is wrong with it."""
        wrong: list[str] = []
        goes_on = update.goes_on
        if goes_on is not None and not self._note_going_on(neighbour, goes_on):
            wrong.append(f"{neighbour.name!r} goes on from {goes_on}, where it is not")
        if update.serve or update.changes:
            self._forget_former(neighbour)
        for number, trees, scope in update.serve:
            channel = neighbour.incoming.get(number)
            if channel is None:
                source = self._interests.open(is_client=False, scope=scope)
                channel = neighbour.incoming[number] = Incoming(source)
            self.plan_anew(neighbour.received.note_serving(channel, trees))
            if not neighbour.is_broker:  # it concerns all trees
                self.plan_all_anew()
        closed = [each.channel for each in update.serve if not neighbour.incoming[each[0]].trees]
        for number, change in update.changes:
            channel = neighbour.incoming.get(number)
            if channel is None:
                wrong.append(f"{neighbour.name!r} has no channel {number}")
                continue
            for pattern in change.forward:
                self.want(channel.source, pattern)
            for pattern in change.withdraw:
                if self._interests.wants(channel.source, pattern):
                    self.unwant(channel.source, pattern)
                else:
                    reason = f"does not want {pattern} on channel {number}"
                    wrong.append(f"{neighbour.name!r} {reason}")
        neighbour.note_followed(update)
        self.close(neighbour, dict.fromkeys(closed))
        return wrong

    def close(self, neighbour: Neighbour, numbers: Iterable[int]) -> None:
        """Forget channels of a neighbour, once no channel of our own is to take from them."""
        channels = [neighbour.incoming.pop(number) for number in numbers]
        if channels:
            self.plan()
        self._forget(channels)

    def close_client(self, source: int) -> None:
        """Let a client's source get no documents, and forget it when there is time."""
        self._interests.retire(source)
        self._closing.append(source)

    def _forget(self, channels: Iterable[Incoming]) -> None:
        self._closing.extend(channel.source for channel in channels)

    # --- links that come and go -------------------------------------------------------------------

    def remembered(self) -> dict[str, frozenset[Pattern]]:
        """What neighbours wanted whose links are down."""
        patterns = self._interests.patterns
        return {
            name: frozenset().union(
                *(patterns(channel.source) for channel in memory.received.channels.values())
            )
            for name, memory in self._memories.items()
        }

    def remember(self, neighbour: Neighbour) -> None:
        """Keep what a link has carried that is down, and is none of the router's any more."""
        self._memories[neighbour.name] = neighbour.memory()
        self._list_channels()
        if len(self._memories) > MOST_REMEMBERED:
            self.forget(next(iter(self._memories)))

    def recall(self, name: str) -> Memory | None:
        """What is remembered of a link that is up again, which now is the neighbour's."""
        memory = self._memories.pop(name, None)
        if memory is not None:
            self._due[name] = None
        return memory

    def forget(self, name: str) -> None:
        """Remember nothing of a link; when it comes up again, everything is sent anew."""
        memory = self._memories.pop(name, None)
        if memory is not None:
            self._forget(memory.received.channels.values())
            self._list_channels()

    def forget_outdated(self) -> None:
        """Forget what was sent on links where much of it has changed since they are down."""
        for name, memory in self._memories.items():
            if memory.sent.is_outdated:
                self._memories[name] = memory._replace(sent=Sent(self.new_channel))
                self._list_channels()

    def note_known(self, neighbour: Neighbour, known: Mark | None) -> None:
        """Take in the first update since the link is up: what the neighbour remembers of it."""
        if neighbour.is_met:
            return
        if not neighbour.note_known(known):
            self._forget_former(neighbour)
        self._list_channels()

    def _note_going_on(self, neighbour: Neighbour, mark: Mark) -> bool:
        """Take in from where the neighbour goes on, or that it begins anew; whether it may."""
        if neighbour.note_going_on(mark):
            self.plan_anew(neighbour.received.trees)
            return True
        self._forget_former(neighbour)
        return mark == START

    def _forget_former(self, neighbour: Neighbour) -> None:
        """Let nothing hold any more that was received before the link was down."""
        if neighbour.former is not None:
            self._forget(neighbour.former.channels.values())
            neighbour.former = None

    # --- catching up ------------------------------------------------------------------------------

    @property
    def is_behind(self) -> bool:
        """Whether something is left to do, here or in a channel."""
        return (
            bool(self._closing)
            or any(channel.is_behind or channel.is_merging for channel in self._channels)
            or any(neighbour.sent.is_behind for neighbour in self._due_neighbours())
        )

    def _due_neighbours(self) -> list[Neighbour]:
        return [self._neighbours[name] for name in self._due if name in self._neighbours]

    def catch_up(self, most: int) -> int:
        """Let channels look at up to so many patterns; how many are left of ``most``."""
        for neighbour in self._due_neighbours():
            most = neighbour.sent.catch_up(most)
        self._arrange()
        for channel in self._channels:
            most = channel.catch_up(most)
        return most

    def merge(self, names: Iterable[str]) -> None:
        """Merge what is gathered for neighbours, however long that takes."""
        for name in names:
            if name in self._neighbours:
                for channel in self._neighbours[name].outgoing.values():
                    if channel.has_news and not channel.is_behind:
                        channel.merge()

    def merge_on(self, most: int) -> None:
        """Let channels merge for so many steps."""
        for channel in self._channels:
            most = channel.merge_on(most)

    def clear_closed(self, most: int) -> int:
        """Forget up to so many patterns of sources that are closed; how many are left of them."""
        while self._closing and most > 0:
            source = self._closing[0]  # channels take from it if it is a client, or a link is down
            for pattern in list(islice(self._interests.patterns(source), most)):
                self.unwant_all(source, pattern)
                most -= 1
            if not self._interests.patterns(source):
                for channel in self._channels:
                    channel.drop_input(source)
                self._interests.close(self._closing.popleft())
                self.plan()
        return most
