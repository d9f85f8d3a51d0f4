"""What brokers of a network send each other: what they have gathered, and nothing else."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest

import twigcast
from lab.histories.shuffled import ShuffledTransport
from twigcast.routing import STRATEGIES, Envelope, Network, Observer, Overlay, Send, Update
from twigcast.simulation import balanced_tree, chain

SCHEMA = twigcast.Schema.from_dtd(
    "<!ELEMENT a (b*, c*)> <!ELEMENT b (d|e|f)*> <!ELEMENT c (d|g)*>"
    "<!ELEMENT d EMPTY> <!ELEMENT e EMPTY> <!ELEMENT f EMPTY> <!ELEMENT g EMPTY>"
)
PATTERNS = [
    twigcast.parse(text)
    for text in ("/a/b/d", "/a/b/e", "/a/b/f", "/a/c/d", "/a/c/g", "/a/*/d", "/a//d", "/a/b", "//c")
]
EXACT = tuple(name for name, strategy in STRATEGIES.items() if strategy.merging is None)
MERGING = tuple(name for name in STRATEGIES if name not in EXACT)


class Sent(Observer):
    """Counts the patterns that brokers begin and cease to want."""

    def __init__(self) -> None:
        self.forwarded: Counter[str] = Counter()
        self.withdrawn: Counter[str] = Counter()

    def on_handled(self, envelope: Envelope, sends: list[Send]) -> None:
        if isinstance(envelope.message, Update):
            for _, change in envelope.message.changes:
                self.forwarded.update(map(str, change.forward))
                self.withdrawn.update(map(str, change.withdraw))


def network_of(strategy: str, overlay: Overlay, sent: Sent, seed: int | None = None) -> Network:
    """A network at rest with a producer at its first broker and a client at each."""
    transport = None if seed is None else ShuffledTransport(seed)
    network = Network(overlay, strategy, transport=transport, observer=sent)
    network.attach("feed", overlay.brokers[0])
    network.advertise("feed", "a", SCHEMA)
    for broker in overlay:
        network.attach(f"client at {broker}", broker)
    network.settle()
    return network


def tables(network: Network) -> dict[str, Counter[tuple[str, str]]]:
    """By broker, what is wanted on each link."""
    return {
        name: Counter((str(entry.pattern), entry.last_hop) for entry in router.subscriptions())
        for name, router in network.routers.items()
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_is_undone_while_brokers_gather_crosses_no_link(strategy: str) -> None:
    sent = Sent()
    network = network_of(strategy, chain(3), sent)
    for number, pattern in enumerate(PATTERNS):
        network.subscribe("client at b3", str(number), pattern)
    network.unsubscribe("client at b3", *map(str, range(len(PATTERNS))))
    network.settle()
    assert not sent.forwarded
    assert not sent.withdrawn


@pytest.mark.parametrize("strategy", [name for name in EXACT if STRATEGIES[name].covering])
def test_what_is_covered_while_brokers_gather_crosses_no_link(strategy: str) -> None:
    sent = Sent()
    network = network_of(strategy, chain(3), sent)
    network.subscribe("client at b3", "narrow", "/a/b/d")
    network.subscribe("client at b3", "wide", "/a//d")
    network.settle()
    assert sent.forwarded == {"/a//d": 2}
    # Another that is as wide comes as the first one goes.
    network.unsubscribe("client at b3", "wide")
    network.subscribe("client at b3", "as wide", "/a//d")
    network.settle()
    assert sent.forwarded == {"/a//d": 2}
    assert not sent.withdrawn


@pytest.mark.parametrize("strategy", MERGING)
def test_members_of_a_merger_cross_no_link(strategy: str) -> None:
    sent = Sent()
    network = network_of(strategy, chain(4), sent)
    for name in "def":
        network.subscribe("client at b4", name, f"/a/b/{name}")
    network.settle()
    assert not sent.withdrawn
    assert sent.forwarded == {"//b/*": 3}


@pytest.mark.parametrize("strategy", EXACT)
@pytest.mark.parametrize("seed", range(8))
def test_tables_at_rest_are_those_of_a_network_that_hears_all_at_once(
    strategy: str, seed: int
) -> None:
    random = Random(seed)
    ring = Overlay("pqrst", pairwise("pqrstp"))
    network = network_of(strategy, ring, Sent(), seed)
    cut = None
    for number in range(60):
        client = f"client at {random.choice(ring.brokers)}"
        wanted = sorted(network.client(client).subscriptions)
        if wanted and random.random() < 0.4:
            network.unsubscribe(client, random.choice(wanted))
        else:
            network.subscribe(client, str(number), random.choice(PATTERNS))
        for _ in range(random.randrange(6)):
            network.step()
        if random.random() < 0.1:
            if cut is None:
                cut = random.choice(tuple(ring.links))
                network.cut(*cut)
            else:
                network.heal(*cut)
                cut = None
    if cut is not None:
        network.heal(*cut)
    network.settle()
    assert not any(router.has_news for router in network.routers.values())
    fresh = network_of(strategy, ring, Sent())
    for name, each in network.clients.items():
        if each.subscriptions:
            fresh.subscribe_all(name, each.subscriptions)
    fresh.settle()
    assert tables(network) == tables(fresh)


@pytest.mark.parametrize("strategy", MERGING)
@pytest.mark.parametrize("seed", range(8))
def test_mergers_are_gone_when_nobody_wants_anything(strategy: str, seed: int) -> None:
    random, sent = Random(seed), Sent()
    network = network_of(strategy, balanced_tree(3, 2), sent, seed)
    for number in range(40):
        client = f"client at {random.choice(network.overlay.brokers)}"
        network.subscribe(client, str(number), random.choice(PATTERNS))
        for _ in range(random.randrange(4)):
            network.step()
    for name, each in network.clients.items():
        for key in random.sample(sorted(each.subscriptions), len(each.subscriptions)):
            network.unsubscribe(name, key)
            network.step()
    network.settle()
    assert all(router.table_size == 0 for router in network.routers.values())
    assert sent.forwarded == sent.withdrawn
    assert sent.forwarded
