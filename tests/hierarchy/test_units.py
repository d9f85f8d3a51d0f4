"""Names of brokers and units, and what is refused."""

from __future__ import annotations

import pytest

from twigcast.errors import OverlayError
from twigcast.hierarchy import MOST_MEMBERS, Network, common_unit, depth_of, units_of, units_of_link
from twigcast.routing import Link, Overlay


def test_a_broker_stands_in_its_unit_and_a_gateway_in_those_around() -> None:
    assert units_of("b1") == ("",)
    assert units_of("north/oslo/b1") == ("north/oslo",)
    assert units_of("north/oslo/b1", "north/oslo") == ("north/oslo", "north")
    assert units_of("north/oslo/b1", "north") == ("north/oslo", "north", "")
    assert depth_of("north/oslo") == 2
    assert depth_of("") == 0
    assert common_unit("north/oslo/b1", "north/bergen/b1") == "north"
    assert common_unit("north/oslo/b1", "b1") == ""


@pytest.mark.parametrize(
    ("broker", "unit", "said"),
    [
        ("north/a", "south", "is not in the unit 'south'; make it a gateway of one of: north"),
        ("north/a", "", "is not in the unit"),
        ("north/a", "north/a", "is itself no unit; make it a gateway of one of: north"),
        ("north/a", "north/", "leave the slash out"),
        ("a", "a", "is in no unit, so it is a gateway of none"),
    ],
)
def test_a_broker_is_no_gateway_of_a_unit_that_it_is_not_in(
    broker: str, unit: str, said: str
) -> None:
    with pytest.raises(OverlayError, match=said):
        units_of(broker, unit)


def test_a_link_belongs_to_the_units_in_which_both_brokers_stand() -> None:
    gateways = {"x/p/a": "x", "x/p/b": "x/p", "x/q/c": "x"}
    brokers = ["x/p/a", "x/p/b", "x/q/c"]
    overlay = Overlay(brokers, [], gateways)
    assert units_of_link(overlay, Link("x/p/a", "x/p/b")) == ("x/p", "x")
    assert units_of_link(overlay, Link("x/p/b", "x/q/c")) == ("x",)
    assert units_of_link(overlay, Link("x/p/a", "x/q/c")) == ("x", "")


@pytest.mark.parametrize(
    ("brokers", "links", "gateways", "said"),
    [
        (["x//a"], [], {}, "has an empty name; it has a path of 1 to 4"),
        (["a/b/c/d/e"], [], {}, "has 5 names; it has a path of 1 to 4"),
        (["x", "x/a"], [], {}, "'x' is a broker and a unit"),
        (["x/a"], [], {"x/b": "x"}, "the gateway 'x/b' is no broker"),
        (["x/a"], [], {"x/a": "y"}, "is not in the unit 'y'; make it a gateway of one of: x"),
        (
            ["x/a", "y/b"],
            [("x/a", "y/b")],
            {"x/a": "x"},
            "make 'y/b' a gateway of 'y', or link others",
        ),
        (
            [*(f"x/b{number}" for number in range(MOST_MEMBERS + 1)), "y/a"],
            [],
            {},
            "the most are 32; put some of them into a unit of their own, as in x/new/",
        ),
    ],
)
def test_what_is_no_network_of_units_is_refused_with_the_remedy(
    brokers: list[str], links: list[tuple[str, str]], gateways: dict[str, str], said: str
) -> None:
    with pytest.raises(OverlayError) as caught:
        Network(Overlay(brokers, links, gateways))
    assert said in str(caught.value)


def test_one_flat_unit_has_no_limit() -> None:
    assert len(Network(Overlay([f"b{number}" for number in range(40)], [])).routers) == 40
