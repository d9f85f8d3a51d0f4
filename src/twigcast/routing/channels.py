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

Where brokers stand in units, something may be wanted within a unit only
(:mod:`~twigcast.routing.scopes`).  It travels on channels of that *scope*, apart from what is
wanted anywhere, so that every broker knows how far it may go.

A channel *gathers* changes until its broker *flushes*.  What is undone in between is never sent,
nor is what is covered or merged by then.  Of a very large change, a flush sends a portion, and the
next ones the rest, in the same order.

Merging begins when the broker flushes, and :meth:`Channel.merge_on` does it in small steps.  What
is gathered waits for that, but not for long: for ``PATIENCE`` flushes, and for none that has no
limit.  Then it is sent as it is, and what becomes of it by merging follows.

Invariant: the patterns sent on a channel are those that its aggregate forwards, once changes are
taken.  In a change, what covers a pattern stands before the withdrawal of that pattern.  Without
merging the patterns sent are a function of what the inputs and clients want now; mergers depend
also on what was there when they were formed.  When the trees change, a channel goes on with other
inputs and trees, and sends only the difference.  That may concern very many patterns.  These *lag
behind* until :meth:`Channel.catch_up` has looked at each of them, some at a time; meanwhile the
channel sends too little or too much of them, and of no others, or nothing where it merges.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from twigcast.covering import Change
from twigcast.language import Pattern
from twigcast.routing.aggregates import Counters, make_aggregate
from twigcast.routing.interests import Interests
from twigcast.routing.promises import Promise, may_match
from twigcast.routing.strategy import Strategy

PATIENCE: Final = 10
"""For how many flushes what is gathered waits until it is merged."""
_MERGING: Final = 10
"""As how many patterns a step of merging counts: it takes as long."""


