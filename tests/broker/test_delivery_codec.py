"""What brokers say about documents and homes survives the wire; what is hostile is refused."""

from __future__ import annotations

from collections import deque
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.broker.delivery_codec import (
    HomeParts,
    decode_addressed,
    decode_document,
    decode_versions,
    encode_message,
    is_document,
)
from twigcast.broker.link_codec import PART, LinkProtocolError
from twigcast.delivery.custody import Debt
from twigcast.delivery.events import (
    Addressed,
    HomeAsk,
    HomeKnown,
    HomeVersions,
    LinkMessage,
    Receipt,
    Routed,
)
from twigcast.delivery.homes import HomeState
from twigcast.delivery.writes import Destination, Parcel, Version
from twigcast.routing.messages import DocumentId
from twigcast.wire import messages

TOO_HIGH = 2**60 + 1

OWN_NAMES = st.text("abc-._19", min_size=1, max_size=20)
NAMES = st.lists(OWN_NAMES, min_size=1, max_size=4).map("/".join)
HOMES = NAMES | st.builds("{}{}/@{}".format, st.sampled_from(["", "^"]), OWN_NAMES, OWN_NAMES)
NUMBERS = st.integers(0, 2**60)
TIMES = st.integers(0, 2**62)
DURABLES = st.text("abc: -._19é", min_size=1, max_size=20)
IDS = st.builds(DocumentId, NAMES, NUMBERS, NUMBERS)
VERSIONS = st.builds(Version, NUMBERS, NUMBERS)
HEADERS = st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3).map(
    lambda headers: tuple(sorted(headers.items()))
)
ROUTED = st.builds(
    Routed,
    st.builds(
        Parcel,
        *(IDS, st.binary(), TIMES, st.text(max_size=9), HEADERS, TIMES, st.just("")),
        st.integers(0, 3),
        st.lists(st.builds(Destination, NAMES, DURABLES), max_size=3, unique=True).map(tuple),
    ),
    NAMES | st.just(""),
    st.lists(st.builds(Debt, HOMES, NUMBERS), max_size=3).map(tuple),
    st.none() | IDS,
    st.integers(0, 3),
    st.lists(st.binary(min_size=8, max_size=8), max_size=3).map(tuple),
)


@st.composite
def receipts(draw: st.DrawFn, origin: str) -> Receipt:
    ids = st.builds(DocumentId, st.just(origin), st.integers(0, 2), NUMBERS)
    refused = st.lists(st.tuples(ids, st.text(max_size=9)), max_size=3).map(tuple)
    others = st.builds(DocumentId, NAMES, st.integers(0, 2), NUMBERS)
    stored = sorted(draw(st.lists(ids | others, max_size=5)))  # by incarnation, as encoded
    return Receipt(tuple(stored), draw(refused), draw(HOMES | st.just("")))


@st.composite
def addressed(draw: st.DrawFn) -> Addressed:
    to = draw(NAMES)
    asks = st.builds(HomeAsk, HOMES, VERSIONS, NUMBERS)
    answers = st.builds(HomeKnown, HOMES, NUMBERS, st.lists(NAMES, max_size=2).map(tuple))
    content = draw(ROUTED | receipts(to) | asks | answers)
    return Addressed(to, draw(NAMES), content, draw(st.integers(0, 64)), draw(st.integers(0, 3)))


def item(message: LinkMessage) -> messages.LinkItem:
    [encoded] = encode_message(message)
    return messages.LinkItem.FromString(encoded)


def sorted_headers(routed: Routed) -> Routed:
    headers = tuple(sorted(routed.parcel.headers))
    return routed._replace(parcel=routed.parcel._replace(headers=headers))


@given(ROUTED)
def test_a_document_arrives_as_it_was(said: Routed) -> None:
    assert sorted_headers(decode_document(item(said).document)) == said
    assert is_document(said)


def test_nobody_else_learns_on_whose_account_a_document_is_kept() -> None:
    parcel = Parcel(DocumentId("o", 1, 2), b"<a/>", 3, publisher="ann")
    assert decode_document(item(Routed(parcel, "")).document).parcel.publisher == ""


@given(addressed())
def test_what_is_for_one_broker_arrives_as_it_was(said: Addressed) -> None:
    arrived = decode_addressed(item(said).addressed)
    if isinstance(arrived.content, Routed):
        arrived = arrived._replace(content=sorted_headers(arrived.content))
    assert arrived == said
    assert is_document(said) == isinstance(said.content, Routed)


@given(st.dictionaries(NAMES, VERSIONS, max_size=5))
def test_versions_arrive_as_they_were(versions: dict[str, Version]) -> None:
    said = HomeVersions(versions)
    assert decode_versions(item(said).home_versions) == said
    assert not is_document(said)


def test_many_versions_are_one_item() -> None:
    versions = {f"b{number}": Version(1, number) for number in range(2 * PART)}
    assert decode_versions(item(HomeVersions(versions)).home_versions).versions == versions


