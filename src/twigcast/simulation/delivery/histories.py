"""Histories of durable delivery by seed, and what every durable subscriber must have in the end.

Publishers publish, most under ids of theirs, and publish again at another broker what was not
acknowledged.  Some documents are addressed.  Durable subscriptions are made, confirmed, changed,
read and ended.  Meanwhile brokers stop, or crash between any two instructions, links are cut,
documents are lost and doubled on them, disks fail, are full and are replaced, documents expire,
homes are forgotten, and clocks are turned.  Then everything is mended, and all that waits is
carried out.

An :class:`~twigcast.simulation.delivery.observer.Observer` says of each durable subscription what
must be in its queue.

Brokers may stand in units, and documents and subscriptions be kept within one.  Then a broker of
another unit has been told of a subscription if all gateways in between have; and what is owed to a
gateway may be lost with its disk, which knew who wants it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from random import Random
from typing import Final

from twigcast.delivery import (
    Answer,
    AskKnown,
    Destination,
    DurableDropped,
    DurableOptions,
    DurablePut,
    DurableWants,
    HomeForgotten,
    KeepDocument,
    Limits,
    Published,
    PutDurable,
)
from twigcast.errors import RefusedError
from twigcast.hierarchy import depth_of, unit_of
from twigcast.language import parse
from twigcast.simulation.delivery.consumers import Consumers
from twigcast.simulation.delivery.drawn_worlds import Drawn, draw_flat
from twigcast.simulation.delivery.errors import HistoryError
from twigcast.simulation.delivery.knowledge import knowing_beyond
from twigcast.simulation.delivery.observer import WANTED, Observer
from twigcast.simulation.delivery.promises import Paper, Subscription
from twigcast.simulation.delivery.world import PUBLISHER, SimulatedBroker, World

_CONTENTS: Final = {"a": "<a>%s</a>", "b": "<b>%s</b>", "ab": "<a><b/>%s</a>"}
_OPTIONS: Final = (
    DurableOptions(),
    DurableOptions(most_attempts=2),
    DurableOptions(is_shared=True),
    DurableOptions(is_shared=True, most_attempts=3),
    DurableOptions(is_shared=True, key="name()"),
)
_LIMITS: Final = (Limits(), Limits(), Limits(size=200), Limits(queue_documents=4))
_ADDRESSED: Final = 0.25
_PATIENCE: Final = 5.0
_ROUNDS: Final = 100


class History:
    """One history; ``run`` raises HistoryError where a promise is not kept."""

    observed_by: type[Observer] = Observer

    def __init__(
        self, seed: int, steps: int = 200, *, draw: Callable[[Random], Drawn] = draw_flat
    ) -> None:
        self._random = random = Random(seed)
        self._steps = steps
        brokers, links, gateways, self._homes = draw(random)
        self._has_scopes = bool(gateways) and random.random() < 0.7
        self._tickets = 0
        self._waiting: dict[tuple[str, int], Paper | Subscription] = {}
        self.counts: Counter[str] = Counter()
        self._left_cut: list[tuple[str, str]] = []
        """Links that stay cut in the end."""
        limits = random.choice(_LIMITS)
        self._world = World(random, brokers, links, self._on_answer, limits, gateways)
        self._consumers = Consumers(random, self._world)
        self._observer = self.observed_by(self._world, self._homes, self._consumers, self.counts)
        self._papers = self._observer.papers
        self._subscriptions = self._observer.subscriptions

    def run(self) -> Counter[str]:
        """Let it happen, mend everything, and look; what has happened, by kind."""
        world = self._world
        world.crashing = self._random.choice((0.0, 0.002, 0.01))
        world.losing = self._random.choice((0.0, 0.1, 0.4))
        world.failing = self._random.choice((0.0, 0.0, 0.1))
        actions = [
            (self._publish, 12),
            (self._publish_again, 6),
            (self._subscribe, 2),
            (self._confirm, 4),
            (self._consume, 6),
            (self._change, 0.5),
            (self._replay, 0.5),
            (self._end, 0.2),
            (self._cut, 1),
            (self._mend, 2),
            (self._crash, 1),
            (self._restart, 4),
            (self._stop, 0.5),
            (self._replace, 0.3),
            (self._expire, 0.2),
            (self._forget_home, 0.1),
            (self._turn_clock, 0.5),
            (self._tick, 4),
        ]
        choices, weights = zip(*actions, strict=True)
        for _ in range(self._steps):
            self._random.choices(choices, weights)[0]()
            for _ in range(self._random.choice((0, 2, 10))):
                world.step()
        self._settle()
        self._observer.look()
        return self.counts

    def _ticket(self, broker: SimulatedBroker, of: Paper | Subscription) -> int:
        self._tickets += 1
        self._waiting[broker.name, self._tickets] = of
        of.at = (broker.name, broker.life)
        return self._tickets

    def _running(self, names: Iterable[str] | None = None) -> SimulatedBroker | None:
        chosen = self._world.brokers if names is None else names
        up = [self._world.brokers[name] for name in chosen if self._world.brokers[name].is_up]
        return self._random.choice(up) if up else None

    def _on_answer(self, broker: SimulatedBroker, answer: Answer) -> None:
        waiting = self._waiting.pop((broker.name, answer.ticket), None)
        if isinstance(waiting, Paper):
            if answer.code:
                self.counts["refused"] += 1
                waiting.at = ("", 0)
            elif not waiting.is_acknowledged:
                self.counts["acknowledged"] += 1
                waiting.is_acknowledged = True
        elif isinstance(waiting, Subscription):
            self._on_confirmed(waiting, broker, answer)

    # --- publishers -------------------------------------------------------------------------------

    def _publish(self) -> None:
        name = f"p{len(self._papers)}"
        publication = name if self._random.random() < 0.8 else ""
        to = self._destinations() if self._random.random() < _ADDRESSED else ()
        paper = Paper(name, self._random.choice(list(_CONTENTS)), publication, to=to)
        paper.scope = 0 if to else self._scope()
        self._papers[paper.name] = paper
        self._try(paper)

    def _destinations(self) -> tuple[Destination, ...]:
        """Some of the subscriptions, perhaps with one that there is not."""
        known = [Destination(each.home, each.name) for each in self._subscriptions.values()]
        chosen = self._random.sample(known, min(len(known), self._random.choice((1, 1, 2, 3))))
        if self._random.random() < 0.1:
            chosen.append(Destination(self._random.choice(list(self._world.brokers)), "nobody"))
        return tuple(chosen)

    def _publish_again(self) -> None:
        unacknowledged = [each for each in self._papers.values() if not each.is_acknowledged]
        if unacknowledged:
            self._try(self._random.choice(unacknowledged))

    def _try(self, paper: Paper) -> None:
        broker = self._running()
        if broker is None:
            return
        scope = min(paper.scope, depth_of(unit_of(broker.name)))
        if paper.to:
            named = {each.durable for each in paper.to}
            knows = {
                each.name
                for each in self._subscriptions.values()
                if each.name in named and each.was_confirmed
            }
        else:
            knows = {
                each.name
                for each in self._subscriptions.values()
                if paper.kind in WANTED[each.xpath] and each.may_get(broker.name, scope)
                if self._observer.knows(each, broker)
            }
        paper.origins.add((broker.name, scope))
        self.counts["published within a unit"] += scope > 0
        paper.units.add(unit_of(broker.name))
        paper.must = knows if paper.must is None else paper.must & knows
        paper.attempts += 1
        ticket = self._ticket(broker, paper)
        content = (_CONTENTS[paper.kind] % paper.name).encode()
        writes = len(broker.writes)
        try:
            published = Published(
                ticket, PUBLISHER, content, paper.publication, PUBLISHER, scope=scope, to=paper.to
            )
            self._world.happen(broker, published)
        except RefusedError as error:
            del self._waiting[broker.name, ticket]
            self.counts[f"refused: {error.code}"] += 1
            if len(broker.writes) != writes:
                raise HistoryError(f"{paper.name} is refused, and is to be written") from None

    # --- subscribers ------------------------------------------------------------------------------

    def _subscribe(self) -> None:
        home = self._running(self._homes)
        if home is not None and len(self._subscriptions) < 6:
            name = f"d{len(self._subscriptions)}"
            subscription = Subscription(name, home.name, self._random.choice(list(WANTED)))
            scope = min(self._scope(), depth_of(unit_of(home.name)))
            subscription.options = self._random.choice(_OPTIONS)._replace(scope=scope)
            self.counts["subscribed within a unit"] += scope > 0
            subscription.wanted |= WANTED[subscription.xpath]
            self._subscriptions[name] = subscription
            self._put(subscription)

    def _scope(self) -> int:
        return self._random.choice((0, 0, 1, 1, 2)) if self._has_scopes else 0

    def _confirm(self) -> None:
        """Ask again for what was not confirmed, because its home crashed."""
        for each in self._subscriptions.values():
            home = self._world.brokers[each.home]
            is_lost = each.at != (home.name, home.life)
            if each.confirmed is None and not each.is_over and home.is_up and is_lost:
                self._put(each)

    def _change(self) -> None:
        """Let a durable subscription want something else."""
        alive = self._alive()
        if alive:
            self.counts["changed"] += 1
            subscription = self._random.choice(alive)
            subscription.xpath = self._random.choice(list(WANTED))
            subscription.wanted |= WANTED[subscription.xpath]
            subscription.confirmed = None
            subscription.knowing.clear()
            for paper in self._papers.values():
                # Its home may take it to be unwanted when it comes.
                if paper.kind not in WANTED[subscription.xpath] and paper.must and not paper.to:
                    paper.must.discard(subscription.name)
            self._put(subscription)

    def _put(self, subscription: Subscription) -> None:
        home = self._world.brokers[subscription.home]
        wanted = {"key": subscription.xpath}
        write = PutDurable(subscription.name, "owner", wanted, subscription.options)
        self._world.happen(home, DurablePut(self._ticket(home, subscription), write))

    def _on_confirmed(
        self, subscription: Subscription, broker: SimulatedBroker, answer: Answer
    ) -> None:
        machine = broker.machine
        assert machine is not None, "it answers"
        assert broker.router is not None, "it answers"
        if subscription.is_over or answer.code:
            subscription.at = ("", 0)
            return
        add = {"key": parse(subscription.xpath)}
        wanted = machine.wanted(subscription.name)
        if wanted != add:
            self._world.happen(broker, DurableWants(subscription.name, add, tuple(wanted)))
        if not broker.is_up:
            return
        if answer.unreached is None:
            subscription.forgot.clear()
            self._world.happen(broker, AskKnown(self._ticket(broker, subscription), _PATIENCE))
            return
        self.counts["confirmed"] += 1
        subscription.was_confirmed = True
        subscription.confirmed = machine.announcing.versions[broker.name]
        subscription.knowing = {broker.name, *broker.router.documents.brokers()}
        if self._world.overlay.gateways.keys().isdisjoint(answer.unreached):
            subscription.knowing |= knowing_beyond(self._world, subscription)
        subscription.knowing -= {*answer.unreached, *subscription.forgot}

    def _alive(self) -> list[Subscription]:
        return [
            each
            for each in self._subscriptions.values()
            if each.confirmed is not None
            and not each.is_over
            and self._world.brokers[each.home].is_up
        ]

    def _end(self) -> None:
        alive = self._alive()
        if alive:
            subscription = self._random.choice(alive)
            subscription.is_over = True
            home = self._world.brokers[subscription.home]
            self._world.happen(home, DurableDropped(0, subscription.name))

    def _consume(self) -> None:
        home = self._running(self._homes)
        if home is None or home.machine is None:
            return
        names = [each.name for each in home.machine.queues]
        if names:
            self.counts["taken"] += self._consumers.act(home, self._random.choice(names))

    def _replay(self) -> None:
        home = self._running(self._homes)
        if home is not None:
            self._consumers.replay(home)

    # --- faults -----------------------------------------------------------------------------------

    def _cut(self) -> None:
        self.counts["cut"] += 1
        self._world.cut(self._random.choice(self._world.links))

    def _mend(self) -> None:
        if cut := self._world.cut_links:
            self._world.mend(self._random.choice(cut))

    def _crash(self) -> None:
        broker = self._running()
        if broker is not None:
            self._world.crash(broker)

    def _stop(self) -> None:
        broker = self._running()
        if broker is not None:
            self._world.stop(broker)

    def _restart(self) -> None:
        down = [each for each in self._world.brokers.values() if not each.is_up]
        if down:
            broker = self._random.choice(down)
            self.counts["restarts"] += 1
            if broker.disk is None:
                self._observer.forget(broker)
            self._world.start(broker)

    def _replace(self) -> None:
        """Lose a disk: what was on it alone need not be delivered any more."""
        down = [
            each
            for each in self._world.brokers.values()
            if not each.is_up and each.disk is not None
        ]
        if not down:
            return
        broker = self._random.choice(down)
        assert broker.disk is not None, "it was chosen so"
        self.counts["replaced"] += 1
        for subscription in self._subscriptions.values():
            if subscription.home == broker.name:
                subscription.is_over = True
        for home, owed in broker.disk.owed.items():
            self._observer.excuse(home, [broker.disk.documents[str(each)] for each in owed])
        if broker.name in self._world.overlay.gateways:
            self._observer.excuse_passing({each.name for each in self._subscriptions.values()})
        self._observer.forget(broker)
        self._world.replace_disk(broker)

    def _expire(self) -> None:
        """Let the oldest documents at a broker go, read or not."""
        broker = self._running()
        if broker is None or broker.disk is None:
            return
        disk = broker.disk
        before = dict(disk.documents)
        entries = {
            name: {each for each, _ in queue.entries.values()}
            for name, queue in disk.queues.items()
        }
        expired = disk.expire(self._random.randrange(1, 6))
        for home, owed in expired.owed.items():
            self._observer.excuse(home, [before[str(each)] for each in owed])
        for name, ids in entries.items():
            gone = ids - {each for each, _ in disk.queues[name].entries.values()}
            names = {self._observer.paper(before[each]).name for each in gone}
            self._subscriptions[name].expired |= names
        self.counts["expired"] += len(before) - len(disk.documents)
        self._world.happen(broker, expired)

    def _forget_home(self) -> None:
        """Let a broker owe nothing to a home any more."""
        broker = self._running()
        home = self._random.choice(self._homes)
        if broker is None or broker.name == home:
            return
        self.counts["forgotten"] += 1
        if broker.name in self._world.overlay.gateways:
            names = {each.name for each in self._subscriptions.values() if each.home == home}
            self._observer.excuse_passing(names)
        for subscription in self._subscriptions.values():
            if subscription.home == home:
                self._observer.forget_subscription(broker, subscription)
        writes = [write for _, write in broker.writes if isinstance(write, KeepDocument)]
        self._observer.excuse(home, [each.parcel for each in writes if home in each.homes])
        if broker.disk is not None:
            owed = broker.disk.owed.get(home, {})
            self._observer.excuse(home, [broker.disk.documents[str(each)] for each in owed])
        self._world.happen(broker, HomeForgotten(home))

    def _turn_clock(self) -> None:
        broker = self._random.choice(list(self._world.brokers.values()))
        broker.clock = self._random.randrange(10**12)

    def _tick(self) -> None:
        self._world.tick(self._random.choice((0.01, 0.25, 3.0, 40.0)))

    # --- the end ----------------------------------------------------------------------------------

    def _mend_all(self) -> None:
        """Let nothing fail any more, and start all brokers."""
        world = self._world
        world.crashing = world.losing = world.failing = 0.0
        for pair in world.cut_links:
            if pair not in self._left_cut:
                world.mend(pair)
        for broker in world.brokers.values():
            if not broker.is_up:
                if broker.disk is None:
                    self._observer.forget(broker)
                world.start(broker)

    def _settle(self) -> None:
        """Mend everything, and carry out what waits."""
        world = self._world
        if world.limits != Limits():  # somebody makes room
            world.limits = Limits()
            for broker in world.brokers.values():
                if broker.is_up:
                    world.crash(broker)
        self._mend_all()
        for _ in range(_ROUNDS):
            world.tick(40.0)
            while world.step():
                pass
            machines = [each.machine for each in world.brokers.values() if each.machine is not None]
            if not any(count for each in machines for count in each.custody.owed.values()):
                return
        raise HistoryError("something is owed for ever")
