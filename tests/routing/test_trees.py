"""Shortest-path trees, against networkx, and what link states make of an overlay."""

from __future__ import annotations

from random import Random

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.routing.link_states import LinkStates
from twigcast.routing.messages import LinkState
from twigcast.routing.trees import Tree, View, shortest_path_tree


def random_graph(seed: int) -> dict[str, dict[str, float]]:
    random = Random(seed)
    names = [f"b{number}" for number in range(random.randint(1, 12))]
    graph: dict[str, dict[str, float]] = {name: {} for name in names}
    for one in names:
        for other in names:
            if one < other and random.random() < 0.35:
                graph[one][other] = graph[other][one] = float(random.randint(1, 4))
    return graph


def states_of(graph: dict[str, dict[str, float]]) -> list[LinkState]:
    return [
        LinkState(name, 0, 1, tuple(sorted(neighbours.items())))
        for name, neighbours in graph.items()
    ]


@given(seed=st.integers(0, 10**9))
def test_every_way_to_the_root_costs_least(seed: int) -> None:
    graph = random_graph(seed)
    other: networkx.Graph[str] = networkx.Graph()
    other.add_nodes_from(graph)
    for one, neighbours in graph.items():
        for neighbour, cost in neighbours.items():
            other.add_edge(one, neighbour, weight=cost)
    root = sorted(graph)[seed % len(graph)]
    tree = shortest_path_tree(graph, root)
    distances = networkx.single_source_dijkstra_path_length(other, root)
    assert {root, *tree.parents} == set(distances)
    for broker in tree.parents:
        cost, at = 0.0, broker
        while at != root:
            parent = tree.parent(at)
            assert parent is not None
            assert at in tree.below(parent)
            cost += graph[at][parent]
            at = parent
        assert cost == distances[broker]


@given(seed=st.integers(0, 10**9))
def test_equal_ways_are_told_apart_by_names_alone(seed: int) -> None:
    graph = random_graph(seed)
    root = min(graph)
    mixed = list(graph)
    Random(seed + 1).shuffle(mixed)
    again = {name: dict(reversed(graph[name].items())) for name in mixed}
    assert shortest_path_tree(graph, root) == shortest_path_tree(again, root)
    for broker, parent in shortest_path_tree(graph, root).parents.items():
        rivals = [
            other
            for other in graph[broker]
            if _distance(graph, root, other) + graph[broker][other]
            == _distance(graph, root, broker)
        ]
        assert parent == min(rivals)


def _distance(graph: dict[str, dict[str, float]], root: str, broker: str) -> float:
    tree = shortest_path_tree(graph, root)
    cost = 0.0
    while broker != root:
        parent = tree.parents[broker]
        cost += graph[broker][parent]
        broker = parent
    return cost


def test_a_link_is_there_when_both_ends_say_so() -> None:
    view = View([LinkState("a", 0, 1, (("b", 1.0),)), LinkState("b", 0, 1, ())])
    assert view.tree("a") == Tree("a", {}, {})
    view = View([LinkState("a", 0, 1, (("b", 1.0),)), LinkState("b", 0, 1, (("a", 3.0),))])
    assert view.graph == {"a": {"b": 3.0}, "b": {"a": 3.0}}


def test_a_broker_that_nobody_knows_stands_alone() -> None:
    tree = View([]).tree("a")
    assert "a" in tree
    assert tree.around("a") == ()


def test_all_that_reach_each_other_share_one_tree_each() -> None:
    graph = {
        "a": {"b": 1.0},
        "b": {"a": 1.0, "c": 1.0},
        "c": {"b": 1.0},
        "x": {"y": 1.0},
        "y": {"x": 1.0},
    }
    view = View(states_of(graph))
    assert [view.shared_tree(each).root for each in "abcxy"] == ["b", "b", "b", "x", "x"]
    assert view.shared_tree("a").around("b") == ("a", "c")
    assert view.shared_tree("a").around("c") == ("b",)


class TestLinkStates:
    def test_later_states_replace_earlier_ones_and_nothing_else_does(self) -> None:
        states = LinkStates("a", 0)
        first = LinkState("b", 0, 1, (("a", 1.0),))
        second = LinkState("b", 0, 2, ())
        assert states.accept(second)
        assert not states.accept(first)
        assert not states.accept(second)
        assert states.accept(LinkState("b", 1, 0, ()))
        assert not states.accept(LinkState("b", 0, 99, ()))

    def test_nobody_else_speaks_for_a_broker(self) -> None:
        states = LinkStates("a", 7)
        states.set_link("c", 1.0)
        assert not states.accept(LinkState("a", 6, 9, (("b", 1.0),)))
        assert states.own == LinkState("a", 7, 1, (("c", 1.0),))

    def test_a_broker_that_is_known_from_a_later_life_goes_on_after_that(self) -> None:
        states = LinkStates("a", 0)
        states.set_link("c", 1.0)
        assert states.accept(LinkState("a", 7, 3, (("b", 1.0),)))
        assert states.own == LinkState("a", 8, 1, (("c", 1.0),))

    def test_a_life_that_no_broker_comes_to_is_not_heeded(self) -> None:
        states = LinkStates("a", 7)
        assert not states.accept(LinkState("a", 2**60, 1, ()))
        assert states.own == LinkState("a", 7, 0, ())

    def test_own_links_are_told_with_growing_versions(self) -> None:
        states = LinkStates("a", 3)
        assert states.set_link("c", 1.0) == LinkState("a", 3, 1, (("c", 1.0),))
        assert states.set_link("b", 2.0) == LinkState("a", 3, 2, (("b", 2.0), ("c", 1.0)))
        assert states.set_link("c", None) == LinkState("a", 3, 3, (("b", 2.0),))

    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
    def test_the_view_does_not_depend_on_the_order_of_news(self, order: tuple[int, ...]) -> None:
        news = states_of({"a": {"b": 1.0}, "b": {"a": 1.0, "c": 2.0}, "c": {"b": 2.0}})
        states = LinkStates("z", 0)
        for place in order:
            assert states.accept(news[place])
        assert states.view.tree("a").parents == {"b": "a", "c": "b"}
