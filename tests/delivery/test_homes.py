"""Durable interests are known everywhere, whatever links come and go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.covering import Change, covers
from twigcast.delivery.homes import Homes, HomeState
from twigcast.delivery.writes import Home, Version
from twigcast.errors import SubscriptionError
from twigcast.language import Pattern, parse

A, B, AB = parse("/a"), parse("/b"), parse("/a/b")
NEW = Version(0, 0)


def rome(version: int, *forward: str, base: int = 0, epoch: int = 1) -> HomeState:
    return HomeState("rome", Version(epoch, version), base, forward)


def paris() -> Homes:
    return Homes({"paris": None}, NEW, 7)


def changed(
    homes: Homes, add: Mapping[str, Pattern], remove: Sequence[str] = (), home: str = "paris"
) -> HomeState | None:
    """What is to be sent of a change of a home's own."""
    news = homes.change_own(home, add, remove)
    return None if news is None else news[0]


# --- our own --------------------------------------------------------------------------------------


def test_what_covers_others_stands_for_them() -> None:
    homes = paris()
    first = changed(homes, {"1": AB})
    assert first == HomeState("paris", Version(7, 1), 0, ("/a/b",))
    second = changed(homes, {"2": A})
    assert second == HomeState("paris", Version(7, 2), 1, ("/a",), ("/a/b",))
    assert changed(homes, {"3": AB}) is None
    third = changed(homes, {}, ["2"])
    assert third == HomeState("paris", Version(7, 3), 2, ("/a/b",), ("/a",))
    assert homes.own_count("paris") == 1


def test_a_change_that_nets_to_nothing_is_not_sent() -> None:
    homes = paris()
    changed(homes, {"1": A})
    assert changed(homes, {"2": A}, ["1"]) is None


def test_a_first_life_has_an_epoch_of_its_own_and_a_later_one_goes_on() -> None:
    assert Homes({"paris": None}, NEW, 7).own_version("paris") == Version(7, 0)
    assert Homes({"paris": None}, Version(3, 99), 7).own_version("paris") == Version(3, 99)


def test_no_version_of_a_life_comes_up_to_its_bound() -> None:
    homes = paris()
    bound = homes.bound
    for number in range(100):
        changed(homes, {str(number): parse(f"/a{number}")})
    assert homes.own_version("paris") < bound
    assert Homes({"paris": None}, bound, 8).own_version("paris") > homes.own_version("paris")


def test_what_was_wanted_in_an_earlier_life_goes_on_without_a_new_version() -> None:
    homes = Homes({"paris": None}, Version(3, 9), 7)
    homes.change_own("paris", {"1": A}, is_news=False)
    assert homes.state("paris") == HomeState("paris", Version(3, 9), 0, ("/a",))


@pytest.mark.parametrize("theirs", [Version(7, 0), Version(6, 99), None])
def test_a_home_that_others_know_less_of_stays_in_its_epoch(theirs: Version | None) -> None:
    homes = paris()
    assert not homes.leap({"rome": Version(99, 1)} if theirs is None else {"paris": theirs})
    assert homes.own_version("paris") == Version(7, 0)


@pytest.mark.parametrize("theirs", [Version(7, 1), Version(8, 0)])
def test_a_home_that_others_know_more_of_goes_on_in_a_higher_epoch(theirs: Version) -> None:
    homes = paris()
    assert homes.leap({"paris": theirs})
    assert homes.own_version("paris").epoch > theirs.epoch
    assert homes.state("paris").base == 0


def test_two_lives_that_lost_their_stores_come_to_different_epochs() -> None:
    lives = [Homes({"paris": None}, NEW, salt) for salt in (7, 8)]
    assert all(each.leap({"paris": Version(99, 1)}) for each in lives)
    assert lives[0].own_version("paris") != lives[1].own_version("paris")


# --- others ---------------------------------------------------------------------------------------


def test_news_changes_the_router_and_is_passed_on_once() -> None:
    homes = paris()
    state = rome(5, "/a", "/b")
    assert homes.accept(state).change == Change((A, B))
    assert homes.accept(state).change is None
    change = homes.accept(HomeState("rome", Version(1, 6), 5, ("/a/b",), ("/b",)))
    assert change.change == Change((AB,), (B,))
    assert homes.patterns == {"rome": 2}


