"""Networks in simulated time: when things arrive, and that a run can be repeated."""

from __future__ import annotations

import doctest
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from random import Random

import pytest
from folders import ROOT

from twigcast.errors import NetworkError, OverlayError
from twigcast.language import parse
from twigcast.routing import ANYTHING, Envelope, Link, LinkTraits, Overlay, Strategy, Unsubscribe
from twigcast.schema import Schema
from twigcast.simulation import (
    Conditions,
    Counts,
    FixedTime,
    MeasuredTime,
    ProcessingTime,
    Simulation,
    TimedTransport,
    balanced_tree,
    chain,
    random_connected,
    random_faults,
    simulation,
)

FLOODING = Strategy.named("flooding")
NEWS = b"<news><p>1</p></news>"
NO_TIME = FixedTime(0.0)


def test_the_example_of_the_documentation_holds() -> None:
    assert doctest.testmod(simulation).failed == 0


# --- the transport ---------------------------------------------------------------------------


def line(
    *,
    seed: int = 0,
    processing: ProcessingTime | None = None,
    conditions: Conditions | None = None,
    client_latency: float = 0.0,
) -> TimedTransport:
    """Two brokers, 10 ms apart."""
    overlay = Overlay(["a", "b"], {("a", "b"): LinkTraits(latency=0.01)})
    return TimedTransport(
        overlay,
        seed=seed,
        processing=processing,
        conditions=conditions,
        client_latency=client_latency,
    )


def say(transport: TimedTransport, sender: str, receiver: str, text: str) -> None:
    transport.put(Envelope(sender, receiver, Unsubscribe((text,))))


def taken(transport: TimedTransport) -> list[tuple[str, float]]:
    """What comes, and when it is handled."""
    found = []
    while (envelope := transport.take()) is not None:
        assert isinstance(envelope.message, Unsubscribe)
        found.append((envelope.message.ids[0], round(transport.now, 9)))
    return found


def test_a_message_takes_the_latency_of_its_link() -> None:
    transport = line(client_latency=0.002)
    say(transport, "a", "b", "between brokers")
    say(transport, "desk", "a", "to a broker")
    say(transport, "a", "desk", "to a client")
    assert taken(transport) == [
        ("to a broker", 0.002),
        ("to a client", 0.002),
        ("between brokers", 0.01),
    ]
    assert transport.is_at_rest


def test_a_busy_broker_lets_messages_wait_in_the_order_of_their_arrival() -> None:
    transport = line(processing=FixedTime(0.1))
    say(transport, "a", "b", "second")
    say(transport, "desk", "b", "first")
    say(transport, "a", "b", "third")
    assert taken(transport) == [("first", 0.0), ("second", 0.1), ("third", 0.2)]


def test_what_arrives_when_a_broker_is_done_waits_for_what_waits_already() -> None:
    transport = line(processing=FixedTime(0.01))
    say(transport, "a", "b", "third")
    say(transport, "desk", "b", "first")
    say(transport, "desk", "b", "second")
    assert taken(transport) == [("first", 0.0), ("second", 0.01), ("third", 0.02)]


def test_what_a_broker_sends_leaves_when_it_is_done() -> None:
    transport = line(processing=FixedTime(0.1))
    say(transport, "desk", "a", "question")
    assert transport.take() is not None
    say(transport, "a", "b", "passed on")
    say(transport, "a", "desk", "answer")
    assert taken(transport) == [("answer", 0.1), ("passed on", 0.11)]


def test_a_client_waits_for_nobody() -> None:
    transport = line(processing=FixedTime(0.1))
    say(transport, "a", "desk", "1")
    say(transport, "a", "desk", "2")
    assert taken(transport) == [("1", 0.0), ("2", 0.0)]


def test_messages_on_a_link_stay_in_order_whatever_its_latency_does() -> None:
    transport = line(conditions=Conditions(jitter=0.05), seed=3)
    link = Link("a", "b")
    expected = []
    for number in range(200):
        expected.append(str(number))
        say(transport, "a", "b", str(number))
        if number == 100:
            transport.set_conditions(link, Conditions(delay=0.2))
        elif number == 150:
            transport.set_conditions(link, Conditions())
    assert [text for text, _ in taken(transport)] == expected
    assert 0.21 <= transport.now < 0.22 + 200 * FixedTime().seconds


