"""A simulated network with a subscriber at each leaf and one producer, as the experiments need it.

What brokers need to handle a message is measured and links have a latency, so delays are those of
an idle network of this machine: each publication is in transit alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from lab.benchmarks.measure import Progress, followed
from twigcast.language import Pattern
from twigcast.routing import GATHERING, STRATEGIES, Overlay, Towards
from twigcast.schema import Schema
from twigcast.simulation import FixedTime, MeasuredTime, Simulation

_PRODUCER: Final = "producer"


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of publications: messages to brokers, crossings in vain, and delays."""

    messages: int
    crossings: int
    wasted: int
    notifications: int
    delay: float
    """The mean from publishing to notification, in seconds."""
    hops: float
    """The mean number of links that a publication crosses."""


@dataclass(frozen=True, slots=True)
class ControlMessages:
    """The messages by which a network came to know who wants what."""

    advertise: int
    subscribe: int
    unsubscribe: int
    between: int
    """Those subscriptions and cancellations that come from other brokers."""
    table: int
    """The expressions in the largest table."""

    @property
    def messages(self) -> int:
        """All of them."""
        return self.advertise + self.subscribe + self.unsubscribe


class SimulatedNetwork:
    """A network at rest, in which everybody has subscribed.

    The producer advertises its schema once; that counts as many messages as the schema has
    advertisements, each of which the paper sends by itself.  Expressions come one by one, the
    subscribers taking turns, where it matters to covering which comes first: each when the network
    has come to rest, or ``interval`` seconds after the one before.  Brokers gather for as many
    seconds as ``gathering`` says.
    """

    def __init__(
        self,
        overlay: Overlay,
        strategy: str,
        schema: Schema,
        origin: str,
        wanted: Mapping[str, Sequence[Pattern]],
        progress: Progress,
        *,
        gathering: float = GATHERING,
        interval: float | None = None,
    ) -> None:
        self.overlay = overlay
        self._strategy = STRATEGIES[strategy]
        self._advertisements = schema.advertisements().count()
        self._interval = interval
        # Where expressions do not wait for rest, measured times would decide which come together.
        processing = MeasuredTime() if interval is None else FixedTime()
        self._simulation = Simulation(
            overlay, self._strategy, processing=processing, gathering=gathering
        )
        self._simulation.attach(_PRODUCER, origin)
        if self._strategy.towards is not Towards.EVERYONE:
            self._simulation.advertise(_PRODUCER, schema.root, schema)
        self._simulation.run()
        work = f"{len(overlay):,} brokers, {strategy}: subscribing"
        if self._strategy.covering:
            self._take_turns(wanted, work, progress)
        else:
            for broker, patterns in followed(list(wanted.items()), work, progress):
                self._subscribe(broker, patterns)
        self._simulation.run()
        traffic = self._simulation.traffic
        total = traffic.total
        self.control = ControlMessages(
            total.advertise * self._advertisements,
            total.subscribe,
            total.unsubscribe,
            sum(
                counts.subscribe + counts.unsubscribe
                for (sender, _), counts in traffic.by_direction.items()
                if sender in overlay
            ),
            max(router.table_size for router in self._simulation.network.routers.values()),
        )

    def _subscribe(self, broker: str, patterns: Iterable[Pattern]) -> None:
        client = f"subscriber at {broker}"
        if client not in self._simulation.network.clients:
            self._simulation.attach(client, broker)
        self._simulation.subscribe_all(client, {str(pattern): pattern for pattern in patterns})
        now, interval = self._simulation.now, self._interval
        self._simulation.run(until=None if interval is None else now + interval)

    def _take_turns(
        self, wanted: Mapping[str, Sequence[Pattern]], work: str, progress: Progress
    ) -> None:
        most = max(map(len, wanted.values()))
        turns = [
            (broker, patterns[turn])
            for turn in range(most)
            for broker, patterns in wanted.items()
            if turn < len(patterns)
        ]
        for broker, pattern in followed(turns, work, progress):
            self._subscribe(broker, (pattern,))

    def publish(self, contents: Sequence[bytes], work: str, progress: Progress) -> Sent:
        """Publish one thing after the other, each when nothing is in transit any more."""
        # Tables are brought up to date by the first document that comes.
        self.carry(contents[0])
        before, delays, hops = self._state()
        for content in followed(contents, f"{len(self.overlay):,} brokers: {work}", progress):
            self.carry(content)
        after, all_delays, all_hops = self._state()
        count = max(1, all_delays[0] - delays[0])
        messages = after[0] - before[0]
        return Sent(
            messages,
            messages - len(contents),
            after[1] - before[1],
            all_delays[0] - delays[0],
            (all_delays[1] - delays[1]) / count,
            (all_hops - hops) / count,
        )

    def carry(self, content: bytes) -> float:
        """Publish one thing; the seconds until it has arrived wherever it is wanted."""
        begin = self._simulation.now
        self._simulation.publish(_PRODUCER, content)
        self._simulation.run()
        return self._simulation.now - begin

    def _state(self) -> tuple[tuple[int, int], tuple[int, float], int]:
        traffic = self._simulation.traffic
        total, delays = traffic.total, traffic.delays
        hops = sum(hops * each.count for hops, each in traffic.delays_by_hops.items())
        return (total.publish, total.wasted), (delays.count, delays.total), hops


def draw(
    pool: Sequence[Pattern], brokers: Sequence[str], count: int, seed: int
) -> dict[str, list[Pattern]]:
    """So many distinct expressions of a pool for the subscriber at each broker."""
    random = Random(seed)
    return {broker: random.sample(pool, min(count, len(pool))) for broker in brokers}


def sent_once(overlay: Overlay, wanted: Mapping[str, Sequence[Pattern]], origin: str | None) -> int:
    """The subscriptions that brokers receive if nothing is sent twice over a link.

    Without covering our brokers send an expression as often as it was subscribed to.  Here it is
    counted once for each direction of a link of a tree, or towards the origin alone.
    """
    root = origin or overlay.brokers[0]
    order, parent = [root], {root: ""}
    for broker in order:
        for neighbour in overlay.neighbours(broker):
            if neighbour not in parent:
                parent[neighbour] = broker
                order.append(neighbour)
    below: dict[str, set[Pattern]] = {broker: set(wanted.get(broker, ())) for broker in overlay}
    count = sum(map(len, wanted.values()))  # from the clients
    for broker in reversed(order[1:]):
        below[parent[broker]] |= below[broker]
        count += len(below[broker])
    if origin is not None:
        return count
    above: dict[str, set[Pattern]] = {root: set()}
    for broker in order[1:]:
        up = parent[broker]
        siblings = [other for other in overlay.neighbours(up) if parent[other] == up]
        others = (below[other] for other in siblings if other != broker)
        above[broker] = above[up].union(wanted.get(up, ()), *others)
        count += len(above[broker])
    return count
