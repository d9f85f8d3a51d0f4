"""Counts what happens in a network: messages by kind, broker and link; deliveries and delays.

    Network ──► on_handled ───► Counts of (sender, receiver)  ──►  of a link, a broker, all
                    │      └──► Journeys: crossings that were of no use
                    └────────────────┐
    Network ──► on_delivered ──► hops and delay of the delivery

"Received by all brokers" are, as in Tables 2 and 3 of Li, Hou and Jacobsen, the advertisements,
subscriptions and publications that brokers received from each other and from clients, and the ends
of these.

Nothing here changes the network, and nothing grows with the number of messages: a counter for each
direction of a link, a histogram for each number of hops, and the documents that are in transit.
Cost: about a microsecond for each message.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from twigcast.documents import Source
from twigcast.routing import (
    Advertise,
    Deliver,
    Document,
    Envelope,
    Flush,
    Link,
    LinkDown,
    LinkUp,
    Observer,
    Publish,
    Refused,
    Send,
    Subscribe,
    Unadvertise,
    Unsubscribe,
    Update,
)
from twigcast.simulation.counts import Counts
from twigcast.simulation.delays import Delays
from twigcast.simulation.journeys import Journeys


class Clock(Protocol):
    """A clock that also knows when the message that is handled now was sent."""

    @property
    def now(self) -> float:
        """In seconds."""

    @property
    def sent(self) -> float:
        """In seconds."""


class Traffic(Observer):
    """An observer that counts; without a clock, every delay is 0.

    >>> from twigcast.routing import ANYTHING, Network, Overlay
    >>> traffic = Traffic()
    >>> network = Network(Overlay(["b1", "b2"], [("b1", "b2")]), observer=traffic)
    >>> network.attach("feed", "b1")
    >>> network.attach("desk", "b2")
    >>> network.advertise("feed", "all", ANYTHING)
    >>> network.subscribe("desk", "dear", "//Stock[Price > 15]")
    >>> network.settle()
    >>> traffic.total.advertise, traffic.total.subscribe
    (2, 2)
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock
        self._counts: defaultdict[tuple[str, str], Counts] = defaultdict(Counts)
        self._journeys = Journeys()
        self._delays: defaultdict[int, Delays] = defaultdict(Delays)
        self.documents = 0
        """How many clients have published."""
        self.deliveries = 0
        self.refusals = 0
        """Messages of clients that brokers refused; also where the client is not at fault."""

    # --- as an observer ---------------------------------------------------------------------------

    def on_handled(self, envelope: Envelope, sends: list[Send]) -> None:
        """A broker has handled a message."""
        message = envelope.message
        if isinstance(message, LinkUp | LinkDown | Flush):
            return  # no message: brokers notice it by themselves
        counts = self._counts[envelope[:2]]
        counts.envelopes += 1
        if isinstance(message, Document):
            counts.publish += 1
            counts.content_bytes += _size(message.content)
            self._journeys.cross(envelope.sender, envelope.receiver, message, counts, sends)
        elif isinstance(message, Update):
            for _, change in message.changes:
                counts.subscribe += len(change.forward)
                counts.unsubscribe += len(change.withdraw)
            counts.advertise += len(message.advertise)
            counts.unadvertise += len(message.unadvertise)
            counts.channels += len(message.serve)
            counts.link_states += len(message.states)
        elif isinstance(message, Publish):
            counts.publish += 1
            counts.content_bytes += _size(message.content)
            self.documents += 1
            self._journeys.begin(0.0 if self._clock is None else self._clock.sent, sends)
        elif isinstance(message, Subscribe):
            counts.subscribe += len(message.subscriptions)
        elif isinstance(message, Unsubscribe):
            counts.unsubscribe += len(message.ids)
        elif isinstance(message, Advertise):
            counts.advertise += 1
        elif isinstance(message, Unadvertise):
            counts.unadvertise += 1
        elif isinstance(message, Refused):
            counts.refused += 1

    def on_delivered(self, client: str, delivery: Deliver) -> None:
        """A client has got a document."""
        self.deliveries += 1
        arrived = self._journeys.arrive(client, delivery.id)
        if arrived is not None:
            hops, published = arrived
            self._delays[hops].add(0.0 if self._clock is None else self._clock.now - published)

    def on_refused(self, link: str, refusal: Refused) -> None:
        """Something was refused to a client."""
        self.refusals += 1

    def on_rest(self) -> None:
        """Nothing is in transit any more."""
        self._journeys.forget()

    # --- to look at -------------------------------------------------------------------------------

    @property
    def by_direction(self) -> Mapping[tuple[str, str], Counts]:
        """What brokers received, by sender (a broker or a client) and receiver."""
        return MappingProxyType(self._counts)

    @property
    def total(self) -> Counts:
        """What all brokers received together."""
        return Counts.joined(self._counts.values())

    @property
    def received_by_brokers(self) -> int:
        """The network traffic of the paper's tables."""
        return sum(counts.messages for counts in self._counts.values())

    @property
    def by_broker(self) -> Mapping[str, Counts]:
        """What each broker received, for those that received anything."""
        by_broker: defaultdict[str, list[Counts]] = defaultdict(list)
        for (_, receiver), counts in self._counts.items():
            by_broker[receiver].append(counts)
        return {broker: Counts.joined(several) for broker, several in by_broker.items()}

    def on_link(self, link: Link) -> Counts:
        """What came over a link between brokers, in both directions."""
        directions = ((link.first, link.second), (link.second, link.first))
        return Counts.joined(self._counts[each] for each in directions if each in self._counts)

    @property
    def delays(self) -> Delays:
        """From publishing to delivery, for all deliveries."""
        return Delays.joined(self._delays.values())

    @property
    def delays_by_hops(self) -> Mapping[int, Delays]:
        """From publishing to delivery, by how many links between brokers the document crossed."""
        return {hops: self._delays[hops] for hops in sorted(self._delays)}

    @property
    def in_transit(self) -> int:
        """The number of documents that are in transit, or were lost since the last rest."""
        return len(self._journeys)


def _size(content: Source) -> int:
    return len(content.encode()) if isinstance(content, str) else memoryview(content).nbytes
