"""Who knows what is wanted durably: asked, answered, and never said too early."""

from __future__ import annotations

import pytest
from delivery_brokers import Broker, Net

from twigcast.delivery.events import (
    Addressed,
    AskKnown,
    Came,
    DurablePut,
    HomeAsk,
    HomeForgotten,
    HomeKnown,
    HomeVersions,
    Send,
    StoreFailed,
)
from twigcast.delivery.homes import HomeState
from twigcast.delivery.writes import PutDurable, SetHomeVersion, Version
from twigcast.language import parse


def unreached(broker: Broker, ticket: int) -> list[tuple[str, ...] | None]:
    return [each.unreached for each in broker.answers(ticket)]


def knows(broker: Broker) -> int:
    """How often a broker has said that it knows what a home wants."""
    said = [each.message for each in broker.all(Send)]
    return sum(isinstance(each, Addressed) and isinstance(each.content, HomeKnown) for each in said)


def test_whoever_asks_waits_for_all_brokers() -> None:
    net = Net("hxy", "hy")
    home, far = net.brokers["h"], net.brokers["y"]
    far.holds = True
    home.keep("d", "/a")
    home.tell(AskKnown(5, 10.0))
    net.settle()
    assert unreached(home, 5) == [], "y could forget it"
    far.holds = False
    net.settle()
    net.tick()
    assert unreached(home, 5) == [()]


def test_a_home_alone_is_answered_at_once() -> None:
    home = Net("h", "h").brokers["h"]
    home.tell(AskKnown(5, 10.0))
    assert unreached(home, 5) == [()]


def test_brokers_that_cannot_be_reached_are_named() -> None:
    net = Net("hxy", "hxy")
    home = net.brokers["h"]
    net.part("x", "y")
    home.keep("d", "/a")
    home.tell(AskKnown(5, 10.0))
    net.settle()
    net.tick()
    assert unreached(home, 5) == [("y",)]


def test_brokers_that_do_not_answer_in_time_are_named() -> None:
    net = Net("hx", "hx")
    home = net.brokers["h"]
    home.keep("d", "/a")
    net.lost.add(("x", "h"))
    home.tell(AskKnown(5, 10.0))
    net.settle()
    net.tick(9.0)
    assert unreached(home, 5) == []
    net.tick(2.0)
    assert unreached(home, 5) == [("x",)]


def test_many_who_ask_at_once_are_served_by_two_rounds() -> None:
    net = Net("hx", "hx")
    home = net.brokers["h"]
    home.keep("d", "/a")
    for ticket in range(1, 100):
        home.tell(AskKnown(ticket, 10.0))
    net.settle()
    assert [unreached(home, ticket) for ticket in range(1, 100)] == [[()]] * 99
    assert knows(net.brokers["x"]) == 2


def test_what_was_known_of_an_earlier_epoch_is_not_known() -> None:
    net = Net("hx", "x")
    other = net.brokers["x"]
    other.tell(Came("h", HomeState("h", Version(9 * 10**9, 7), 0, ("/old",))))
    net.settle()
    said = knows(other)
    other.tell(Came("h", Addressed("x", "h", HomeAsk("h", Version(5, 1), 1))))
    assert knows(other) == said


def remembering(net: Net, epochs: int) -> Broker:
    """Let y know a version of h that only a lost store of h had, and nothing of what h wanted."""
    far = net.brokers["y"]
    version = Version(net.brokers["h"].machine.announcing.versions["h"].epoch + epochs, 2**40)
    net.lost.add(("y", "x"))
    far.tell(Came("x", HomeState("h", version, 0, ())))
    net.settle()
    net.lost.clear()
    net.restart("y", 10**6)
    assert far.machine.announcing.versions["h"] == version
    return far


@pytest.mark.parametrize("epochs", [0, 1])
def test_a_home_that_says_too_low_a_version_hears_of_it_from_far_away(epochs: int) -> None:
    net = Net("hxy", "hxy")
    far = remembering(net, epochs)
    net.brokers["h"].keep("d", "/a")
    assert far.machine.announcing.patterns["h"] == 1
    assert far.machine.announcing.versions == net.brokers["h"].machine.announcing.versions


