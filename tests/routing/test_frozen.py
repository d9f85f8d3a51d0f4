"""Snapshots route documents as the network does, and survive copying and storing."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.errors import DocumentError, NetworkError
from twigcast.routing import (
    ANYTHING,
    STRATEGIES,
    ClientDelivery,
    Crossing,
    Document,
    Envelope,
    FrozenNetwork,
    Network,
    Observer,
    Overlay,
    Route,
    Send,
    freeze,
)
from twigcast.schema import Schema
from twigcast.simulation import random_connected

SCHEMA = Schema.from_dtd(
    "<!ELEMENT a (b*, c?)> <!ELEMENT b (#PCDATA | d)*> <!ELEMENT c (b?, d?)> <!ELEMENT d EMPTY>"
)
PATTERNS = (
    "/a", "/a/b", "/a/b/d", "//d", "/a/*/b", "/a/c//d", "a//b", "/a[b]/c", "//b[.='x']", "/x",
)  # fmt: skip
DOCUMENTS = (
    "<a/>",
    "<a><b>x</b></a>",
    "<a><b/><c/></a>",
    "<a><c><b/></c></a>",
    "<a><c><d/></c></a>",
    "<a><b><d/></b><c><b>x<d/></b></c></a>",
)


def chain() -> Network:
    network = Network(Overlay("lmr", [("l", "m"), ("m", "r")]))
    for client, broker in (("feed", "l"), ("desk", "r"), ("near", "l")):
        network.attach(client, broker)
    network.advertise("feed", "dtd", SCHEMA)
    network.subscribe("desk", "one", "/a/b")
    network.subscribe("desk", "two", "//b")
    network.subscribe("near", "all", "/a")
    return network


class Crossings(Observer):
    """The links that documents cross."""

    def __init__(self) -> None:
        self.seen: list[Crossing] = []

    def on_handled(self, envelope: Envelope, sends: list[Send]) -> None:
        if isinstance(envelope.message, Document):
            self.seen.append(Crossing(envelope.sender, envelope.receiver))


def random_network(seed: int, observer: Observer) -> Network:
    random = Random(seed)
    count = random.randint(1, 7)
    overlay = random_connected(count, extra=random.randint(0, max(0, count - 2)), seed=seed)
    strategy = STRATEGIES[random.choice(sorted(STRATEGIES))]
    network = Network(overlay, strategy, observer=observer)
    for number in range(random.randint(1, 6)):
        name = f"client{number}"
        network.attach(name, random.choice(overlay.brokers))
        for key in range(random.randint(0, 5)):
            network.subscribe(name, str(key), random.choice(PATTERNS))
    for number in range(random.randint(1, 3)):
        name = f"feed{number}"
        network.attach(name, random.choice(overlay.brokers))
        network.advertise(name, "dtd", random.choice((SCHEMA, ANYTHING)))
    network.settle()
    if random.random() < 0.3 and count > 2:
        network.crash(random.choice(overlay.brokers))
    network.settle()
    return network


@given(seed=st.integers(0, 10**9))
def test_a_snapshot_and_the_network_agree_on_every_document(seed: int) -> None:
    crossings = Crossings()
    network = random_network(seed, crossings)
    frozen = network.freeze()
    copies = [frozen, pickle.loads(pickle.dumps(frozen))]
    for feed, text in ((f, d) for f in network.clients if "feed" in f for d in DOCUMENTS):
        broker = network.client(feed).broker
        if broker not in network.routers:
            continue
        crossings.seen.clear()
        for client in network.clients.values():
            client.deliveries.clear()
        network.publish(feed, text)
        network.settle()
        got = {
            (client.name, client.broker, delivery.subscriptions)
            for client in network.clients.values()
            for delivery in client.deliveries
        }
        for copy in copies:
            route = copy.route(text, at=broker)
            assert len(set(route.deliveries)) == len(route.deliveries)
            assert {_sorted(*each) for each in route.deliveries} == {_sorted(*each) for each in got}
            assert sorted(route.crossings) == sorted(crossings.seen)


def _sorted(client: str, broker: str, ids: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
    return client, broker, tuple(sorted(ids))


def test_a_route_names_clients_and_links() -> None:
    route = chain().freeze().route("<a><b/></a>", at="l")
    assert route.crossings == (Crossing("l", "m"), Crossing("m", "r"))
    assert set(route.deliveries) == {
        ClientDelivery("near", "l", ("all",)),
        ClientDelivery("desk", "r", ("one", "two")),
    } or set(route.deliveries) == {
        ClientDelivery("near", "l", ("all",)),
        ClientDelivery("desk", "r", ("two", "one")),
    }
    assert route.wasted() == ()


def test_where_nobody_wants_it_a_document_does_not_go() -> None:
    route = chain().freeze().route("<a><c/></a>", at="l")
    assert route.crossings == ()
    assert [each.client for each in route.deliveries] == ["near"]


def test_a_batch_gives_routes_and_the_errors_of_bad_documents() -> None:
    frozen = chain().freeze()
    good, bad, far = frozen.route_batch([b"<a><b/></a>", b"<a>", b"<a><b/></a>"], ["l", "l", "r"])
    assert good == frozen.route("<a><b/></a>", at="l")
    assert isinstance(bad, DocumentError)
    assert isinstance(far, Route)
    assert far.crossings == ()  # nobody advertises at r
    assert list(frozen.route_batch([b"<a/>"], "l")) == [frozen.route("<a/>", at="l")]


def test_a_batch_needs_a_broker_for_each_document() -> None:
    with pytest.raises(ValueError, match="2 documents need as many brokers, not 1"):
        chain().freeze().route_batch([b"<a/>", b"<a/>"], ["l"])


def test_an_unknown_broker_is_named() -> None:
    with pytest.raises(NetworkError, match="no broker 'x'; it has: l, m, r"):
        chain().freeze().route("<a/>", at="x")


def test_a_bad_document_is_an_error() -> None:
    with pytest.raises(DocumentError):
        chain().freeze().route("<a>", at="l")


def test_a_snapshot_does_not_change_with_the_network() -> None:
    network = chain()
    frozen = network.freeze()
    before = frozen.route("<a><b/></a>", at="l")
    network.unsubscribe("desk", "one", "two")
    network.settle()
    assert frozen.route("<a><b/></a>", at="l") == before
    assert network.freeze().route("<a><b/></a>", at="l") != before


def test_a_snapshot_of_brokers_that_disagree_comes_to_an_end() -> None:
    network = Network(Overlay("abc", [("a", "b"), ("a", "c"), ("b", "c")]), STRATEGIES["covering"])
    for broker in "abc":
        network.attach(f"client-{broker}", broker)
        network.subscribe(f"client-{broker}", "s", "//a")
    network.settle()
    network.cut("a", "b")
    network.heal("a", "b")
    for _ in range(40):
        network.step()
        route = freeze(network.routers.values()).route("<a/>", at="a")
        assert len({each.client for each in route.deliveries}) == len(route.deliveries)


def test_a_snapshot_of_one_broker_knows_what_leaves_it() -> None:
    network = chain()
    network.settle()
    route = freeze([network.routers["l"]]).route("<a><b/></a>", at="l")
    assert route.crossings == (Crossing("l", "m"),)
    assert [each.client for each in route.deliveries] == ["near"]


def test_a_stored_snapshot_is_loaded_again(tmp_path: Path) -> None:
    frozen = chain().freeze()
    frozen.save(tmp_path / "snapshot")
    loaded = FrozenNetwork.load(tmp_path / "snapshot")
    assert loaded.brokers == frozen.brokers
    for text in DOCUMENTS:
        for broker in "lmr":
            assert loaded.route(text, at=broker) == frozen.route(text, at=broker)
    assert [path.name for path in tmp_path.iterdir()] == ["snapshot"]


def test_a_folder_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="is there already"):
        chain().freeze().save(tmp_path)


TABLES = (
    '{"version": 3, "towards": "advertisements", "brokers": {}, "clients": %s, "holders": %s, '
    '"scopes": {}}'
)


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{}",
        '{"version": 3}',
        "[]",
        '{"version": 1, "brokers": 3}',
        TABLES % ('{"0": ["desk", {}]}', "[[0], [0], [0]]"),
        TABLES % ("{}", '["x", [], []]'),
        "\udcff",
        "[" * 200_000,
    ],
)
def test_damaged_tables_are_refused(tmp_path: Path, damage: str) -> None:
    chain().freeze().save(tmp_path / "snapshot")
    tables = tmp_path / "snapshot" / "tables.json"
    tables.write_text(damage, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(NetworkError, match="no snapshot of a network"):
        FrozenNetwork.load(tmp_path / "snapshot")


def test_parts_of_two_snapshots_do_not_go_together(tmp_path: Path) -> None:
    network = chain()
    network.freeze().save(tmp_path / "one")
    network.subscribe("near", "more", "//d")
    network.freeze().save(tmp_path / "other")
    (tmp_path / "other" / "matcher").replace(tmp_path / "one" / "matcher")
    with pytest.raises(NetworkError, match="the matcher is not of this snapshot"):
        FrozenNetwork.load(tmp_path / "one")


def test_tables_are_plain_json(tmp_path: Path) -> None:
    chain().freeze().save(tmp_path / "snapshot")
    told = json.loads((tmp_path / "snapshot" / "tables.json").read_text())
    assert told["version"] == 3
    assert set(told["brokers"]) == {"l", "m", "r"}
