"""The minimal set of a covering table: what nothing else of the whole set replaces."""

from __future__ import annotations

from itertools import islice, permutations
from random import Random

import pytest
from tangled_patterns import CHAIN, CIRCLE, draw_tangle, minimal_places
from workloads import example

from twigcast.covering import CoveringTable, PatternSearch, TextSearch, covers, replaced_patterns
from twigcast.language import Pattern, parse
from twigcast.workload import PathParameters, generate_subscriptions


def table_of(patterns: list[Pattern]) -> CoveringTable:
    table = CoveringTable()
    for number, pattern in enumerate(patterns):
        table.add(str(number), pattern)
    return table


def staying(patterns: list[Pattern]) -> list[Pattern]:
    replaced = replaced_patterns(table_of(patterns))
    return [pattern for pattern in patterns if pattern not in replaced]


def test_the_order_does_not_matter_where_covering_is_not_transitive() -> None:
    patterns = [parse(text) for text in CHAIN]
    for order in permutations(patterns):
        assert staying(list(order)) == patterns[:1]


def test_of_a_circle_the_first_stays_and_stands_for_the_others() -> None:
    patterns = [parse(text) for text in CIRCLE]
    replaced = replaced_patterns(table_of(patterns))
    assert {_top(pattern, replaced) for pattern in patterns} == {patterns[0]}
    for order in permutations(patterns):
        (place,) = minimal_places(order)
        assert staying(list(order)) == [order[place]]


def test_a_circle_below_another_pattern_goes() -> None:
    patterns = [parse(text) for text in (*CIRCLE, "/z//b")]
    replaced = replaced_patterns(table_of(patterns))
    assert {_top(pattern, replaced) for pattern in patterns} == {patterns[-1]}


def test_random_sets_give_what_the_definition_says() -> None:
    random = Random(2)
    different = 0
    for _ in range(250):
        patterns = draw_tangle(random, 14)
        table = table_of(patterns)
        replaced = replaced_patterns(table)
        found = {place for place, pattern in enumerate(patterns) if pattern not in replaced}
        assert found == minimal_places(patterns)
        for pattern in patterns:
            assert _top(pattern, replaced) not in replaced
        different += len(found) != len(table.forwarded)
    assert different > 10


def test_on_paths_the_minimal_set_is_what_the_table_forwards() -> None:
    parameters = PathParameters(length=6, wildcard=0.1, descendant=0.2, shortest=3)
    paths = generate_subscriptions(example("protein.dtd"), parameters, seed=3)
    table = table_of(list(islice(paths, 800)))
    assert replaced_patterns(table).keys() == set(table.patterns) - set(table.forwarded)


def test_searches_over_texts_find_what_covers_finds() -> None:
    random = Random(4)
    for _ in range(40):
        patterns = draw_tangle(random, 20)
        by_text: TextSearch[Pattern] = TextSearch()
        by_tree = PatternSearch()
        for pattern in patterns:
            by_text.add(pattern, pattern)
            by_tree.add(pattern)
        for pattern in patterns:
            assert set(by_text.covering(pattern)) == set(by_tree.covering(pattern))
            assert set(by_text.covered_by(pattern)) == set(by_tree.covered_by(pattern))


def test_a_search_over_texts_forgets_what_was_only_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twigcast.covering.search._SPARE_TERMS", 100)
    search: TextSearch[int] = TextSearch()
    search.add(parse("//a[. > 1]"), 1)
    for number in range(1_000):
        assert search.covering(parse(f"//a[. = {number + 2}]")) == [1]
    assert search._kernel.terms_known < 200


def _top(pattern: Pattern, replaced: dict[Pattern, Pattern]) -> Pattern:
    steps = 0
    while pattern in replaced:
        pattern = replaced[pattern]
        steps += 1
        assert steps <= len(replaced)
    return pattern


def test_each_step_of_a_replacement_is_a_covering() -> None:
    random = Random(5)
    for _ in range(50):
        # Circles are untied in several steps at once.
        circle = set(map(parse, CIRCLE))
        patterns = [one for one in draw_tangle(random, 14) if one not in circle]
        for below, above in replaced_patterns(table_of(patterns)).items():
            assert covers(above, below)