@pytest.mark.parametrize("count", [0, 1, PART, 3 * PART + 1])
def test_the_state_of_a_home_counts_when_all_of_it_has_come(count: int) -> None:
    forward = tuple(f"/a{number}" for number in range(count))
    state = HomeState("rome", Version(3, 9), 4, forward, ("/gone",))
    parts = HomeParts()
    arrived = [
        parts.add(messages.LinkItem.FromString(each).home_state) for each in encode_message(state)
    ]
    assert arrived[-1] == state
    assert set(arrived[:-1]) <= {None}
    assert not is_document(state)


def test_hops_are_bounded() -> None:
    said = messages.Addressed(to="a", sender="b", hops=2**32 - 1)
    said.home_known.home, said.home_known.round = "a", 1
    assert decode_addressed(said).hops == 64


# --- what is hostile ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "second",
    [
        messages.HomeState(home="rome", epoch=1, version=2),
        messages.HomeState(home="rome", epoch=2, version=1),
        messages.HomeState(home="oslo", epoch=1, version=1),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(second: messages.HomeState) -> None:
    parts = HomeParts()
    parts.add(messages.HomeState(home="rome", epoch=1, version=1, more=True))
    with pytest.raises(LinkProtocolError, match="belong together"):
        parts.add(second)


def test_a_state_without_end_is_refused() -> None:
    parts = HomeParts()
    endless = repeat(messages.HomeState(home="rome", version=1, more=True), 10_000)
    with pytest.raises(LinkProtocolError, match="parts"):
        deque(map(parts.add, endless), maxlen=0)


@pytest.mark.parametrize(
    "said",
    [
        messages.HomeState(home="", version=1),
        messages.HomeState(home="no name", version=1),
        messages.HomeState(home="rome", version=TOO_HIGH),
        messages.HomeState(home="rome", epoch=TOO_HIGH),
    ],
)
def test_a_hostile_state_is_refused(said: messages.HomeState) -> None:
    with pytest.raises(LinkProtocolError):
        HomeParts().add(said)


def identity(origin: str = "o", incarnation: int = 1, number: int = 1) -> messages.DocumentId:
    return messages.DocumentId(origin=origin, incarnation=incarnation, number=number)


HOSTILE_DOCUMENTS = [
    messages.RoutedDocument(),
    messages.RoutedDocument(id=identity(origin="x" * 300)),
    messages.RoutedDocument(id=identity(incarnation=TOO_HIGH)),
    messages.RoutedDocument(id=identity(number=TOO_HIGH)),
    messages.RoutedDocument(
        id=identity(), destinations=[messages.Destination(home="h", settled=TOO_HIGH)]
    ),
    messages.RoutedDocument(id=identity(), trace=[b"7 bytes"]),
    messages.RoutedDocument(id=identity(), trace=[b"12345678"] * 4),
]


@pytest.mark.parametrize("said", HOSTILE_DOCUMENTS)
def test_a_hostile_document_is_refused(said: messages.RoutedDocument) -> None:
    with pytest.raises(LinkProtocolError):
        decode_document(said)
    with pytest.raises(LinkProtocolError):
        decode_addressed(messages.Addressed(to="a", sender="b", document=said))


@pytest.mark.parametrize(
    "said",
    [
        messages.Addressed(to="a", sender="b"),
        messages.Addressed(to="", sender="b", receipt=messages.Receipt()),
        messages.Addressed(to="a", sender="/", receipt=messages.Receipt()),
        messages.Addressed(to="a", sender="b", receipt=messages.Receipt(home="no name")),
        messages.Addressed(to="a", sender="b", home_ask=messages.HomeAsk(epoch=TOO_HIGH)),
        messages.Addressed(to="a", sender="b", home_ask=messages.HomeAsk(version=TOO_HIGH)),
    ],
)
def test_something_hostile_to_one_broker_is_refused(said: messages.Addressed) -> None:
    with pytest.raises(LinkProtocolError):
        decode_addressed(said)


@pytest.mark.parametrize("field", ["incarnation", "number"])
def test_a_hostile_receipt_is_refused(field: str) -> None:
    said = messages.Addressed(to="a", sender="b")
    number = {"incarnation": 1, "number": 1} | {field: TOO_HIGH}
    said.receipt.refused.add(reason="no", **number)
    with pytest.raises(LinkProtocolError):
        decode_addressed(said)
    said.receipt.Clear()
    said.receipt.stored.add(incarnation=number["incarnation"], numbers=[number["number"]])
    with pytest.raises(LinkProtocolError):
        decode_addressed(said)


def test_hostile_versions_are_refused() -> None:
    for home, epoch in (("", 1), ("rome", TOO_HIGH)):
        said = messages.HomeVersions()
        said.homes.add(home=home, epoch=epoch)
        with pytest.raises(LinkProtocolError):
            decode_versions(said)
