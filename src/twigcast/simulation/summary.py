"""The figures of a simulation, as one value that can be written as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import NamedTuple

from twigcast.routing import Link, Network, Overlay
from twigcast.simulation.counts import Counts
from twigcast.simulation.delays import Delays
from twigcast.simulation.frames import FrameCounts
from twigcast.simulation.traffic import Traffic


class LinkSummary(NamedTuple):
    """A link between brokers, both directions together."""

    link: Link
    messages: int
    publish: int
    content_bytes: int
    wasted: int


@dataclass(frozen=True, slots=True)
class BrokerSummary:
    """A broker: what it received from clients and other brokers, and its table."""

    broker: str
    messages: int
    """The messages that the paper counts."""
    received: Counts
    """By kind."""
    patterns: int
    """Distinct ones in its table; 0 while it is down."""
    entries: int
    """With last hops, as for all tables together."""


@dataclass(frozen=True, slots=True)
class DelaySummary:
    """From publishing to delivery, in seconds of simulated time; quantiles within 1 %."""

    count: int
    mean: float
    least: float
    median: float
    most_of_20: float
    """19 of 20 deliveries do not take longer."""
    greatest: float


@dataclass(frozen=True, slots=True)
class TableSizes:
    """The publication routing tables of the brokers that are up."""

    patterns: int
    """The distinct patterns of each broker, summed: a document is matched with these."""
    entries: int
    """With last hops: a pattern counts as often as links or channels want it."""
    greatest: int
    """The distinct patterns of the largest table."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts and delays of a simulation up to now."""

    strategy: str
    brokers: int
    links: int
    clients: int
    seconds: float
    """Simulated."""
    received_by_brokers: int
    """The network traffic of the paper's tables."""
    received: Counts
    """What all brokers received, by kind."""
    from_clients: Counts
    """The part of it that came from clients."""
    documents: int
    crossings: int
    """How often a document, or a path of one, crossed a link between brokers."""
    wasted: int
    """Crossings beyond which no client got the document."""
    content_bytes: int
    """The sizes of the documents that crossed links, in bytes."""
    deliveries: int
    refusals: int
    delay: DelaySummary
    delay_by_hops: dict[int, DelaySummary]
    tables: TableSizes
    frames: FrameCounts
    by_link: tuple[LinkSummary, ...]
    """The links over which anything came, in the order of the overlay."""
    by_broker: tuple[BrokerSummary, ...]
    """All brokers, in the order of the overlay."""

    @property
    def wasted_share(self) -> float:
        """The share of the crossings that were of no use: false positives."""
        return self.wasted / self.crossings if self.crossings else 0.0

    @property
    def mean_hops(self) -> float:
        """The mean number of links between brokers that a delivery crossed."""
        hops = sum(hops * each.count for hops, each in self.delay_by_hops.items())
        return hops / self.delay.count if self.delay.count else 0.0

    def as_json(self) -> str:
        """Everything, with names for keys; the same text for the same summary."""
        values = asdict(self)
        values["by_link"] = [{**each._asdict(), "link": str(each.link)} for each in self.by_link]
        values["wasted_share"] = self.wasted_share
        values["mean_hops"] = self.mean_hops
        return json.dumps(values, indent=2)


def summarise(network: Network, traffic: Traffic, frames: FrameCounts, now: float) -> Summary:
    """The figures of a network in simulated time."""
    by_link = _by_link(network.overlay, traffic)
    by_broker = _by_broker(network, traffic)
    return Summary(
        strategy=network.strategy.name,
        brokers=len(network.overlay),
        links=len(network.overlay.links),
        clients=len(network.clients),
        seconds=now,
        received_by_brokers=traffic.received_by_brokers,
        received=traffic.total,
        from_clients=Counts.joined(
            counts
            for (sender, _), counts in traffic.by_direction.items()
            if sender not in network.overlay
        ),
        documents=traffic.documents,
        crossings=sum(each.publish for each in by_link),
        wasted=sum(each.wasted for each in by_link),
        content_bytes=sum(each.content_bytes for each in by_link),
        deliveries=traffic.deliveries,
        refusals=traffic.refusals,
        delay=_delay(traffic.delays),
        delay_by_hops={hops: _delay(each) for hops, each in traffic.delays_by_hops.items()},
        tables=TableSizes(
            patterns=sum(each.patterns for each in by_broker),
            entries=sum(each.entries for each in by_broker),
            greatest=max((each.patterns for each in by_broker), default=0),
        ),
        frames=FrameCounts(frames.sent, frames.resent, frames.lost, frames.duplicated),
        by_link=by_link,
        by_broker=by_broker,
    )


def _by_broker(network: Network, traffic: Traffic) -> tuple[BrokerSummary, ...]:
    received = traffic.by_broker
    brokers = []
    for broker in network.overlay:
        counts = received.get(broker, Counts())
        router = network.routers.get(broker)
        levels = () if router is None else router.levels
        patterns = sum(level.table_size for level in levels)
        entries = sum(len(level.subscriptions()) for level in levels)
        brokers.append(BrokerSummary(broker, counts.messages, counts, patterns, entries))
    return tuple(brokers)


def _by_link(overlay: Overlay, traffic: Traffic) -> tuple[LinkSummary, ...]:
    received = ((link, traffic.on_link(link)) for link in overlay.links)
    return tuple(
        LinkSummary(link, each.messages, each.publish, each.content_bytes, each.wasted)
        for link, each in received
        if each.envelopes
    )


def _delay(delays: Delays) -> DelaySummary:
    return DelaySummary(
        delays.count,
        delays.mean,
        delays.least if delays.count else 0.0,
        delays.quantile(0.5),
        delays.quantile(0.95),
        delays.greatest,
    )