class Course(NamedTuple):
    """What a channel is to be: for which trees, from which inputs, towards which promises."""

    trees: frozenset[str]
    inputs: frozenset[int]
    """The sources of the neighbours' channels that flow into it."""
    promises: frozenset[Promise]
    scope: int = 0
    """How deep the unit lies within which is wanted what flows into it."""


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
        self._lagging: deque[Pattern] = deque()  # what may not yet be as the course asks
        self._former: list[Pattern] = []  # what was sent by an aggregate that was given up
        self._balance: dict[Pattern, int] = {}  # what is to be sent: how often more, or less
        self._waiting: deque[tuple[Pattern, bool]] = deque()  # to be sent before that, as it is
        self._held_back = 0  # for how many flushes what is to be sent has waited until it is merged

    @property
    def sent(self) -> tuple[Pattern, ...]:
        """The patterns that the neighbour knows, once all changes are taken."""
        return self._aggregate.forwarded

    def takes(self, source: int) -> bool:
        """Whether what a source wants flows into this channel; of a client, into all.

        Only what is wanted within the scope of the channel does.
        """
        return source in self.course.inputs or self._interests.is_client(source, self.course.scope)

    def wants(self, pattern: Pattern) -> bool:
        """Whether a source of this channel wants a pattern."""
        return self._interests.is_wanted(pattern, self.course.inputs, self.course.scope)

    def admits(self, pattern: Pattern) -> bool:
        """Whether a promised document may match a pattern."""
        return any(may_match(promise, pattern) for promise in self.course.promises)

    def add(self, pattern: Pattern, is_first: bool) -> None:
        """Take in that a source wants a pattern; ``is_first`` if none did so far."""
        if self._lagging:
            self._set(pattern)
        elif self.admits(pattern):
            self._note(self._aggregate.add(pattern, is_first))

    def remove(self, pattern: Pattern, is_last: bool) -> None:
        """Take in that a source ceases to want a pattern; ``is_last`` if none does now."""
        if self._lagging:
            self._set(pattern)
        elif self.admits(pattern):
            self._note(self._aggregate.remove(pattern, is_last))

    def set_course(self, course: Course) -> None:
        """Go on with other trees, inputs or promises; :meth:`catch_up` does the work."""
        before, self.course = self.course, course
        # What is added comes first, so that nothing is withdrawn before something covers it.
        for source in (*(course.inputs - before.inputs), *(before.inputs - course.inputs)):
            self._lagging.extend(self._interests.patterns(source))
        if course.promises != before.promises:
            if self._strategy.merging is not None:
                self._begin_anew()
            for source in (*course.inputs, *self._interests.clients(course.scope)):
                self._lagging.extend(self._interests.patterns(source))
        self._on_news()

    def drop_input(self, source: int) -> None:
        """Go on without a source that is about to be gone, and wants nothing."""
        if source in self.course.inputs:
            self.course = self.course._replace(inputs=self.course.inputs - {source})

    def take_back(self, pattern: Pattern, sign: int) -> None:
        """Note that what was sent of a pattern got lost; ``sign`` is -1 for a withdrawal."""
        if self._waiting:  # what came after it must not be sent before it
            waiting, self._waiting = self._waiting, deque()
            for each, is_wanted in waiting:
                self._balance[each] = self._balance.get(each, 0) + (1 if is_wanted else -1)
        self._balance[pattern] = self._balance.get(pattern, 0) + sign

    def _begin_anew(self) -> None:
        """How patterns may be merged depends on all promises together."""
        self._former += self._aggregate.forwarded
        self._aggregate = make_aggregate(self._strategy, self.course.promises, self._counters)

    @property
    def is_behind(self) -> bool:
        """Whether there is something to catch up with."""
        return bool(self._lagging or self._former)

    def catch_up(self, most: int) -> int:
        """Bring up to so many patterns in line with the course; how many are left of ``most``."""
        while self._lagging and most > 0:
            self._set(self._lagging.popleft())
            most -= 1
        if not self._lagging and self._former:
            self._note(Change(withdraw=tuple(self._former)))
            self._former.clear()
        return most

    @property
    def is_merging(self) -> bool:
        """Whether :meth:`merge_on` has something to do."""
        return self._aggregate.is_merging

    def merge(self) -> None:
        """Merge what is gathered, however long that takes."""
        self._aggregate.begin_merging()
        self.merge_on(sys.maxsize)

    def merge_on(self, most: int) -> int:
        """Merge for so many steps, as patterns take them; how many are left of ``most``."""
        while most > 0 and self._aggregate.is_merging:
            self._note(self._aggregate.merge_on())
            most -= _MERGING
        return most

    def _set(self, pattern: Pattern) -> None:
        """Bring a pattern in line with the course and with what is wanted, whatever was before."""
        wanted = self._interests.count(pattern, self.course.inputs, self.course.scope)
        count = wanted if wanted and self.admits(pattern) else 0
        self._note(self._aggregate.set(pattern, count))

    def _note(self, change: Change) -> None:
        if change:
            self._on_news()
        self._gather(change)

    def _gather(self, change: Change) -> None:
        for pattern in change.forward:
            self._balance[pattern] = self._balance.get(pattern, 0) + 1
        for pattern in change.withdraw:
            self._balance[pattern] = self._balance.get(pattern, 0) - 1

    @property
    def has_news(self) -> bool:
        """Whether there may be something to send."""
        return bool(self._balance or self._waiting)

    def take_change(self, most: int) -> Change:
        """The difference to what was sent when this was last called.

        Of a large one, only so many patterns; the next calls give the others.  A channel that
        merges gives nothing while it lags behind, and lets it wait for merging where there is a
        limit.
        """
        if self._waiting:
            return self._take_waiting(most)
        if self._strategy.merging is not None:
            if self.is_behind:
                return Change()
            self._aggregate.begin_merging()
            is_patient = most < sys.maxsize and self._held_back < PATIENCE
            if self.is_merging and is_patient:
                self._held_back += 1
                return Change()
            self._held_back = 0
        balance, self._balance = self._balance, {}
        forward: list[Pattern] = []
        withdraw: list[Pattern] = []
        for pattern, times in balance.items():
            forward += [pattern] * times  # of a negative number, none
            withdraw += [pattern] * -times
        if len(forward) + len(withdraw) <= most:
            return Change(tuple(forward), tuple(withdraw))
        self._waiting += [(pattern, True) for pattern in forward]
        self._waiting += [(pattern, False) for pattern in withdraw]
        return self._take_waiting(most)

    def _take_waiting(self, most: int) -> Change:
        taken = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        return Change(
            tuple(pattern for pattern, is_wanted in taken if is_wanted),
            tuple(pattern for pattern, is_wanted in taken if not is_wanted),
        )


def continued(
    channels: Mapping[int, Channel], courses: Iterable[Course]
) -> Iterator[tuple[Course, int | None]]:
    """For each course, the channel that goes on with it; None where it takes a new one.

    A channel goes on where least is sent anew: with the same inputs, or else with most of its
    trees.  It keeps its scope.
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
        same = [
            number
            for number, each in free.items()
            if (each.course.scope, each.course.inputs) == (course.scope, course.inputs)
        ]
        number = choose(course, same)
        if number is None:
            left.append(course)
        else:
            yield course, number
    for course in left:
        near = [
            number
            for number, each in free.items()
            if each.course.scope == course.scope and each.course.trees & course.trees
        ]
        yield course, choose(course, near)
