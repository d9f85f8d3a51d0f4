"""A broker that stands for its unit in the unit around it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace

from twigcast.documents import DocumentLimits
from twigcast.hierarchy.passage import Passage
from twigcast.hierarchy.traces import stamp
from twigcast.hierarchy.units import depth_of, is_within, leaf_of, unit_at, units_of
from twigcast.matching import ReaderName
from twigcast.routing import (
    OUTER,
    Counters,
    Document,
    LinkKind,
    LinkState,
    LinkUp,
    Message,
    Routed,
    Router,
    Send,
    Strategy,
    Update,
    View,
    is_outer,
    tree_from,
)


@dataclass(slots=True)
class Crossings:
    """How many documents crossed the border of a unit at one of its gateways."""

    out: int = 0
    into: int = 0
    in_vain: int = 0
    """Of those that came in, how many nobody inside wanted."""
    turned_away: int = 0
    """How many came from outside and had been inside; they were not let in."""


class Gateway(Router):
    """A router in the overlay of a unit, and ``above`` one of the same name in the unit around it.

    Here the rest of the world is a leaf, there this unit is one; what either router sends to its
    leaf the other one gets from its own.  ``above`` may be a gateway itself, and so on up to the
    whole network.
    """

    def __init__(
        self,
        above: Router,
        *,
        limits: DocumentLimits | None = None,
        reader: ReaderName = "checked",
        counters: Counters | None = None,
        has_clients: bool = True,
    ) -> None:
        super().__init__(
            above.name,
            above.strategy,
            above.incarnation,
            limits=limits,
            reader=reader,
            counters=counters,
            depth=above.depth + 1,
            has_clients=has_clients,
        )
        self.above = above
        self.unit = unit_at(self.name, self.depth)
        self.crossings = Crossings()
        self._outside = OUTER + self.name
        self._inside = leaf_of(self.unit, [self.name])
        self._view = self.documents.view
        self._stamped: tuple[View | None, tuple[LinkState, ...], bytes] = (None, (), b"")
        most = self.strategy.most_patterns
        self._up = Passage(self._inside, above.depth, most, is_up=True)
        self._down = Passage(self._outside, self.depth, most, is_up=False)
        super().begin(LinkUp(LinkKind.LEAF), self._outside)
        above.handle(LinkUp(LinkKind.LEAF), self._inside)
        self.documents.beyond[self._outside] = self._climb
        above.documents.beyond[self._inside] = self._descend

    @property
    def levels(self) -> tuple[Router, ...]:
        return (self, *self.above.levels)

    def begin(self, message: Message, from_link: str) -> list[Send]:
        here, there = self._whose(message, from_link)
        return self._exchange(
            super().begin(message, from_link) if here else [],
            self.above.begin(message, from_link) if there else [],
        )

    @property
    def is_behind(self) -> bool:
        return super().is_behind or self.above.is_behind

    def _catch_up(self, most: int) -> None:
        super()._catch_up(most)
        self.above._catch_up(most)

    def prepare(self, most: int | None = None) -> None:
        super().prepare(most)
        self.above.prepare(most)

    @property
    def has_news(self) -> bool:
        return super().has_news or self.above.has_news

    def flush(self) -> list[Send]:
        sends = self._exchange(super().flush(), self.above.flush())
        self._catch_up(sys.maxsize)
        return sends

    def begin_flush(self, most: int = sys.maxsize) -> list[Send]:
        return self._exchange(super().begin_flush(most), self.above.begin_flush(most))

    def learn(self, states: Iterable[LinkState], depth: int = 0) -> list[Send]:
        if depth == self.depth:
            return self._exchange(super().learn(states, depth), [])
        return self._exchange([], self.above.learn(states, depth))

    def set_book(
        self, book: tuple[tuple[str, int], ...], address: tuple[int, ...], depth: int = 0
    ) -> list[Send]:
        if depth == self.depth:
            return self._exchange(super().set_book(book, address, depth), [])
        return self._exchange([], self.above.set_book(book, address, depth))

    def rename_leaf(self, before: str, now: str) -> list[Send]:
        return self._exchange(super().rename_leaf(before, now), [])

    def has_link(self, link: str) -> bool:
        return super().has_link(link) or self.above.has_link(link)

    def _whose(self, message: Message, link: str) -> tuple[bool, bool]:
        """Whether a message is for the overlay of this unit, and for one above."""
        if isinstance(message, Update | Document):
            return message.depth >= self.depth, message.depth < self.depth
        if isinstance(message, LinkUp) and message.depths:
            return max(message.depths) >= self.depth, min(message.depths) < self.depth
        there = self.above.has_link(link)
        return super().has_link(link) or not there, there

    def _exchange(self, ours: list[Send], theirs: list[Send]) -> list[Send]:
        """Let both levels hear from each other until neither has more; what is for others.

        What takes long is left for :meth:`go_on`.
        """
        sends: list[Send] = []
        while ours or theirs or self.documents.view is not self._view:
            climbing = [each.message for each in ours if each.link == self._outside]
            descending = [each.message for each in theirs if each.link == self._inside]
            sends += [each for each in ours if each.link != self._outside]
            sends += [each for each in theirs if each.link != self._inside]
            theirs = self._name_unit()
            for message in climbing:
                theirs += self.above.begin(_pass_on(message, self._up), self._inside)
            ours = []
            for message in descending:
                ours += super().begin(_pass_on(message, self._down), self._outside)
        return sends

    def _climb(self, document: Document) -> Routed | None:
        """Route a document above that leaves this unit."""
        seen = self._seen_from(self._up, document, (*document.trace, self._stamp))
        routed = self.above.documents.route(seen, self._inside)
        self.crossings.out += bool(routed and routed.copies)
        return routed

    def _descend(self, document: Document) -> Routed | None:
        """Route a document in this unit that comes from above.

        Nothing that has left this part of the unit comes back to it; whoever outside says so is
        wrong, or links have just changed.
        """
        origin = document.id.origin
        if is_within(origin, self.unit) and (
            origin == self.name or self.documents.can_reach(origin) or self._stamp in document.trace
        ):
            self.crossings.turned_away += 1
            return None
        routed = self.documents.route(self._seen_from(self._down, document, ()), self._outside)
        if routed is not None:
            self.crossings.into += 1
            self.crossings.in_vain += not (routed.copies or routed.recipients.deliveries)
        return routed

    def _seen_from(
        self, passage: Passage, document: Document, trace: tuple[bytes, ...]
    ) -> Document:
        tree = tree_from(passage.origin, self.strategy.towards)
        return replace(document, tree=tree, depth=passage.depth, trace=trace)

    @property
    def _stamp(self) -> bytes:
        """The stamp of the part of this unit that can be reached inside it."""
        view, states = self.documents.view, self.link_states
        if self._stamped[0] is not view or self._stamped[1] != states:
            tree = view.tree(self.name)
            here = [each[:2] for each in states if each.broker in tree]
            self._stamped = view, states, stamp(self.unit, here)
        return self._stamped[2]

    def _name_unit(self) -> list[Send]:
        """Name this unit above by the part of it that can be reached; what follows from that."""
        if self.documents.view is self._view:
            return []
        self._view = self.documents.view
        name = leaf_of(self.unit, self._gateways())
        if name == self._inside:
            return []
        before, self._inside = self._inside, name
        self._up.origin = name
        beyond = self.above.documents.beyond
        beyond[name] = beyond.pop(before)
        return self.above.rename_leaf(before, name)

    def _gateways(self) -> list[str]:
        """The gateways of this unit that can be reached inside it; this one is among them."""
        tree = self._view.tree(self.name)
        leaves = self._view.leaves
        return [
            gateway
            for leaf in leaves
            if is_outer(leaf)
            for gateway in leaves[leaf]
            if gateway in tree
        ]


def _pass_on(message: Message, passage: Passage) -> Message:
    assert isinstance(message, Update), "levels send each other changes; documents are routed"
    return passage.pass_on(message)


def make_router(
    name: str,
    gateway: str | None,
    strategy: Strategy | str | None = None,
    incarnation: int = 0,
    *,
    limits: DocumentLimits | None = None,
    reader: ReaderName = "checked",
    counters: Counters | None = None,
) -> Router:
    """The router of a broker, with others above it if it is the gateway of a unit.

    ``gateway`` is the outermost of the units that it is a gateway of; the other arguments are those
    of a :class:`~twigcast.routing.Router`.
    """
    depths = [depth_of(unit) for unit in units_of(name, gateway)]
    router = Router(
        name,
        strategy,
        incarnation,
        limits=limits,
        reader=reader,
        counters=counters,
        depth=depths[-1],
        has_clients=len(depths) == 1,
    )
    for depth in reversed(depths[:-1]):
        router = Gateway(
            router,
            limits=limits,
            reader=reader,
            counters=counters,
            has_clients=depth == depths[0],
        )
    return router