@pytest.mark.parametrize("seed", range(5))
def test_messages_on_a_link_stay_in_order_when_it_begins_and_ceases_to_lose(seed: int) -> None:
    transport = line(seed=seed)
    link = Link("a", "b")
    lossy = Conditions(loss=0.3, duplication=0.3, reordering=0.5)
    expected = []
    for number in range(300):
        expected.append(str(number))
        say(transport, "a", "b", str(number))
        if number == 50:
            transport.set_conditions(link, Conditions(delay=0.2))
        elif number == 100:
            transport.set_conditions(link, lossy)
        elif number == 200:
            transport.call_at(0.25, partial(transport.set_conditions, link, Conditions()))
    assert [text for text, _ in taken(transport)] == expected
    assert transport.frames.lost > 0 < transport.frames.duplicated
    assert transport.frames.resent >= transport.frames.lost // 2


@pytest.mark.parametrize(
    ("conditions", "latest"), [(Conditions(jitter=0.05), 0.06), (Conditions(reordering=1.0), 0.04)]
)
def test_jitter_and_reordering_make_messages_late(conditions: Conditions, latest: float) -> None:
    times = []
    for seed in range(40):
        transport = line(conditions=conditions, seed=seed)
        say(transport, "a", "b", "1")
        times += [time for _, time in taken(transport)]
    assert len(set(times)) == 40
    assert 0.01 <= min(times) < 0.015
    assert latest - 0.005 < max(times) <= latest


@pytest.mark.parametrize("conditions", [Conditions(), Conditions(loss=0.2)])
def test_nothing_that_was_put_before_a_cut_comes_after_it(conditions: Conditions) -> None:
    transport = line(processing=FixedTime(0.1), conditions=conditions)
    for number in range(5):
        say(transport, "a", "b", str(number))
        say(transport, "b", "a", str(number))
    say(transport, "desk", "b", "other link")
    assert transport.take() is not None
    transport.limit = 0.05
    assert transport.take() is not None or conditions.loss
    while transport.take() is not None:
        pass
    transport.limit = float("inf")
    transport.cut("b", "a")
    say(transport, "a", "b", "after")
    assert [text for text, _ in taken(transport)] == ["after"]


def test_nothing_is_taken_beyond_the_limit() -> None:
    transport = line()
    say(transport, "a", "b", "1")
    transport.limit = 0.009
    assert transport.take() is None
    assert not transport.is_at_rest
    transport.limit = 0.01
    assert taken(transport) == [("1", 0.01)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Conditions(loss=1.0),
        lambda: Conditions(duplication=1.5),
        lambda: Conditions(jitter=-1.0),
        lambda: Conditions(delay=float("nan")),
        lambda: FixedTime(-0.1),
        lambda: line(client_latency=-0.1),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="not"):
        make()


# --- a network -------------------------------------------------------------------------------


def offices(*, processing: ProcessingTime | None = None, client_latency: float = 0.0) -> Simulation:
    """The feed's london --20 ms-- paris --30 ms-- rome, with a desk at each."""
    links = {
        ("london", "paris"): LinkTraits(latency=0.02),
        ("paris", "rome"): LinkTraits(latency=0.03),
    }
    overlay = Overlay(["london", "paris", "rome"], links)
    made = Simulation(overlay, processing=processing, client_latency=client_latency)
    made.attach("feed", "london")
    made.advertise("feed", "all", ANYTHING)
    for broker in overlay:
        made.attach(f"desk-{broker}", broker)
        made.subscribe(f"desk-{broker}", "1", "/news")
    made.run()
    return made


def test_a_delay_is_what_links_and_brokers_on_the_way_take() -> None:
    made = offices(processing=FixedTime(0.001), client_latency=0.005)
    made.publish("feed", NEWS)
    made.run()
    means = {hops: round(each.mean, 9) for hops, each in made.summary().delay_by_hops.items()}
    assert means == {0: 0.011, 1: 0.032, 2: 0.063}
    assert round(made.summary().mean_hops, 9) == 1.0


def test_a_document_waits_for_the_ones_before_it() -> None:
    made = offices(processing=FixedTime(0.1))
    for _ in range(3):
        made.publish("feed", NEWS)
    made.run()
    # Each broker takes 0.1 s for each, one after the other.
    delays = made.traffic.delays_by_hops[2]
    assert round(delays.least, 9) == 0.35
    assert round(delays.greatest, 9) == 0.55


