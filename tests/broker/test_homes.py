"""Durable interests are known everywhere, whatever links come and go."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.broker.homes import Homes, HomeState, Version
from twigcast.covering import Change
from twigcast.errors import SubscriptionError
from twigcast.language import parse

A, B, AB = parse("/a"), parse("/b"), parse("/a/b")


def test_what_covers_others_stands_for_them() -> None:
    homes = Homes("rome", "e", 0)
    first = homes.change_own(1000, {"1": AB})
    assert first == HomeState("rome", Version("e", 1000), 0, ("/a/b",))
    second = homes.change_own(1000, {"2": A})
    assert second == HomeState("rome", Version("e", 1001), 1000, ("/a",), ("/a/b",))
    assert homes.change_own(1000, {"3": AB}) is None
    third = homes.change_own(5000, remove=["2"])
    assert third == HomeState("rome", Version("e", 5000), 1001, ("/a/b",), ("/a",))
    assert homes.own_count == 1


def test_a_change_that_nets_to_nothing_is_not_sent() -> None:
    homes = Homes("rome", "e", 0)
    homes.change_own(1, {"1": A})
    assert homes.change_own(2, {"2": A}, ["1"]) is None


def test_news_changes_the_router_and_is_passed_on_once() -> None:
    homes = Homes("paris", "p", 0)
    state = HomeState("rome", Version("e", 5), 0, ("/a", "/b"))
    news = homes.accept(state)
    assert news.change == Change((A, B))
    again = homes.accept(state)
    assert again.change is None
    change = homes.accept(HomeState("rome", Version("e", 6), 5, ("/a/b",), ("/b",)))
    assert change.change == Change((AB,), (B,))
    assert homes.patterns == {"rome": 2}


def test_a_difference_from_something_unknown_is_asked_for_whole() -> None:
    homes = Homes("paris", "p", 0)
    assert homes.accept(HomeState("rome", Version("e", 6), 5, ("/a",))).ask
    assert homes.patterns == {}
    homes.accept(HomeState("rome", Version("e", 4), 0, ("/a",)))
    assert homes.accept(HomeState("rome", Version("e", 6), 5, ("/b",))).ask
    assert homes.patterns == {"rome": 1}


def test_a_later_epoch_replaces_an_earlier_one() -> None:
    homes = Homes("paris", "p", 0)
    homes.accept(HomeState("rome", Version("e1", 90), 0, ("/a",)))
    news = homes.accept(HomeState("rome", Version("e2", 3), 0, ("/b",)))
    assert news.change == Change((B,), (A,))
    assert homes.accept(HomeState("rome", Version("e1", 99), 0, ("/a",))).change is None


def test_an_expression_outside_the_language_is_refused_and_changes_nothing() -> None:
    homes = Homes("paris", "p", 0)
    with pytest.raises(SubscriptionError):
        homes.accept(HomeState("rome", Version("e", 1), 0, ("/a", "/b[")))
    assert homes.patterns == {}


def test_a_neighbour_is_sent_what_it_lacks() -> None:
    homes = Homes("paris", "p", 0)
    homes.change_own(7, {"1": A})
    homes.accept(HomeState("rome", Version("e", 5), 0, ("/b",)))
    assert {state.home for state in homes.lacking({})} == {"paris", "rome"}
    theirs = {"paris": Version("p", 7), "rome": Version("e", 4), "oslo": Version("o", 1)}
    [lacking] = homes.lacking(theirs)
    assert lacking == HomeState("rome", Version("e", 5), 0, ("/b",))


def test_a_broker_whose_clock_went_back_is_heard_again() -> None:
    homes = Homes("paris", "p", 0)
    homes.change_own(7, {"1": A})
    [state] = homes.lacking({"paris": Version("p", 1000)})
    assert state == HomeState("paris", Version("p", 1001), 0, ("/a",))


def test_what_was_kept_goes_on() -> None:
    homes = Homes("paris", "p", 0)
    assert homes.restore("rome", Version("e", 5), ["/a"]) == Change((A,))
    assert homes.accept(HomeState("rome", Version("e", 6), 5, (), ("/a",))).change == Change(
        (), (A,)
    )
    homes.accept(HomeState("rome", Version("e", 7), 0, ("/a",)))
    assert homes.forget("rome") == Version("e", 7)
    assert homes.forget("nowhere") is None
    assert homes.patterns == {"rome": 0}
    # Neighbours that still know of it do not bring it back; it may come back itself.
    assert homes.accept(HomeState("rome", Version("e", 7), 0, ("/a",))).change is None
    assert homes.accept(HomeState("rome", Version("e", 8), 7, ("/b",))).change == Change((B,))


_TEXTS = ["/a", "/b", "/a/b", "//c", "/a//c"]
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 2), st.sampled_from(_TEXTS)),
        st.tuples(st.just("remove"), st.integers(0, 2), st.sampled_from(_TEXTS)),
        st.tuples(st.just("cut"), st.integers(0, 2), st.just("")),
        st.tuples(st.just("join"), st.integers(0, 2), st.just("")),
    ),
    max_size=30,
)


@given(_STEPS)
def test_all_brokers_end_up_knowing_the_same(steps: Sequence[tuple[str, int, str]]) -> None:
    """Three brokers in a ring whose links are cut and joined; all joined in the end."""
    names = ["x", "y", "z"]
    brokers = {name: Homes(name, "e", 0) for name in names}
    wanted: dict[str, dict[str, str]] = {name: {} for name in names}
    links = [("x", "y"), ("y", "z"), ("z", "x")]
    up: set[tuple[str, str]] = set()

    def neighbours(name: str) -> list[str]:
        return [other for link in up for other in link if name in link and other != name]

    def tell(state: HomeState, teller: str, but: str = "") -> None:
        for other in neighbours(teller):
            if other != but:
                hear(state, other, teller)

    def hear(state: HomeState, name: str, teller: str) -> None:
        news = brokers[name].accept(state)
        if news.ask:
            for whole in brokers[teller].lacking(brokers[name].versions()):
                hear(whole, name, teller)
        if news.change is not None:
            tell(state, name, but=teller)

    def join(link: tuple[str, str]) -> None:
        up.add(link)
        for one, other in (link, link[::-1]):
            for state in brokers[one].lacking(brokers[other].versions()):
                hear(state, other, one)

    for link in links:
        join(link)
    for now, (action, index, text) in enumerate(steps, 1):
        name = names[index]
        if action == "add" and text not in wanted[name]:
            wanted[name][text] = text
            state = brokers[name].change_own(now, {text: parse(text)})
            if state is not None:
                tell(state, name)
        elif action == "remove" and wanted[name].pop(text, ""):
            state = brokers[name].change_own(now, remove=[text])
            if state is not None:
                tell(state, name)
        elif action == "cut":
            up.discard(links[index])
        elif action == "join" and links[index] not in up:
            join(links[index])
    for link in links:
        if link not in up:
            join(link)
    versions = brokers["x"].versions()
    for name in names:
        for other in names:
            if name != other:
                assert brokers[name].versions()[other] == versions[other]
                assert brokers[name].patterns.get(other, 0) == brokers[other].own_count
