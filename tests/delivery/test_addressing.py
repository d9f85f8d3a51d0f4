"""Documents that are addressed: into exactly the queues that they name, wherever these are."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from delivery_net import THREE_LEVELS, TWO_GATEWAYS, TWO_UNITS, Net

from twigcast.delivery import (
    Destination,
    Drop,
    DurableDropped,
    DurablePut,
    Instruction,
    Parcel,
    PutDurable,
    lacking,
    stands_for,
)
from twigcast.delivery.levels import Levels, reduced
from twigcast.errors import DocumentError, RefusedError
from twigcast.hierarchy import make_router
from twigcast.routing import DocumentId
from twigcast.simulation.delivery.world import SimulatedBroker, World

FLAT: tuple[list[tuple[str, str]], Mapping[str, str]] = ([("oslo", "rome"), ("rome", "bonn")], {})


def letters(broker: SimulatedBroker) -> list[tuple[str, str]]:
    """The letters at a broker: the home, and how the reason begins."""
    assert broker.disk is not None
    return [(each.home, each.reason[:44]) for each in broker.disk.letters.values()]


# --- which homes lead where -----------------------------------------------------------------------


def test_a_home_stands_for_brokers_by_their_paths() -> None:
    assert stands_for("n/x/a", "n/x/a")
    assert not stands_for("n/x/a", "n/x/ab")
    assert stands_for("n/@x/b", "n/x/a")
    assert stands_for("n/x/@b", "n/x/a")
    assert not stands_for("n/x/@b", "n/y/a")
    assert stands_for("^n/x/@b", "n/y/a")
    assert stands_for("^n/x/@b", "nn")
    assert not stands_for("^n/@x/b", "n/y/a")


def test_a_destination_list_is_reduced_to_what_a_home_stands_for() -> None:
    to = tuple(Destination(each, "d") for each in ("n/a", "n/b", "s/a"))
    parcel = Parcel(DocumentId("n/a", 1, 1), b"<a/>", 0, to=to)
    assert reduced(parcel, "n/@b").to == to[:2]
    assert reduced(parcel, "^n/@b").to == to[2:]
    assert reduced(parcel, "n/b").to == to[1:2]
    plain = parcel._replace(to=())
    assert reduced(plain, "n/b") is plain


def test_a_gateway_goes_on_where_it_stands_for_the_destination_itself() -> None:
    levels = Levels(make_router("n/x/b", "n"))
    inner, north, whole = levels
    here = levels.addressed(inner, [Destination("n/x/b", "d")])
    assert (here.homes, here.is_for_queues, here.lacking) == ((), True, ())
    [far] = levels.addressed(inner, [Destination("s/a", "d")]).lacking
    assert far.startswith("no unit 's' is known in the whole network: check the name")
    [beside] = levels.addressed(inner, [Destination("n/y/a", "d")]).lacking
    assert beside.startswith("no unit 'n/y' is known in the unit 'n': check the name")
    for level, home in ((north, "n/x/@b"), (whole, "n/@x/b")):
        assert levels.addressed_beyond(level, home, [Destination("n/x/b", "d")]).is_for_queues


# --- into exactly these queues --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("network", "origin", "homes"),
    [
        (FLAT, "oslo", ["bonn", "oslo"]),
        (TWO_UNITS, "n/a", ["s/b"]),
        (TWO_UNITS, "n/b", ["s/a", "n/b", "n/a"]),
        (TWO_GATEWAYS, "n/a", ["s/c", "s/a", "s/b"]),
        (TWO_GATEWAYS, "s/c", ["n/a", "s/b"]),
        (THREE_LEVELS, "n/x/a", ["s/b", "n/y/b", "n/x/b"]),
        (THREE_LEVELS, "s/b", ["n/x/a", "n/y/a"]),
    ],
)
def test_a_document_gets_to_whom_it_is_addressed_once_and_to_nobody_else(
    network: tuple[list[tuple[str, str]], Mapping[str, str]], origin: str, homes: list[str]
) -> None:
    net = Net(network)
    for name in net.world.brokers:
        net.subscribe(name, "any", "//a")
        net.subscribe(name, "other", "//other")
    net.publish(origin, "<a/>", "", *(f"{home}:other" for home in homes))
    net.settle()
    net.settle(10.0)
    for name in net.world.brokers:
        assert net.queue(name, "any") == []
        assert net.queue(name, "other") == ["<a/>"] * (name in homes)
    assert net.owed() == {}


def test_it_has_no_keys() -> None:
    net = Net(FLAT)
    net.subscribe("bonn")
    net.publish("oslo", "<a/>", "", "bonn:d")
    net.settle()
    disk = net["bonn"].disk
    assert disk is not None
    assert [keys for _, keys in disk.queues["d"].entries.values()] == [()]


def test_a_publication_counts_once_and_with_its_destinations() -> None:
    net = Net(FLAT)
    net.subscribe("bonn")
    net.subscribe("rome")
    for _ in range(2):
        net.publish("oslo", "<a/>", "p", "bonn:d")
        net.settle()
    assert net.queue("bonn") == ["<a/>"]
    with pytest.raises(RefusedError, match="give each document an id of its own"):
        net.publish("oslo", "<a/>", "p", "rome:d")


def test_it_goes_on_after_crashes_and_without_the_gateway_that_was_first() -> None:
    net = Net(TWO_GATEWAYS)
    net.subscribe("s/c", xpath="//other")
    net.world.crash(net["s/a"])
    net.world.crash(net["s/c"])
    net.publish("n/a", "<a/>", "", "s/c:d")
    net.settle(3.0)
    assert net.owed() == {"s/b": {"s/c": 1}}
    net.world.crash(net["s/b"])
    net.world.start(net["s/b"])
    net.world.start(net["s/c"])
    net.settle(3.0)
    assert net.queue("s/c") == ["<a/>"]


def test_another_gateway_takes_over_though_nobody_wants_anything() -> None:
    net = Net(TWO_GATEWAYS)
    net.world.happen(net["s/c"], DurablePut(0, PutDurable("d", "ann", {})))
    net.settle()
    net.world.cut(("n/b", "s/a"))
    net.world.cut(("s/a", "s/c"))
    net.publish("n/a", "<a/>", "", "s/c:d")
    net.settle(10.0)
    assert net.queue("s/c") == ["<a/>"]


def test_a_gateway_has_two_parts_of_one_destination_list() -> None:
    net = Net(
        (
            [("n/x/a", "n/x/g"), ("n/x/g", "n/y/a"), ("n/x/g", "s/a"), ("s/a", "s/b")],
            {"n/x/g": "n", "n/y/a": "n/y", "s/a": "s"},
        )
    )
    for home in ("n/x/a", "s/b"):
        net.subscribe(home)
    net.publish("n/y/a", "<a/>", "", "n/x/a:d", "s/b:d")
    net.settle()
    net.settle(10.0)
    assert net.queue("n/x/a") == net.queue("s/b") == ["<a/>"]


def test_a_broker_without_a_store_answers_when_the_homes_have_it() -> None:
    net = Net(FLAT, "oslo")
    net.subscribe("bonn")
    net.answers.clear()
    net.publish("oslo", "<a/>", "", "bonn:d")
    assert net.answers == []
    net.settle()
    assert [(name, answer.code) for name, answer in net.answers] == [("oslo", "")]
    assert net.queue("bonn") == ["<a/>"]
    net.world.cut(("rome", "bonn"))
    net.settle()
    with pytest.raises(RefusedError, match="publish it again later, or at a broker with a store"):
        net.publish("oslo", "<b/>", "", "bonn:d")


# --- what cannot be had ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("network", "at", "to", "reason"),
    [
        (FLAT, "oslo", "pisa:d", "no broker 'pisa' is known in the whole network: check the name"),
        (FLAT, "oslo", "n/a:d", "no unit 'n' is known in the whole network"),
        (FLAT, "oslo", "oslo:d", "there is no durable subscription 'd' at oslo: subscribe"),
        (TWO_UNITS, "n/a", "n/c:d", "no broker 'n/c' is known in the unit 'n': check the name"),
        (TWO_UNITS, "n/b", "e/a:d", "no unit 'e' is known in the whole network: check the name"),
        (
            ([("n/a", "n/b")], {}),
            "n/a",
            "s/a:d",
            "no gateway of the unit 'n' is known that leads to 's/a': give it one",
        ),
    ],
)
def test_what_is_known_to_lack_is_refused_at_once(
    network: tuple[list[tuple[str, str]], Mapping[str, str]], at: str, to: str, reason: str
) -> None:
    net = Net(network)
    with pytest.raises(RefusedError, match=reason) as refused:
        net.publish(at, "<a/>", "", to)
    assert refused.value.code == "unknown"
    assert net.owed() == {}


def test_what_is_no_document_is_refused() -> None:
    net = Net(FLAT)
    net.subscribe("bonn")
    with pytest.raises(DocumentError):
        net.publish("oslo", "<a>", "", "bonn:d")


def test_a_home_without_the_subscription_refuses_it_and_the_custodian_has_a_letter() -> None:
    net = Net(TWO_UNITS)
    net.publish("n/a", "<a/>", "", "s/b:d")
    net.settle(3.0)
    assert letters(net["s/a"]) == [("s/b", "there is no durable subscription 'd' at s/b:")]
    assert net.owed() == {}


def test_a_home_that_keeps_nothing_refuses_it() -> None:
    net = Net(FLAT, "bonn")
    net.publish("oslo", "<a/>", "", "bonn:d")
    net.settle(3.0)
    assert letters(net["oslo"]) == [("bonn", "there is no durable subscription 'd' at bonn")]


def test_a_subscription_that_has_ended_has_no_queue() -> None:
    net = Net(FLAT)
    net.subscribe("bonn")
    net.world.happen(net["bonn"], DurableDropped(0, "d"))
    net.publish("oslo", "<a/>", "", "bonn:d")
    net.settle(3.0)
    assert letters(net["oslo"]) == [("bonn", "there is no durable subscription 'd' at bonn")]


def test_a_home_with_some_of_the_subscriptions_keeps_a_letter() -> None:
    net = Net(FLAT)
    net.subscribe("bonn")
    net.publish("oslo", "<a/>", "", "bonn:d", "bonn:other")
    net.settle(3.0)
    assert net.queue("bonn") == ["<a/>"]
    assert letters(net["bonn"]) == [("", "there is no durable subscription 'other' at ")]


def test_a_gateway_waits_for_what_it_may_not_know_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lacking, "_UNCERTAIN", 60.0)
    drops: list[str] = []
    carry_out = World._carry_out

    def note(world: World, broker: SimulatedBroker, instructions: list[Instruction]) -> None:
        drops.extend(each.reason for each in instructions if isinstance(each, Drop))
        carry_out(world, broker, instructions)

    monkeypatch.setattr(World, "_carry_out", note)
    net = Net(TWO_UNITS)
    net.publish("n/a", "<a/>", "", "e/a:d")
    net.settle(3.0)
    assert net.owed() == {"n/a": {"^n/@b": 1}}
    gateway = net["n/b"].machine
    assert gateway is not None
    [reason] = gateway.waiting
    assert reason.startswith("no unit 'e' is known in the whole network: check the name")
    for _ in range(4):
        net.settle(30.0)
    assert drops[:-1] == [f"it waits up to an hour where it is owed: {reason}"]
    assert drops[-1].startswith("not for ^n/@b: no unit 'e'")
    assert letters(net["n/a"]) == [("^n/@b", "no unit 'e' is known in the whole network: c")]
    assert net.owed() == {}
    net.settle(200.0)
    assert gateway.waiting == ()


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        ("s:d", "'s' is a unit: name a broker in it"),
        ("n:d", "'n' is a unit: name a broker in it"),
        ("a:d", "no broker 'a' is known in the whole network: did you mean 'n/a'?"),
    ],
)
def test_what_can_never_be_is_refused_at_once(to: str, reason: str) -> None:
    net = Net(TWO_UNITS)
    with pytest.raises(RefusedError, match=re.escape(reason)):
        net.publish("n/b", "<a/>", "", to)
    if to == "n:d":  # a broker knows the units that it is in, and a gateway the others
        with pytest.raises(RefusedError, match=re.escape(reason)):
            net.publish("n/a", "<a/>", "", to)
        return
    net.publish("n/a", "<a/>", "", to)
    net.settle(3.0)
    assert letters(net["n/a"]) == [("^n/@b", reason[:44])]
    assert net.owed() == {}
