"""Gateways that are cut off from one side: others of their unit bring on what these hold."""

from __future__ import annotations

import pytest
from delivery_net import TWO_GATEWAYS, Net


@pytest.mark.parametrize("to", [(), ("n/a:d",)])
def test_what_a_gateway_holds_that_reaches_nobody_outside_goes_by_another(
    to: tuple[str, ...],
) -> None:
    net = Net(TWO_GATEWAYS)
    net.subscribe("n/a")
    net.world.cut(("n/b", "s/a"))
    net.publish("s/c", "<a>1</a>", "", *to)
    net.publish("s/a", "<a>2</a>", "", *to)
    net.settle(9.0)
    assert sorted(net.queue("n/a")) == ["<a>1</a>", "<a>2</a>"]
    assert net.owed() == {}
    net.world.mend(("n/b", "s/a"))
    net.publish("s/c", "<a>3</a>")
    net.settle(9.0)
    assert len(net.queue("n/a")) == 3


@pytest.mark.parametrize("to", [(), ("s/c:d",)])
def test_what_a_gateway_holds_that_reaches_nobody_inside_goes_by_another(
    to: tuple[str, ...],
) -> None:
    net = Net(TWO_GATEWAYS)
    net.subscribe("s/c")
    net.world.cut(("s/a", "s/c"))
    net.publish("n/a", "<a>1</a>", "", *to)
    net.publish("n/b", "<a>2</a>", "", *to)
    net.settle(9.0)
    assert sorted(net.queue("s/c")) == ["<a>1</a>", "<a>2</a>"]
    assert net.owed() == {}


def test_gateways_that_are_all_cut_off_keep_what_they_have() -> None:
    net = Net(TWO_GATEWAYS)
    net.subscribe("n/a")
    for gateway in ("s/a", "s/b"):
        net.world.cut(("n/b", gateway))
    net.publish("s/c")
    net.settle(9.0)
    net.settle(90.0)
    assert net.owed() == {"s/a": {"n/@b": 1}}
    assert net["s/b"].disk is not None
    assert net["s/b"].disk.documents == {}
    net.world.mend(("n/b", "s/b"))
    net.settle(40.0)
    net.settle(40.0)
    assert net.queue("n/a") == ["<a/>"]
    assert net.owed() == {}


def test_what_is_offered_to_others_is_not_taken_for_settled() -> None:
    net = Net(TWO_GATEWAYS)
    net.subscribe("n/a")
    net.world.cut(("n/b", "s/a"))
    net.world.losing = 0.5
    contents = [f"<a>{number}</a>" for number in range(30)]
    for content in contents:
        net.publish("s/c", content)
        net.settle(0.5)
    net.world.losing = 0.0
    net.settle(40.0)
    net.settle(40.0)
    assert sorted(net.queue("n/a")) == sorted(contents)
    assert net.owed() == {}


def test_a_gateway_that_begins_again_cut_off_has_others_bring_on_what_is_addressed() -> None:
    net = Net(TWO_GATEWAYS)
    net.subscribe("n/a", scope=1)  # so nobody in s hears of n by what it wants
    net.world.cut(("n/b", "s/a"))
    net.world.crash(net["s/a"])
    net.world.start(net["s/a"])
    net.settle(3.0)
    net.publish("s/c", "<a/>", "", "n/a:d")
    net.settle(9.0)
    assert net.queue("n/a") == ["<a/>"]
    assert net.owed() == {}
