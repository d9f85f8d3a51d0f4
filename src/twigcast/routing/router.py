"""One broker's decisions, without input and output.

:meth:`Router.handle` takes a message and the link that it came on, and returns the messages to send
and the links to send them on.  It has no clock, no socket and no randomness: the same messages in
the same order give the same answers.

Everything follows from four kinds of knowledge, each kept by its own class::

    link states        LinkStates    which brokers there are, hence the trees
    advertisements     Neighbour     who sent which one          (the subscription routing table)
    interests          Interests     who wants what             (the publication routing table)
    channels           Channel       what was sent to each neighbour

A message changes one of the first three.  If trees or advertisements have changed, the
:class:`~twigcast.routing.planning.Planner` says which channels there should be.
:class:`~twigcast.routing.client_requests.ClientRequests` follows what clients ask, and
:class:`~twigcast.routing.spreading.Spreading` keeps interests and channels in line.  The answer has
what cannot wait: link states, advertisements, documents, deliveries and refusals.

Channels gather what they have to say until :meth:`Router.flush`.  Then each merges, if the strategy
allows that, and says the difference to what it last sent.  So what a later message undoes, covers
or lets merge is never sent.  Whoever drives a router calls :meth:`Router.flush` some time after
:attr:`Router.has_news`; how long after decides how many messages neighbours get and how soon they
know, but not what holds at rest.

A change of links may concern very many patterns, and merging takes long.  Whoever must not be kept
waiting calls :meth:`Router.begin` instead of :meth:`Router.handle`, :meth:`Router.begin_flush`
instead of :meth:`Router.flush`, and :meth:`Router.go_on` until nothing is left, in any order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from twigcast.documents import DEFAULT_LIMITS, DocumentLimits
from twigcast.errors import DocumentError, NetworkError
from twigcast.language import Pattern
from twigcast.matching import ReaderName
from twigcast.routing.aggregates import Counters
from twigcast.routing.client_requests import ClientRequests
from twigcast.routing.clients import Client, Wants
from twigcast.routing.document_router import DocumentRouter, Routed
from twigcast.routing.entries import (
    AdvertisementEntry,
    SubscriptionEntry,
    advertisement_entries,
    hops,
    patterns_by_source,
    subscription_entries,
)
from twigcast.routing.interests import Interests
from twigcast.routing.link_states import LinkStates
from twigcast.routing.messages import (
    Advertise,
    Deliver,
    Document,
    LinkDown,
    LinkKind,
    LinkState,
    LinkUp,
    Message,
    Publish,
    Refused,
    Send,
    Subscribe,
    Unadvertise,
    Unsubscribe,
    Update,
)
from twigcast.routing.neighbour import Leaf, Neighbour
from twigcast.routing.planning import Planner
from twigcast.routing.spreading import Spreading
from twigcast.routing.strategy import Strategy
from twigcast.routing.trees import Graph

GATHERING: Final = 0.005
"""For how many seconds a broker gathers by default before it flushes."""


class Router:
    """A broker: its tables, and what it does with a message.

    ``incarnation`` must be higher than in any earlier life of a broker of this name; a router that
    finds out from its neighbours that it is not, goes on with a higher one.  ``counters`` may be
    shared by routers of one thread.  Where brokers are arranged in units (:mod:`twigcast.
    hierarchy`), ``depth`` is that of the unit whose overlay it is about, and one without clients
    is that of a gateway in a unit around its own.
    """

    def __init__(
        self,
        name: str,
        strategy: Strategy | str | None = None,
        incarnation: int = 0,
        *,
        limits: DocumentLimits | None = None,
        reader: ReaderName = "checked",
        counters: Counters | None = None,
        depth: int = 0,
        has_clients: bool = True,
    ) -> None:
        if not name:
            raise ValueError("a broker has a name; it must not be empty")
        self.name = name
        self.depth = depth
        self.strategy = Strategy.of(strategy)
        self._link_states = LinkStates(name, incarnation)
        self._interests = Interests(DEFAULT_LIMITS if limits is None else limits, reader)
        self._clients: dict[str, Client] = {}
        wants_of: dict[int, Wants] = {}  # of clients, by source
        self._neighbours: dict[str, Neighbour] = {}
        self._to_answer: dict[str, None] = {}  # neighbours to send something to at once
        self._gathered: dict[str, None] = {}  # neighbours for whom something is gathered
        self._counters = Counters(self.strategy.depth) if counters is None else counters
        self._planner = Planner(
            name,
            self.strategy.towards,
            self._link_states,
            self._clients,
            self._neighbours,
            self._interests,
            depth,
        )
        self._spreading = Spreading(
            self.strategy,
            self._counters,
            self._planner,
            self._interests,
            self._neighbours,
        )
        self._refusals: list[str] = []
        self._requests = ClientRequests(
            name,
            depth,
            self._clients,
            wants_of,
            self._interests,
            self._spreading,
            self._refusals.append,
        )
        self.documents = DocumentRouter(
            self.strategy.towards,
            self._link_states,
            self._planner,
            self._interests,
            self._clients,
            wants_of,
            self._neighbours,
            depth,
            has_clients,
        )
        """Where documents go, for whoever has many of them."""
        self._sends: list[Send] = []
        self._handlers: dict[type[Any], Callable[[Any, str], None]] = {
            LinkDown: self._on_link_down,
            Subscribe: self._requests.on_subscribe,
            Unsubscribe: self._requests.on_unsubscribe,
            Advertise: self._requests.on_advertise,
            Unadvertise: self._requests.on_unadvertise,
            Publish: self._on_document,
            Update: self._on_update,
            Document: self._on_document,
            Refused: self._on_refused,
        }

    def handle(self, message: Message, from_link: str) -> list[Send]:
        """What to send where at once, now that a message has come on a link.

        What cannot be followed is refused: the answer has a :class:`Refused` for that link, also
        where there is no such link.  That the parts of a message are of the types that it declares
        is the business of whoever reads it from a wire.
        """
        sends = self.begin(message, from_link)
        self._catch_up(sys.maxsize)
        return sends

    def begin(self, message: Message, from_link: str) -> list[Send]:
        """What :meth:`handle` does, but what takes long is left for :meth:`go_on`.

        So a broker with very many patterns can see to its clients while a link comes up or goes
        down.
        """
        if isinstance(message, LinkUp):
            self._on_link_up(message, from_link)
        elif self._may_say(message, from_link):
            self._handlers[type(message)](message, from_link)
        self._spreading.plan()
        self._spreading.forget_outdated()
        return self._answer(message, from_link)

    @property
    def is_behind(self) -> bool:
        """Whether :meth:`go_on` has something to do."""
        documents = self.documents
        return self._spreading.is_behind or documents.is_behind or documents.is_unprepared

    def go_on(self, most: int) -> bool:
        """Do up to so many of the steps that are left of earlier calls; whether more are left."""
        self._catch_up(most)
        self.prepare(_PREPARED)
        return self.is_behind

    def prepare(self, most: int | None = None) -> None:
        """Take in new interests now, or so many; not when the next document comes."""
        self.documents.prepare(most)

    @property
    def has_news(self) -> bool:
        """Whether :meth:`flush` may have something to send."""
        return bool(self._gathered)

    def flush(self) -> list[Send]:
        """What to send of all that channels have gathered: at most one update to a neighbour."""
        self._spreading.merge(self._gathered)
        return self._take_gathered(sys.maxsize)

    def begin_flush(self, most: int = sys.maxsize) -> list[Send]:
        """What :meth:`flush` does, but merging is left for :meth:`go_on`.

        It has up to ``most`` patterns of each channel; :attr:`has_news` if there are more.  With
        such a limit, what is gathered waits until it is merged, though not for long.
        """
        return self._take_gathered(most)

    def _take_gathered(self, most: int) -> list[Send]:
        return self._updates(self._gathered, lambda neighbour: neighbour.take_gathered(most))

    def _catch_up(self, most: int) -> None:
        most = self._spreading.catch_up(most)
        most = self.documents.catch_up(most)
        most = self._spreading.clear_closed(most)
        most = self._spreading.catch_up(most)  # with channels that end with what is closed
        self._spreading.merge_on(most)

    @property
    def overlay(self) -> Graph:
        """The links of all brokers that are known, as both ends report them."""
        return self._link_states.view.graph

    @property
    def levels(self) -> tuple[Router, ...]:
        """This router, and those of the same broker in units around this one's."""
        return (self,)

    def learn(self, states: Iterable[LinkState], depth: int = 0) -> list[Send]:
        """Take in what is known of an overlay from a plan that all brokers have.

        Unlike news of a neighbour's, it is not passed on.  :meth:`go_on` does what takes long.
        """
        assert depth == self.depth, "it is about the overlay of this router"
        for state in states:
            self._link_states.accept(state)
        self._spreading.plan_all_anew()
        self._spreading.plan()
        return self._answer(None, "")

    def set_book(
        self, book: tuple[tuple[str, int], ...], address: tuple[int, ...], depth: int = 0
    ) -> list[Send]:
        """Let all brokers of a unit know which bits its members have."""
        assert depth == self.depth, "it is about the overlay of this router"
        self._say_state(self._link_states.set_book(book, address))
        return self._answer(None, "")

    @property
    def link_states(self) -> tuple[LinkState, ...]:
        """What all brokers of the overlay say of themselves, as far as is known."""
        return self._link_states.all

    def forget(self, neighbour: str) -> None:
        """Remember nothing of a link that is down; :meth:`go_on` does the work."""
        self._spreading.forget(neighbour)

    def has_link(self, link: str) -> bool:
        """Whether a link is up, to a client or another broker."""
        return link in self._clients or link in self._neighbours

    @property
    def incarnation(self) -> int:
        """The number of this life of the broker."""
        return self._link_states.own.incarnation

    @property
    def link_state(self) -> LinkState:
        """What this broker says of its links."""
        return self._link_states.own

    # --- what comes in ----------------------------------------------------------------------------

    def _may_say(self, message: Message, link: str) -> bool:
        if link in self._clients:
            allowed: tuple[type, ...] = _FROM_CLIENTS
        elif link in self._neighbours:
            allowed = _FROM_BROKERS
        elif isinstance(message, Refused):  # a refusal is never answered, or it would echo
            return False
        else:
            self._refuse(f"the broker {self.name!r} has no link {link!r}")
            return False
        if isinstance(message, Update | Document) and message.depth != self.depth:
            self._refuse(
                f"{link!r} speaks of a unit of depth {message.depth} and {self.name!r} of one of "
                f"{self.depth}: let both be gateways of the units below"
            )
            return False
        if isinstance(message, Document) and message.scope > self.depth:
            self._refuse(
                f"{link!r} sends a document out of a unit of depth {message.scope}, which it is "
                "kept within: drop it there"
            )
            return False
        if type(message) in allowed:
            return True
        names = ", ".join(each.__name__ for each in allowed)
        self._refuse(f"{type(message).__name__} is not for {link!r} to say, only: {names}")
        return False

    def _on_link_up(self, message: LinkUp, link: str) -> None:
        if link in self._clients or link in self._neighbours or link == self.name:
            whose = "the broker itself" if link == self.name else "a link that is up"
            self._refuse(f"{link!r} is the name of {whose}")
        elif message.kind is LinkKind.CLIENT:
            self._requests.attach(link)
        elif message.kind is LinkKind.LEAF:
            source = self._interests.open(is_client=False)
            new_channel = self._spreading.new_channel
            leaf = Leaf(link, self._to_answer, self._gathered, new_channel, source)
            self._neighbours[link] = leaf
            self._send_state(self._link_states.set_leaf(link, is_there=True))
        elif not 0 < message.cost < float("inf"):
            self._refuse(f"the cost of a link is above 0, not {message.cost}")
        else:
            self._send_state(self._link_states.set_link(link, message.cost))
            memory, new_channel = self._spreading.recall(link), self._spreading.new_channel
            neighbour = Neighbour(link, self._to_answer, self._gathered, new_channel, memory)
            self._neighbours[link] = neighbour
            neighbour.send_states(self._link_states.all)

    def _on_link_down(self, message: LinkDown, link: str) -> None:
        if link in self._clients:
            self._requests.detach(link)
            return
        neighbour = self._neighbours.pop(link)
        self._send_state(self._link_states.set_link(link, None))
        self._spreading.remember(neighbour)

    def _send_state(self, state: LinkState, *, but: str = "") -> None:
        self._say_state(state, but)
        self._spreading.plan_all_anew()

    def _say_state(self, state: LinkState, but: str = "") -> None:
        for name, neighbour in self._neighbours.items():
            if neighbour.is_broker and name != but:
                neighbour.send_states((state,))

    def rename_leaf(self, before: str, now: str) -> list[Send]:
        """Give a leaf another name; nothing is lost.  :meth:`go_on` does what takes long."""
        leaf = self._neighbours.pop(before)
        assert isinstance(leaf, Leaf), f"{before!r} is a leaf"
        leaf.rename(now)
        self._neighbours[now] = leaf
        self._planner.rename(before, now)
        self._link_states.set_leaf(before, is_there=False)
        self._send_state(self._link_states.set_leaf(now, is_there=True))
        self._spreading.plan()
        return self._answer(None, "")

    def _on_document(self, message: Publish | Document, link: str) -> None:
        routed = None
        try:
            if isinstance(message, Publish):
                routed = self.documents.publish(message.content, link, scope=message.scope)
            else:
                routed = self.documents.route(message, link)
        except NetworkError as error:
            self._refuse(str(error))
        except DocumentError as error:
            self._refuse(f"a document of {link!r} cannot be read: {error}")
        if routed is not None:
            self._send(routed)

    def _send(self, routed: Routed) -> None:
        document = routed.document
        for copy in routed.copies:
            self._sends += [Send(name, copy.document) for name in copy.neighbours]
        for name, ids in routed.recipients.deliveries:
            self._sends.append(Send(name, Deliver(document.id, document.content, ids)))

    def _on_update(self, update: Update, link: str) -> None:
        neighbour = self._neighbours[link]
        self._spreading.note_known(neighbour, update.known)
        for state in update.states:
            if self._link_states.accept(state):
                is_own = state.broker == self.name
                news = self._link_states.own if is_own else state
                self._send_state(news, but="" if is_own else link)
        for key in update.unadvertise:
            if not neighbour.note_unadvertised(key):
                self._refuse(f"{link!r} never sent the advertisement {key}")
        for key, promise in update.advertise:
            neighbour.note_advertised(key, promise)
        self._spreading.plan_anew(key.origin for key in update.unadvertise)
        self._spreading.plan_anew(key.origin for key, _ in update.advertise)
        self._refusals += self._spreading.take_in(neighbour, update)

    def _on_refused(self, message: Refused, link: str) -> None:
        """Nothing can be done but by those who look after the network; no answer, or it echoes."""

    # --- what goes out ----------------------------------------------------------------------------

    def _refuse(self, reason: str) -> None:
        self._refusals.append(reason)

    def _answer(self, message: Message | None, link: str) -> list[Send]:
        sends = self._sends + self._updates(self._to_answer, Neighbour.take_answer)
        self._sends = []
        if self._refusals and message is not None:
            sends.append(Send(link, Refused(_in_short(self._refusals), message)))
            self._refusals.clear()
        return sends

    def _updates(self, waiting: dict[str, None], take: Callable[[Neighbour], Update]) -> list[Send]:
        """The updates that neighbours wait for; none is left waiting unless ``take`` says so."""
        names = tuple(waiting)
        waiting.clear()
        updates = [
            (name, take(self._neighbours[name])) for name in names if name in self._neighbours
        ]
        return [
            Send(name, update._replace(depth=self.depth)) for name, update in updates if any(update)
        ]

    # --- to look at -------------------------------------------------------------------------------

    def advertisements(self) -> list[AdvertisementEntry]:
        """The subscription routing table: what is advertised, and which link leads there."""
        view = self._link_states.view
        return advertisement_entries(self.name, self._clients, self._planner.advertised, view)

    def subscriptions(self) -> list[SubscriptionEntry]:
        """The publication routing table: what is wanted, and on which links."""
        return subscription_entries(self._clients, self._neighbours, self._interests)

    def patterns_by_source(self) -> dict[int, Mapping[Pattern, int]]:
        """What each source wants: the clients, and the channels of neighbours."""
        return patterns_by_source(self._clients, self._neighbours, self._interests)

    def scope_of(self, source: int) -> int:
        """The depth of the unit within which a source wants something; 0 for anywhere."""
        return self._interests.scope(source)

    def hops(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """By tree and next neighbour, the sources that say what is wanted there."""
        return hops(self._neighbours, self._planner)

    def remembered(self) -> dict[str, frozenset[Pattern]]:
        """What neighbours wanted whose links are down, and may go on from."""
        return self._spreading.remembered()

    @property
    def clients(self) -> Mapping[str, Client]:
        """The clients of this broker."""
        return self._clients

    @property
    def neighbours(self) -> Mapping[str, Neighbour]:
        """The brokers that this one is linked to."""
        return self._neighbours

    @property
    def table_size(self) -> int:
        """The distinct patterns that a document is matched with, also those remembered."""
        return len(self._interests)

    @property
    def memory_size(self) -> int:
        """How much stays for long: the patterns, and what merging has counted."""
        return self.table_size + self._counters.size

    def __repr__(self) -> str:
        return (
            f"<Router {self.name}: {len(self._neighbours)} neighbours, {len(self._clients)} "
            f"clients, {self.table_size:,} patterns>"
        )


def _in_short(reasons: list[str]) -> str:
    more = len(reasons) - _MOST_REASONS
    return "; ".join([*reasons[:_MOST_REASONS], *([f"and {more:,} more"] if more > 0 else [])])


_MOST_REASONS = 5
_PREPARED = 100
"""How many new interests are taken in for the next document at once."""
_FROM_CLIENTS = (LinkDown, Subscribe, Unsubscribe, Advertise, Unadvertise, Publish, Refused)
_FROM_BROKERS = (LinkDown, Update, Document, Refused)
