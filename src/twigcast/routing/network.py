"""A whole network in one process: routers, their links and their clients.

    attach, subscribe, publish, crash … ──► Transport ──► Router.handle ──► sends ──► Transport
                                               │                 │
                                               └── Deliver ──► deliveries of the client

What routers send is put into a :class:`~twigcast.routing.transport.Transport`.  A broker that has
gathered something puts a :class:`~twigcast.routing.transport.Flush` to itself into the transport,
which so decides for how long brokers gather.  :meth:`Network.settle` lets everything that is in
transit arrive, and brokers flush; then the network is quiet until something is asked of it.

A client belongs to a broker.  While that is down the client keeps what it subscribes to and
advertises, and attaches with all of it when the broker returns.  What it publishes meanwhile is
refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Unpack

from twigcast.documents import DocumentLimits, Source
from twigcast.errors import NetworkError, OverlayError
from twigcast.language import BindingKeywords, Pattern, as_pattern
from twigcast.routing.aggregates import Counters
from twigcast.routing.frozen import FrozenNetwork, freeze
from twigcast.routing.messages import (
    Advertise,
    Deliver,
    DocumentId,
    LinkDown,
    LinkKind,
    LinkUp,
    Message,
    Publish,
    Refused,
    Send,
    Subscribe,
    Unadvertise,
    Unsubscribe,
)
from twigcast.routing.network_file import NetworkPlan
from twigcast.routing.overlay import Link, Overlay
from twigcast.routing.promises import Promise, require_promise
from twigcast.routing.router import Router
from twigcast.routing.scopes import depth_of_scope
from twigcast.routing.strategy import Strategy
from twigcast.routing.transport import Envelope, Flush, InstantTransport, Transport


class Observer:
    """Sees what happens in a network; does nothing by itself."""

    def on_handled(self, envelope: Envelope, sends: list[Send]) -> None:
        """A broker has handled a message."""

    def on_delivered(self, client: str, delivery: Deliver) -> None:
        """A client has got a document."""

    def on_refused(self, link: str, refusal: Refused) -> None:
        """Something was refused, to a client or a broker."""


class Delivery(NamedTuple):
    """A document that a client got, and for which of its subscriptions."""

    id: DocumentId
    subscriptions: tuple[str, ...]


@dataclass(slots=True)
class NetworkClient:
    """A client, at whichever end of a link it is: what it wants and promises, and what it got."""

    name: str
    broker: str
    subscriptions: dict[str, Pattern] = field(default_factory=dict)
    advertisements: dict[str, Promise] = field(default_factory=dict)
    scopes: dict[str, int] = field(default_factory=dict)
    """The scopes of subscriptions that have one."""
    advertised_within: dict[str, int] = field(default_factory=dict)
    """The scopes of advertisements that have one."""
    deliveries: list[Delivery] = field(default_factory=list)


class Network:
    """All brokers of an overlay, with links that can be cut and brokers that can crash.

    ``strategy`` may be given by name.  What brokers refuse is in :attr:`refusals`.

    >>> from twigcast.routing import ANYTHING
    >>> network = Network(Overlay(["london", "rome"], [("london", "rome")]))
    >>> network.attach("feed", "london")
    >>> network.attach("desk", "rome")
    >>> network.advertise("feed", "all", ANYTHING)
    >>> network.subscribe("desk", "dear", "//Stock[Price > 15]")
    >>> network.settle()
    >>> network.publish("feed", "<Stock><Price>17</Price></Stock>")
    >>> network.settle()
    >>> network.client("desk").deliveries
    [Delivery(id=DocumentId(origin='london', incarnation=0, number=0), subscriptions=('dear',))]
    """

    def __init__(
        self,
        overlay: Overlay,
        strategy: Strategy | str | None = None,
        *,
        transport: Transport | None = None,
        observer: Observer | None = None,
        limits: DocumentLimits | None = None,
    ) -> None:
        self.overlay = overlay
        self.strategy = Strategy.of(strategy)
        self._transport = InstantTransport() if transport is None else transport
        self._observer = Observer() if observer is None else observer
        self._limits = limits
        self._counters = Counters(self.strategy.depth)
        self._clients: dict[str, NetworkClient] = {}
        self._lives = dict.fromkeys(overlay.brokers, 0)
        self._routers: dict[str, Router] = {name: self._new_router(name) for name in overlay}
        self._cut: set[Link] = set()
        self._gathering: set[str] = set()  # brokers whose Flush is in transit
        self._refusals: list[Refused] = []
        self._start()

    @classmethod
    def planned(
        cls,
        plan: NetworkPlan,
        *,
        transport: Transport | None = None,
        observer: Observer | None = None,
        limits: DocumentLimits | None = None,
    ) -> Network:
        """The network that a plan describes, with its clients, once everything has arrived."""
        network = cls(
            plan.overlay, plan.strategy, transport=transport, observer=observer, limits=limits
        )
        for client in plan.clients:
            network.attach(client.name, client.broker)
            for key, promise in client.advertisements.items():
                scope = client.advertised_within.get(key, "")
                network.advertise(client.name, key, promise, scope=scope)
        for client in plan.clients:
            if client.subscriptions:
                network.subscribe_all(client.name, client.subscriptions, scope=client.scope)
        network.settle()
        return network

    def _new_router(self, name: str) -> Router:
        return Router(
            name, self.strategy, self._lives[name], limits=self._limits, counters=self._counters
        )

    def _link_up(self, link: Link) -> LinkUp:
        return LinkUp(LinkKind.BROKER, self.overlay.links[link].cost)

    def _start(self) -> None:
        """Bring all links up, with every broker knowing the overlay already."""
        for link in self.overlay.links:
            for broker in link:
                self._routers[broker].handle(self._link_up(link), link.other(broker))
        self._teach()

    def _teach(self) -> None:
        states = [router.link_state for router in self._routers.values()]
        for name, router in self._routers.items():
            self._carry(name, router.learn(states))
            self._gather(name)

    # --- clients ----------------------------------------------------------------------------------

    def attach(self, client: str, broker: str) -> None:
        """Connect a client to a broker."""
        if broker not in self.overlay:
            raise OverlayError(f"there is no broker {broker!r}")
        if client in self._clients or client in self.overlay:
            raise NetworkError(f"the name {client!r} is taken; choose another for the client")
        self._clients[client] = NetworkClient(client, broker)
        self._say(client, LinkUp(LinkKind.CLIENT))

    def detach(self, client: str) -> None:
        """Disconnect a client, with all it subscribes to and advertises; at once."""
        broker = self.client(client).broker
        del self._clients[client]
        self._transport.cut(client, broker)
        router = self._routers.get(broker)
        if router is not None and client in router.clients:
            self._handle(Envelope(client, broker, LinkDown()))

    def subscribe(
        self,
        client: str,
        subscription_id: str,
        subscription: str | Pattern,
        namespaces: Mapping[str, str] | None = None,
        *,
        scope: str = "",
        **bindings: Unpack[BindingKeywords],
    ) -> None:
        """Subscribe under an id of the client's own; bindings are those of ``twigcast.parse``.

        ``scope``, here and below, is a unit that the broker of the client is in, or ``cluster``,
        ``super-cluster`` and so on, to count from the innermost one.
        """
        pattern = as_pattern(subscription, namespaces, **bindings)
        self.subscribe_all(client, {subscription_id: pattern}, scope=scope)

    def subscribe_all(
        self, client: str, subscriptions: Mapping[str, str | Pattern], *, scope: str = ""
    ) -> None:
        """Subscribe to many patterns with one message."""
        depth = self._scope(client, scope)
        wanted = self.client(client).subscriptions
        for key in subscriptions:
            if key in wanted:
                raise NetworkError(f"{client!r} has a subscription {key!r} already")
        added = {key: as_pattern(each) for key, each in subscriptions.items()}
        wanted.update(added)
        if depth:
            self.client(client).scopes.update(dict.fromkeys(added, depth))
        self._say(client, Subscribe(added, depth))

    def unsubscribe(self, client: str, *ids: str) -> None:
        """End subscriptions of a client, by their ids."""
        wanted = self.client(client).subscriptions
        for key, count in Counter(ids).items():
            if key not in wanted or count > 1:
                only = " that can be ended more than once" if key in wanted else ""
                raise NetworkError(f"{client!r} has no subscription {key!r}{only}")
        for key in ids:
            del wanted[key]
            self.client(client).scopes.pop(key, None)
        self._say(client, Unsubscribe(ids))

    def advertise(
        self, client: str, advertisement_id: str, promise: Promise, *, scope: str = ""
    ) -> None:
        """Promise documents under an id of the client's own."""
        depth = self._scope(client, scope)
        promised = self.client(client).advertisements
        if advertisement_id in promised:
            raise NetworkError(f"{client!r} has an advertisement {advertisement_id!r} already")
        require_promise(promise)
        promised[advertisement_id] = promise
        if depth:
            self.client(client).advertised_within[advertisement_id] = depth
        self._say(client, Advertise(advertisement_id, promise, depth))

    def unadvertise(self, client: str, advertisement_id: str) -> None:
        """End an advertisement of a client."""
        if self.client(client).advertisements.pop(advertisement_id, None) is None:
            raise NetworkError(f"{client!r} has no advertisement {advertisement_id!r}")
        self.client(client).advertised_within.pop(advertisement_id, None)
        self._say(client, Unadvertise(advertisement_id))

    def publish(self, client: str, content: Source, *, scope: str = "") -> None:
        """Let a client publish a document."""
        if self.client(client).broker not in self._routers:
            raise NetworkError(f"the broker of {client!r} is down; restart it first")
        if not isinstance(content, Source):
            raise TypeError(f"a document is bytes or str, not {type(content).__name__}")
        self._say(client, Publish(content, self._scope(client, scope)))

    def client(self, name: str) -> NetworkClient:
        """The client of that name; NetworkError if there is none."""
        client = self._clients.get(name)
        if client is None:
            raise NetworkError(f"there is no client {name!r}")
        return client

    def _scope(self, client: str, scope: str) -> int:
        return depth_of_scope(self.client(client).broker, scope)

    def _say(self, client: str, message: Message) -> None:
        broker = self.client(client).broker
        if broker in self._routers:
            self._transport.put(Envelope(client, broker, message))

    # --- faults -----------------------------------------------------------------------------------

    def cut(self, one: str, other: str) -> None:
        """Cut a link; what is in transit over it is lost."""
        link = self.overlay.link(one, other)
        if link in self._cut:
            raise NetworkError(f"the link {link} is cut already")
        self._cut.add(link)
        self._take_down(link)

    def heal(self, one: str, other: str) -> None:
        """Make a link that was cut whole again."""
        link = self.overlay.link(one, other)
        if link not in self._cut:
            raise NetworkError(f"the link {link} is not cut")
        self._cut.remove(link)
        self._bring_up(link)

    def crash(self, broker: str) -> None:
        """Let a broker lose everything it knows, and what is in transit to it and from it."""
        if broker not in self.overlay or broker not in self._routers:
            raise NetworkError(f"there is no broker {broker!r} that is up")
        for link in self._links_of(broker):
            self._take_down(link)
        for client in self._clients.values():
            if client.broker == broker:
                self._transport.cut(client.name, broker)
        self._transport.cut(broker, broker)
        self._gathering.discard(broker)
        del self._routers[broker]

    def restart(self, broker: str) -> None:
        """Let a broker that has crashed begin anew; its clients attach again."""
        if broker not in self.overlay or broker in self._routers:
            raise NetworkError(f"there is no broker {broker!r} that is down")
        self._lives[broker] += 1
        self._routers[broker] = self._new_router(broker)
        self._gather(broker)
        for link in self._links_of(broker):
            self._bring_up(link)
        for client in self._clients.values():
            if client.broker == broker:
                self._attach_again(client)

    def _attach_again(self, client: NetworkClient) -> None:
        self._say(client.name, LinkUp(LinkKind.CLIENT))
        for key, promise in client.advertisements.items():
            within = client.advertised_within.get(key, 0)
            self._say(client.name, Advertise(key, promise, within))
        by_scope: dict[int, dict[str, Pattern]] = {}
        for key, pattern in client.subscriptions.items():
            by_scope.setdefault(client.scopes.get(key, 0), {})[key] = pattern
        for scope, subscriptions in by_scope.items():
            self._say(client.name, Subscribe(subscriptions, scope))

    def _links_of(self, broker: str) -> list[Link]:
        return [Link.between(broker, other) for other in self.overlay.neighbours(broker)]

    def is_up(self, link: Link) -> bool:
        """Whether a link can be used: it is not cut, and both brokers are there."""
        return (
            link not in self._cut and link.first in self._routers and link.second in self._routers
        )

    def _take_down(self, link: Link) -> None:
        self._transport.cut(link.first, link.second)
        for broker in link:
            router = self._routers.get(broker)
            if router is not None and router.has_link(link.other(broker)):
                self._handle(Envelope(link.other(broker), broker, LinkDown()))

    def _bring_up(self, link: Link) -> None:
        if self.is_up(link):
            for broker in link:
                self._handle(Envelope(link.other(broker), broker, self._link_up(link)))

    # --- driving ----------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let everything that is in transit arrive."""
        while self.step():
            pass

    def step(self) -> bool:
        """Let one message arrive, or one broker flush; whether there was any."""
        envelope = self._transport.take()
        if envelope is None:
            return False
        if envelope.receiver in self._routers:
            self._handle(envelope)
        else:
            self._receive(envelope)
        return True

    def _handle(self, envelope: Envelope) -> None:
        message, broker = envelope.message, envelope.receiver
        router = self._routers[broker]
        if isinstance(message, Flush):
            self._gathering.discard(broker)  # it may be one of an earlier life
        sends = self._drive(router, message, envelope.sender)
        self._observer.on_handled(envelope, sends)
        if isinstance(message, Refused):
            self._refused(envelope)
        self._carry(broker, sends)
        self._gather(broker)

    def _drive(self, router: Router, message: Message | Flush, link: str) -> list[Send]:
        return router.flush() if isinstance(message, Flush) else router.handle(message, link)

    def _is_to_flush(self, router: Router) -> bool:
        return router.has_news

    def _gather(self, broker: str) -> None:
        """Let a broker that has gathered something flush."""
        if self._is_to_flush(self._routers[broker]) and broker not in self._gathering:
            self._gathering.add(broker)
            self._transport.put(Envelope(broker, broker, Flush()))

    def _carry(self, broker: str, sends: list[Send]) -> None:
        for link, message in sends:
            self._transport.put(Envelope(broker, link, message))

    def _receive(self, envelope: Envelope) -> None:
        """Hand a message to the client that it is for."""
        message = envelope.message
        client = self._clients.get(envelope.receiver)
        if isinstance(message, Refused):
            self._refused(envelope)
        elif isinstance(message, Deliver) and client is not None:
            client.deliveries.append(Delivery(message.id, message.subscriptions))
            self._observer.on_delivered(client.name, message)

    def freeze(self) -> FrozenNetwork:
        """A snapshot of all tables, once everything that is in transit has arrived."""
        self.settle()
        return freeze(self._routers.values(), self._limits)

    def _refused(self, envelope: Envelope) -> None:
        assert isinstance(envelope.message, Refused)
        self._refusals.append(envelope.message)
        self._observer.on_refused(envelope.receiver, envelope.message)

    # --- to look at -------------------------------------------------------------------------------

    @property
    def routers(self) -> Mapping[str, Router]:
        """The brokers that are up."""
        return MappingProxyType(self._routers)

    @property
    def clients(self) -> Mapping[str, NetworkClient]:
        """The clients, whether their brokers are up or down."""
        return MappingProxyType(self._clients)

    @property
    def refusals(self) -> tuple[Refused, ...]:
        """What brokers refused, to clients and to each other, and why."""
        return tuple(self._refusals)

    def links_up(self) -> Iterator[Link]:
        """The links that can be used."""
        return (link for link in self.overlay.links if self.is_up(link))

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a Network is not copied; pass on what freeze() gives")

    def _repr_svg_(self) -> str:
        from twigcast.drawing import draw_overlay  # for notebooks only

        clients = Counter(client.broker for client in self._clients.values())
        return draw_overlay(self.overlay, clients=clients)

    def __repr__(self) -> str:
        return (
            f"<Network of {len(self._routers)} brokers and {len(self._clients)} clients, "
            f"{self.strategy.name}>"
        )