def test_a_difference_from_something_unknown_is_asked_for_whole() -> None:
    homes = paris()
    assert homes.accept(rome(6, "/a", base=5)).ask
    assert homes.patterns == {}
    homes.accept(rome(4, "/a"))
    assert homes.accept(rome(6, "/b", base=5)).ask
    assert homes.accept(rome(5, "/b", base=4, epoch=2)).ask
    assert homes.patterns == {"rome": 1}


def test_a_higher_epoch_replaces_a_lower_one() -> None:
    homes = paris()
    homes.accept(rome(90, "/a"))
    assert homes.accept(rome(3, "/b", epoch=2)).change == Change((B,), (A,))
    assert homes.accept(rome(99, "/a")).change is None


def test_an_expression_outside_the_language_is_refused_and_changes_nothing() -> None:
    homes = paris()
    with pytest.raises(SubscriptionError):
        homes.accept(rome(1, "/a", "/b["))
    assert homes.patterns == {}


def test_a_neighbour_is_sent_what_it_lacks() -> None:
    homes = paris()
    changed(homes, {"1": A})
    homes.accept(rome(5, "/b"))
    assert {state.home for state in homes.lacking({})} == {"paris", "rome"}
    theirs = {"paris": Version(7, 1), "rome": Version(1, 4), "oslo": Version(9, 1)}
    assert homes.lacking(theirs) == [rome(5, "/b")]


def test_an_echo_changes_nothing() -> None:
    assert paris().accept(HomeState("paris", Version(99, 1), 0, ("/a",))).change is None


def test_what_was_kept_goes_on() -> None:
    homes = paris()
    assert homes.restore("rome", Home(Version(1, 5), ("/a",))) == Change((A,))
    gone = HomeState("rome", Version(1, 6), 5, (), ("/a",))
    assert homes.accept(gone).change == Change((), (A,))


# --- forgetting -----------------------------------------------------------------------------------


def test_a_home_that_is_forgotten_wants_nothing_until_it_says_something_new() -> None:
    homes = paris()
    homes.accept(rome(7, "/a"))
    assert homes.forget("rome") == (Version(1, 7), Change(withdraw=(A,)))
    assert homes.forget("nowhere") is None
    assert homes.patterns == {"rome": 0}
    # Neighbours that still know of it do not bring it back; it may come back itself.
    assert homes.accept(rome(7, "/a")).change is None
    assert homes.accept(rome(8, "/a", "/b")).change == Change((A, B))
    assert not homes.is_forgotten("rome")


@pytest.mark.parametrize("restarted", [False, True])
def test_a_home_that_was_forgotten_is_asked_for_all_it_wants(restarted: bool) -> None:
    homes = paris()
    homes.accept(rome(7, "/a"))
    homes.forget("rome")
    if restarted:
        homes = paris()
        homes.restore("rome", Home(Version(1, 7), ()))
    assert homes.accept(rome(8, "/b", base=7)).ask


@pytest.mark.parametrize("restarted", [False, True])
def test_nobody_else_hears_that_a_home_was_forgotten(restarted: bool) -> None:
    homes = paris()
    homes.accept(rome(7, "/a"))
    homes.forget("rome")
    if restarted:
        homes = paris()
        homes.restore("rome", Home(Version(1, 7), ()))
    assert [each.home for each in homes.lacking({"rome": Version(1, 6)})] == ["paris"]


# --- all together ---------------------------------------------------------------------------------

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
    brokers = {name: Homes({name: None}, NEW, 1) for name in names}
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
    for action, index, text in steps:
        name = names[index]
        if action == "add" and text not in wanted[name]:
            wanted[name][text] = text
            state = changed(brokers[name], {text: parse(text)}, home=name)
            if state is not None:
                tell(state, name)
        elif action == "remove" and wanted[name].pop(text, ""):
            state = changed(brokers[name], {}, [text], home=name)
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
                assert brokers[name].patterns.get(other, 0) == brokers[other].own_count(other)


def test_a_home_says_as_much_as_its_budget_allows() -> None:
    homes = Homes({"paris": 2}, NEW, 7)
    for number in range(5):
        changed(homes, {f"{number}": parse(f"/a/b[c > {number * 10}]/d{number}")})
    state = homes.state("paris")
    assert len(state.forward) == homes.own_count("paris") <= 2
    assert any(covers(parse(each), parse("/a/b[c > 40]/d4")) for each in state.forward)
