"""Networks of units: who hears of what, several gateways, units that part, what it costs."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from twigcast.errors import NetworkError, OverlayError
from twigcast.hierarchy import Crossings, Gateway, Network
from twigcast.routing import (
    ANYTHING,
    STRATEGIES,
    Document,
    DocumentId,
    Envelope,
    LinkUp,
    Observer,
    Overlay,
    Refused,
    Send,
    Strategy,
    Update,
)
from twigcast.routing import (
    Network as FlatNetwork,
)
from twigcast.simulation import Traffic, parse_topology

WANTED = "<Stock><Price>17</Price></Stock>"
UNWANTED = "<Stock><Price>7</Price></Stock>"


class Listening(Observer):
    """Notes who got what from whom, and at what depth."""

    def __init__(self) -> None:
        self.heard: list[Envelope] = []

    def on_handled(self, envelope: Envelope, sends: list[Send]) -> None:
        if isinstance(envelope.message, Update | Document):
            self.heard.append(envelope)

    def crossings(self) -> list[tuple[str, str]]:
        return [each[:2] for each in self.heard if isinstance(each.message, Document)]


def with_clients(network: Network, feed: str, desks: list[str]) -> Network:
    network.attach("feed", feed)
    network.advertise("feed", "all", ANYTHING)
    for number, broker in enumerate(desks):
        network.attach(f"desk{number}", broker)
        network.subscribe(f"desk{number}", "dear", "//Stock[Price > 15]")
    network.settle()
    return network


def got(network: Network) -> dict[str, int]:
    return {
        name: len(client.deliveries)
        for name, client in network.clients.items()
        if client.subscriptions
    }


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
@pytest.mark.parametrize("gateways", [1, 2])
def test_everybody_gets_what_they_want_once_and_no_link_carries_more(
    strategy: str, gateways: int
) -> None:
    listening = Listening()
    overlay = parse_topology(f"hierarchy:2x2x3,gateways={gateways}")
    network = Network(overlay, strategy, observer=listening)
    with_clients(network, "s1/c1/b3", ["s1/c1/b1", "s1/c2/b3", "s2/c2/b2"])
    listening.heard.clear()
    network.publish("feed", WANTED)
    network.publish("feed", UNWANTED)
    network.settle()
    assert got(network) == {"desk0": 1, "desk1": 1, "desk2": 1}
    crossings = listening.crossings()
    assert len(set(crossings)) == len(crossings)
    assert not any("c3" in end or "s2/c1/b3" in end for pair in crossings for end in pair)
    assert network.refusals == ()


def test_a_broker_knows_its_unit_and_a_gateway_those_around() -> None:
    network = Network(parse_topology("hierarchy:2x3x4"))
    ordinary, gateway = network.routers["s1/c1/b4"], network.routers["s1/c1/b1"]
    assert not isinstance(ordinary, Gateway)
    assert ordinary.documents.view.brokers == [f"s1/c1/b{number}" for number in range(1, 5)]
    assert [level.documents.view.brokers for level in gateway.levels] == [
        [f"s1/c1/b{number}" for number in range(1, 5)],
        [f"s1/c{number}/b1" for number in range(1, 4)],
        ["s1/c1/b1", "s2/c1/b1"],
    ]


def test_a_link_that_changes_is_told_in_its_unit_only() -> None:
    listening = Listening()
    network = Network(parse_topology("hierarchy:3x3x4,gateways=2"), observer=listening)
    with_clients(network, "s1/c1/b3", ["s2/c2/b3"])
    listening.heard.clear()
    network.cut("s3/c1/b2", "s3/c1/b4")
    network.settle()
    network.heal("s3/c1/b2", "s3/c1/b4")
    network.settle()
    assert listening.heard, "the unit itself hears of it"
    assert {each.receiver.rpartition("/")[0] for each in listening.heard} == {"s3/c1"}


def test_what_is_promised_is_told_once_for_a_unit() -> None:
    network = Network(parse_topology("hierarchy:2x3"))
    for number in range(3):
        network.attach(f"feed{number}", f"c1/b{number + 1}")
        network.advertise(f"feed{number}", "all", ANYTHING)
    network.settle()
    above = network.routers["c2/b1"].levels[1]
    assert [entry.key.origin for entry in above.advertisements()] == ["c1/@b1"]
    for number in range(3):
        network.unadvertise(f"feed{number}", "all")
    network.settle()
    assert above.advertisements() == []


def test_another_gateway_takes_over_and_the_first_returns() -> None:
    ring = [("b1", "b2"), ("b2", "b3"), ("b3", "b1")]
    links = [(f"{unit}/{one}", f"{unit}/{other}") for unit in "xy" for one, other in ring]
    links += [("x/b1", "y/b1"), ("x/b2", "y/b2")]
    brokers = [f"{unit}/b{number}" for unit in "xy" for number in (1, 2, 3)]
    gateways = {f"{unit}/b{number}": unit for unit in "xy" for number in (1, 2)}
    network = with_clients(Network(Overlay(brokers, links, gateways)), "x/b3", ["y/b3"])

    def publish() -> int:
        network.settle()
        network.publish("feed", WANTED)
        network.settle()
        return got(network)["desk0"]

    assert publish() == 1
    network.crash("x/b1")
    assert publish() == 2
    network.crash("y/b2")
    assert publish() == 2, "what is left of the two paths does not meet"
    network.restart("x/b1")
    assert publish() == 3
    network.restart("y/b2")
    assert publish() == 4


def test_each_unit_is_reached_by_the_gateway_that_is_cheapest() -> None:
    brokers = ["x/a", "x/b", "y/c", "z/d"]
    links = [("x/a", "x/b"), ("x/a", "y/c"), ("x/b", "z/d")]
    gateways = {"x/a": "x", "x/b": "x", "y/c": "y", "z/d": "z"}
    listening = Listening()
    network = Network(Overlay(brokers, links, gateways), observer=listening)
    with_clients(network, "x/a", ["y/c", "z/d"])
    assert [network.acting_gateway("x", to) for to in "yz"] == ["x/a", "x/b"]
    assert [network.acting_gateway(unit, "x") for unit in "yz"] == ["y/c", "z/d"]
    listening.heard.clear()
    network.publish("feed", WANTED)
    network.settle()
    assert got(network) == {"desk0": 1, "desk1": 1}
    assert Counter(listening.crossings()) == Counter(
        [("x/a", "y/c"), ("x/a", "x/b"), ("x/b", "z/d")]
    )
    network.crash("x/b")
    network.settle()
    assert [network.acting_gateway("x", to) for to in "yz"] == ["x/a", None]
    with pytest.raises(NetworkError, match="not beside each other"):
        network.acting_gateway("x", "y/c")
    with pytest.raises(NetworkError, match="no unit 'west'"):
        network.acting_gateway("x", "west")


def test_where_all_documents_take_one_tree_one_gateway_acts_for_all() -> None:
    brokers = ["x/a", "x/b", "y/c", "z/d"]
    links = [("x/a", "x/b"), ("x/a", "y/c"), ("x/b", "z/d")]
    gateways = {"x/a": "x", "x/b": "x", "y/c": "y", "z/d": "z"}
    listening = Listening()
    network = Network(Overlay(brokers, links, gateways), "covering", observer=listening)
    with_clients(network, "x/b", ["z/d"])
    assert [network.acting_gateway("x", to) for to in "yz"] == ["x/a", "x/a"]
    assert [network.acting_gateway(unit, "x") for unit in "yz"] == ["y/c", "z/d"]
    listening.heard.clear()
    network.publish("feed", WANTED)
    network.settle()
    assert listening.crossings() == [("x/b", "x/a"), ("x/a", "x/b"), ("x/b", "z/d")]


def test_a_unit_that_has_parted_goes_on_in_parts_and_meets_again() -> None:
    brokers = ["x/a", "x/b", "y/c"]
    links = [("x/a", "x/b"), ("x/a", "y/c"), ("x/b", "y/c")]
    network = Network(Overlay(brokers, links, {"x/a": "x", "x/b": "x", "y/c": "y"}))
    with_clients(network, "x/a", ["x/b", "y/c"])
    outside = network.routers["y/c"].levels[1].documents
    assert list(outside.view.leaves) == ["x/@a", "y/@c"]
    assert network.parts("x") == (("x/a", "x/b"),)
    network.cut("x/a", "x/b")
    network.settle()
    assert list(outside.view.leaves) == ["x/@a", "x/@b", "y/@c"]
    assert network.parts("x") == (("x/a",), ("x/b",))
    assert network.parts("") == (("x/a", "x/b", "y/c"),)
    network.publish("feed", WANTED)
    network.settle()
    assert got(network) == {"desk0": 1, "desk1": 1}
    network.heal("x/a", "x/b")
    network.settle()
    assert list(outside.view.leaves) == ["x/@a", "y/@c"]
    network.publish("feed", WANTED)
    network.settle()
    assert got(network) == {"desk0": 2, "desk1": 2}


def test_nothing_passes_through_a_unit_from_outside_to_outside() -> None:
    brokers = ["x/a", "y/b", "y/c", "z/d"]
    links = [("x/a", "y/b"), ("y/b", "y/c"), ("y/c", "z/d")]
    gateways = {"x/a": "x", "y/b": "y", "y/c": "y", "z/d": "z"}
    listening = Listening()
    network = Network(Overlay(brokers, links, gateways), observer=listening)
    with_clients(network, "x/a", ["z/d"])
    network.publish("feed", WANTED)
    network.settle()
    assert got(network) == {"desk0": 1}, "both gateways are linked in the unit around, too"
    documents = [each.message for each in listening.heard if isinstance(each.message, Document)]
    assert {each.depth for each in documents} == {0}


def test_what_was_published_inside_does_not_come_in_from_outside() -> None:
    network = Network(parse_topology("hierarchy:2x3"))
    with_clients(network, "c2/b3", ["c1/b3"])
    gateway = network.routers["c1/b1"]
    assert isinstance(gateway, Gateway)

    def come(origin: str) -> list[Send]:
        identity = DocumentId(origin, 0, 7)
        tree = "c2/@b1"
        return gateway.handle(Document(identity, tree, WANTED, depth=0), "c2/b1")

    assert come("c1/b3") == []
    assert come("c1/b2") == []
    assert come("c1/b1") == []
    assert (gateway.crossings.turned_away, gateway.crossings.into) == (3, 0)
    assert [each.link for each in come("c2/b2")] == ["c1/b3"]
    assert (gateway.crossings.into, gateway.crossings.in_vain) == (1, 0)


def test_gateways_count_what_crosses_the_border_of_their_unit() -> None:
    network = Network(parse_topology("hierarchy:2x2"), Strategy(most_patterns=1))
    network.attach("feed", "c1/b2")
    network.advertise("feed", "all", ANYTHING)
    network.attach("desk", "c2/b2")
    network.subscribe_all("desk", {"one": "/a/b", "two": "/a/c"})
    network.settle()
    for content in ("<a><b/></a>", "<a><d/></a>", "<z/>"):
        network.publish("feed", content)
    network.settle()
    counted = []
    for name in ("c1/b1", "c2/b1"):
        gateway = network.routers[name]
        assert isinstance(gateway, Gateway)
        counted.append(gateway.crossings)
    assert counted == [Crossings(out=2), Crossings(into=2, in_vain=1)]


def test_a_budget_keeps_what_is_told_small_and_loses_nothing() -> None:
    tables = {}
    for most in (None, 2):
        network = Network(parse_topology("hierarchy:2x3"), Strategy(most_patterns=most))
        network.attach("feed", "c1/b3")
        network.advertise("feed", "all", ANYTHING)
        for number in range(6):
            network.attach(f"desk{number}", "c2/b2")
            network.subscribe(f"desk{number}", "one", f"/Stock/Price[. > {number}]/Deep{number}")
        network.settle()
        network.publish("feed", "<Stock><Price><Deep2/></Price></Stock>")
        network.publish("feed", "<Stock><Price>9<Deep2/></Price></Stock>")
        network.settle()
        assert got(network) == {f"desk{each}": int(each == 2) for each in range(6)}
        tables[most] = network.routers["c1/b3"].table_size
    assert tables[None] == 6
    assert tables[2] <= 2


def test_what_a_budget_lets_through_in_vain_is_counted_alike_when_frozen() -> None:
    """Two gateways that are linked pass a document on in both units: once of use, once in vain."""
    brokers = ["w/g1", "w/g2", "v/o", "u/z"]
    links = [("w/g1", "w/g2"), ("v/o", "w/g1"), ("w/g2", "u/z")]
    gateways = {"w/g1": "w", "w/g2": "w", "v/o": "v", "u/z": "u"}
    traffic = Traffic()
    overlay = Overlay(brokers, links, gateways)
    network = Network(overlay, Strategy(most_patterns=1), observer=traffic)
    network.attach("feed", "v/o")
    network.advertise("feed", "all", ANYTHING)
    network.attach("near", "w/g2")
    network.subscribe("near", "one", "/a/b")
    network.attach("far", "u/z")
    network.subscribe_all("far", {"two": "/c/d", "three": "/e/f"})
    network.settle()
    document = "<a><b/></a>"
    network.publish("feed", document)
    network.settle()
    assert got(network) == {"near": 1, "far": 0}
    route = network.freeze().route(document, at="v/o")
    by_link = Counter(route.crossings)
    assert by_link == {("v/o", "w/g1"): 1, ("w/g1", "w/g2"): 2, ("w/g2", "u/z"): 1}
    assert Counter(route.wasted()) == {("w/g1", "w/g2"): 1, ("w/g2", "u/z"): 1}
    assert traffic.total.wasted == 2


@pytest.mark.parametrize("name", ["^x/a", "x/^a", "@x/a", "x/@a"])
def test_names_that_stand_for_units_are_refused(name: str) -> None:
    with pytest.raises(OverlayError, match="names do not begin with"):
        Network(Overlay([name], []))


@pytest.mark.parametrize("name", ["^x/a", "x/@a"])
def test_clients_do_not_have_the_names_of_units(name: str) -> None:
    network = Network(Overlay(["x/a"], [], {"x/a": "x"}))
    with pytest.raises(NetworkError, match="is kept for units"):
        network.attach(name, "x/a")


def test_a_flat_network_may_have_any_names() -> None:
    network = FlatNetwork(Overlay(["^x", "y"], [("^x", "y")]), "covering")
    network.attach("feed", "y")
    network.attach("desk", "^x")
    network.subscribe("desk", "all", "//a")
    network.settle()
    network.publish("feed", "<a/>")
    network.settle()
    assert len(network.client("desk").deliveries) == 1


def test_a_part_of_a_unit_sends_a_document_as_the_network_does_when_frozen() -> None:
    """A document comes back to its origin by another tree, where the unit around has parted."""
    brokers = ["x/p/o", "x/p/c", "x/q/d"]
    links = [("x/p/o", "x/p/c"), ("x/p/o", "y/e"), ("x/p/c", "y/e"), ("x/q/d", "x/p/c")]
    gateways = {"x/p/o": "x", "x/p/c": "x", "x/q/d": "x/q", "y/e": "y"}
    listening = Listening()
    network = Network(Overlay([*brokers, "y/e"], links, gateways), observer=listening)
    with_clients(network, "x/p/o", ["x/p/c", "x/q/d", "y/e"])
    for cut in (None, ("x/p/o", "x/p/c")):
        if cut is not None:
            network.cut(*cut)
            network.settle()
        listening.heard.clear()
        network.publish("feed", WANTED)
        network.settle()
        route = network.freeze().route(WANTED, at="x/p/o")
        assert Counter(route.crossings) == Counter(listening.crossings())


def test_a_message_of_another_depth_is_refused() -> None:
    network = Network(parse_topology("hierarchy:2x2"))
    router = network.routers["c1/b2"]
    document = Document(DocumentId("c9/b9", 0, 0), "c9/b9", WANTED, depth=0)
    for message in (document, Update()):
        [send] = router.handle(message, "c1/b1")
        assert isinstance(send.message, Refused)
        assert "let both be gateways" in send.message.reason


def test_a_link_says_which_units_have_it() -> None:
    network = Network(parse_topology("hierarchy:2x2,gateways=2"))
    routers = network.routers["c1/b1"].levels
    assert [sorted(each for each in level.neighbours if "@" not in each) for level in routers] == [
        ["^c1/b1", "c1/b2"],
        ["c1/b2", "c2/b1"],
    ]
    assert LinkUp(kind=None).depths == ()  # type: ignore[arg-type]


def test_flat_networks_are_as_they_were() -> None:
    overlay = parse_topology("random:count=8,extra=3,seed=2")
    tables = []
    for make in (FlatNetwork, Network):
        network = make(overlay)
        for one, other in combinations(list(overlay)[:4], 2):
            network.attach(f"{one}{other}", one)
            network.advertise(f"{one}{other}", "p", ANYTHING)
            network.subscribe(f"{one}{other}", "s", f"//{other}")
        network.settle()
        tables.append(
            {name: sorted(map(str, each.subscriptions())) for name, each in network.routers.items()}
        )
    assert tables[0] == tables[1]


def test_plain_names_with_slashes_need_units() -> None:
    with pytest.raises(OverlayError, match="joins two units"):
        Network(Overlay(["x/a", "y/b"], [("x/a", "y/b")]))