@pytest.mark.parametrize("epochs", [0, 1])
def test_a_home_that_asks_about_too_low_a_version_hears_of_it_from_far_away(epochs: int) -> None:
    net = Net("hxy", "hxy")
    home = net.brokers["h"]
    home.keep("d", "/a")
    far = remembering(net, epochs)
    home.tell(AskKnown(5, 10.0))
    net.settle()
    net.tick()
    assert unreached(home, 5) == [()]
    assert far.machine.announcing.patterns["h"] == 1


@pytest.mark.parametrize("epoch", [2**60 - 1, 2**60])
def test_a_home_that_is_asked_back_about_a_forged_epoch_stays_in_its_own(epoch: int) -> None:
    net = Net("hx", "hx")
    home = net.brokers["h"]
    before = home.machine.announcing.versions["h"]
    home.tell(Came("x", Addressed("h", "x", HomeAsk("h", Version(epoch, 1), 0))))
    assert home.machine.announcing.versions["h"] == before


def test_an_answer_from_before_a_leap_does_not_count() -> None:
    net = Net("hx", "hx")
    home = net.brokers["h"]
    home.keep("d", "/a")
    net.lost.add(("x", "h"))
    home.tell(AskKnown(5, 10.0))
    net.settle()
    home.tell(Came("x", HomeVersions({"h": Version(9 * 10**9, 7)})))
    home.tell(Came("x", Addressed("h", "x", HomeKnown("h", 1))))
    assert unreached(home, 5) == []
    net.lost.clear()
    net.settle()
    net.tick()
    assert unreached(home, 5) == [()]
    assert home.machine.announcing.versions["h"].epoch > 9 * 10**9


def test_what_changes_something_that_was_not_stored_is_stored_whole() -> None:
    net = Net("hx", "hx")
    home, other = net.brokers["h"], net.brokers["x"]
    home.keep("d", "/a")
    other.holds = True
    home.keep("e", "/b")
    other.tell(StoreFailed(other.writes.popleft().ticket, "no"))
    other.holds = False
    home.keep("f", "/c")
    assert other.disk is not None
    assert "/b" not in other.disk.homes["h"].patterns, "what is safe is known still"
    home.tell(AskKnown(5, 10.0))
    net.settle()
    assert unreached(home, 5) == []
    net.tick()
    assert unreached(home, 5) == [()]
    assert set(other.disk.homes["h"].patterns) == {"/a", "/b", "/c"}


def test_who_has_forgotten_a_home_does_not_say_that_it_knows() -> None:
    net = Net("hx", "hx")
    home, other = net.brokers["h"], net.brokers["x"]
    home.keep("d", "/a")
    other.tell(HomeForgotten("h"))
    net.settle()
    home.keep("e", "/a/b")
    home.tell(AskKnown(5, 3.0))
    net.tick(4.0)
    assert unreached(home, 5) == [("x",)]
    home.keep("f", "/c")
    home.tell(AskKnown(6, 3.0))
    net.settle()
    assert unreached(home, 6) == [()]
    assert other.machine.announcing.patterns == {"h": 2}


def test_a_broker_that_stops_in_order_need_not_say_everything_anew() -> None:
    net = Net("h", "h")
    home = net.brokers["h"]
    home.keep("d", "/a")
    [end] = home.machine.end()
    assert end == (0, SetHomeVersion(home.machine.announcing.versions["h"]))


def test_a_broker_that_stops_amid_a_change_says_everything_anew() -> None:
    net = Net("h", "h")
    home = net.brokers["h"]
    home.keep("d", "/a")
    home.holds = True
    home.tell(DurablePut(0, PutDurable("d", "ann", {"k": str(parse("/b"))})))
    assert home.machine.end() == [], "it is being written"
    home.write()
    assert home.machine.end() == [], "nobody was told of it"
