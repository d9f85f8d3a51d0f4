"""What brokers say to each other survives the wire; what nobody would say is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.broker.link_codec import (
    PART,
    LinkProtocolError,
    decode_frame,
    decode_update,
    encode_frame,
    encode_update,
)
from twigcast.covering import Change
from twigcast.language import parse
from twigcast.routing import (
    ANYTHING,
    AdvertisementKey,
    LinkState,
    Mark,
    Promise,
    Serve,
    Update,
)
from twigcast.schema import Advertisement, Schema
from twigcast.wire import messages

NEWS = Schema.from_dtd('<!ELEMENT news (p*)><!ELEMENT p (#PCDATA)><!ATTLIST p lang (en | de) "en">')


def updates(items: list[bytes]) -> list[Update]:
    return [decode_update(messages.LinkItem.FromString(item).update) for item in items]


ALERT = Schema.from_xsd(
    '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:a">'
    '<xs:element name="alert" nillable="true"><xs:complexType><xs:sequence>'
    '<xs:element name="level"><xs:simpleType><xs:restriction base="xs:int">'
    '<xs:maxInclusive value="9"/></xs:restriction></xs:simpleType></xs:element>'
    '<xs:any processContents="lax" namespace="##other"/></xs:sequence></xs:complexType>'
    "</xs:element></xs:schema>"
)
LEARNED = Schema.from_documents(["<a x='1'><b/></a>", "<c>text</c>"])


@pytest.mark.parametrize(
    "promise", [ANYTHING, NEWS, ALERT, LEARNED, Advertisement.parse("/a(/b)+/c")]
)
def test_an_update_arrives_as_it_was(promise: Promise) -> None:
    key = AdvertisementKey("rome", "client/1", "news")
    leaves = ("^north/rome/b1", "north/rome/@b1")
    update = Update(
        (
            LinkState("rome", 7, 3, (("oslo", 2.0), ("paris", 1.0))),
            LinkState("north/rome/b1", 7, 3, (("oslo", 2.0),), leaves),
            LinkState("north/b", 7, 3, (), (), (("north/a", 31), ("north/b", 0)), (5,)),
        ),
        ((key, promise),),
        (AdvertisementKey("oslo", "client/2", ""), AdvertisementKey("^north/b", "", "2", 1)),
        (Serve(3, frozenset({"rome", "oslo"})), Serve(4, frozenset(), 1)),
        ((3, Change((parse("//a[b>3]"), parse("Q{urn:x}c")), (parse("/d"),))),),
        depth=1,
        known=Mark(12, b"of twelve"),
        goes_on=Mark(0, b""),
    )
    arrived = updates(encode_update(update))
    assert {each.depth for each in arrived} == {1}
    assert [each.known for each in arrived if each.known] == [update.known]
    assert [each.goes_on for each in arrived if each.goes_on] == [update.goes_on]
    assert arrived[0].states == update.states
    assert [each for one in arrived for each in one.advertise] == list(update.advertise)
    assert [each for one in arrived for each in one.unadvertise] == list(update.unadvertise)
    assert [each for one in arrived for each in one.serve] == list(update.serve)
    changes = [change for one in arrived for _, change in one.changes]
    assert [each for change in changes for each in change.forward] == list(
        update.changes[0][1].forward
    )
    assert [each for change in changes for each in change.withdraw] == [parse("/d")]


def test_a_large_update_is_cut_and_forwards_before_it_withdraws() -> None:
    forward = tuple(parse(f"/a{number}") for number in range(3 * PART))
    withdraw = tuple(parse(f"/b{number}") for number in range(2 * PART))
    arrived = updates(encode_update(Update(changes=((1, Change(forward, withdraw)),))))
    assert len(arrived) >= 5
    changes = [change for one in arrived for _, change in one.changes]
    assert tuple(each for change in changes for each in change.forward) == forward
    assert tuple(each for change in changes for each in change.withdraw) == withdraw
    last_forward = max(index for index, change in enumerate(changes) if change.forward)
    first_withdraw = min(index for index, change in enumerate(changes) if change.withdraw)
    assert last_forward < first_withdraw
    assert max(len(change.forward) + len(change.withdraw) for change in changes) <= PART


def test_channels_go_on_behind_all_advertisements() -> None:
    keys = [AdvertisementKey("rome", "client", str(number)) for number in range(5)]
    update = Update(
        advertise=tuple((key, NEWS) for key in keys),
        serve=(Serve(1, frozenset({"rome"})),),
        known=Mark(3, b"3"),
        goes_on=Mark(4, b"4"),
    )
    arrived = updates(encode_update(update))
    assert arrived[0].known == update.known
    last = max(index for index, each in enumerate(arrived) if each.advertise)
    (index,) = (index for index, each in enumerate(arrived) if each.goes_on)
    assert last <= index <= min(index for index, each in enumerate(arrived) if each.serve)


def test_frames_are_numbered_and_summed() -> None:
    item = messages.LinkItem(refused="no").SerializeToString()
    frame = encode_frame(3, [item, item])
    assert [each.refused for each in decode_frame(frame, 3)] == ["no", "no"]
    with pytest.raises(LinkProtocolError, match="frame 3 came where frame 4"):
        decode_frame(frame, 4)
    for position in range(len(frame)):
        for bit in (1, 0x80):
            damaged = bytearray(frame)
            damaged[position] ^= bit
            with pytest.raises(LinkProtocolError):
                decode_frame(bytes(damaged), 3)


@given(st.binary(max_size=200))
def test_garbage_is_refused_as_such(data: bytes) -> None:
    with pytest.raises(LinkProtocolError):
        decode_frame(data, 1)


@pytest.mark.parametrize(
    "said",
    [
        messages.Update(states=[messages.LinkState(broker="")]),
        messages.Update(known=messages.Mark(entries=2**61)),
        messages.Update(goes_on=messages.Mark(digest=b"x" * 65)),
        messages.Update(states=[messages.LinkState(broker="x" * 300)]),
        messages.Update(states=[messages.LinkState(broker="a/b/c/d/e")]),
        messages.Update(states=[messages.LinkState(broker="a//b")]),
        messages.Update(states=[messages.LinkState(broker="a", members=["a", "b"], bits=[0])]),
        messages.Update(states=[messages.LinkState(broker="a", members=["a", "b"], bits=[0, 0])]),
        messages.Update(states=[messages.LinkState(broker="a", members=["a"], bits=[32])]),
        messages.Update(states=[messages.LinkState(broker="a", members=["^a"], bits=[1])]),
        messages.Update(states=[messages.LinkState(broker="a", address=[32])]),
        messages.Update(states=[messages.LinkState(broker="a/")]),
        messages.Update(states=[messages.LinkState(broker="/a")]),
        messages.Update(states=[messages.LinkState(broker="^a/b")]),
        messages.Update(states=[messages.LinkState(broker="a/@b")]),
        *(
            messages.Update(states=[messages.LinkState(broker="a/b", leaves=[leaf])])
            for leaf in ("", "^", "@b", "a/@", "a/@@b", "a/@b/@c", "^a/@b", "^^a", "a/b/c/@d/e")
        ),
        messages.Update(unadvertise=[messages.AdvertisementKey(origin="a/@b/c/d/e")]),
        messages.Update(
            states=[messages.LinkState(broker="a", links=[messages.Neighbour(broker="b", cost=-1)])]
        ),
        messages.Update(changes=[messages.ChannelChange(channel=1, forward=["/a["])]),
        messages.Update(
            advertise=[
                messages.AdvertisementOf(
                    key=messages.AdvertisementKey(origin="a"), dtd=messages.Dtd(text="/etc/passwd")
                )
            ]
        ),
        messages.Update(
            advertise=[
                messages.AdvertisementOf(
                    key=messages.AdvertisementKey(origin="a"),
                    dtd=messages.Dtd(text='<!ENTITY % x SYSTEM "/x"> %x; <!ELEMENT a EMPTY>'),
                )
            ]
        ),
        messages.Update(
            advertise=[
                messages.AdvertisementOf(
                    key=messages.AdvertisementKey(origin="a"), dtd=messages.Dtd(text="<!bad")
                )
            ]
        ),
    ],
)
def test_what_no_broker_says_is_refused(said: messages.Update) -> None:
    with pytest.raises(LinkProtocolError):
        decode_update(said)
