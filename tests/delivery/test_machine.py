"""The machine of durable delivery: what it does about each thing that happens."""

from __future__ import annotations

import pytest
from delivery_brokers import Broker, Net

from twigcast.delivery.custody import WINDOW, Debt
from twigcast.delivery.events import (
    Acknowledged,
    Addressed,
    Again,
    Answer,
    Asked,
    Came,
    ConsumerLeft,
    Drop,
    DurableDropped,
    GivenBack,
    HomeForgotten,
    Leased,
    Outdated,
    Queue,
    Receipt,
    Routed,
    Send,
    Stored,
    StoreFailed,
    Tick,
    TooLarge,
)
from twigcast.delivery.publishing import UNCONFIRMED
from twigcast.delivery.writes import (
    NOTHING,
    DurableOptions,
    KeepDocument,
    NoteAttempts,
    Replay,
    SetAside,
    SetAsideOwed,
)
from twigcast.errors import RefusedError
from twigcast.routing.messages import DocumentId, LinkKind, LinkUp


def sent(broker: Broker) -> list[bytes]:
    """The documents that a broker has sent along trees."""
    return [
        each.message.parcel.content for each in broker.all(Send) if isinstance(each.message, Routed)
    ]


def pair(stores: str = "oh") -> tuple[Net, Broker, Broker]:
    """An origin and a home that wants /a."""
    net = Net("oh", stores)
    net.brokers["h"].keep("d", "/a")
    return net, net.brokers["o"], net.brokers["h"]


# --- a broker with a store ------------------------------------------------------------------------


def test_a_document_is_answered_when_it_is_stored_and_not_before() -> None:
    net, origin, _ = pair()
    origin.holds = True
    ticket = origin.publish()
    net.settle()
    assert origin.answers(ticket) == []
    assert sent(origin) == []
    origin.holds = False
    net.settle()
    [answer] = origin.answers(ticket)
    assert answer.id.startswith("o:")
    assert sent(origin) == [b"<a/>"]


def test_a_document_that_could_not_be_stored_is_refused_and_not_sent() -> None:
    net, origin, home = pair()
    origin.holds = True
    ticket = origin.publish(publication="p")
    origin.tell(StoreFailed(origin.writes.popleft().ticket, "the disk is full"))
    net.settle()
    assert origin.answers(ticket) == [Answer(ticket, "", "unavailable", "the disk is full")]
    assert sent(origin) == []
    origin.holds = False
    again = origin.publish(publication="p")
    net.settle()
    assert not origin.answers(again)[0].code
    assert home.queued() == [b"<a/>"]


def test_documents_of_a_publisher_are_released_in_order() -> None:
    net, origin, _ = pair()
    origin.subscribe("/b")
    origin.router.handle(LinkUp(LinkKind.CLIENT), "other")
    origin.holds = True
    origin.publish(b"<a/>")
    second = origin.publish(b"<b/>")
    assert len(origin.answers(second)) == 1, "nothing of it is stored"
    assert origin.offered() == []
    origin.publish(b"<b>other</b>", link="other")
    assert origin.offered() == [b"<b>other</b>"]
    origin.holds = False
    net.settle()
    assert origin.offered() == [b"<b>other</b>", b"<b/>"]


def test_a_document_that_fails_does_not_hold_up_the_next() -> None:
    net, origin, home = pair()
    origin.holds = True
    origin.publish(b"<a>1</a>")
    origin.publish(b"<a>2</a>")
    first, second = origin.writes
    origin.writes.clear()
    assert origin.disk is not None
    origin.tell(StoreFailed(first.ticket, "no"))
    origin.tell(Stored(second.ticket, origin.disk.apply(second.write)))
    net.settle()
    assert home.queued() == [b"<a>2</a>"]


def test_what_nobody_wants_durably_is_not_stored() -> None:
    _, origin, _ = pair()
    ticket = origin.publish(b"<b/>")
    assert len(origin.answers(ticket)) == 1
    assert origin.written(KeepDocument) == []


