"""What a broker knows of the links of all: link-state routing.

Each broker says which neighbours it has, with a version that grows.  What is newer than what a
broker knows it passes on to all its neighbours but the one it has it from; a new neighbour gets
everything.  So all brokers that can reach each other end up with the same states.  What is known of
a broker that cannot be reached any more does no harm, since a link counts only when both ends
speak of it, and is replaced when it returns with a later incarnation.  Its leaves do not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from twigcast.routing.messages import LinkState
from twigcast.routing.trees import View, view_of

_LEAP: Final = 2**16
_HIGHEST_LIFE: Final = 2**60 - 2 * _LEAP
"""Whoever claims that a broker has had a later life than this is wrong: they count no further."""


class LinkStates:
    """The newest link state of every broker, as far as one of them knows."""

    def __init__(self, broker: str, incarnation: int) -> None:
        self._broker = broker
        self._life = incarnation
        self._own: dict[str, float] = {}
        self._states = {broker: LinkState(broker, incarnation, 0, ())}
        self._view: View | None = None

    def accept(self, state: LinkState) -> bool:
        """Take a state in; whether it is news.

        If it is of a later life of this broker itself, that began with too low an incarnation; it
        goes on with a higher one, so that others listen to it again.  What no life can be is not
        heeded.
        """
        known = self._states.get(state.broker)
        if known is not None and known[1:3] >= state[1:3]:
            return False
        if known is not None and state.broker == self._broker:
            if state.incarnation > _HIGHEST_LIFE:
                return False
            # Two lives that began too low must not come to the same one.
            higher = state.incarnation + 1 + self._life % _LEAP
            self._states[self._broker] = known._replace(incarnation=higher)
            self._view = None
            return True
        self._states[state.broker] = state
        if known is None or (known.links, known.leaves) != (state.links, state.leaves):
            self._view = None
        return True

    def set_link(self, neighbour: str, cost: float | None) -> LinkState:
        """Note that a link of our own is up, at this cost, or down; the state to send."""
        if cost is None:
            self._own.pop(neighbour, None)
        else:
            self._own[neighbour] = cost
        return self._renew(self.own._replace(links=tuple(sorted(self._own.items()))))

    def set_leaf(self, leaf: str, *, is_there: bool) -> LinkState:
        """Note that a leaf hangs on this broker, or does no more; the state to send."""
        leaves = {*self.own.leaves} - {leaf}
        leaves |= {leaf} if is_there else set()
        return self._renew(self.own._replace(leaves=tuple(sorted(leaves))))

    def set_book(self, book: tuple[tuple[str, int], ...], address: tuple[int, ...]) -> LinkState:
        """Note the bits of the members of the unit; the state to send, with the same links."""
        own = self.own
        state = own._replace(version=own.version + 1, book=book, address=address)
        self._states[self._broker] = state
        return state

    def _renew(self, state: LinkState) -> LinkState:
        state = state._replace(version=state.version + 1)
        self._states[self._broker] = state
        self._view = None
        return state

    @property
    def own(self) -> LinkState:
        """What this broker says of itself."""
        return self._states[self._broker]

    @property
    def all(self) -> tuple[LinkState, ...]:
        """The link states of all known brokers."""
        return tuple(self._states.values())

    @property
    def view(self) -> View:
        """The overlay that the states describe."""
        if self._view is None:
            self._view = view_of(frozenset(self._with_reachable_leaves()))
        return self._view

    def _with_reachable_leaves(self) -> Iterable[LinkState]:
        """The states, without the leaves of brokers that cannot be reached.

        What is known of these may be old, and paths begin and end at leaves.
        """
        states = self._states
        if not any(state.leaves for state in states.values()):
            return states.values()
        links = {broker: dict(state.links) for broker, state in states.items()}
        reached = {self._broker}
        waiting = [self._broker]
        for broker in waiting:
            news = [
                neighbour
                for neighbour in links[broker]
                if broker in links.get(neighbour, ()) and neighbour not in reached
            ]
            reached.update(news)
            waiting += news
        return [
            state if broker in reached else state._replace(leaves=())
            for broker, state in states.items()
        ]
