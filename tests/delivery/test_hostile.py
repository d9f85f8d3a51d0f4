"""Neighbours that say anything about documents and homes: a machine goes on serving its own."""

from __future__ import annotations

from delivery_brokers import Net
from hypothesis import given
from hypothesis import strategies as st

from twigcast.delivery.custody import Debt
from twigcast.delivery.events import (
    Addressed,
    Came,
    HomeAsk,
    HomeForgotten,
    HomeKnown,
    HomeVersions,
    LinkMessage,
    Receipt,
    Routed,
    StoreFailed,
    TooLarge,
)
from twigcast.delivery.homes import HomeState
from twigcast.delivery.writes import Parcel, Version
from twigcast.errors import SubscriptionError
from twigcast.routing.messages import DocumentId

NAMES = st.sampled_from(["h", "x", "z", "client"])
NUMBERS = st.integers(0, 3) | st.sampled_from([2**32, 2**60])
VERSIONS = st.builds(Version, NUMBERS, NUMBERS)
IDS = st.builds(DocumentId, NAMES, NUMBERS, NUMBERS)
TEXTS = st.lists(st.sampled_from(["/a", "/b", "//c", "a["]), max_size=3).map(tuple)
ROUTED = st.builds(
    Routed,
    st.builds(
        Parcel,
        IDS,
        st.sampled_from([b"<a/>", b"<b/>", b"<", b""]),
        st.integers(),
        st.sampled_from(["", "p", "q"]),
        st.just(()),
        st.integers(),
        st.just(""),
    ),
    NAMES,
    st.lists(st.builds(Debt, NAMES, NUMBERS), max_size=3).map(tuple),
)
RECEIPTS = st.builds(
    Receipt,
    st.lists(IDS, max_size=3).map(tuple),
    st.lists(st.tuples(IDS, st.just("no")), max_size=2).map(tuple),
    NAMES | st.just(""),
)
ASKS = st.builds(HomeAsk, VERSIONS, NUMBERS) | st.builds(HomeKnown, NUMBERS)
MESSAGES: st.SearchStrategy[LinkMessage] = st.one_of(
    ROUTED,
    st.builds(Addressed, NAMES, NAMES, ROUTED | RECEIPTS | ASKS, st.integers(0, 64)),
    st.builds(HomeVersions, st.dictionaries(NAMES, VERSIONS, max_size=3)),
    st.builds(HomeState, NAMES, VERSIONS, NUMBERS, TEXTS, TEXTS),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["say", "say", "say", "fail", "too large", "forget"]), MESSAGES),
    max_size=15,
)


@given(STEPS, st.booleans())
def test_whatever_a_neighbour_says_our_own_are_served(
    steps: list[tuple[str, LinkMessage]], has_store: bool
) -> None:
    net = Net("hx", "h" if has_store else "")
    home = net.brokers["h"]
    if has_store:
        home.keep("d", "/own")
    home.subscribe("/own")
    for action, message in steps:
        if action == "forget":
            home.tell(HomeForgotten("x"))
        elif action == "too large":
            home.tell(TooLarge("x", message, "no"))
        else:
            home.holds = action == "fail"
            try:
                home.tell(Came("x", message))
            except SubscriptionError:
                continue  # the link is cut
            if home.holds and home.writes:
                home.tell(StoreFailed(home.writes.popleft().ticket, "no"))
            home.holds = False
        net.settle()
        net.tick()
    ticket = home.publish(b"<own/>")
    net.settle()
    assert [each.code for each in home.answers(ticket)] == [""]
    assert b"<own/>" in home.offered()
    assert (b"<own/>" in home.queued()) == has_store