def test_a_home_confirms_what_it_has_stored() -> None:
    net, origin, home = pair()
    home.holds = True
    origin.publish()
    net.tick()
    assert origin.machine.custody.owed == {"h": 1}
    home.holds = False
    net.settle()
    net.tick()
    assert origin.machine.custody.owed == {"h": 0}
    assert origin.disk is not None
    assert not origin.disk.owed["h"]


def test_what_a_home_could_not_store_comes_again() -> None:
    net, origin, home = pair()
    home.holds = True
    origin.publish()
    net.settle()
    home.tell(StoreFailed(home.writes.popleft().ticket, "no"))
    home.holds = False
    for _ in range(4):
        net.tick()
    assert home.queued() == [b"<a/>"]
    assert origin.machine.custody.owed == {"h": 0}


def test_a_home_that_cannot_be_reached_gets_everything_later() -> None:
    net, origin, home = pair()
    net.part("o", "h")
    ticket = origin.publish()
    net.settle()
    assert len(origin.answers(ticket)) == 1
    net.join("o", "h")
    net.tick()
    assert home.queued() == [b"<a/>"]


def test_what_is_owed_survives_a_restart() -> None:
    net, origin, home = pair()
    net.lost.add(("o", "h"))
    origin.publish()
    net.settle()
    net.lost.clear()
    net.restart("o", 5)
    net.tick()
    assert home.queued() == [b"<a/>"]


def test_a_receipt_for_something_unknown_does_nothing() -> None:
    _, origin, _ = pair()
    unknown = DocumentId("o", 1, 77)
    receipt = Receipt((unknown,), ((unknown, "no"),))
    for sender in ("h", "nobody"):
        assert origin.tell(Came("h", Addressed("o", sender, receipt))) == []


# --- a broker without one -------------------------------------------------------------------------


def test_a_broker_without_a_store_refuses_while_a_home_cannot_be_reached() -> None:
    net, origin, home = pair("h")
    net.part("o", "h")
    with pytest.raises(RefusedError, match="cannot be reached") as refused:
        origin.publish()
    assert refused.value.code == "unavailable"
    origin.publish(b"<b/>")
    net.join("o", "h")
    origin.publish()
    net.settle()
    assert home.queued() == [b"<a/>"]


def test_a_broker_without_a_store_answers_when_all_homes_have_confirmed() -> None:
    net = Net("hog", "hg")
    for each in "hg":
        net.brokers[each].keep(f"at {each}", "/a")
    origin, slow = net.brokers["o"], net.brokers["g"]
    slow.holds = True
    ticket = origin.publish()
    net.settle()
    net.tick()
    assert origin.machine.custody.owed == {"h": 0, "g": 1}
    assert origin.answers(ticket) == []
    slow.holds = False
    net.settle()
    net.tick()
    assert [each.code for each in origin.answers(ticket)] == [""]


def test_a_broker_without_a_store_gives_up_after_a_while() -> None:
    net, origin, _ = pair("h")
    net.lost.add(("h", "o"))
    ticket = origin.publish(publication="p")
    net.tick(UNCONFIRMED + 1)
    assert [each.code for each in origin.answers(ticket)] == ["unavailable"]
    assert origin.machine.custody.owed == {"h": 0}
    net.lost.clear()
    again = origin.publish(publication="p")
    net.settle()
    net.tick()
    assert [each.code for each in origin.answers(again)] == [""]


def test_a_broker_without_a_store_answers_at_once_where_no_home_wants_it() -> None:
    _, origin, _ = pair("h")
    assert len(origin.answers(origin.publish(b"<b/>"))) == 1


# --- publications ---------------------------------------------------------------------------------


@pytest.mark.parametrize("stores", ["oh", "h"])
def test_a_publication_that_comes_again_is_answered_with_the_first_id(stores: str) -> None:
    net, origin, home = pair(stores)
    first = origin.publish(publication="p")
    meanwhile = origin.publish(publication="p")
    net.tick()
    later = origin.publish(publication="p")
    net.tick()
    answers = [origin.answers(each) for each in (first, meanwhile, later)]
    assert len({answer.id for [answer] in answers}) == 1
    assert sent(origin) == [b"<a/>"]
    assert home.queued() == [b"<a/>"]


