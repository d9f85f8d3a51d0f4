"""Documents that are owed from unit to unit: gateways take them over, on disk, one for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import pytest
from delivery_net import THREE_LEVELS, TWO_GATEWAYS, TWO_UNITS, Net

from twigcast.delivery import (
    Acknowledged,
    Addressed,
    Came,
    Debt,
    HomeForgotten,
    HomeVersions,
    Limits,
    Parcel,
    Receipt,
    Routed,
    Version,
    broker_of,
    custody,
    group_of,
)
from twigcast.delivery.levels import Levels
from twigcast.hierarchy import Crossings, Gateway, make_router
from twigcast.routing import DocumentId, Overlay

# --- names ----------------------------------------------------------------------------------------


def test_homes_that_stand_for_a_unit_are_named_after_their_gateways() -> None:
    levels = Levels(make_router("n/x/b", "n"))
    oslo, north, whole = levels
    assert oslo.own == ("n/x/b", "^n/x/@b")
    assert north.own == ("n/x/@b", "^n/@x/b")
    assert whole.own == ("n/@x/b",)
    assert [each.depth for each in (oslo, north, whole)] == [2, 1, 0]
    for level in levels:
        for home in level.own:
            assert levels.of(home) is level
            assert broker_of(home) == "n/x/b"
    assert levels.of("s/@a") is whole
    assert levels.of("n/y/a") is None
    assert group_of("^n/@x/b") == "^n" != group_of("n/@x/b") == "n"


def test_what_a_home_wants_is_wanted_beyond_but_not_where_it_came_from() -> None:
    oslo, north, whole = Levels(make_router("n/x/b", "n"))
    assert [*oslo.fed_by("n/x/a")] == ["n/x/@b"]
    assert [*oslo.fed_by("^n/x/@a")] == []
    assert [*north.fed_by("n/y/@a")] == ["^n/x/@b", "n/@x/b"]
    assert [*north.fed_by("n/x/@a")] == ["n/@x/b"]  # another gateway of the same unit
    assert [*north.fed_by("^n/@y/a")] == ["^n/x/@b"]
    assert [*whole.fed_by("s/@a")] == ["^n/@x/b"]


# --- from unit to unit ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("network", "origin", "home"),
    [
        (TWO_UNITS, "n/a", "s/b"),
        (TWO_UNITS, "n/b", "s/a"),
        (TWO_UNITS, "n/a", "n/b"),
        (TWO_GATEWAYS, "n/a", "s/c"),
        (TWO_GATEWAYS, "s/c", "n/a"),
        (THREE_LEVELS, "n/x/a", "s/b"),
        (THREE_LEVELS, "s/b", "n/x/a"),
        (THREE_LEVELS, "n/x/a", "n/y/b"),
    ],
)
def test_a_document_gets_to_a_home_in_another_unit_once(
    network: tuple[list[tuple[str, str]], Mapping[str, str]], origin: str, home: str
) -> None:
    net = Net(network)
    net.subscribe(home)
    assert net.ask_known(home) == ()
    net.publish(origin)
    net.publish(origin, "<b/>")
    net.settle()
    net.settle(10.0)
    assert net.queue(home) == ["<a/>"]
    assert net.owed() == {}


def test_a_gateway_takes_over_while_the_unit_beyond_cannot_be_reached() -> None:
    net = Net(TWO_UNITS)
    net.subscribe("s/b")
    net.world.cut(("n/b", "s/a"))
    net.publish("n/a")
    net.settle(3.0)
    assert net.owed() == {"n/b": {"s/@a": 1}}
    net.world.crash(net["n/a"])
    net.world.mend(("n/b", "s/a"))
    net.settle(3.0)
    assert net.queue("s/b") == ["<a/>"]


def test_a_gateway_goes_on_with_what_it_took_over_after_a_crash() -> None:
    net = Net(TWO_UNITS)
    net.subscribe("s/b")
    net.world.cut(("n/b", "s/a"))
    net.publish("n/a")
    net.settle(3.0)
    net.world.crash(net["n/b"])
    net.world.start(net["n/b"])
    net.world.mend(("n/b", "s/a"))
    net.settle(5.0)
    assert net.queue("s/b") == ["<a/>"]
    assert net.owed() == {}


def test_a_gateway_with_durable_subscriptions_keeps_and_hands_over() -> None:
    net = Net(TWO_UNITS)
    for home in ("n/b", "s/a", "s/b"):
        net.subscribe(home, f"at {home}")
    net.publish("n/a")
    net.settle(3.0)
    for home in ("n/b", "s/a", "s/b"):
        assert net.queue(home, f"at {home}") == ["<a/>"]


def test_documents_of_one_broker_stay_in_order_on_their_way_through_gateways() -> None:
    net = Net(TWO_UNITS)
    net.subscribe("s/b")
    contents = [f"<a>{number}</a>" for number in range(9)]
    for content in contents:
        net.publish("n/a", content)
    net.settle(3.0)
    assert net.queue("s/b") == contents


def test_what_is_wanted_nowhere_else_stays_in_its_unit() -> None:
    net = Net(TWO_UNITS)
    net.subscribe("n/b")
    net.publish("n/a")
    net.settle()
    gateway = net["s/a"].disk
    assert gateway is not None
    assert gateway.documents == {}


# --- who knows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("home", ["s/b", "s/a", "n/y/a", "n/x/a"])
def test_a_subscription_is_confirmed_when_brokers_of_other_units_know_of_it(home: str) -> None:
    net = Net(THREE_LEVELS)
    net.subscribe(home)
    assert net.ask_known(home) == ()
    for name in {"n/x/a", "n/x/b", "n/y/a", "n/y/b", "s/a", "s/b"} - {home}:
        disk = net[name].disk
        assert disk is not None
        assert any("//a" in each.patterns for each in disk.homes.values()), name


@pytest.mark.parametrize(
    ("home", "away"),
    [("s/b", "n/x/a"), ("s/a", "n/y/b"), ("n/y/a", "s/b"), ("n/x/b", "s/a"), ("n/x/a", "n/y/b")],
)
def test_brokers_of_other_units_that_may_not_know_are_named(home: str, away: str) -> None:
    net = Net(THREE_LEVELS)
    net.world.crash(net[away])
    net.subscribe(home)
    assert net.ask_known(home) == (away,)
    net.world.start(net[away])
    net.settle(3.0)
    assert net.ask_known(home) == ()


def test_a_gateway_that_all_have_forgotten_is_named() -> None:
    net = Net(TWO_GATEWAYS)
    net.subscribe("n/a")
    net.world.crash(net["s/a"])
    others = [name for name in net.world.brokers if name != "s/a"]
    for name in others:
        net.world.crash(net[name])
    for name in others:
        net.world.start(net[name])
    net.settle(3.0)
    net.subscribe("n/a", "second", "//b")
    assert net.ask_known("n/a") == ("s/a",)
    net.world.start(net["s/a"])
    net.settle(3.0)
    assert net.ask_known("n/a") == ()


def test_a_gateway_that_forgets_a_home_lets_others_forget_it() -> None:
    net = Net(TWO_UNITS)
    net.subscribe("s/b")
    net.world.happen(net["s/a"], HomeForgotten("s/b"))
    net.settle()
    assert net["n/a"].machine is not None
    assert net["n/a"].machine.announcing.patterns["^n/@b"] == 0


def test_a_gateway_that_was_restarted_changes_what_it_wants_and_keeps_the_rest() -> None:
    net = Net(TWO_UNITS)
    net.subscribe("s/a", "first", "//a")
    net.world.crash(net["s/a"])
    while net.world.step():
        pass
    net["s/a"].clock = 10**13  # so that its incarnation is a higher one
    net.world.start(net["s/a"])
    net.settle(3.0)
    net.subscribe("s/a", "second", "//b")
    disk = net["n/a"].disk
    assert disk is not None
    assert disk.homes["^n/@b"].patterns == ("//a", "//b")


def test_a_gateway_that_lost_its_disk_learns_all_anew() -> None:
    net = Net(TWO_UNITS)
    net.subscribe("s/b")
    net.world.crash(net["s/a"])
    net.world.replace_disk(net["s/a"])
    net.world.start(net["s/a"])
    net.settle(3.0)
    assert net.ask_known("s/b") == ()
    net.publish("n/a")
    net.settle(3.0)
    assert net.queue("s/b") == ["<a/>"]


def test_what_a_neighbour_claims_of_our_homes_outside_counts_for_nothing_inside() -> None:
    net = Net(TWO_UNITS)
    net.subscribe("s/b")
    gateway = net["n/b"]
    for epoch in (2**59, 2**60):
        net.world.happen(gateway, Came("s/a", HomeVersions({"n/@b": Version(epoch, 1)})))
    net.settle()
    net.world.stop(gateway)
    net.world.start(gateway)
    net.settle(3.0)
    machine = gateway.machine
    assert machine is not None
    assert machine.announcing.versions["^n/@b"].epoch < 2**59
    assert machine.announcing.versions["n/@b"].epoch < 2**60
    assert net.ask_known("s/b") == ()


# --- several gateways -----------------------------------------------------------------------------


def crossings(net: Net, gateways: Iterable[str]) -> Counter[str]:
    """How many documents each gateway has kept."""
    kept: Counter[str] = Counter()
    for name in gateways:
        disk = net[name].disk
        assert disk is not None
        kept[name] = len(disk.documents)
    return kept


def test_one_gateway_takes_over_for_all() -> None:
    net = Net(TWO_GATEWAYS)
    net.subscribe("s/c")
    net.publish("n/a")
    net.settle(3.0)
    assert net.queue("s/c") == ["<a/>"]
    assert crossings(net, ("s/a", "s/b")) == {"s/a": 1, "s/b": 0}


def test_what_is_owed_to_a_gateway_that_is_gone_goes_by_another() -> None:
    net = Net(TWO_GATEWAYS)
    net.subscribe("s/c")
    net.world.cut(("n/b", "s/a"))
    net.world.cut(("n/b", "s/b"))
    net.publish("n/a")
    net.settle(3.0)
    assert net.owed() == {"n/b": {"s/@a": 1}}
    net.world.mend(("n/b", "s/b"))
    net.settle(6.0)
    assert net.queue("s/c") == ["<a/>"]
    assert net.owed() == {}


def take_by_both(net: Net) -> None:
    """Let both gateways take over a document: the receipt of the first is lost with it."""
    net.subscribe("s/c")
    net.world.cut(("n/b", "s/b"))
    net.world.cut(("s/a", "s/c"))
    net.settle()
    net.publish("n/b")
    while not crossings(net, ("s/a",))["s/a"]:
        if not net.world.step():
            net.world.tick(0.25)
    net.world.crash(net["s/a"])
    net.world.mend(("n/b", "s/b"))
    net.settle(6.0)
    assert crossings(net, ("s/a", "s/b")) == {"s/a": 1, "s/b": 1}
    assert net.queue("s/c") == ["<a/>"]


def test_a_document_that_two_gateways_took_over_comes_once() -> None:
    net = Net(TWO_GATEWAYS)
    take_by_both(net)
    net.world.start(net["s/a"])
    net.world.mend(("s/a", "s/c"))
    net.settle(6.0)
    assert net.queue("s/c") == ["<a/>"]
    assert net.owed() == {}


def test_nor_does_it_come_again_when_it_was_read_and_dropped() -> None:
    net = Net(TWO_GATEWAYS)
    take_by_both(net)
    home = net["s/c"]
    assert home.disk is not None
    net.world.happen(home, Acknowledged(0, "d", 1))
    net.settle()
    net.world.happen(home, home.disk.expire(9))
    net.world.start(net["s/a"])
    net.world.mend(("s/a", "s/c"))
    net.settle(6.0)
    assert net.queue("s/c") == []
    assert net.owed() == {}


def test_nor_when_it_is_kept_again_for_others() -> None:
    net = Net(TWO_GATEWAYS)
    net.subscribe("s/a")
    net.subscribe("n/a")
    net.world.cut(("n/b", "s/a"))
    gateway = net["s/a"]
    assert gateway.disk is not None
    parcel = Parcel(DocumentId("s/c", 1, 1), b"<a/>", 0, "p")

    def owe(home: str, custodian: str) -> None:
        routed = Routed(parcel, "", (Debt(home, 1),), DocumentId(custodian, 1, 1), 1)
        said = Addressed("s/a", custodian, routed, depth=1)
        net.world.happen(gateway, Came("s/c", said))
        while net.world.step():
            pass

    owe("s/a", "s/c")
    net.world.happen(gateway, Acknowledged(0, "d", 1))
    net.settle()
    net.world.happen(gateway, gateway.disk.expire(9))
    owe("^s/@a", "s/c")
    assert [*gateway.disk.documents] == [str(parcel.id)]
    owe("s/a", "s/b")
    assert net.queue("s/a") == []


def test_what_passes_to_another_gateway_is_not_settled_there_already() -> None:
    net = Net(TWO_GATEWAYS)
    net.subscribe("s/c")
    net.world.cut(("n/b", "s/a"))
    net.world.cut(("n/b", "s/b"))
    net.publish("n/b", "<a>1</a>")  # for the first gateway
    net.settle(1.0)
    net.world.mend(("n/b", "s/b"))
    net.publish("n/b", "<a>2</a>")  # for the second, which has it before it gets the other one
    net.settle(9.0)
    assert sorted(net.queue("s/c")) == ["<a>1</a>", "<a>2</a>"]


def test_the_debts_of_a_group_are_settled_together() -> None:
    ids = [DocumentId("o", 1, number) for number in range(3)]
    owing = custody.Custody("o", lambda: ids[0])
    owing.owe("s/@a", ids[1])
    owing.owe("s/@b", ids[2])
    owing.owe("t/@a", ids[2])
    assert owing.debt("s/@b", ids[2]) == Debt("s/@b", 1)
    assert owing.debt("t/@a", ids[2]) == Debt("t/@a", 2)
    owing.confirm("s/@a", [ids[1]])
    assert owing.debt("s/@b", ids[2]) == Debt("s/@b", 2)


def test_a_document_that_moves_while_the_store_is_slow_moves_once() -> None:
    net = Net(TWO_GATEWAYS)
    net.subscribe("s/c")
    net.world.cut(("n/b", "s/a"))
    net.world.cut(("n/b", "s/b"))
    net.publish("n/b")
    net.settle(3.0)
    net.world.mend(("n/b", "s/b"))
    net.world.crash(net["s/a"])
    while net.world.step():
        pass
    possible, write = net.world._possible, net.world._write

    def but_writes() -> Iterator[Callable[[], object]]:
        return (each for each in possible() if getattr(each, "func", None) != write)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(net.world, "_possible", but_writes)
        net.settle(15.0)
    net.world.cut(("n/b", "s/b"))
    net.settle()
    net.world.mend(("n/b", "s/b"))
    net.settle(9.0)
    assert net.queue("s/c") == ["<a/>"]


def test_what_moved_on_still_comes_to_the_gateway_s_own_subscription() -> None:
    links = [("n/o", "n/b"), *TWO_GATEWAYS[0][1:]]
    net = Net((links, TWO_GATEWAYS[1]))
    net.world.limits = Limits(queue_documents=1)
    net.world.crash(net["n/b"])
    net.world.start(net["n/b"])
    net.settle(3.0)
    net.subscribe("n/b", "own")
    net.publish("n/b", "<a>0</a>")  # there is no room for another one
    net.subscribe("s/c")
    net.world.cut(("n/b", "s/a"))
    net.world.cut(("n/b", "s/b"))
    net.publish("n/o", "<a>1</a>")
    net.settle(3.0)
    net.world.mend(("n/b", "s/b"))
    net.settle(9.0)
    assert net.queue("s/c") == ["<a>1</a>"]
    gateway = net["n/b"]
    assert gateway.disk is not None
    net.world.happen(gateway, Acknowledged(0, "own", 1))
    net.settle()
    net.world.happen(gateway, gateway.disk.expire(9))
    net.settle(40.0)
    net.settle(40.0)
    assert net.queue("n/b", "own") == ["<a>1</a>"]


@pytest.mark.parametrize("to", [(), ("s/a:own", "s/b:d")])
def test_what_passes_a_gateway_does_not_wait_for_a_full_queue_there(to: tuple[str, ...]) -> None:
    net = Net(TWO_UNITS)
    net.world.limits = Limits(queue_documents=1)
    net.world.crash(net["s/a"])
    net.world.start(net["s/a"])
    net.settle(3.0)
    net.subscribe("s/a", "own")
    net.subscribe("s/b")
    net.publish("s/a", "<a>0</a>", "", "s/a:own")
    net.world.cut(("s/a", "s/b"))
    net.publish("n/a", "<a>1</a>", "", *to)
    net.settle(3.0)
    net.world.mend(("s/a", "s/b"))
    net.settle(9.0)
    assert net.queue("s/a", "own") == ["<a>0</a>"]
    assert net.queue("s/b") == ["<a>1</a>"]
    assert net.owed() == {"n/b": {"s/@a": 1}}
    net.world.happen(net["s/b"], Acknowledged(0, "d", 1))
    for name in ("s/b", "s/a"):
        broker = net[name]
        assert broker.disk is not None
        if name == "s/a":
            net.world.happen(broker, Acknowledged(0, "own", 1))
        net.settle(40.0)
        net.world.happen(broker, broker.disk.drop_unneeded())
    net.settle(40.0)
    assert net.queue("s/a", "own") == ["<a>1</a>"]
    assert net.queue("s/b") == []
    assert net.owed() == {}


def test_a_gateway_calls_a_document_anew_each_time_it_takes_it_over() -> None:
    links = [("n/y/a", "n/x/b"), ("n/x/b", "n/x/a"), ("n/x/b", "s/a")]
    net = Net((links, {"n/y/a": "n/y", "n/x/b": "n", "s/a": "s"}))
    net.subscribe("n/x/a", "inside")
    net.subscribe("s/a", "outside")
    net.world.cut(("n/x/b", "s/a"))  # so that it goes on to owe the document there
    net.settle(3.0)
    say, is_losing = net.world._say, True

    def losing(sender: str, receiver: str, message: object) -> None:
        """Lose what is for the inside of n/x."""
        is_for_inside = isinstance(message, Routed) or (
            isinstance(message, Addressed)
            and isinstance(message.content, Routed)
            and any(home == "n/x/@b" for home, _ in message.content.debts)
        )
        if not (is_losing and sender == "n/y/a" and is_for_inside):
            say(sender, receiver, message)

    net.world._say = losing  # type: ignore[method-assign]
    net.publish("n/y/a", "<a>1</a>")
    net.settle(2.4)
    assert net.owed()["n/x/b"] == {"s/@a": 1}
    is_losing = False
    net.publish("n/y/a", "<a>2</a>")
    net.settle(1.0)
    for _ in range(4):
        net.settle(40.0)
    assert sorted(net.queue("n/x/a", "inside")) == ["<a>1</a>", "<a>2</a>"]


BESIDE = [("n/a", "n/b"), ("n/b", "t")], {"n/b": "n"}


def test_a_document_from_beside_a_unit_is_one_though_its_gateway_calls_it_anew() -> None:
    net = Net(BESIDE)
    net.subscribe("n/a")
    net.publish("t")
    home = net["n/a"]
    assert home.disk is not None
    while not home.disk.documents:
        if not net.world.step():
            net.world.tick(0.05)
    net.world.crash(net["n/b"])  # before it has the receipt
    net.world.happen(home, Acknowledged(0, "d", 1))
    net.settle()
    net.world.happen(home, home.disk.expire(9))
    net.world.start(net["n/b"])
    net.settle(6.0)
    assert net.queue("n/a") == []
    assert net.owed() == {}


def test_what_is_owed_to_a_broker_that_is_a_gateway_no_more_goes_by_another() -> None:
    net = Net(TWO_GATEWAYS)
    net.subscribe("n/a")
    net.world.cut(("s/a", "s/c"))
    net.world.cut(("s/b", "s/c"))
    net.publish("s/c", "<a>1</a>")
    net.settle(1.0)
    assert net.owed() == {"s/c": {"^s/@a": 1}}
    links = [link for link in TWO_GATEWAYS[0] if link != ("n/b", "s/a")]
    net.world.cut(("n/b", "s/a"))
    net.world.crash(net["s/a"])
    net.world.overlay = Overlay(net.world.brokers, links, {"n/b": "n", "s/b": "s"})
    net.world.start(net["s/a"])
    net.world.mend(("s/a", "s/c"))
    net.world.mend(("s/b", "s/c"))
    net.settle(9.0)
    net.publish("s/c", "<a>2</a>")
    net.settle(9.0)
    assert sorted(net.queue("n/a")) == ["<a>1</a>", "<a>2</a>"]
    machine = net["s/c"].machine
    assert machine is not None
    assert machine.announcing.patterns["^s/@a"] == 0


# --- what others say ------------------------------------------------------------------------------


def test_a_receipt_of_another_broker_s_documents_confirms_nothing() -> None:
    net = Net(TWO_UNITS)
    net.subscribe("s/b")
    net.world.cut(("n/b", "s/a"))
    net.publish("n/a")
    net.settle(3.0)
    receipt = Receipt((DocumentId("n/a", 1, 0),), (), "s/@a")
    said = Addressed("n/b", "s/a", receipt)
    net.world.happen(net["n/b"], Came("s/a", said))
    assert net.owed() == {"n/b": {"s/@a": 1}}


def test_what_is_said_about_a_unit_that_a_broker_takes_no_part_in_is_left() -> None:
    net = Net(TWO_UNITS)
    parcel = Parcel(DocumentId("s/a", 1, 1), b"<a/>", 0)
    net.world.happen(net["n/a"], Came("n/b", Routed(parcel, "s/a", depth=0)))
    net.settle()
    disk = net["n/a"].disk
    assert disk is not None
    assert disk.documents == {}


@pytest.mark.parametrize("to", [(), ("s/b:d",)])
def test_what_is_owed_and_what_is_addressed_count_as_crossings_once(to: tuple[str, ...]) -> None:
    net = Net(TWO_UNITS)
    net.subscribe("s/b")
    for _ in range(3):
        net.publish("n/a", "<a/>", "", *to)
    net.settle(3.0)
    assert net.queue("s/b") == ["<a/>"] * 3
    crossings = [net[name].router for name in ("n/b", "s/a")]
    counts = [each.crossings for each in crossings if isinstance(each, Gateway)]
    assert counts == [Crossings(out=3), Crossings(into=3)]


def test_what_waited_for_a_unit_counts_as_a_crossing() -> None:
    net = Net(TWO_UNITS)
    net.subscribe("s/b")
    net.world.cut(("n/b", "s/a"))
    net.publish("n/a")
    net.settle(3.0)
    net.world.mend(("n/b", "s/a"))
    net.settle(3.0)
    counts = [net[name].router for name in ("n/b", "s/a")]
    crossings = [each.crossings for each in counts if isinstance(each, Gateway)]
    assert crossings[1] == Crossings(into=1)
    assert crossings[0].out == 1
