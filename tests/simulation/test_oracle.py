"""Whatever links lose and whatever fails, a simulated network at rest is what it should be.

A life is drawn from a strategy and a number, and so is everything in it: an overlay, links that
lose, double, reorder and delay, faults of every kind, and clients that move, subscribe, advertise
and publish meanwhile.  The judge is the one of the random histories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random

import pytest
from hypothesis import settings
from planted import Mistake, forget_what_was_covered, instead_of, original, remember_nothing

import twigcast
from lab.histories import Draft, JudgedSimulation
from lab.histories.drawn import STRATEGIES, draw_overlay, draw_ring
from lab.histories.vocabulary import (
    DEFINITIONS,
    PATHS,
    draw_any,
    draw_document,
    draw_linear,
    draw_paths,
    draw_pattern,
    draw_siblings,
)
from twigcast.routing import (
    ANYTHING,
    LinkTraits,
    Message,
    Network,
    NetworkClient,
    Overlay,
    Promise,
    Strategy,
)
from twigcast.routing.aggregates import Covered
from twigcast.routing.link_sessions import LinkSession
from twigcast.simulation import Conditions, TimedTransport, random_faults
from twigcast.simulation.frames import FramedLink

LIVES = max(1, min(settings().max_examples // 12, 500))
"""Of each strategy."""
CLIENTS = tuple(f"c{number}" for number in range(5))
SECONDS = 1.0
PROMISES: dict[str, Promise] = {
    "anything": ANYTHING,
    **{name: twigcast.Schema.from_dtd(text) for name, text in DEFINITIONS.items()},
    **{path: twigcast.Advertisement.parse(path) for path in PATHS},
}
NAMES = {promise: name for name, promise in PROMISES.items()}


class Life:
    """A network, and what happens in it; ``wrong`` is what should not be, in words."""

    def __init__(self, strategy: str, number: int) -> None:
        self._random = random = Random(f"{strategy} {number}")
        draw = draw_ring if random.random() < 0.3 else draw_overlay
        brokers, links = draw(random)
        latencies = random.choice(((0.001, 0.001), (0.001, 0.03), (0.0, 0.0)))
        self._overlay = Overlay(
            brokers,
            {
                (one, other): LinkTraits(cost, random.uniform(*latencies))
                for one, other, cost in links
            },
        )
        shares = (0.0, 0.1, 0.3)
        self.simulation = JudgedSimulation(
            self._overlay,
            Strategy.named(strategy),
            seed=number,
            conditions=Conditions(
                jitter=random.choice((0.0, 0.02)),
                loss=random.choice(shares),
                duplication=random.choice(shares),
                reordering=random.choice(shares),
            ),
            gathering=random.choice((0.0, 0.005, 0.05)),
            faults=random_faults(
                self._overlay, number, random.choice((0, 3, 12)), random.choice((0.5, SECONDS))
            ),
        )
        draw_one = draw_linear if random.random() < 0.2 else draw_pattern
        self._patterns = [draw_one(random) for _ in range(6)]
        self._promised = random.sample(sorted(PROMISES), 3)
        if "merging" in strategy:  # mergers are counted by schemas, and stand for siblings
            self._promised = random.sample(sorted(DEFINITIONS), 2)
            for schema in self._promised:
                self._patterns += draw_siblings(random, schema)
        self._next = 0
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def live(self) -> None:
        """Good days and bad days, each judged; in the end, everything is taken back."""
        network = self.simulation.network
        for client in CLIENTS:
            self.simulation.attach(client, self._random.choice(self._overlay.brokers))
            self._subscribe(client)
            self._advertise(client)
        self._trouble(40)
        self._judge()
        repair = self._break()
        self._trouble(10)
        self._judge()
        repair()
        self._trouble(10)
        self._judge()
        self._flap()
        self._judge()
        for client in tuple(network.clients):
            self.simulation.detach(client)
        self._judge()

    def _judge(self) -> None:
        if self.wrong:
            return
        self.simulation.run()
        drafts = [draft for _ in range(4) if (draft := self._draft()) is not None]
        before = self.simulation.traffic.deliveries
        self.wrong = self.simulation.judge(drafts)
        self.counts["published at rest"] += len(drafts)
        self.counts["delivered at rest"] += self.simulation.traffic.deliveries - before

    def _break(self) -> Callable[[], None]:
        """Something is still broken when all has come to rest; how to repair it."""
        simulation, links = self.simulation, list(self._overlay.links)
        if links and self._random.random() < 0.5:
            link = self._random.choice(links)
            simulation.cut(*link)
            return partial(simulation.heal, *link)
        broker = self._random.choice(self._overlay.brokers)
        simulation.crash(broker)
        return partial(simulation.restart, broker)

    def _flap(self) -> None:
        """A link comes back, and documents follow before everybody knows."""
        links = sorted(self.simulation.network.links_up())
        if links:
            link = self._random.choice(links)
            self.simulation.cut(link.first, link.second)
            self.simulation.run()
            self.simulation.heal(link.first, link.second)
            start = self.simulation.now
            for _ in range(20):
                publish = partial(self._publish, self._random.choice(CLIENTS))
                self.simulation.at(start + self._random.uniform(0, 0.1), publish)

    # --- what clients do --------------------------------------------------------------------------

    def _trouble(self, count: int) -> None:
        start = self.simulation.now
        for _ in range(count):
            self.simulation.at(start + self._random.uniform(0, SECONDS), self._act)

    def _act(self) -> None:
        client = self._random.choice(CLIENTS)
        actions: list[Callable[[str], None]] = [
            *(self._subscribe, self._subscribe, self._unsubscribe),
            *(self._advertise, self._unadvertise, self._publish, self._publish),
            self._detach,
        ]
        if client in self.simulation.network.clients:
            action = self._random.choice(actions)
        else:
            action = self._attach
        action(client)
        self.counts[action.__name__] += 1

    def _attach(self, client: str) -> None:
        self.simulation.attach(client, self._random.choice(self._overlay.brokers))

    def _detach(self, client: str) -> None:
        self.simulation.detach(client)

    def _subscribe(self, client: str) -> None:
        self._next += 1
        wanted = {
            f"s{self._next}-{place}": twigcast.parse(self._random.choice(self._patterns))
            for place in range(self._random.choice((1, 3)))
        }
        self.simulation.subscribe_all(client, wanted)

    def _unsubscribe(self, client: str) -> None:
        wanted = sorted(self.simulation.network.client(client).subscriptions)
        ids = self._random.sample(wanted, min(len(wanted), 2))
        if ids:
            self.simulation.unsubscribe(client, *ids)

    def _advertise(self, client: str) -> None:
        self._next += 1
        promise = PROMISES[self._random.choice(self._promised)]
        self.simulation.advertise(client, f"p{self._next}", promise)

    def _unadvertise(self, client: str) -> None:
        promised = sorted(self.simulation.network.client(client).advertisements)
        if promised:
            self.simulation.unadvertise(client, self._random.choice(promised))

    def _publish(self, client: str) -> None:
        draft = self._draft()
        if draft is not None:
            self.simulation.publish(draft.client, draft.content)

    def _draft(self) -> Draft | None:
        """A document of a client whose broker is up; None where there is none."""
        random, network = self._random, self.simulation.network
        names = [
            name for name, client in network.clients.items() if client.broker in network.routers
        ]
        if not names:
            return None
        client = random.choice(names)
        promises = list(network.client(client).advertisements.values())
        if not promises or random.random() < 0.05:
            return Draft(client, random.choice(("<a><b></a>", draw_any(random))))
        promise = random.choice(promises)
        return Draft(client, _document(random, NAMES[promise]), (promise,))


def _document(random: Random, promise: str) -> str:
    if promise == "anything":
        return draw_any(random)
    if promise in DEFINITIONS:
        return draw_document(random, promise)
    found = draw_paths(random, (promise,))
    assert found is not None
    return found


def live(strategy: str, number: int) -> Life:
    life = Life(strategy, number)
    try:
        life.live()
    except Exception as error:
        error.add_note(f"again: live({strategy!r}, {number})")
        raise
    return life


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_disturbed_network_comes_to_what_it_should(strategy: str) -> None:
    for number in range(LIVES):
        life = live(strategy, number)
        assert life.wrong == [], f"again: live({strategy!r}, {number}).wrong"


def test_lives_are_eventful() -> None:
    """The lives above would prove nothing if little came of them."""
    counts: Counter[str] = Counter()
    for number in range(15):
        life = live("perfect-merging", number)
        summary = life.simulation.summary()
        counts.update(life.counts)
        counts.update(
            lost=summary.frames.lost,
            duplicated=summary.frames.duplicated,
            resent=summary.frames.resent,
            link_states=summary.received.link_states,
            delivered=summary.deliveries,
        )
    assert min(counts.values()) > 50, counts
    assert len(counts) == 7 + 2 + 5  # what clients do, at rest, and on links


def test_a_life_is_the_same_each_time() -> None:
    summaries = [live("xnet", number).simulation.summary() for number in (1, 1, 2)]
    assert summaries[0] == summaries[1] != summaries[2]


# --- what is made wrong on purpose ---------------------------------------------------------------


@instead_of(LinkSession, "_take")
def hand_out_resent(self: LinkSession, sequence: int, message: Message) -> list[Message]:
    is_old = sequence <= self._received
    return original(LinkSession, "_take")(self, sequence, message) or [message] * is_old


@instead_of(LinkSession, "_take")
def hand_out_early(self: LinkSession, sequence: int, message: Message) -> list[Message]:
    is_new = sequence > self._received and sequence not in self._early
    original(LinkSession, "_take")(self, sequence, message)
    return [message] * is_new


@instead_of(FramedLink, "close")
def outlive_a_cut(self: FramedLink) -> None:
    pass


@instead_of(TimedTransport, "cut")
def drop_nothing(self: TimedTransport, one: str, other: str) -> None:
    for ends in ((one, other), (other, one)):
        self._directions.pop(ends, None)


@instead_of(Network, "_attach_again")
def return_without_subscriptions(self: Network, client: NetworkClient) -> None:
    bare = NetworkClient(client.name, client.broker, {}, client.advertisements)
    original(Network, "_attach_again")(self, bare)


MISTAKES = [
    hand_out_resent,
    hand_out_early,
    outlive_a_cut,
    drop_nothing,
    return_without_subscriptions,
    forget_what_was_covered,
    remember_nothing,
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_what_is_made_wrong_is_found(monkeypatch: pytest.MonkeyPatch, mistake: Mistake) -> None:
    mistake.make(monkeypatch)
    lives = ((strategy, number) for number in range(80, 120) for strategy in STRATEGIES)
    assert any(live(*life).wrong for life in lives)


def test_an_error_says_how_to_have_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(Covered, "remove", fail)
    with pytest.raises(RuntimeError) as caught:
        live("covering", 3)
    assert caught.value.__notes__ == ["again: live('covering', 3)"]