def test_a_publication_is_known_after_a_restart() -> None:
    net, origin, home = pair()
    first = origin.publish(publication="p")
    net.settle()
    [answer] = origin.answers(first)
    net.restart("o", 5)
    again = origin.publish(publication="p")
    net.settle()
    assert [each.id for each in origin.answers(again)] == [answer.id]
    net.tick()
    assert home.queued() == [b"<a/>"]


def test_another_content_under_the_same_id_is_refused() -> None:
    net, origin, home = pair()
    origin.publish(b"<a>1</a>", "p")
    with pytest.raises(RefusedError, match="another document") as refused:
        origin.publish(b"<a>2</a>", "p")
    assert refused.value.code == "taken"
    net.settle()
    net.restart("o", 5)
    ticket = origin.publish(b"<a>2</a>", "p")
    net.settle()
    assert [each.code for each in origin.answers(ticket)] == ["taken"]
    net.tick()
    assert home.queued() == [b"<a>1</a>"]


@pytest.mark.parametrize("stores", ["ohp", "h"])
def test_a_publication_at_two_brokers_comes_once(stores: str) -> None:
    net = Net("ohp", stores)
    home = net.brokers["h"]
    home.keep("d", "/a")
    home.subscribe("/a")
    tickets = {name: net.brokers[name].publish(publication="p") for name in "op"}
    net.tick()
    net.tick()
    for name, ticket in tickets.items():
        assert [each.code for each in net.brokers[name].answers(ticket)] == [""]
        assert net.brokers[name].machine.custody.owed == {"h": 0}
    assert home.queued() == [b"<a/>"]
    assert home.offered() == [b"<a/>"]


def test_another_content_at_another_broker_becomes_a_letter_at_the_home() -> None:
    net = Net("ohp", "ohp")
    home = net.brokers["h"]
    home.keep("d", "/a")
    net.brokers["o"].publish(b"<a>1</a>", "p")
    net.settle()
    net.brokers["p"].publish(b"<a>2</a>", "p")
    net.settle()
    net.tick()
    assert home.queued() == [b"<a>1</a>"]
    assert home.disk is not None
    assert ["another document" in each.reason for each in home.disk.letters.values()] == [True]
    assert net.brokers["p"].machine.custody.owed == {"h": 0}


# --- what cannot be delivered ---------------------------------------------------------------------


def test_what_is_too_large_on_the_way_becomes_a_letter_at_the_origin() -> None:
    net = Net("oxh", "oh")
    net.brokers["h"].keep("d", "/a")
    origin, between = net.brokers["o"], net.brokers["x"]
    net.lost.add(("x", "h"))
    origin.publish()
    net.settle()
    net.tick(5.0)
    again = [
        each.message
        for each in between.all(Send)
        if isinstance(each.message, Addressed) and isinstance(each.message.content, Routed)
    ]
    net.lost.clear()
    between.tell(TooLarge("h", again[0], "4 bytes are too many"))
    net.settle()
    [aside] = origin.written(SetAsideOwed)
    assert (aside.home, aside.reason) == ("h", "4 bytes are too many")
    assert origin.machine.custody.owed == {"h": 0}
    assert len(origin.all(Drop)) == 1


def test_what_is_too_large_for_the_first_link_becomes_a_letter() -> None:
    net, origin, _ = pair()
    net.part("o", "h")
    origin.publish()
    net.settle()
    assert origin.disk is not None
    parcel = next(iter(origin.disk.documents.values()))
    message = Addressed("h", "o", Routed(parcel, "", (Debt("h", 0),)))
    origin.tell(TooLarge("h", message, "no"))
    net.settle()
    assert [each.home for each in origin.disk.letters.values()] == ["h"]
    assert origin.tell(TooLarge("h", Routed(parcel, "o"), "no")) == []


def test_many_that_cannot_be_delivered_do_not_hold_up_the_rest() -> None:
    net, origin, home = pair()
    net.lost.add(("o", "h"))
    for number in range(2 * WINDOW + 10):
        origin.publish(b"<a>%d</a>" % number)
    net.settle()
    net.lost.clear()
    home.holds = True  # what comes first is never stored
    for _ in range(3):
        net.tick(40.0)
    stuck = {each.write.parcel.id for each in home.writes if isinstance(each.write, KeepDocument)}
    assert len(stuck) > WINDOW