def test_things_happen_at_their_time() -> None:
    made = offices(processing=NO_TIME)
    start = made.now
    seen: list[float] = []
    made.at(start + 0.5, lambda: made.publish("feed", NEWS))
    made.at(start + 0.519, lambda: seen.append(made.traffic.deliveries))
    made.at(start + 0.54, lambda: seen.append(made.traffic.deliveries))
    made.run(start + 0.4)
    assert made.now == start + 0.4
    resting = [made.is_at_rest]
    made.run(start + 0.505)
    assert made.traffic.deliveries == 1
    made.run()
    resting.append(made.is_at_rest)
    assert resting == [False, True]
    assert seen == [1, 2]
    assert made.traffic.deliveries == 3
    with pytest.raises(NetworkError, match="choose a later time"):
        made.at(start, lambda: None)


def test_an_error_of_an_action_comes_out_of_the_run_and_the_rest_goes_on_after() -> None:
    made = offices()
    made.at(made.now + 1, lambda: made.crash("nowhere"))
    made.at(made.now + 2, lambda: made.publish("feed", NEWS))
    with pytest.raises(NetworkError, match="nowhere"):
        made.run(made.now + 5)
    made.run()
    assert made.traffic.deliveries == 3


@pytest.mark.parametrize(("gathering", "sent"), [(0.0, 3), (0.5, 1)])
def test_what_comes_while_a_broker_gathers_is_sent_as_one(gathering: float, sent: int) -> None:
    """A subscription, then another that lets both be merged: the first is sent, or it is not."""
    shop = Schema.from_dtd("<!ELEMENT shop (a|b)><!ELEMENT a EMPTY><!ELEMENT b EMPTY>")
    made = Simulation(chain(2), "perfect-merging", gathering=gathering)
    made.attach("feed", "b1")
    made.attach("desk", "b2")
    made.advertise("feed", "shop", shop)
    made.run()
    begin = made.now
    sizes: list[int] = []
    made.subscribe("desk", "a", "/shop/a")
    made.at(begin + 0.2, lambda: made.subscribe("desk", "b", "/shop/b"))
    made.at(begin + 0.4, lambda: sizes.append(made.network.routers["b1"].table_size))
    made.run()
    sizes.append(made.network.routers["b1"].table_size)
    assert sizes == [int(gathering < 0.4), 1]
    counts = made.traffic.by_direction["b2", "b1"]
    assert counts.subscribe + counts.unsubscribe == sent


def test_a_broker_gathers_for_a_time_that_is_not_below_zero() -> None:
    with pytest.raises(ValueError, match="gathering time is in seconds and not below 0"):
        Simulation(chain(2), gathering=-1.0)


def test_measured_time_changes_delays_but_no_counts_at_rest() -> None:
    measured, fixed = offices(processing=MeasuredTime()), offices()
    for made in (measured, fixed):
        made.publish("feed", NEWS)
        made.run()
    assert measured.summary().received == fixed.summary().received
    assert measured.summary().tables == fixed.summary().tables
    delays = measured.traffic.delays_by_hops
    assert 0.0 < delays[0].least < 0.05
    assert delays[1].least > 0.02 + delays[0].least / 100
    assert delays[2].least > 0.05


def test_unknown_links_are_refused() -> None:
    made = offices()
    with pytest.raises(OverlayError, match="there is no link"):
        made.slow("london", "rome", 1.0)
    with pytest.raises(OverlayError, match="there is no link"):
        made.disturb("london", "nowhere", loss=0.1)


def test_clients_may_come_and_go() -> None:
    made = offices()
    made.detach("desk-paris")
    made.unsubscribe("desk-rome", "1")
    made.subscribe_all("desk-rome", {"2": parse("/other")})
    made.run()
    made.publish("feed", NEWS)
    made.run()
    assert made.traffic.deliveries == 1
    made.unadvertise("feed", "all")
    made.run()
    assert made.summary().received.unadvertise == 3
    assert repr(made).startswith("<Simulation at ")


# --- repeatability ---------------------------------------------------------------------------


def busy_life(seed: int, strategy: Strategy | None = None) -> Simulation:
    """Faults of every kind while clients subscribe and publish."""
    overlay = random_connected(12, 5, 1, latencies=(0.001, 0.02))
    faults = random_faults(overlay, seed, 12, 2.0)
    made = Simulation(
        overlay,
        strategy,
        seed=seed,
        loss=0.1,
        duplication=0.1,
        reordering=0.2,
        jitter=0.005,
        faults=faults,
    )
    random = Random(99)
    clients = []
    for number, broker in enumerate(overlay):
        client = f"client-{number}"
        clients.append(client)
        made.attach(client, broker)
        made.advertise(client, "all", ANYTHING)
        for key in range(3):
            made.subscribe(client, str(key), random.choice(("/news", "/news/p", "//q", "/*/p")))
    for number in range(40):
        client = random.choice(clients)
        made.at(number * 0.05, partial(publish_if_up, made, client))
    made.run()
    return made


