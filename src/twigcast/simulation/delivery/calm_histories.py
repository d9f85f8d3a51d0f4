"""Histories in which all is confirmed in calm, and then everything fails but disks.

The histories of :mod:`~twigcast.simulation.delivery.histories` lose disks and forget homes, so much
has to be excused.  Here nothing is: when a subscription is made nothing fails, and it must be
confirmed by all brokers.  What is published from then on must come once, whatever crashes, is cut
off, gets lost on links, or writes to its disk late.  Retention drops only what nobody needs any
more; that must not come again.  In the end a gateway may stay cut off from all outside its
unit, if others can go on: then all must come by these.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from twigcast.delivery import Answer
from twigcast.simulation.delivery.consumers import Consumers
from twigcast.simulation.delivery.drawn_worlds import draw_beside, spared_links
from twigcast.simulation.delivery.errors import HistoryError
from twigcast.simulation.delivery.histories import History
from twigcast.simulation.delivery.observer import Observer
from twigcast.simulation.delivery.promises import Subscription
from twigcast.simulation.delivery.world import SimulatedBroker, World

_PHASES: Final = 3


class CalmObserver(Observer):
    """What must be there when nothing is excused but what brokers without disks forget."""

    def __init__(
        self, world: World, homes: list[str], consumers: Consumers, counts: Counter[str]
    ) -> None:
        super().__init__(world, homes, consumers, counts)
        self.dropped: dict[str, Counter[str]] = {}
        """By subscription, what was in its queue and was dropped."""

    def knows(self, subscription: Subscription, broker: SimulatedBroker) -> bool:
        """Whether a broker knew of a subscription when it was confirmed."""
        return broker.name in subscription.knowing

    def forget(self, broker: SimulatedBroker) -> None:
        """Expect nothing of a broker without a disk that begins again."""
        for subscription in self.subscriptions.values():
            subscription.knowing.discard(broker.name)

    def queued(self, broker: SimulatedBroker) -> dict[str, Counter[str]]:
        """What is in the queues of a broker."""
        disk = broker.disk
        assert disk is not None, "there are queues"
        return {
            name: Counter(
                self.paper(disk.documents[each]).name for each, _ in queue.entries.values()
            )
            for name, queue in disk.queues.items()
        }

    def look(self) -> None:
        """Raise HistoryError for what was in a queue more than once, and for what is not there."""
        for home in self._homes:
            for name, queued in self.queued(self._world.brokers[home]).items():
                for paper, times in (queued + self.dropped.get(name, Counter())).items():
                    most = 1 if self.papers[paper].publication else self.papers[paper].attempts
                    if times > most:
                        raise HistoryError(f"{paper} was in {name} {times} times")
        super().look()


class CalmHistory(History):
    """One history; ``run`` raises HistoryError where a promise is not kept."""

    observed_by = CalmObserver
    _observer: CalmObserver

    def __init__(self, seed: int) -> None:
        super().__init__(seed, draw=draw_beside)
        self._unreached: dict[str, tuple[str, ...]] = {}
        """By subscription, who may not know of it, as it was answered last."""

    def run(self) -> Counter[str]:
        """Let it happen, mend everything, and look; what has happened, by kind."""
        for _ in range(_PHASES):
            self._be_calm()
            self._fail(self._random.choice((40, 80, 150)))
        self._cut_off_gateway()
        self._settle()
        self._observer.look()
        return self.counts

    def _be_calm(self) -> None:
        """Mend everything, make subscriptions, and see that all brokers know of them."""
        self._mend_all()
        self._pass_time(0.25)
        for _ in range(self._random.choice((1, 2, 3))):
            self._subscribe()
        self._pass_time(3.0)
        for each in self._subscriptions.values():
            if self._unreached.get(each.name) != ():
                each.confirmed = None
                self._put(each)
        self._pass_time(3.0)
        self._pass_time(10.0)
        for each in self._subscriptions.values():
            if self._unreached.get(each.name) != ():
                raise HistoryError(f"{each.name} is not confirmed by all, and nothing fails")
            each.knowing = set(self._world.brokers)

    def _pass_time(self, seconds: float) -> None:
        for _ in range(12):
            while self._world.step():
                pass
            self._world.tick(seconds)

    def _fail(self, steps: int) -> None:
        world, random = self._world, self._random
        world.crashing = random.choice((0.0, 0.002, 0.01))
        world.losing = random.choice((0.0, 0.1, 0.4))
        world.failing = random.choice((0.0, 0.0, 0.1))
        actions = [
            (self._publish, 10),
            (self._publish_again, 4),
            (self._consume, 6),
            (self._replay, 0.3),
            (self._cut, 2),
            (self._mend, random.choice((0.5, 1.5))),
            (self._crash, 1.5),
            (self._restart, 3),
            (self._stop, 0.5),
            (self._drop_what_was_read, 1),
            (self._be_slow, random.choice((0, 1))),
            (self._turn_clock, 0.3),
            (self._tick, 5),
        ]
        choices, weights = zip(*actions, strict=True)
        for _ in range(steps):
            random.choices(choices, weights)[0]()
            for _ in range(random.choice((0, 2, 10, 40))):
                world.step()
        world.slow.clear()

    def _cut_off_gateway(self) -> None:
        spared = spared_links(self._world.overlay, self._world.links)
        if spared and self._random.random() < 0.7:
            self.counts["cut off"] += 1
            self._left_cut = self._random.choice(spared)
            self._mend_all()
            for _ in range(12):
                self._publish()
                self._world.step()

    def _mend_all(self) -> None:
        for pair in self._left_cut:
            self._world.cut(pair)
        super()._mend_all()

    def _be_slow(self) -> None:
        """Let a disk write nothing for a while, or go on."""
        self._world.slow ^= {self._random.choice(list(self._world.brokers))}

    def _on_confirmed(
        self, subscription: Subscription, broker: SimulatedBroker, answer: Answer
    ) -> None:
        super()._on_confirmed(subscription, broker, answer)
        if answer.unreached is not None and not answer.code:
            self._unreached[subscription.name] = answer.unreached

    def _drop_what_was_read(self) -> None:
        broker = self._running()
        if broker is None or broker.disk is None:
            return
        disk, before = broker.disk, self._observer.queued(broker)
        expired = disk.drop_unneeded()
        self.counts["expired"] += expired.bytes > 0
        for name, papers in self._observer.queued(broker).items():
            dropped = before[name] - papers
            self._subscriptions[name].expired |= dropped.keys()
            self._observer.dropped.setdefault(name, Counter()).update(dropped)
        self._world.happen(broker, expired)
