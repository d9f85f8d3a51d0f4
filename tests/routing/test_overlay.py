"""Overlays, strategies and promises: small values that routing stands on."""

from __future__ import annotations

import pytest

from twigcast.errors import OverlayError
from twigcast.language import parse
from twigcast.routing import (
    ANYTHING,
    PAPER_STRATEGIES,
    STRATEGIES,
    Anything,
    Counters,
    Link,
    LinkTraits,
    Overlay,
    Strategy,
    Towards,
)
from twigcast.schema import Advertisement, Schema


def test_an_overlay_knows_neighbours_links_and_leaves() -> None:
    overlay = Overlay("abc", {("b", "a"): LinkTraits(2.0, 0.5), ("b", "c"): LinkTraits()})
    assert overlay.brokers == ("a", "b", "c")
    assert overlay.links == {Link("a", "b"): (2.0, 0.5), Link("b", "c"): (1.0, 0.001)}
    assert overlay.neighbours("b") == {"a": (2.0, 0.5), "c": (1.0, 0.001)}
    assert overlay.leaves == ("a", "c")
    assert Link.between("z", "a") == Link("a", "z")
    assert Link("a", "z").other("a") == "z"
    assert "a" in overlay
    assert len(overlay) == 3


@pytest.mark.parametrize(
    ("links", "reason"),
    [
        ({("a", "x"): LinkTraits()}, "the link a-x: there is no broker 'x'"),
        ({("a", "a"): LinkTraits()}, "'a' is linked to itself"),
        ({("a", "b"): LinkTraits(), ("b", "a"): LinkTraits()}, "two links between 'b' and 'a'"),
        ({("a", "b"): LinkTraits(cost=0.0)}, "a cost is above 0"),
        ({("a", "b"): LinkTraits(cost=float("inf"))}, "a cost is above 0"),
        ({("a", "b"): LinkTraits(latency=-1.0)}, "a latency not below"),
    ],
)
def test_what_makes_no_sense_is_refused(
    links: dict[tuple[str, str], LinkTraits], reason: str
) -> None:
    with pytest.raises(OverlayError, match=reason):
        Overlay("ab", links)


def test_brokers_have_names_of_their_own() -> None:
    with pytest.raises(OverlayError, match="two brokers of the name 'a'"):
        Overlay("aba", {})
    with pytest.raises(OverlayError, match="a broker has a name"):
        Overlay(["a", ""], {})
    with pytest.raises(OverlayError, match="no broker 'x'"):
        Overlay("ab", {}).neighbours("x")


def test_overlays_are_equal_by_content() -> None:
    assert Overlay("ab", [("a", "b")]) == Overlay("ba", [("b", "a")])
    assert Overlay("ab", [("a", "b")]) != Overlay("ab", [])


def test_strategies_have_names_and_names_give_strategies() -> None:
    assert len(PAPER_STRATEGIES) == 6
    for name, strategy in STRATEGIES.items():
        assert strategy.name == name
        assert Strategy.named(name) == strategy
    assert Strategy.named("imperfect-merging:0.25") == Strategy(merging=0.25)
    assert Strategy(merging=0.25).name == "imperfect-merging:0.25"
    with pytest.raises(ValueError, match="no strategy 'x'; choose one of: flooding"):
        Strategy.named("x")
    for degree in ("x", "2", "nan", ""):
        with pytest.raises(ValueError, match=f"is a number from 0 to 1, not '{degree}'"):
            Strategy.named(f"imperfect-merging:{degree}")


def test_unlike_strategies_have_unlike_names() -> None:
    some = [Strategy(merging=each) for each in (1 / 3, 0.333333, 0.25)]
    some += [
        Strategy(merging=0.0, depth=5),
        Strategy(depth=5, covering=False),
        *STRATEGIES.values(),
    ]
    assert len({each.name for each in some}) == len(some)
    assert Strategy.named(some[0].name) == some[0]


def test_a_strategy_may_be_given_by_name() -> None:
    assert Strategy.of("xnet") is STRATEGIES["xnet"]
    assert Strategy.of(None) == Strategy()
    with pytest.raises(TypeError, match="a Strategy or its name is needed, not int"):
        Strategy.of(3)  # type: ignore[arg-type] # wrong on purpose


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"merging": 1.5}, "from 0 to 1"),
        ({"merging": 0.1, "covering": False}, "set covering=True"),
        ({"merging": 0.1, "towards": Towards.EVERYONE}, "set towards=Towards.ADVERTISEMENTS"),
    ],
)
def test_merging_needs_covering_and_advertisements(
    settings: dict[str, object], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        Strategy(**settings)  # type: ignore[arg-type] # wrong ones among them


def test_anything_may_match_anything() -> None:
    assert ANYTHING.overlaps(parse("//x[y]"))
    assert Anything() == ANYTHING
    assert hash(Anything()) == hash(ANYTHING)


def test_paths_are_counted_where_an_end_of_them_is_known() -> None:
    schema = Schema.from_dtd("<!ELEMENT a (b | c)> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY>")
    advertised = Advertisement.parse("/a/d")
    counters = Counters(10)
    assert counters.counter(frozenset()) is None
    assert counters.counter(frozenset((schema, ANYTHING))) is None
    counter = counters.counter(frozenset((schema, advertised)))
    assert counter is not None
    assert counter.count([parse("/a/*")]) == 3
    assert counters.counter(frozenset((advertised, schema))) is counter
