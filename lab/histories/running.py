"""Lets a history happen, and holds it against what an observer who knows everything says.

While messages are in transit a :class:`Witness` looks on; at each ``Settle`` tables and the routes
of documents are judged (``checks``).  A document must go exactly where it should if it was
published when the network was quiet, and nothing but documents was in transit until the next
``Settle``.  At the end everything is taken back, in random order, and no table may keep anything.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from lab.histories.checks import wrong_at_rest
from lab.histories.in_slices import SlicedNetwork
from lab.histories.late_links import LateNetwork
from lab.histories.oracle import Oracle, Party, World
from lab.histories.shuffled import ShuffledTransport
from lab.histories.steps import (
    Advertise,
    Arrive,
    Attach,
    Crash,
    Cut,
    Detach,
    Heal,
    History,
    Publish,
    Restart,
    Settle,
    Step,
    Subscribe,
    Unadvertise,
    Unsubscribe,
    pattern_of,
)
from lab.histories.units import UnitsOracle
from lab.histories.witness import Publication, Witness
from twigcast.hierarchy import Network, depth_of, unit_at, unit_of
from twigcast.routing import SCOPES, Link, Strategy


@dataclass
class Run:
    """What came of a history."""

    network: Network
    wrong: str | None = None
    """The first thing that went wrong, and at which step."""
    exact: int = 0
    """How many documents were held to go exactly where they should."""
    deliveries: int = 0
    skipped: int = 0
    """How many steps made no sense."""


def run_history(history: History, seed: int = 0) -> Run:
    """Let a history happen, with messages in the order that the seed gives."""
    running = _Running(history, seed)
    running.run()
    return running.result


class _Running:
    def __init__(self, history: History, seed: int) -> None:
        self._history = history
        overlay = history.overlay()
        strategy = replace(Strategy.named(history.strategy), most_patterns=history.most_patterns)
        self._witness = Witness()
        make = LateNetwork if history.is_late else Network
        if history.in_slices:
            make = SlicedNetwork
        self._network = make(
            overlay, strategy, transport=ShuffledTransport(seed), observer=self._witness
        )
        self._random = Random(seed)
        self._world = World(overlay, strategy)
        self._exact: list[Publication] = []
        self._is_quiet = False
        self.result = Run(self._network)

    def run(self) -> None:
        for number, step in enumerate(self._history.steps, start=1):
            if not self._went_well(f"step {number}, {step}", step):
                return
        for step in self._last_steps():
            if not self._went_well(f"at the end, {step}", step):
                return

    def _went_well(self, where: str, step: Step) -> bool:
        try:
            if self._makes_sense(step):
                self._do(step)
            else:
                self.result.skipped += 1
        except Exception:
            self.result.wrong = f"{where}: {traceback.format_exc()}"
            return False
        if self._witness.wrong:
            self.result.wrong = f"{where}: {'; '.join(self._witness.wrong)}"
        return self.result.wrong is None

    def _last_steps(self) -> Iterator[Step]:
        """Everything is taken back."""
        yield Settle()
        steps: list[Step] = []
        for client, party in self._world.clients.items():
            if self._random.random() < 0.5:  # the others go with all they have
                steps += [Unsubscribe(client, (key,)) for key in party.subscriptions]
                steps += [Unadvertise(client, key) for key in party.promises]
        self._random.shuffle(steps)
        for step in steps:
            yield step
            yield Arrive(self._random.randrange(4))
        for client in self._random.sample(tuple(self._world.clients), len(self._world.clients)):
            yield Detach(client)
            yield Arrive(self._random.randrange(4))
        yield Settle()
        yield from (Restart(broker) for broker in sorted(self._world.down))
        yield from (Heal(*link) for link in sorted(self._world.cut))
        yield Settle()

    # --- whether a step makes sense ---------------------------------------------------------------

    def _makes_sense(self, step: Step) -> bool:
        world = self._world
        match step:
            case Attach(client, broker):
                return client not in world.clients and broker in world.overlay
            case Cut(one, other):
                link = Link.between(one, other)
                return link in world.overlay.links and link not in world.cut
            case Heal(one, other):
                return Link.between(one, other) in world.cut
            case Crash(broker):
                return broker in world.overlay and broker not in world.down
            case Restart(broker):
                return broker in world.down
            case Arrive() | Settle():
                return True
        party = world.clients.get(step.client)
        if party is None:
            return False
        match step:
            case Subscribe(_, subscriptions, _):
                return not party.subscriptions.keys() & dict(subscriptions).keys()
            case Unsubscribe(_, ids):
                return len(set(ids)) == len(ids) and party.subscriptions.keys() >= set(ids)
            case Advertise(_, key, _, _):
                return key not in party.promises
            case Unadvertise(_, key):
                return key in party.promises
            case Publish():
                return party.broker not in world.down
        return True

    # --- doing it ---------------------------------------------------------------------------------

    def _do(self, step: Step) -> None:
        match step:
            case Settle():
                self._settle()
            case Arrive(count):
                for _ in range(count):
                    self._network.step()
            case Publish():
                self._publish(step)
            case _:
                self._exact.clear()
                self._is_quiet = False
                self._change(step)

    def _change(self, step: Step) -> None:
        network, world = self._network, self._world
        match step:
            case Attach(client, broker):
                world.clients[client] = Party(broker)
                network.attach(client, broker)
            case Detach(client):
                del world.clients[client]
                network.detach(client)
            case Cut(one, other):
                world.cut.add(Link.between(one, other))
                network.cut(one, other)
            case Heal(one, other):
                world.cut.remove(Link.between(one, other))
                network.heal(one, other)
            case Crash(broker):
                world.down.add(broker)
                self._witness.lives[broker] += 1
                network.crash(broker)
            case Restart(broker):
                world.down.remove(broker)
                network.restart(broker)
            case Subscribe() | Unsubscribe() | Advertise() | Unadvertise():
                self._say(step)

    def _say(self, step: Subscribe | Unsubscribe | Advertise | Unadvertise) -> None:
        network, party = self._network, self._world.clients[step.client]
        match step:
            case Subscribe(client, subscriptions):
                wanted = {key: pattern_of(expression) for key, expression in subscriptions}
                party.subscriptions.update(wanted)
                depth, scope = _scope(party, step.scope)
                if depth:
                    party.scopes.update(dict.fromkeys(wanted, depth))
                network.subscribe_all(client, wanted, scope=scope)
            case Unsubscribe(client, ids):
                for key in ids:
                    del party.subscriptions[key]
                    party.scopes.pop(key, None)
                network.unsubscribe(client, *ids)
            case Advertise(client, key, text):
                party.promises[key] = self._history.promise(text)
                depth, scope = _scope(party, step.scope)
                if depth:
                    party.promised_within[key] = depth
                network.advertise(client, key, party.promises[key], scope=scope)
            case Unadvertise(client, key):
                del party.promises[key]
                party.promised_within.pop(key, None)
                network.unadvertise(client, key)

    def _publish(self, step: Publish) -> None:
        party = self._world.clients[step.client]
        content = step.content.encode()
        depth, scope = _scope(party, step.scope)
        publication = Publication.of(
            step.client,
            party,
            self._world.strategy,
            content,
            [self._history.promise(text) for text in step.promises],
            depth,
        )
        self._witness.publish(publication)
        if self._is_quiet:
            self._exact.append(publication)
        self._network.publish(step.client, content, scope=scope)

    def _settle(self) -> None:
        self._network.settle()
        oracle = (UnitsOracle if self._world.overlay.gateways else Oracle)(self._world)
        wrong = next(wrong_at_rest(self._network, oracle, self._exact), None)
        if wrong is not None:
            self._witness.wrong.append(wrong)
        self.result.exact += len(self._exact)
        self.result.deliveries = self._witness.deliveries
        self._exact.clear()
        self._is_quiet = True


def _scope(party: Party, wanted: int) -> tuple[int, str]:
    """The depth of a unit that a broker is in, and how that is written: in either style."""
    around = depth_of(unit_of(party.broker))
    depth = wanted if wanted <= around else 0
    if not depth:
        return 0, ""
    return depth, SCOPES[around - depth] if depth % 2 else unit_at(party.broker, depth)
