"""The queue of a durable subscription, without a broker: places, acknowledgements, gaps."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from twigcast.broker.store import Durable, Store
from twigcast.broker.subscriptions import DurableSubscription


def queue(**kept: Any) -> DurableSubscription:
    values: dict[str, Any] = {
        "name": "d",
        "owner": "ann",
        "expressions": {},
        "first": 1,
        "last": 0,
        "acknowledged": 0,
        "acknowledged_beyond": frozenset(),
        "missed": 0,
    }
    return DurableSubscription(Durable(**(values | kept)), {}, cast("Store", None))


def test_acknowledgements_join_up() -> None:
    durable = queue(last=10)
    assert durable.acknowledge(2, [4, 5]) == (2, [4, 5])
    assert durable.acknowledge(2, [4]) is None
    assert durable.waiting == 6
    assert durable.acknowledge(0, [3]) == (5, [3])
    assert durable.is_acknowledged(5)
    assert not durable.is_acknowledged(6)


def test_nobody_acknowledges_what_is_not_there() -> None:
    durable = queue(last=3)
    assert durable.acknowledge(100, [200]) == (3, [])
    assert durable.acknowledge(100, [200]) is None
    assert durable.next_sequence() == 4
    assert not durable.is_acknowledged(4)


def test_places_that_were_never_given_are_passed_over() -> None:
    durable = queue(last=1000, acknowledged=8, gap=(10, 1000))
    assert durable.waiting == 2
    place = durable.next_sequence()
    durable.committed(place, b"", ())
    assert (place, durable.waiting) == (1001, 3)
    durable.acknowledge(0, [9])
    assert durable.acknowledged == 9
    durable.acknowledge(0, [10])
    assert (durable.acknowledged, durable.waiting) == (1000, 1)
    durable.acknowledge(1001, [])
    assert (durable.acknowledged, durable.waiting) == (1001, 0)


def test_a_gap_behind_us_changes_nothing() -> None:
    durable = queue(last=1005, acknowledged=1001, gap=(10, 1000))
    assert (durable.acknowledged, durable.waiting) == (1001, 4)


@given(st.lists(st.tuples(st.integers(0, 12), st.lists(st.integers(0, 12), max_size=4))))
def test_what_is_acknowledged_is_what_was_said(said: list[tuple[int, list[int]]]) -> None:
    durable = queue(last=10)
    expected: set[int] = set()
    for upto, places in said:
        durable.acknowledge(upto, places)
        expected |= {*range(1, min(upto, 10) + 1), *(each for each in places if 1 <= each <= 10)}
        assert {each for each in range(1, 11) if durable.is_acknowledged(each)} == expected
        assert durable.waiting == 10 - len(expected)
