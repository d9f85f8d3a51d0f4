"""Sets of numbers as runs, compared with plain sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twigcast.client.runs import Runs


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 30))))
def test_runs_are_a_set(steps: list[tuple[bool, int]]) -> None:
    runs, plain = Runs(), set[int]()
    for is_added, number in steps:
        (runs.add if is_added else runs.discard)(number)
        (plain.add if is_added else plain.discard)(number)
        assert len(runs) == len(plain)
        assert {each for each in range(32) if each in runs} == plain
    runs.clear()
    assert len(runs) == 0
