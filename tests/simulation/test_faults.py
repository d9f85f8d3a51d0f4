"""Faults in simulated time: what is lost, what is not, and that all is well after the repair."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from random import Random
from typing import cast

import pytest

from twigcast.routing import (
    ANYTHING,
    PAPER_STRATEGIES,
    Link,
    LinkTraits,
    Overlay,
    Strategy,
)
from twigcast.simulation import (
    Conditions,
    Crash,
    Cut,
    Disturb,
    Fault,
    FixedTime,
    Heal,
    Restart,
    Simulation,
    Slow,
    balanced_tree,
    chain,
    random_connected,
    random_faults,
)

NEWS = b"<news><p>1</p></news>"
WANTED = ("/news", "/news/p", "//p", "/news/q", "/*/q", "/other", "//other/p")
PUBLISHED = (NEWS, b"<news><q/></news>", b"<other><p/></other>", b"<none/>")


def line(faults: Iterable[Fault] = (), *, seed: int = 0, loss: float = 0.0) -> Simulation:
    """The feed's b1 --10 ms-- b2 --10 ms-- the desk's b3, at rest well before 0.5 s."""
    made = Simulation(
        chain(3, latency=0.01),
        processing=FixedTime(0.001),
        seed=seed,
        loss=loss,
        faults=faults,
    )
    made.attach("feed", "b1")
    made.attach("desk", "b3")
    made.advertise("feed", "all", ANYTHING)
    made.subscribe("desk", "1", "/news")
    made.run(0.5)
    return made


def publish_at(made: Simulation, *times: float) -> None:
    for time in times:
        made.at(time, partial(made.publish, "feed", NEWS))


def got(made: Simulation) -> list[int]:
    """The numbers of the documents that the desk got, in its order."""
    return [delivery.id.number for delivery in made.network.client("desk").deliveries]


# --- each kind -------------------------------------------------------------------------------


def test_nothing_crosses_a_cut_link_until_it_heals() -> None:
    made = line([Cut(1.0, Link("b2", "b3")), Heal(2.0, Link("b2", "b3"))])
    publish_at(made, 0.9, 0.985, 1.5, 2.5)  # the second one is on that link at 1.0
    made.run()
    assert got(made) == [0, 3]
    assert made.summary().received.link_states > 0


def test_a_broker_that_crashed_returns_with_its_clients() -> None:
    made = line([Crash(1.0, "b3"), Restart(2.0, "b3")])
    publish_at(made, 0.9, 1.5, 2.5)
    made.run()
    assert got(made) == [0, 2]
    assert made.network.routers["b3"].incarnation == 1


def test_a_broker_between_two_others_can_crash() -> None:
    made = line([Crash(1.0, "b2"), Restart(2.0, "b2")])
    publish_at(made, 0.9, 0.995, 1.5, 2.5)
    made.run()
    assert got(made) == [0, 3]


def test_what_waits_in_a_broker_that_crashes_is_lost_but_no_clients_are() -> None:
    made = Simulation(chain(2), processing=FixedTime(1.0))
    made.attach("feed", "b1")
    made.attach("desk", "b2")
    made.advertise("feed", "all", ANYTHING)
    made.subscribe("desk", "1", "/news")
    made.run()
    start = made.now
    for _ in range(5):
        made.publish("feed", NEWS)
    made.at(start + 2.5, partial(made.crash, "b1"))
    made.at(start + 10, partial(made.restart, "b1"))
    made.run()
    assert got(made) == [0, 1]
    made.publish("feed", NEWS)
    made.run()
    assert len(got(made)) == 3


def test_a_slow_link_adds_its_delay_until_it_is_fast_again() -> None:
    link = Link("b1", "b2")
    made = line([Slow(1.0, link, 0.5), Slow(2.0, link, 0.0)])
    publish_at(made, 0.9, 1.2, 2.5)
    made.run()
    delays = made.traffic.delays_by_hops[2]
    assert delays.count == 3
    assert round(delays.least, 9) == 0.023
    assert round(delays.greatest, 9) == 0.523
    assert round(delays.total, 9) == round(0.523 + 2 * 0.023, 9)


def test_nothing_overtakes_on_a_link_that_becomes_fast_again() -> None:
    link = Link("b1", "b2")
    made = line([Slow(1.0, link, 0.5), Slow(1.3, link, 0.0)])
    publish_at(made, 1.2, 1.4)
    made.run()
    assert got(made) == [0, 1]
    assert round(made.traffic.delays.total, 9) == round(
        0.523 + 0.324, 9
    )  # the second arrives right after


def test_a_disturbed_link_loses_frames_and_no_messages() -> None:
    link = Link("b2", "b3")
    made = line([Disturb(1.0, link, loss=0.4, duplication=0.4, reordering=0.4), Disturb(3.0, link)])
    publish_at(made, *(1.0 + number / 100 for number in range(1, 300)))
    made.run()
    assert got(made) == list(range(299))
    frames = made.summary().frames
    assert frames.lost > 50
    assert frames.duplicated > 50
    assert frames.sent > 299 + frames.resent
    assert made.traffic.on_link(link).publish == 299


def test_a_disturbed_link_can_be_cut() -> None:
    link = Link("b2", "b3")
    made = line([Disturb(1.0, link, loss=0.5), Cut(1.5, link), Heal(2.0, link)])
    publish_at(made, 1.2, 1.499, 1.7, 2.5, 2.6)
    made.run()
    assert got(made) == [0, 3, 4]


def test_a_link_loses_what_it_was_given_to_lose_once_an_episode_has_ended() -> None:
    link = Link("b2", "b3")

    def lost_share(faults: Iterable[Fault], *times: float) -> float:
        made = line(faults, seed=1, loss=0.3)
        publish_at(made, *times)
        before = made.summary().frames
        made.run()
        after = made.summary().frames
        return (after.lost - before.lost) / (after.sent - before.sent)

    episode = (Disturb(0.6, link, loss=0.6), Disturb(0.9, link))
    later = [1.0 + number / 100 for number in range(500)]
    assert lost_share(episode, *later) == pytest.approx(0.3, abs=0.03)
    assert lost_share(episode[:1], *later) > 0.4  # on one of two links 1 - 0.7 * 0.4


def test_what_is_wrong_with_a_link_comes_beside_what_it_was_given() -> None:
    given = Conditions(jitter=0.01, loss=0.3, duplication=0.1)
    assert given.beside(Conditions()) == Conditions().beside(given) == given
    worse = given.beside(Conditions(delay=0.5, jitter=0.02, loss=0.5, reordering=0.2))
    assert (worse.delay, worse.jitter) == (0.5, 0.03)
    assert worse.loss == pytest.approx(0.65)
    assert (worse.duplication, worse.reordering) == (0.1, 0.2)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Crash(1, "b1"), "1 s: the broker b1 crashes"),
        (Restart(2.5, "b1"), "2.5 s: the broker b1 restarts"),
        (Cut(1, Link("a", "b")), "1 s: the link a-b is cut"),
        (Heal(1, Link("a", "b")), "1 s: the link a-b is whole"),
        (Slow(1, Link("a", "b"), 0.5), "1 s: the link a-b takes 0.5 s longer"),
        (
            Disturb(1, Link("a", "b"), loss=0.1),
            "1 s: the link a-b loses 10%, doubles 0% and reorders 0%",
        ),
        (Slow(2, Link("a", "b"), 0.0), "2 s: the link a-b is as fast as before"),
        (Disturb(2, Link("a", "b")), "2 s: the link a-b is as reliable as before"),
    ],
)
def test_faults_tell_what_they_are(fault: Fault, words: str) -> None:
    assert str(fault) == words


# --- losses are made up for ------------------------------------------------------------------


def populate(made: Simulation, seed: int) -> None:
    """A client at each broker, with some subscriptions; every third one publishes."""
    random = Random(seed)
    for number, broker in enumerate(made.network.overlay):
        client = f"client-{number}"
        made.attach(client, broker)
        if number % 3 == 0:
            made.advertise(client, "all", ANYTHING)
        for key in range(3):
            made.subscribe(client, str(key), random.choice(WANTED))
    made.run()


def publish_all(made: Simulation) -> dict[str, list[tuple[str, int, tuple[str, ...]]]]:
    """Let the producers publish; what each client gets, in the order of documents."""
    for client in made.network.clients.values():
        client.deliveries.clear()
    for content in PUBLISHED:
        for number in range(0, len(made.network.overlay), 3):
            made.publish(f"client-{number}", content)
    made.run()
    first: dict[str, int] = {}
    for client in made.network.clients.values():
        for each in client.deliveries:
            first[each.id.origin] = min(first.get(each.id.origin, 2**31), each.id.number)
    return {
        name: sorted(
            (each.id.origin, each.id.number - first[each.id.origin], each.subscriptions)
            for each in client.deliveries
        )
        for name, client in made.network.clients.items()
    }


def overlay_with_redundancy() -> Overlay:
    return random_connected(10, 4, 5, latencies=(0.001, 0.02))


@pytest.mark.parametrize("name", [*PAPER_STRATEGIES, "xnet"])
def test_lossy_links_deliver_what_whole_ones_do(name: str) -> None:
    strategy = Strategy.named(name)
    whole = Simulation(overlay_with_redundancy(), strategy)
    lossy = Simulation(
        overlay_with_redundancy(),
        strategy,
        seed=7,
        loss=0.2,
        duplication=0.1,
        reordering=0.3,
        jitter=0.01,
    )
    for made in (whole, lossy):
        populate(made, 1)
    assert publish_all(lossy) == publish_all(whole)
    assert lossy.summary().tables == whole.summary().tables
    assert lossy.summary().frames.lost > 0 == whole.summary().frames.sent


# --- random schedules ------------------------------------------------------------------------


class Wholeness:
    """Notes what is broken, and holds that nothing is broken or repaired twice."""

    def __init__(self) -> None:
        self.broken: set[object] = set()
        self.seen: set[str] = set()

    def _break(self, kind: str, what: object) -> None:
        assert (kind, what) not in self.broken
        self.broken.add((kind, what))
        self.seen.add(kind)

    def crash(self, broker: str) -> None:
        self._break("crash", broker)

    def restart(self, broker: str) -> None:
        self.broken.remove(("crash", broker))

    def cut(self, one: str, other: str) -> None:
        self._break("cut", Link(one, other))

    def heal(self, one: str, other: str) -> None:
        self.broken.remove(("cut", Link(one, other)))

    def slow(self, one: str, other: str, seconds: float) -> None:
        if seconds:
            self._break("slow", Link(one, other))
        else:
            self.broken.remove(("slow", Link(one, other)))

    def disturb(
        self,
        one: str,
        other: str,
        *,
        loss: float = 0.0,
        duplication: float = 0.0,
        reordering: float = 0.0,
    ) -> None:
        if loss or duplication or reordering:
            self._break("disturb", Link(one, other))
        else:
            self.broken.remove(("disturb", Link(one, other)))


@pytest.mark.parametrize("seed", range(5))
def test_at_the_end_of_a_random_schedule_everything_is_whole(seed: int) -> None:
    faults = random_faults(balanced_tree(3, 2), seed, 60, 10.0)
    assert len(faults) == 120
    assert faults == sorted(faults, key=lambda fault: fault.time)
    assert all(0 <= fault.time <= 10 for fault in faults)
    target = Wholeness()
    together = 0
    for fault in faults:
        fault.apply(cast(Simulation, target))
        together = max(together, len(target.broken))
    assert not target.broken
    assert target.seen == {"crash", "cut", "slow", "disturb"}
    assert together > 5


def test_random_schedules_follow_their_seed() -> None:
    overlay = balanced_tree(3, 2)
    assert random_faults(overlay, 1, 9, 5.0) == random_faults(overlay, 1, 9, 5.0)
    assert random_faults(overlay, 1, 9, 5.0) != random_faults(overlay, 2, 9, 5.0)
    assert random_faults(overlay, 1, 0, 5.0) == []
    alone = random_faults(Overlay(["b1"], []), 1, 3, 5.0)
    assert all(isinstance(fault, Crash | Restart) for fault in alone)
    for count, until in ((-1, 5.0), (1, 0.0), (1, float("nan"))):
        with pytest.raises(ValueError, match="a number of faults"):
            random_faults(overlay, 1, count, until)


@pytest.mark.parametrize("name", [*PAPER_STRATEGIES, "xnet"])
@pytest.mark.parametrize("seed", range(3))
def test_after_faults_a_network_delivers_as_if_nothing_had_happened(name: str, seed: int) -> None:
    strategy = Strategy.named(name)
    untouched = Simulation(overlay_with_redundancy(), strategy)
    faults = random_faults(overlay_with_redundancy(), seed, 15, 1.0)
    troubled = Simulation(overlay_with_redundancy(), strategy, seed=seed, faults=faults)
    for made in (untouched, troubled):
        populate(made, seed)
    assert publish_all(troubled) == publish_all(untouched)
    assert troubled.summary().tables == untouched.summary().tables


def test_a_link_may_have_no_latency_and_lose() -> None:
    overlay = Overlay(["b1", "b2"], {("b1", "b2"): LinkTraits(latency=0.0)})
    made = Simulation(overlay, Strategy.named("flooding"), loss=0.5, processing=FixedTime(0.0))
    made.attach("feed", "b1")
    made.attach("desk", "b2")
    made.subscribe("desk", "1", "/news")
    made.run()
    for _ in range(20):
        made.publish("feed", NEWS)
    made.run()
    assert got(made) == list(range(20))
