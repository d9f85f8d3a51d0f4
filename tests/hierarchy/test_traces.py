"""Traces: no document comes back to a part of a unit that it has left; other parts get it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from twigcast.hierarchy import Gateway, Network
from twigcast.hierarchy.traces import STAMP, stamp
from twigcast.routing import ANYTHING, Document, Envelope, Observer, Send
from twigcast.simulation import parse_topology


class Crossing(Observer):
    """Keeps what crosses links."""

    def __init__(self) -> None:
        self.documents: list[Document] = []

    def on_handled(self, envelope: Envelope, sends: list[Send]) -> None:
        if isinstance(envelope.message, Document):
            self.documents.append(envelope.message)


def made(strategy: str) -> tuple[Network, Crossing]:
    crossing = Crossing()
    network = Network(parse_topology("hierarchy:2x2x2"), strategy, observer=crossing)
    network.attach("feed", "s1/c2/b2")
    network.advertise("feed", "all", ANYTHING)
    for number, broker in enumerate(("s1/c1/b2", "s2/c2/b2")):
        network.attach(f"desk{number}", broker)
        network.subscribe(f"desk{number}", "all", "//a")
    network.settle()
    return network, crossing


def published(network: Network, crossing: Crossing) -> Document:
    network.publish("feed", "<a/>")
    network.settle()
    return next(each for each in crossing.documents if each.depth == 0)


@pytest.mark.parametrize("strategy", ["covering", "advertisements-covering"])
def test_a_trace_has_a_stamp_for_each_unit_left_and_ends_on_the_way_down(strategy: str) -> None:
    network, crossing = made(strategy)
    document = published(network, crossing)
    stamps = {
        unit: stamp(unit, [(f"{unit}/{one}", 0) for one in members])
        for unit, members in {"s1/c2": ("b1", "b2"), "s1": ("c1/b1", "c2/b1")}.items()
    }
    assert document.trace == (stamps["s1/c2"], stamps["s1"])
    by_depth = {(each.depth, each.tree[:1] == "^"): each.trace for each in crossing.documents}
    assert by_depth[1, False] == (stamps["s1/c2"],)
    assert {by_depth[key] for key in by_depth if key[1]} == {()}


def come_back(network: Network, document: Document, number: int) -> list[str]:
    """Where a document goes that comes back to s1 from brokers with another view."""
    again = replace(document, id=document.id._replace(number=number))
    sends = network.routers["s1/c1/b1"].handle(again, "s2/c1/b1")
    return [each.link for each in sends if isinstance(each.message, Document)]


def test_a_document_comes_back_only_to_a_part_that_has_changed() -> None:
    network, crossing = made("covering")
    document = published(network, crossing)
    gateway = network.routers["s1/c1/b1"].levels[1]
    assert isinstance(gateway, Gateway)
    assert come_back(network, document, 1) == []
    assert gateway.crossings.turned_away == 1
    network.cut("s1/c1/b1", "s1/c2/b1")
    network.settle()
    assert come_back(network, document, 2) != [], "the part may not have it"
    network.heal("s1/c1/b1", "s1/c2/b1")
    network.settle()
    assert come_back(network, document, 3) == []
    network.crash("s1/c2/b1")
    network.settle()
    network.restart("s1/c2/b1")
    network.settle()
    assert come_back(network, document, 4) != [], "a broker has lost what it had"
    assert gateway.crossings.turned_away == 2


def test_a_stamp_depends_on_the_unit_on_who_is_there_and_on_their_lives() -> None:
    members = [("n/a", 0), ("n/b", 0)]
    others = [
        stamp("m", members),
        stamp("n", members[:1]),
        stamp("n", [("n/a", 0), ("n/b", 1)]),
        stamp("n", [*members, ("n/c", 0)]),
    ]
    assert stamp("n", reversed(members)) == stamp("n", members)
    assert len({stamp("n", members), *others}) == 5
    assert {len(each) for each in others} == {STAMP}
