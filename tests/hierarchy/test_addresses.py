"""Addresses: bits for the members of units, kept by one broker of each unit at a time."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.errors import OverlayError
from twigcast.hierarchy import MOST_MEMBERS, Addresses, Network, make_router, require_room
from twigcast.hierarchy.addresses import Book, give, merge
from twigcast.routing import LinkKind, LinkState, LinkUp, Overlay

MEMBERS = st.sampled_from([f"m{number}" for number in range(40)])
BOOKS = st.lists(MEMBERS, unique=True, max_size=MOST_MEMBERS).flatmap(
    lambda members: st.permutations(range(MOST_MEMBERS)).map(
        lambda bits: dict(zip(members, bits, strict=False))
    )
)


# --- books ----------------------------------------------------------------------------------------


def test_the_lowest_free_bits_are_given_in_the_order_of_names() -> None:
    book = give({"b": 1}, ["c", "a"], [])
    assert book == {"a": 0, "b": 1, "c": 2}
    assert give(book, ["a"], []) == book


def test_a_member_that_is_gone_keeps_its_bit_until_no_other_is_free() -> None:
    members = [f"m{number:02}" for number in range(MOST_MEMBERS)]
    book = give({}, members, members)
    after = give(book, ["new"], members[1:])
    assert after["new"] == book["m00"]
    assert "m00" not in after
    assert give(book, ["new"], members) == book


@given(st.lists(BOOKS, max_size=3), st.lists(MEMBERS, unique=True, max_size=MOST_MEMBERS))
def test_no_two_members_have_one_bit(books: list[Book], members: list[str]) -> None:
    merged = merge(books)
    assert len({*merged.values()}) == len(merged) <= MOST_MEMBERS
    if books:
        assert max(books, key=len).items() <= merged.items()
    after = give(merged, members, members)
    assert len({*after.values()}) == len(after) <= MOST_MEMBERS
    assert {*members} <= after.keys()
    assert {*range(MOST_MEMBERS)} >= {*after.values()}
    assert all(after[each] == merged[each] for each in members if each in merged)


# --- in a network ---------------------------------------------------------------------------------


class Site:
    """A network whose brokers look at their books until nothing is new."""

    def __init__(
        self, links: list[tuple[str, str]], gateways: Mapping[str, str], *cut: tuple[str, str]
    ) -> None:
        names = sorted({name for link in links for name in link})
        self.network = Network(Overlay(names, links, gateways))
        for link in cut:
            self.network.cut(*link)
        self.network.settle()
        self.kept: dict[str, dict[str, Book]] = {name: {} for name in names}
        self.addresses = {name: Addresses(self.network.routers[name]) for name in names}
        self.look()

    def look(self) -> None:
        """Until all have heard of all."""
        for _ in range(6):
            for name, addresses in self.addresses.items():
                news = addresses.look()
                self.kept[name].update(news.books)
                self.network._carry(name, news.sends)
            self.network.settle()

    def restart(self, name: str) -> None:
        """Let a broker go on with what is on its disk."""
        self.network.crash(name)
        self.network.settle()
        self.network.restart(name)
        self.network.settle()
        self.addresses[name] = Addresses(self.network.routers[name], self.kept[name])

    def all(self) -> dict[str, tuple[int, ...]]:
        """The address of each broker, as it knows it itself."""
        return {name: each.of(name) for name, each in self.addresses.items()}


UNITS = (
    [
        ("n/x/a", "n/x/b"),
        ("n/x/b", "n/x/c"),
        ("n/x/b", "n/y/a"),
        ("n/y/a", "s/a"),
        ("s/a", "s/b"),
    ],
    {"n/x/b": "n/x", "n/y/a": "n", "s/a": "s"},
)
IN_UNITS = {
    "n/x/a": (0, 0, 0),
    "n/x/b": (0, 0, 1),
    "n/x/c": (0, 0, 2),
    "n/y/a": (0, 1, 0),
    "s/a": (1, 0),
    "s/b": (1, 1),
}


def test_a_broker_has_a_bit_for_each_unit_that_it_is_in() -> None:
    assert Site(*UNITS).all() == IN_UNITS


def test_a_flat_network_has_no_addresses() -> None:
    site = Site([("a", "b")], {})
    assert site.all() == {"a": (), "b": ()}
    assert site.kept == {"a": {}, "b": {}}


def test_bits_survive_restarts_of_those_who_give_them() -> None:
    site = Site(*UNITS)
    for name in ("n/y/a", "n/x/b", "s/a"):
        site.restart(name)
        site.look()
        assert site.all() == IN_UNITS


def test_parts_that_meet_keep_their_bits() -> None:
    links = [("n/a", "n/b"), ("n/b", "n/c"), ("n/c", "n/d"), ("n/a", "s/a"), ("n/d", "s/a")]
    site = Site(links, {"n/a": "n", "n/d": "n", "s/a": "s"})
    before = site.all()
    site.network.cut("n/b", "n/c")
    site.network.settle()
    site.look()
    assert site.all() == before
    site.network.heal("n/b", "n/c")
    site.network.settle()
    site.look()
    assert site.all() == before
    assert site.kept["n/a"]["n"] == site.kept["n/d"]["n"]


def test_parts_that_began_apart_come_to_one_book() -> None:
    links = [("n/a", "n/b"), ("n/b", "n/c"), ("n/c", "n/d"), ("n/d", "n/e"), ("n/a", "s/a")]
    links.append(("n/e", "s/a"))
    site = Site(links, {"n/a": "n", "n/e": "n", "s/a": "s"}, ("n/b", "n/c"))
    apart = [{"n/a": 0, "n/b": 1}, {"n/c": 0, "n/d": 1, "n/e": 2}]
    assert [site.kept[name]["n"] for name in ("n/a", "n/e")] == apart
    site.network.heal("n/b", "n/c")
    site.network.settle()
    site.look()
    assert site.kept["n/a"]["n"] == site.kept["n/e"]["n"] == {**apart[1], "n/a": 3, "n/b": 4}


# --- the thirty-third -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "others", "new", "reason"),
    [
        ("n/a", "n/m{}", "n/z", "the unit 'n' has 32 members, and 'n/z' would be one more"),
        ("n/a", "n/m{}", "n/m3", ""),
        ("a", "m{}", "z", ""),
        ("a", "m{}", "s/z", "the whole network has 32 members, and 's' would be one more"),
        ("a", "u{}/b", "z", "put some of them into a unit of their own, as in new/name"),
        ("a", "u{}/b", "u3/c", ""),
    ],
)
def test_a_unit_has_32_members(name: str, others: str, new: str, reason: str) -> None:
    router = make_router(name, None)
    names = [others.format(number) for number in range(MOST_MEMBERS - 1)]
    for each in names:
        router.handle(LinkUp(LinkKind.BROKER), each)
    states = [LinkState(each, 1, 1, ((name, 1.0),)) for each in names]
    router.learn(states, router.depth)
    if reason:
        with pytest.raises(OverlayError, match=reason):
            require_room(router, new)
    else:
        require_room(router, new)