# --- durable subscriptions ------------------------------------------------------------------------


def test_what_is_acknowledged_is_answered_when_that_is_stored() -> None:
    net, origin, home = pair()
    origin.publish()
    net.settle()
    home.holds = True
    home.tell(Acknowledged(7, "d", 1))
    assert home.answers(7) == []
    home.write()
    assert len(home.answers(7)) == 1
    home.tell(Acknowledged(8, "d", 1))
    home.tell(Acknowledged(9, "nothing", 1))
    assert (len(home.answers(8)), len(home.answers(9))) == (0, 1)
    home.write()  # what was said before is safe when this is
    assert len(home.answers(8)) == 1


def test_what_is_acknowledged_is_written_again_if_that_failed() -> None:
    net = Net("h", "h")
    home = net.brokers["h"]
    home.keep("d", "/a")
    for _ in range(4):
        home.publish()
    net.settle()
    queue = home.machine.queues["d"]
    queue.attach("x")
    queue.take("x", 9, net.now)
    home.holds = True
    home.tell(Acknowledged(0, "d", 0, (2, 3)))
    home.tell(StoreFailed(home.writes.popleft().ticket, "no"))
    home.tell(Acknowledged(7, "d", 0))  # what was said before is safe when this is
    assert set(home.writes[-1].write.sequences) == {2, 3}  # type: ignore[union-attr]
    home.tell(StoreFailed(home.writes.popleft().ticket, "no"))
    assert [each.code for each in home.answers(7)] == ["unavailable"]
    home.tell(Tick())
    assert set(home.writes[-1].write.sequences) == {2, 3}  # type: ignore[union-attr]
    home.write()
    home.tell(Tick())
    assert not home.writes


def test_a_guarded_broker_answers_only_after_a_write() -> None:
    net = Net("h", "h", is_guarded=True)
    net.settle()
    home = net.brokers["h"]
    home.holds = True
    ticket = home.publish()
    assert [each.write for each in home.writes] == [NOTHING]
    assert home.answers(ticket) == []
    home.write()
    assert [each.code for each in home.answers(ticket)] == [""]
    ticket = home.publish(publication="mine")
    again = home.publish(publication="mine")
    home.tell(StoreFailed(home.writes.popleft().ticket, "another broker has opened the store"))
    assert [each.code for each in home.answers(ticket)] == ["unavailable"]
    assert [each.code for each in home.answers(again)] == ["unavailable"]


def test_what_comes_back_too_often_is_set_aside_and_may_be_replayed() -> None:
    net = Net("h", "h")
    home = net.brokers["h"]
    home.keep("d", "/a", DurableOptions(most_attempts=2))
    home.publish()
    net.settle()
    queue = home.machine.queues["d"]
    queue.attach("x")
    assert queue.take("x", 9, 0.0) == [1]
    home.tell(GivenBack("d", "x", [1]))
    assert home.written(NoteAttempts) == [NoteAttempts("d", {1: 1})]
    assert queue.take("x", 9, 0.0) == [1]
    home.tell(ConsumerLeft("d", "x", 1))
    assert [each.sequences for each in home.written(SetAside)] == [(1,)]
    net.settle()
    assert queue.waiting == 0
    home.tell(Asked(5, Replay((1,), 0)))
    net.settle()
    assert len(home.answers(5)) == 1
    assert queue.waiting == 1
    for event in (GivenBack("none", "x", [1]), ConsumerLeft("none", "x")):
        assert home.tell(event) == []


def test_what_is_had_for_a_while_comes_again_when_that_is_over() -> None:
    net = Net("h", "h")
    home = net.brokers["h"]
    home.keep("d", "/a", DurableOptions(is_shared=True, most_attempts=2))
    home.publish()
    home.publish()
    net.settle()
    queue = home.machine.queues["d"]
    for times in (1, 2):
        queue.attach("x")
        assert queue.take("x", 9, net.now) == [1, 2]
        assert home.tell(Leased("d", "x", 5.0)) == []
        assert Again("d") not in home.tell(Tick())
        net.now += 5.0
        assert Again("d") in home.tell(Tick())
        assert home.written(NoteAttempts)[-1].attempts == {1: times, 2: times}
    assert [each.sequences for each in home.written(SetAside)] == [(1, 2)]
    assert home.tell(Leased("none", "x", 5.0)) == []


