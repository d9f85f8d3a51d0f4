"""Overlays of known shape: who is linked to whom, and what a text may ask for."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.errors import OverlayError
from twigcast.routing import Link, LinkTraits, Overlay
from twigcast.simulation.topologies import (
    MOST_BROKERS,
    balanced_tree,
    broker_names,
    chain,
    draft_tree,
    parse_topology,
    random_connected,
    star,
)


def reached(overlay: Overlay) -> set[str]:
    """The brokers that can be reached from the first one."""
    waiting = [overlay.brokers[0]]
    found = set(waiting)
    while waiting:
        new = set(overlay.neighbours(waiting.pop())) - found
        found |= new
        waiting.extend(new)
    return found


def degrees(overlay: Overlay) -> list[int]:
    return [len(overlay.neighbours(broker)) for broker in overlay]


def assert_is_tree(overlay: Overlay) -> None:
    assert len(overlay.links) == len(overlay) - 1
    assert reached(overlay) == set(overlay)


# --- shapes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 9, 10, 99, 100, 1000])
def test_names_sort_as_numbers_do(count: int) -> None:
    names = broker_names(count)
    assert names == sorted(names)
    assert len({len(name) for name in names}) == 1
    assert names[-1] == f"b{count}"


def test_a_chain_is_a_row() -> None:
    overlay = chain(4)
    assert list(overlay) == ["b1", "b2", "b3", "b4"]
    assert set(overlay.links) == {("b1", "b2"), ("b2", "b3"), ("b3", "b4")}
    assert chain(1).links == {}


def test_a_star_has_the_first_broker_in_its_middle() -> None:
    overlay = star(12)
    assert degrees(overlay) == [11, *[1] * 11]
    assert set(overlay.neighbours("b01")) == set(overlay) - {"b01"}


@pytest.mark.parametrize(("levels", "count", "leaves"), [(1, 1, 1), (3, 7, 4), (7, 127, 64)])
def test_binary_trees_are_as_large_as_those_of_the_paper(
    levels: int, count: int, leaves: int
) -> None:
    overlay = balanced_tree(levels, 2)
    assert len(overlay) == count
    assert len(overlay.leaves) == leaves
    assert_is_tree(overlay)


def test_a_tree_has_its_fanout_below_every_broker_but_the_leaves() -> None:
    overlay = balanced_tree(3, 3)
    assert degrees(overlay) == [3, *[4] * 3, *[1] * 9]
    assert set(overlay.neighbours("b02")) == {"b01", "b05", "b06", "b07"}
    assert balanced_tree(5, 1) == chain(5)


def test_the_tree_of_the_draft_is_as_its_text_says() -> None:
    overlay = draft_tree()
    assert len(overlay) == 8
    assert_is_tree(overlay)
    below = [len(overlay.neighbours(broker)) - (broker != "b1") for broker in overlay]
    assert set(below) == {0, 1, 2}
    assert sorted(overlay.leaves) == ["b5", "b6", "b7", "b8"]


@given(st.integers(1, 30), st.data(), st.integers(0, 2**32))
def test_a_random_overlay_is_connected_and_has_the_links_asked_for(
    count: int, data: st.DataObject, seed: int
) -> None:
    most = count * (count - 1) // 2 - (count - 1)
    extra = data.draw(st.integers(0, most))
    overlay = random_connected(count, extra, seed)
    assert len(overlay) == count
    assert len(overlay.links) == count - 1 + extra
    assert reached(overlay) == set(overlay)
    assert set(overlay.links.values()) <= {LinkTraits()}


def test_a_random_overlay_depends_on_its_seed_alone() -> None:
    assert random_connected(20, 5, 1) == random_connected(20, 5, 1)
    assert len({frozenset(random_connected(20, 5, seed).links) for seed in range(10)}) == 10
    # That it stays the same from one version of Python to the next is what makes runs comparable.
    assert " ".join(map(str, sorted(random_connected(5, 2, 1).links))) == (
        "b1-b2 b1-b3 b1-b5 b2-b4 b2-b5 b4-b5"
    )


def test_redundant_links_are_drawn_from_all_pairs() -> None:
    seen = {link for seed in range(60) for link in random_connected(5, 2, seed).links}
    assert len(seen) == 10


def test_random_costs_and_latencies_lie_within_their_bounds_and_leave_the_links_alone() -> None:
    plain = random_connected(50, 10, 3)
    overlay = random_connected(50, 10, 3, costs=(2, 5), latencies=(0.005, 0.02))
    assert set(overlay.links) == set(plain.links)
    costs = [traits.cost for traits in overlay.links.values()]
    latencies = [traits.latency for traits in overlay.links.values()]
    assert 2 <= min(costs) < 3 < 4 < max(costs) <= 5
    assert 0.005 <= min(latencies) < 0.01 < 0.015 < max(latencies) <= 0.02


def test_a_thousand_brokers_take_milliseconds() -> None:
    def spent(build: str) -> float:
        start = time.process_time()
        assert len(parse_topology(build)) >= 1000
        return time.process_time() - start

    for text in ("random:count=1000,extra=500", "tree:levels=10,fanout=2", "chain:count=1000"):
        assert min(spent(text) for _ in range(3)) < 0.1


# --- texts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "overlay"),
    [
        ("tree:levels=3,fanout=2", balanced_tree(3, 2)),
        ("chain:count=5", chain(5)),
        ("star:count=9", star(9)),
        ("draft", draft_tree()),
        ("random:count=20,extra=5,seed=1", random_connected(20, 5, 1)),
        ("random:count=20", random_connected(20, 0, 0)),
        ("tree: fanout=3, levels=2, latency=12.5", balanced_tree(2, 3, latency=0.0125)),
        ("chain:count=2,latency=12", Overlay(["b1", "b2"], {("b1", "b2"): LinkTraits(1, 0.012)})),
        ("star:count=3,latency=0", star(3, latency=0.0)),
        ("draft:latency=7", draft_tree(latency=0.007)),
        (
            "random:count=9,extra=2,seed=4,cost=1.5..4,latency=5..20",
            random_connected(9, 2, 4, costs=(1.5, 4), latencies=(0.005, 0.02)),
        ),
        (
            "random:count=9,cost=2,latency=.5",
            random_connected(9, 0, 0, costs=(2, 2), latencies=(0.0005, 0.0005)),
        ),
    ],
)
def test_a_text_gives_the_overlay_that_it_describes(text: str, overlay: Overlay) -> None:
    assert parse_topology(text) == overlay


def test_a_text_may_be_the_path_of_a_network_file(tmp_path: Path) -> None:
    path = tmp_path / "offices.toml"
    path.write_text('brokers = ["a", "b"]\n[[links]]\nbetween = ["a", "b"]\n', encoding="utf-8")
    assert set(parse_topology(str(path)).links) == {Link("a", "b")}
    other = tmp_path / "offices"
    path.rename(other)
    assert len(parse_topology(str(other))) == 2
    with pytest.raises(OverlayError, match=r"offices\.toml: No such file"):
        parse_topology(str(path))


@pytest.mark.parametrize(
    ("text", "wrong", "remedy"),
    [
        ("", "no shape and no file", "star:count=9"),
        ("ring:count=4", "no shape and no file", r"network file \(\.toml\)"),
        ("Tree:levels=2,fanout=2", "no shape", "did you mean 'tree:levels=3,fanout=2'"),
        ("tree", "levels and fanout missing", "as in 'tree:levels=3,fanout=2'"),
        ("tree:levels=3", "fanout missing", "allowed are levels, fanout, latency"),
        ("tree:levels=3,fan_out=2", "'fan_out=2' is no setting", "did you mean fanout="),
        ("chain:5", "'5' is no setting", "allowed are count, latency"),
        ("chain:count=5,", "'' is no setting", "as in 'chain:count=5'"),
        ("chain:count=5,count=6", "count is set twice", "leave one out"),
        ("chain:count=0", "not 0", "1 to 100,000 brokers"),
        ("chain:count=-1", "not '-1'", "whole number"),
        ("star:count=1_0", "not '1_0'", "whole number"),
        ("star:count=1000000", "not 1,000,000", "1 to 100,000 brokers"),
        ("tree:levels=0,fanout=2", "not 0", "levels of a tree is 1 at least"),
        ("tree:levels=2,fanout=0", "not 0", "fanout of a tree is 1 at least"),
        ("tree:levels=900000000000,fanout=2", "not 131,071", "1 to 100,000 brokers"),
        ("tree:levels=900000000000,fanout=1", "not 100,001", "1 to 100,000 brokers"),
        ("draft:count=8", "'count=8' is no setting", "allowed are latency"),
        ("random:count=4,extra=4", "not 4", "room for 0 to 3 redundant links"),
        ("random:count=99999,extra=999999999", "not 999,999,999", "0 to 900,002"),
        ("random:count=4,latency=9..5", "0.005 < 0.009", "the lesser first"),
        ("random:count=4,cost=0", "the link b1-b2", "a cost is above 0"),
        ("random:count=4,cost=x", "not 'x'", r"a range \(5\.\.20\)"),
        ("chain:count=4,latency=5..9", "not '5..9'", r"milliseconds, a number \(12.5\)"),
        ("chain:count=4,latency=inf", "not 'inf'", "milliseconds"),
        ("hierarchy:2x3x40", "not 40", "a unit has 1 to 32 members"),
        ("hierarchy:2x2x2x2x2", "not 5", "1 to 4 levels"),
        ("hierarchy:4x1x2,gateways=2", "2 gateways", "the smallest unit has 1 members"),
    ],
)
def test_an_error_shows_the_text_what_is_wrong_and_what_is_allowed(
    text: str, wrong: str, remedy: str
) -> None:
    with pytest.raises(OverlayError, match=remedy) as caught:
        parse_topology(text)
    assert str(caught.value).startswith(f"the topology {text!r}: ")
    assert wrong in str(caught.value)


def test_calls_are_held_to_the_same_bounds() -> None:
    with pytest.raises(OverlayError, match="1 to 100,000 brokers, not 100,001"):
        chain(MOST_BROKERS + 1)
    with pytest.raises(OverlayError, match="0 to 0 redundant links, not -1"):
        random_connected(2, -1, 0)
    with pytest.raises(OverlayError, match="costs lie between two bounds"):
        random_connected(2, 0, 0, costs=(2, 1))