def publish_if_up(made: Simulation, client: str) -> None:
    if made.network.client(client).broker in made.network.routers:
        made.publish(client, NEWS)


def test_the_same_seed_gives_the_same_of_everything() -> None:
    one, other = busy_life(1), busy_life(1)
    assert one.summary() == other.summary()
    assert one.summary().as_json() == other.summary().as_json()
    for name, client in one.network.clients.items():
        assert client.deliveries == other.network.client(name).deliveries
    assert dict(one.traffic.by_direction) == dict(other.traffic.by_direction)
    assert one.summary().frames.lost > 0


def test_another_seed_gives_something_else() -> None:
    assert busy_life(1).summary() != busy_life(2).summary()


def test_a_summary_does_not_depend_on_how_texts_are_hashed() -> None:
    program = (
        "import sys; sys.path[:0] = ['tests/simulation', 'tests/support']\n"
        "from test_simulation import busy_life\n"
        "sys.stdout.write(busy_life(3).summary().as_json())"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
            timeout=60,
        ).stdout
        for seed in (1, 2)
    }
    assert len(texts) == 1


def test_a_summary_can_be_written_down() -> None:
    made = offices()
    made.publish("feed", NEWS)
    made.run()
    told = json.loads(made.summary().as_json())
    assert told["strategy"] == "advertisements-covering"
    assert (told["brokers"], told["links"], told["clients"]) == (3, 2, 4)
    assert told["received_by_brokers"] == 3 + (3 + 2 + 1 - 2) + 3 + 1
    assert told["received"]["publish"] == 3
    assert told["from_clients"]["publish"] == 1
    assert told["from_clients"]["envelopes"] == 1 + 3 + 1
    assert told["crossings"] == 2
    assert told["wasted_share"] == 0.0
    assert told["delay_by_hops"]["2"]["count"] == 1
    assert told["tables"] == {"patterns": 3, "entries": 5, "greatest": 1}
    assert told["by_link"][0] == {
        "link": "london-paris",
        "messages": 3,
        "publish": 1,
        "content_bytes": len(NEWS),
        "wasted": 0,
    }


def test_a_summary_tells_what_each_broker_received_and_keeps() -> None:
    made = offices()
    made.publish("feed", NEWS)
    made.crash("rome")
    made.run()
    summary = made.summary()
    assert [each.broker for each in summary.by_broker] == ["london", "paris", "rome"]
    assert sum(each.messages for each in summary.by_broker) == summary.received_by_brokers
    assert Counts.joined(each.received for each in summary.by_broker) == summary.received
    assert sum(each.patterns for each in summary.by_broker) == summary.tables.patterns
    assert sum(each.entries for each in summary.by_broker) == summary.tables.entries
    london, paris, rome = json.loads(summary.as_json())["by_broker"]
    # The feed advertises; the desk here and those beyond Paris, as one, subscribe.
    kinds = ("advertise", "unadvertise", "subscribe", "unsubscribe", "publish")
    assert [london["received"][kind] for kind in kinds] == [1, 0, 2, 0, 1]
    assert (london["messages"], london["patterns"], london["entries"]) == (4, 1, 2)
    assert [paris["received"][kind] for kind in kinds] == [1, 0, 2, 0, 1]
    assert (paris["patterns"], paris["entries"]) == (1, 1)  # the other one was told by Rome
    assert (rome["received"]["subscribe"], rome["patterns"], rome["entries"]) == (1, 0, 0)


# --- size ------------------------------------------------------------------------------------


def test_a_tree_of_127_brokers_counts_as_worked_out_by_hand() -> None:
    overlay = balanced_tree(7, 2)
    made = Simulation(overlay, FLOODING)
    for number, leaf in enumerate(overlay.leaves):
        made.attach(f"desk-{number}", leaf)
        made.subscribe(f"desk-{number}", "1", f"/news[@desk = '{number}']")
    made.attach("feed", "b001")
    made.run()
    assert made.summary().received.subscribe == 64 * 127
    made.publish("feed", "<news desk='7'/>")
    made.run()
    assert made.summary().crossings == 6
    assert made.summary().delay_by_hops[6].count == 1


def test_a_chain_of_messages_is_no_chain_of_calls() -> None:
    made = Simulation(chain(1100), FLOODING)
    made.attach("desk", "b1100")
    made.subscribe("desk", "1", "/news")
    made.run()
    made.attach("feed", "b0001")
    made.publish("feed", NEWS)
    made.run()
    assert made.traffic.delays_by_hops[1099].count == 1