def test_a_durable_subscription_that_could_not_be_dropped_goes_on() -> None:
    net, origin, home = pair()
    home.holds = True
    home.tell(DurableDropped(7, "d"))
    home.tell(StoreFailed(home.writes.popleft().ticket, "no"))
    home.holds = False
    assert [each.code for each in home.answers(7)] == ["unavailable"]
    net.settle()
    origin.publish()
    net.settle()
    assert home.queued() == [b"<a/>"]


def test_a_home_that_is_forgotten_is_owed_nothing() -> None:
    net, origin, _ = pair()
    net.part("o", "h")
    origin.publish()
    net.settle()
    origin.tell(HomeForgotten("h"))
    net.settle()
    assert origin.machine.custody.owed == {}
    assert len(origin.answers(origin.publish())) == 1
    assert origin.disk is not None
    assert not origin.disk.owed


# --- stores that were lost ------------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["o", "h"])
@pytest.mark.parametrize("incarnation", [1, 10**6])
def test_a_store_is_replaced_while_the_clock_is_anywhere(lost: str, incarnation: int) -> None:
    net = Net("oh", "oh")
    one, other = net.brokers["o"], net.brokers["h"]
    for each in (one, other):
        each.keep(f"at {each.name}", "/a")
    one.publish(b"<a>1</a>")
    net.settle()
    net.tick()
    net.restart(lost, incarnation, replace=True)
    net.brokers[lost].keep(f"at {lost}", "/a")
    for each in (one, other):
        each.said.clear()
    for each in (one, other):
        each.publish(b"<a>2</a>")
        net.settle()
        net.tick()
    for each in (one, other):
        assert len(each.all(Queue)) == 2
        assert set(each.machine.custody.owed.values()) == {0}


# --- documents that expire ------------------------------------------------------------------------


def test_what_has_expired_already_is_refused() -> None:
    _, origin, _ = pair()
    with pytest.raises(RefusedError, match="has expired already"):
        origin.publish(expires=1)


@pytest.mark.parametrize("stores", ["oh", "h"])
def test_what_expires_on_a_link_is_confirmed_and_not_queued(stores: str) -> None:
    net, origin, home = pair(stores)
    home.subscribe("/a")
    tickets = [origin.publish(content, expires=9) for content in (b"<a/>", b"<a>2</a>")]
    while origin.writes:
        origin.write()
    net.time = 9
    origin.publish(b"<a>3</a>")
    net.settle()
    net.tick()
    assert home.queued() == home.offered() == [b"<a>3</a>"]
    assert [len(origin.answers(each)) for each in tickets] == [1, 1]
    assert origin.machine.custody.owed == {"h": 0}
    assert len(home.all(Outdated)) == 2


def test_what_expires_while_its_home_is_away_is_owed_no_more() -> None:
    net, origin, home = pair()
    net.part("o", "h")
    origin.publish(b"<a/>", expires=9)
    origin.publish(b"<a>2</a>")
    net.settle()
    net.time = 9
    net.join("o", "h")
    net.tick()
    net.tick()
    assert home.queued() == [b"<a>2</a>"]
    assert origin.machine.custody.owed == {"h": 0}
    assert len(origin.all(Outdated)) == 1
    net.restart("o", 5)
    assert origin.machine.custody.owed.get("h", 0) == 0


def test_a_broker_in_between_passes_on_nothing_that_has_expired() -> None:
    net = Net("omh", "oh")
    net.brokers["h"].keep("d", "/a")
    origin, middle, home = net
    origin.publish(b"<a/>", expires=9)
    origin.write()
    net.time = 9
    net.settle()
    assert len(middle.all(Outdated)) == 1
    for _ in range(5):
        net.tick()
    assert home.queued() == []
    assert origin.machine.custody.owed == {"h": 0}
