"""The data plane of one broker: where a document goes, by the tables as they are now.

Nothing is sent and no table changes; :meth:`Router.handle` makes messages of the answer, a live
broker writes it to its queues.

*Homes* are other brokers with durable subscriptions.  What these want is known to all brokers,
independently of channels, so that whoever publishes a document can say to which brokers it is
owed, also while these cannot be reached.  A home is one more source of interests, so it costs no
matching of its own.

At a gateway a document that a leaf wants goes on in the overlay that the leaf stands for, where the
broker has another document router (:attr:`DocumentRouter.beyond`).  So one look gives all *copies*
that leave the broker, each along a tree of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from twigcast.covering import Change
from twigcast.documents import Source
from twigcast.errors import NetworkError
from twigcast.language import Pattern
from twigcast.routing.clients import Client, Wants
from twigcast.routing.interests import Foreseen, Interests, Wanting
from twigcast.routing.link_states import LinkStates
from twigcast.routing.messages import Document, DocumentId, is_outer
from twigcast.routing.neighbour import Neighbour
from twigcast.routing.planning import SHARED_TREE, SHARED_TREES, Planner
from twigcast.routing.recent import RecentDocuments
from twigcast.routing.scopes import require_scope, shared_depth
from twigcast.routing.strategy import Towards
from twigcast.routing.trees import View


@dataclass(frozen=True, eq=False)
class Recipients:
    """Clients, and which of their subscriptions a document matches.

    Documents for the same clients have the same object, so what is made of it can be kept.
    """

    deliveries: tuple[tuple[str, tuple[str, ...]], ...]


NOBODY: Final = Recipients(())


class Copy(NamedTuple):
    """A document as it leaves along one tree, and the neighbours that it goes to."""

    document: Document
    neighbours: list[str]


class Routed(NamedTuple):
    """A document, and everyone whom it concerns."""

    document: Document
    copies: list[Copy]
    """One for each overlay in which it goes on from here."""
    recipients: Recipients
    homes: list[str]
    """The other brokers that want it for durable subscriptions, wherever they are."""


class DocumentRouter:
    """Where documents go from one broker; it looks at the tables of its router."""

    def __init__(
        self,
        towards: Towards,
        link_states: LinkStates,
        planner: Planner,
        interests: Interests,
        clients: Mapping[str, Client],
        wants_of: Mapping[int, Wants],
        neighbours: Mapping[str, Neighbour],
        depth: int,
        has_clients: bool,
    ) -> None:
        self._towards = towards
        self._depth = depth
        self._has_clients = has_clients
        self._link_states = link_states
        self._broker, self._life = link_states.own[:2]
        self._planner = planner
        self._interests = interests
        self._clients = clients
        self._wants_of = wants_of
        self._neighbours = neighbours
        self._homes: dict[str, dict[int, int]] = {}  # the sources of what they want, by scope
        self._news_of_homes: deque[tuple[str, int, Iterator[Pattern], bool]] = deque()
        """What homes begin to want, or else cease to want, and is not noted yet."""
        self._recent = RecentDocuments()
        self._here = RecentDocuments()
        """Those that our clients have got, by whichever tree."""
        self._recipients: WeakKeyDictionary[Wanting, dict[int, Recipients]] = WeakKeyDictionary()
        """By how deep the unit lies that a document and this broker share."""
        self._published = 0
        self.beyond: dict[str, Callable[[Document], Routed | None]] = {}
        """By leaf, what routes a document in the overlay that the leaf stands for."""

    def foresee(self, contents: Sequence[Source]) -> list[Foreseen]:
        """Look at documents together that are published one after the other; changes no answer."""
        return self._interests.foresee(contents)

    def publish(
        self, content: Source, link: str, foreseen: Foreseen | None = None, scope: int = 0
    ) -> Routed:
        """Where a document goes that a client publishes.

        Raises DocumentError for what is none, and NetworkError where the client must advertise
        before, or the broker is in no unit of that scope.
        """
        require_scope(self._broker, scope, self._depth)
        if self._towards is not Towards.EVERYONE and not self._clients[link].advertised:
            raise NetworkError(f"{link!r} publishes without having advertised: advertise first")
        tree = SHARED_TREE if self._towards is Towards.EVERYONE else self._broker
        document = Document(self.new_id(), tree, content, self._depth, scope)
        return self._follow(document, link, foreseen)

    def accept(self, content: Source, foreseen: Foreseen | None = None) -> DocumentId:
        """The id of a document that goes to whom it is addressed; DocumentError for what is none.

        So nothing has to be advertised.
        """
        self._interests.match(content, foreseen)
        return self.new_id()

    def route(self, document: Document, link: str) -> Routed | None:
        """Where a document of another broker's goes that comes on a link; None if it came before.

        A document of our own that comes back has been everywhere.  Raises DocumentError for what
        is none.
        """
        is_ours = document.id.origin == self._broker and self._has_clients
        if is_ours or not self._recent.add(document.id, document.tree):
            return None
        routed = self._follow(document, link)
        return routed if self._here.add(document.id) else routed._replace(recipients=NOBODY)

    def _follow(self, document: Document, link: str, foreseen: Foreseen | None = None) -> Routed:
        """Where a document goes from here, which must not have been here before."""
        wanting = self._interests.match(document.content, foreseen)
        depth = self._depth_shared(document.id.origin)
        channels = self._channels_of(wanting, depth)
        recipients = self._recipients_of(wanting, depth)
        neighbours: list[str] = []
        copies: list[Copy] = []
        for name in self._planner.onward(document.tree, link):
            neighbour = self._neighbours.get(name)
            if neighbour is None or channels.isdisjoint(neighbour.serving(document.tree)):
                continue
            if self._keeps_in(name, document.scope):
                continue
            if name not in self.beyond:
                neighbours.append(name)
            elif (further := self.beyond[name](document)) is not None:
                copies += further.copies
                if further.recipients.deliveries:  # one overlay of a broker has its clients
                    recipients = further.recipients
        if neighbours:
            copies.insert(0, Copy(document, neighbours))
        return Routed(document, copies, recipients, self._homes_of(channels, document.scope))

    def homes(self, content: Source, origin: str = "", scope: int = 0) -> list[str]:
        """The homes that want a document of a broker for durable subscriptions."""
        channels = self._channels_of(self._interests.match(content), self._depth_shared(origin))
        return self._homes_of(channels, scope)

    def _homes_of(self, channels: frozenset[int], scope: int) -> list[str]:
        return [
            name
            for name, sources in self._homes.items()
            if not channels.isdisjoint(sources.values()) and not self._keeps_in(name, scope)
        ]

    def _keeps_in(self, name: str, scope: int) -> bool:
        """Whether a scope keeps documents from a neighbour or home, which is outside."""
        return bool(scope) and scope >= self._depth and is_outer(name)

    def _depth_shared(self, origin: str) -> int:
        """How deep the innermost unit lies that the origin of a document and this broker are in.

        It is as deep as wants can say where nothing is wanted within a scope.
        """
        if not origin or not self._interests.has_scopes:
            return self._depth
        return min(self._depth, shared_depth(origin, self._broker))

    def _channels_of(self, wanting: Wanting, depth: int) -> frozenset[int]:
        if depth == self._depth:
            return wanting.channels
        return wanting.channels - self._interests.beyond(depth)

    def new_id(self) -> DocumentId:
        """An id that no other document of this broker has."""
        self._published += 1
        return DocumentId(self._broker, self._life, self._published - 1)

    def prepare(self, most: int | None = None) -> None:
        """Take in new interests now, or so many; not when the next document comes."""
        self._interests.refresh(most)

    @property
    def is_unprepared(self) -> bool:
        """Whether the next document would have to wait for many new interests."""
        return self._interests.is_outdated

    def recipients(self, content: Source, origin: str = "") -> Recipients:
        """The clients of this broker that want a document of a broker, however it has come."""
        return self._recipients_of(self._interests.match(content), self._depth_shared(origin))

    def _recipients_of(self, wanting: Wanting, depth: int) -> Recipients:
        by_depth = self._recipients.get(wanting)
        if by_depth is None:
            by_depth = self._recipients[wanting] = {}
        recipients = by_depth.get(depth)
        if recipients is None:
            ids: dict[str, tuple[str, ...]] = {}
            for source, patterns in wanting.clients.items():
                wants = self._wants_of[source]
                if wants.scope <= depth:
                    ids[wants.client] = ids.get(wants.client, ()) + wants.ids_of(patterns)
            recipients = by_depth[depth] = Recipients(tuple(ids.items()))
        return recipients

    def next_hop(self, broker: str) -> str | None:
        """The neighbour that is next on the path to a broker; None if it cannot be reached."""
        tree = self._link_states.view.tree(self._broker)
        hop: str | None = broker
        while hop is not None and (above := tree.parent(hop)) != self._broker:
            hop = above
        return hop if hop in self._neighbours else None

    @property
    def view(self) -> View:
        """The overlay as it is known; another object whenever that has changed."""
        return self._link_states.view

    def leads(self, tree: str, broker: str) -> bool:
        """Whether a document that leaves here along a tree comes by another broker."""
        view = self._link_states.view
        if tree in SHARED_TREES:
            return self.can_reach(broker)
        parents = view.tree(tree).parents
        while broker != self._broker and broker in parents:
            broker = parents[broker]
        return broker == self._broker

    def can_reach(self, broker: str) -> bool:
        """Whether links lead to another broker, as far as is known."""
        return broker in self._link_states.view.tree(self._broker).parents

    def brokers(self) -> list[str]:
        """The other brokers that are known, whether they can be reached or not."""
        return [each for each in self._link_states.view.brokers if each != self._broker]

    @property
    def gateways_out(self) -> list[str]:
        """The brokers that stand for what is outside, whether they can be reached or not."""
        states = self._link_states.all
        return [each.broker for each in states if any(map(is_outer, each.leaves))]

    @property
    def known_homes(self) -> list[str]:
        """The homes that want something."""
        return list(self._homes)

    # --- homes ------------------------------------------------------------------------------------

    def set_home(self, home: str, change: Change, scope: int = 0) -> None:
        """Note what durable subscriptions at another broker begin and cease to want in a scope."""
        sources = self._homes.setdefault(home, {})
        source = sources.get(scope)
        if source is None:
            source = sources[scope] = self._interests.open(is_client=False, scope=scope)
        for pattern in change.forward:
            self._interests.add(source, pattern)
        for pattern in change.withdraw:
            self._interests.remove(source, pattern)

    def begin_home(self, home: str, change: Change, scope: int = 0) -> None:
        """What :meth:`set_home` does, but left for :meth:`Router.go_on`."""
        self._news_of_homes.append((home, scope, iter(change.forward), True))
        self._news_of_homes.append((home, scope, iter(change.withdraw), False))

    @property
    def is_behind(self) -> bool:
        """Whether there is something to catch up with."""
        return bool(self._news_of_homes)

    def catch_up(self, most: int) -> int:
        """Note up to so many patterns of homes; how many are left of ``most``."""
        while self._news_of_homes and most > 0:
            home, scope, news, is_wanted = self._news_of_homes[0]
            patterns = tuple(islice(news, most))
            if len(patterns) < most:
                self._news_of_homes.popleft()
            change = Change(patterns) if is_wanted else Change(withdraw=patterns)
            self.set_home(home, change, scope)
            most -= len(patterns)
        return most

    def drop_home(self, home: str) -> None:
        """Owe nothing more to a broker."""
        kept = [news for news in self._news_of_homes if news[0] != home]
        self._news_of_homes = deque(kept)
        for source in self._homes.pop(home, {}).values():
            for pattern in list(self._interests.patterns(source)):
                self._interests.remove(source, pattern)
            self._interests.close(source)
