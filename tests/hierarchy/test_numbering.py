"""The bits that brokers name members by: those of the book, and of books before it."""

from __future__ import annotations

from twigcast.hierarchy import Network, Numbering, Numberings, numbering_of
from twigcast.simulation import parse_topology


def give(network: Network, unit: str, members: list[str]) -> Numbering:
    """Let the gateway of a unit give bits, and everybody know."""
    book = {f"{unit}/{member}": bit for bit, member in enumerate(members)}
    sends = network.routers[f"{unit}/b1"].set_book(tuple(sorted(book.items())), (0,), 1)
    for to, message in sends:
        network.routers[to].handle(message, f"{unit}/b1")
    return numbering_of(book)


def test_brokers_number_the_members_of_their_unit_alike_and_remember_some_books() -> None:
    network = Network(parse_topology("hierarchy:2x3"))
    brokers = [Numberings(network.routers[f"c1/b{number}"]) for number in (1, 2)]
    assert [each.now(1).members for each in brokers] == [{}, {}]
    numberings = []
    for members in (["b1"], ["b1", "b2"], ["b1", "b3"], ["b2", "b1"], ["b3", "b1"], ["b3", "b2"]):
        numberings.append(give(network, "c1", members))
        assert [each.now(1) for each in brokers] == [numberings[-1]] * 2
    for each in brokers:
        known = [each.known(1, some.digest) for some in numberings]
        assert known == [None, None, *numberings[2:]]
        assert each.known(2, numberings[-1].digest) is None
        assert each.now(7).members == {}


def test_a_flat_network_has_no_bits() -> None:
    network = Network(parse_topology("random:count=3,extra=1,seed=2"))
    for router in network.routers.values():
        assert Numberings(router).now(0).members == {}
