"""Channels: what a broker sends to a neighbour that it wants, and for which trees.

Towards the root of a tree a broker sends its parent what its subtree wants: what its own clients
want, and what its children have sent.  Where trees run alike, that is the same for all of them, so
it is sent once: a channel has *inputs*, the children's channels, and serves all *trees* for which
the inputs are the same.

        to the parent ▲  channel 1, for the trees of a and b
                      │
              ┌───────┴───────┐
              │   aggregate   │◄── the clients of this broker
              └──▲─────────▲──┘
    channel 1 of d         channel 3 of e             (both serve a and b, perhaps others too)

In an overlay without redundant links there is one channel for each direction of a link, however
many producers there are.  With them there are as many as trees differ in what lies below a link.

Only what may match a document that is promised for one of its trees goes into a channel's
aggregate.

Invariant: the patterns sent on a channel are those that its aggregate forwards, once changes are
taken; and they are a function of what its inputs and clients want now.  When the trees change, a
channel goes on with other inputs and trees, and sends only the difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from twigcast.covering import Change
from twigcast.language import Pattern
from twigcast.routing.aggregates import Counters, make_aggregate
from twigcast.routing.interests import Interests
from twigcast.routing.promises import Promise, may_match
from twigcast.routing.strategy import Strategy


class Course(NamedTuple):
    """What a channel is to be: for which trees, from which inputs, towards which promises."""

    trees: frozenset[str]
    inputs: frozenset[int]
    """The sources of the neighbours' channels that flow into it."""
    promises: frozenset[Promise]


class Channel:
    """A channel at the end that sends; ``on_news`` is called when it has something to send."""

    def __init__(
        self,
        number: int,
        on_news: Callable[[], None],
        interests: Interests,
        strategy: Strategy,
        counters: Counters,
    ) -> None:
        self.number = number
        self.course = Course(frozenset(), frozenset(), frozenset())
        self._on_news = on_news
        self._interests = interests
        self._strategy = strategy
        self._counters = counters
        self._aggregate = make_aggregate(strategy, frozenset(), counters)
        self._balance: dict[Pattern, int] = {}  # what is to be sent: how often more, or less

    @property
    def sent(self) -> tuple[Pattern, ...]:
        """The patterns that the neighbour knows, once all changes are taken."""
        return self._aggregate.forwarded

    def takes(self, source: int) -> bool:
        """Whether what a source wants flows into this channel; of a client, into all."""
        return source in self.course.inputs or source in self._interests.clients

    def wants(self, pattern: Pattern) -> bool:
        """Whether a source of this channel wants a pattern."""
        return self._interests.is_wanted(pattern, self.course.inputs)

    def admits(self, pattern: Pattern) -> bool:
        """Whether a promised document may match a pattern."""
        return any(may_match(promise, pattern) for promise in self.course.promises)

    def add(self, pattern: Pattern, is_first: bool) -> None:
        """Take in that a source wants a pattern; ``is_first`` if none did so far."""
        if self.admits(pattern):
            self._note(self._aggregate.add(pattern, is_first))

    def remove(self, pattern: Pattern, is_last: bool) -> None:
        """Take in that a source ceases to want a pattern; ``is_last`` if none does now."""
        if self.admits(pattern):
            self._note(self._aggregate.remove(pattern, is_last))

    def merge(self) -> None:
        """Merge patterns where the strategy allows it."""
        self._note(self._aggregate.merge())

    def set_course(self, course: Course) -> None:
        """Go on with other trees, inputs or promises."""
        self._set_inputs(course.inputs)
        if course.promises != self.course.promises:
            self._set_promises(course.promises)
        self.course = course

    def _set_inputs(self, inputs: frozenset[int]) -> None:
        before = self.course.inputs
        for source in inputs - before:
            for pattern, count in self._interests.patterns(source).items():
                is_first = not self.wants(pattern)
                for _ in range(count):
                    self.add(pattern, is_first)
                    is_first = False
            self.course = self.course._replace(inputs=self.course.inputs | {source})
        for source in before - inputs:
            self.course = self.course._replace(inputs=self.course.inputs - {source})
            for pattern, count in self._interests.patterns(source).items():
                is_last = not self.wants(pattern)
                for left in reversed(range(count)):
                    self.remove(pattern, is_last and not left)

    def _set_promises(self, promises: frozenset[Promise]) -> None:
        if self._strategy.merging is not None:
            self._begin_anew(promises)
            return
        wanted = self._wanted()
        before = {pattern for pattern in wanted if self.admits(pattern)}
        self.course = self.course._replace(promises=promises)
        for pattern, count in wanted.items():
            is_admitted = self.admits(pattern)
            if is_admitted and pattern not in before:
                for again in range(count):
                    self._note(self._aggregate.add(pattern, not again))
            elif not is_admitted and pattern in before:
                for left in reversed(range(count)):
                    self._note(self._aggregate.remove(pattern, not left))

    def _begin_anew(self, promises: frozenset[Promise]) -> None:
        """How patterns may be merged depends on all promises together."""
        before = self._aggregate.forwarded
        self.course = self.course._replace(promises=promises)
        self._aggregate = make_aggregate(self._strategy, promises, self._counters)
        for pattern in self._wanted():
            if self.admits(pattern):
                self._aggregate.add(pattern, is_first=True)
        self._note(Change(self._aggregate.forwarded, before))

    def _wanted(self) -> Counter[Pattern]:
        wanted: Counter[Pattern] = Counter()
        for source in (*self.course.inputs, *self._interests.clients):
            wanted.update(self._interests.patterns(source))
        return wanted

    def _note(self, change: Change) -> None:
        if change:
            self._on_news()
        for pattern in change.forward:
            self._balance[pattern] = self._balance.get(pattern, 0) + 1
        for pattern in change.withdraw:
            self._balance[pattern] = self._balance.get(pattern, 0) - 1

    @property
    def has_news(self) -> bool:
        """Whether there may be something to send."""
        return bool(self._balance)

    def take_change(self) -> Change:
        """The difference to what was sent when this was last called."""
        balance, self._balance = self._balance, {}
        forward: list[Pattern] = []
        withdraw: list[Pattern] = []
        for pattern, times in balance.items():
            forward += [pattern] * times  # of a negative number, none
            withdraw += [pattern] * -times
        return Change(tuple(forward), tuple(withdraw))


def continued(
    channels: Mapping[int, Channel], courses: Iterable[Course]
) -> Iterator[tuple[Course, int | None]]:
    """For each course, the channel that goes on with it; None where it takes a new one.

    A channel goes on where least is sent anew: with the same inputs, or else with most of its
    trees.
    """
    free = dict(channels)

    def choose(course: Course, suitable: Iterable[int]) -> int | None:
        def preference(number: int) -> tuple[int, int]:
            return len(free[number].course.trees & course.trees), -number

        number = max(suitable, key=preference, default=None)
        if number is not None:
            del free[number]
        return number

    left = []
    for course in courses:
        same = [number for number, each in free.items() if each.course.inputs == course.inputs]
        number = choose(course, same)
        if number is None:
            left.append(course)
        else:
            yield course, number
    for course in left:
        near = [number for number, each in free.items() if each.course.trees & course.trees]
        yield course, choose(course, near)
