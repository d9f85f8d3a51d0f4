"""The queue of a durable subscription, by itself: who has which document, and what comes again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.delivery.durable_queue import DurableQueue, Passed, Returned
from twigcast.delivery.writes import Durable, DurableOptions

SHARED = DurableOptions(is_shared=True)
KEYED = DurableOptions(is_shared=True, key="@k")


def queue(options: DurableOptions = DurableOptions(), **kept: Any) -> DurableQueue:  # noqa: B008
    return DurableQueue(Durable("d", "ann", {}, options, **kept))


def shared(*consumers: str, options: DurableOptions = SHARED, **kept: Any) -> DurableQueue:
    durable = queue(options, **kept)
    for each in consumers:
        assert durable.attach(each) == []
    return durable


# --- acknowledging --------------------------------------------------------------------------------


def test_acknowledgements_join_up() -> None:
    durable = queue(last=10)
    assert durable.acknowledge(2, [4, 5]) == Passed(2, (4, 5))
    assert durable.acknowledge(2, [4]) is None
    assert durable.waiting == 6
    assert durable.acknowledge(0, [3]) == Passed(5, (3,))
    assert not durable.is_waiting(5)
    assert durable.is_waiting(6)


def test_nobody_acknowledges_what_is_not_there() -> None:
    durable = queue(last=3)
    assert durable.acknowledge(100, [200]) == Passed(3, ())
    assert durable.acknowledge(100, [200]) is None
    durable.enter(4)
    assert durable.is_waiting(4)


def test_sequences_that_were_never_given_are_passed_over() -> None:
    durable = queue(last=1000, acknowledged=8, gap=(10, 1000))
    durable.attach("x")
    assert durable.waiting == 2
    durable.enter(1001)
    assert durable.take("x", 10, 0.0) == [9, 10, 1001]
    assert durable.acknowledge(0, [9]) == Passed(9, (9,))
    assert durable.acknowledge(0, [10]) == Passed(1000, (10,))
    assert durable.waiting == 1
    assert durable.acknowledge(1001, []) == Passed(1001, ())
    assert durable.waiting == 0


def test_nobody_acknowledges_what_was_never_given() -> None:
    durable = queue(last=1001, acknowledged=8, gap=(10, 1000))
    assert durable.acknowledge(0, [500]) is None
    assert durable.waiting == 3


def test_a_gap_behind_us_changes_nothing() -> None:
    durable = queue(last=1005, acknowledged=1001, gap=(10, 1000))
    assert (durable.acknowledged, durable.waiting) == (1001, 4)


@given(st.lists(st.tuples(st.integers(0, 12), st.lists(st.integers(0, 12), max_size=4))))
def test_what_is_acknowledged_is_what_was_said(said: list[tuple[int, list[int]]]) -> None:
    durable = queue(last=10)
    expected: set[int] = set()
    for upto, sequences in said:
        durable.acknowledge(upto, sequences)
        expected |= {*range(1, min(upto, 10) + 1), *(each for each in sequences if 1 <= each <= 10)}
        assert {each for each in range(1, 11) if not durable.is_waiting(each)} == expected
        assert durable.waiting == 10 - len(expected)


def test_what_is_acknowledged_costs_once_however_much_is_out() -> None:
    durable = shared("x", "y", last=200_000)
    for _ in range(100):
        durable.take("x", 1000, 0.0)
        durable.take("y", 1000, 0.0)
    for upto in range(1, 200_001):
        durable.acknowledge(upto, ())
    assert durable.waiting == 0


# --- one consumer ---------------------------------------------------------------------------------


def test_a_consumer_is_given_each_document_once() -> None:
    durable = queue(last=3)
    assert durable.attach("x") == []
    assert durable.take("x", 2, 0.0) == [1, 2]
    assert durable.has_work("x", 0.0)
    assert durable.take("x", 2, 0.0) == [3]
    assert not durable.has_work("x", 0.0)
    assert durable.take("x", 2, 0.0) == []
    assert durable.take("nobody", 2, 0.0) == []
    assert not durable.has_work("nobody", 0.0)


def test_what_was_not_given_after_all_comes_first() -> None:
    durable = queue(last=5)
    durable.attach("x")
    durable.take("x", 3, 0.0)
    durable.untake("x", [2, 3])
    assert durable.take("x", 5, 0.0) == [2, 3, 4, 5]


def test_another_consumer_begins_with_the_first_that_waits() -> None:
    durable = queue(last=4)
    durable.attach("x")
    durable.take("x", 3, 0.0)
    durable.acknowledge(0, [1, 3])
    assert durable.attach("y") == ["x"]
    assert durable.take("x", 9, 0.0) == []
    assert durable.take("y", 9, 0.0) == [2, 4]
    assert durable.consumers == ["y"]


def test_who_has_lost_the_queue_returns_nothing_to_it() -> None:
    durable = queue(last=3)
    durable.attach("x")
    durable.take("x", 3, 0.0)
    durable.attach("y")
    assert durable.take("y", 9, 0.0) == [1, 2, 3]
    durable.untake("x", [2, 3])
    assert durable.detach("x", 3) == Returned({}, ())
    assert durable.give_back("x", [1], 0.0) == Returned({}, ())
    assert durable.take("y", 9, 0.0) == []


def test_a_consumer_may_begin_anywhere_and_gets_what_is_passed() -> None:
    durable = queue(last=4, acknowledged=3)
    durable.attach("x", start=2)
    assert durable.take("x", 9, 0.0) == [2, 3, 4]
    durable.detach("x")
    durable.attach("x")
    assert durable.take("x", 9, 0.0) == [4]


def test_what_is_replayed_is_let_go_when_it_is_acknowledged_again() -> None:
    durable = queue(last=4, acknowledged=4)
    durable.attach("x", start=1)
    assert durable.take("x", 3, 0.0) == [1, 2, 3]
    assert durable.acknowledge(2, ()) is None
    assert durable.give_back("x", [1, 2, 3], 0.0) == Returned({}, ())
    assert durable.take("x", 9, 0.0) == [4]


def test_nothing_is_replayed_that_is_kept_no_more() -> None:
    durable = queue(last=9, acknowledged=9, first=7)
    durable.attach("x", start=1)
    assert durable.take("x", 1, 0.0) == [7]
    durable.trimmed(9, 0)
    assert durable.take("x", 9, 0.0) == [9]


def test_what_is_given_back_comes_again_after_a_while() -> None:
    durable = queue(last=2)
    durable.attach("x")
    durable.take("x", 2, 0.0)
    assert durable.give_back("x", [1, 1, 7], due=5.0) == Returned({1: 1}, ())
    assert durable.next_due() == 5.0
    assert durable.take("x", 9, 4.9) == []
    assert not durable.has_work("x", 4.9)
    assert durable.take("x", 9, 5.0) == [1]
    assert durable.next_due() is None


def test_what_is_acknowledged_meanwhile_does_not_come_again() -> None:
    durable = queue(last=3)
    durable.attach("x")
    durable.take("x", 3, 0.0)
    durable.give_back("x", [1, 2], due=0.0)
    durable.acknowledge(0, [1])
    durable.acknowledge(2, ())
    assert durable.next_due() is None
    assert not durable.has_work("x", 1.0)


def test_what_comes_back_too_often_is_said() -> None:
    durable = queue(DurableOptions(most_attempts=2), last=2)
    durable.attach("x")
    durable.take("x", 2, 0.0)
    assert durable.give_back("x", [1], 0.0) == Returned({1: 1}, ())
    assert durable.take("x", 2, 0.0) == [1]
    assert durable.detach("x", taken=2) == Returned({2: 1, 1: 2}, (1,))
    durable.acknowledge(0, [1])
    durable.attach("x")
    assert durable.take("x", 2, 0.0) == [2]


def test_attempts_are_remembered_over_a_restart() -> None:
    durable = queue(DurableOptions(most_attempts=3), last=2, attempts={1: 2})
    durable.attach("x")
    durable.take("x", 2, 0.0)
    assert durable.give_back("x", [1, 2], 0.0) == Returned({1: 3, 2: 1}, (1,))


def test_only_what_was_taken_up_counts_as_an_attempt() -> None:
    durable = queue(DurableOptions(most_attempts=3), last=3)
    durable.attach("x")
    durable.take("x", 3, 0.0)
    assert durable.detach("x", taken=1) == Returned({1: 1}, ())
    assert durable.detach("x", taken=1) == Returned({}, ())


@pytest.mark.parametrize("options", [DurableOptions(), SHARED])
def test_what_was_revived_comes_again_and_is_acknowledged_singly(options: DurableOptions) -> None:
    durable = queue(options, last=4, acknowledged=4)
    durable.attach("x")
    durable.revive(2)
    durable.revive(2)
    assert durable.waiting == 1
    assert durable.take("x", 9, 0.0) == [2]
    assert durable.acknowledge(4, ()) is None
    assert durable.is_waiting(2)
    assert durable.acknowledge(0, [2]) == Passed(4, (2,))
    assert durable.waiting == 0


@pytest.mark.parametrize("options", [DurableOptions(), SHARED])
def test_what_was_revived_comes_after_a_restart(options: DurableOptions) -> None:
    durable = queue(options, last=4, acknowledged=3, revived=frozenset({2}))
    durable.attach("x")
    assert durable.take("x", 9, 0.0) == [2, 4]


def test_what_is_revived_before_it_was_reached_comes_once() -> None:
    durable = queue(last=5, acknowledged=2, beyond=frozenset({4}))
    durable.attach("x")
    durable.revive(4)
    assert durable.take("x", 9, 0.0) == [3, 4, 5]


def test_what_is_kept_no_more_is_not_revived() -> None:
    durable = queue(last=5, acknowledged=5, first=4)
    durable.revive(3)
    durable.revive(6)
    assert durable.waiting == 0


def test_retention_passes_what_it_drops() -> None:
    durable = queue(last=5, acknowledged=2, revived=frozenset({1}))
    durable.attach("x")
    assert durable.take("x", 2, 0.0) == [1, 3]
    durable.trimmed(5, lost=3)
    assert (durable.first, durable.waiting, durable.missed) == (5, 1, 3)
    assert durable.give_back("x", [1, 3], 0.0) == Returned({}, ())
    assert durable.take("x", 9, 0.0) == [5]
    assert (durable.take_missed(), durable.take_missed()) == (3, 0)


def test_what_is_found_to_be_gone_counts_as_passed() -> None:
    durable = queue(last=2)
    durable.attach("x")
    durable.take("x", 2, 0.0)
    durable.gone([1])
    assert (durable.acknowledged, durable.waiting) == (1, 1)


# --- several consumers ----------------------------------------------------------------------------


def test_consumers_that_share_a_queue_have_different_documents() -> None:
    durable = shared("x", "y", last=4)
    assert durable.take("x", 2, 0.0) == [1, 2]
    assert durable.take("y", 9, 0.0) == [3, 4]
    durable.detach("x")
    assert durable.take("y", 9, 0.0) == [1, 2]


def test_who_comes_again_under_its_name_gives_back_what_it_had() -> None:
    durable = shared("x", last=2)
    durable.take("x", 2, 0.0)
    assert durable.attach("x") == []
    assert durable.take("x", 2, 0.0) == [1, 2]


def test_a_queue_that_comes_to_be_shared_misses_nothing() -> None:
    durable = queue(last=9, acknowledged=2)
    durable.attach("x", start=6)
    assert durable.take("x", 1, 0.0) == [6]
    durable.options = SHARED
    assert durable.attach("y") == ["x"]
    assert durable.take("y", 99, 0.0) == [3, 4, 5, 6, 7, 8, 9]


def test_a_queue_that_is_shared_no_more_is_for_one() -> None:
    durable = shared("x", "y", last=3)
    durable.take("x", 1, 0.0)
    durable.options = DurableOptions()
    assert durable.attach("z") == ["x", "y"]
    assert durable.take("z", 9, 0.0) == [1, 2, 3]


# --- keys -----------------------------------------------------------------------------------------


def keyed(*consumers: str, last: int = 9) -> DurableQueue:
    return shared(*consumers, options=KEYED, last=last)


def test_documents_of_a_key_are_for_who_has_some_of_them() -> None:
    durable = keyed("x", "y")
    assert durable.take("x", 1, 0.0) == [1]
    assert durable.assign(1, "k", "x")
    assert durable.take("y", 2, 0.0) == [2, 3]
    assert not durable.assign(2, "k", "y")
    assert durable.assign(3, "l", "y")
    assert durable.has_work("x", 0.0)
    assert durable.take("x", 1, 0.0) == [2]
    assert durable.assign(2, "k", "x"), "its key is known"


def test_what_is_assigned_and_not_taken_keeps_its_key() -> None:
    durable = keyed("x", "y")
    durable.take("x", 1, 0.0)
    durable.assign(1, "k", "x")
    durable.take("y", 1, 0.0)
    durable.assign(2, "k", "y")
    durable.acknowledge(0, [1])
    assert durable.take("y", 1, 0.0) == [3]
    assert not durable.assign(3, "k", "y"), "2 is not acknowledged"
    assert durable.take("x", 2, 0.0) == [2, 3]


def test_what_is_assigned_and_did_not_fit_goes_before_what_follows_of_its_key() -> None:
    durable = keyed("x", "y")
    for sequence, consumer in ((1, "x"), (2, "y"), (3, "y")):
        durable.take(consumer, 1, 0.0)
        durable.assign(sequence, "k", consumer)
    assert durable.take("x", 1, 0.0) == [2]
    durable.untake("x", [2])
    assert durable.take("x", 2, 0.0) == [2, 3]


def test_a_key_is_free_when_all_of_it_is_acknowledged() -> None:
    durable = keyed("x", "y")
    durable.take("x", 1, 0.0)
    durable.assign(1, "k", "x")
    durable.acknowledge(1, ())
    durable.take("y", 1, 0.0)
    assert durable.assign(2, "k", "y")


def test_documents_without_a_key_are_for_anybody() -> None:
    durable = keyed("x", "y")
    durable.take("x", 1, 0.0)
    assert durable.assign(1, "", "x")
    durable.take("y", 1, 0.0)
    assert durable.assign(2, "", "y")


def test_one_consumer_reads_at_a_time() -> None:
    durable = keyed("x", "y")
    assert durable.take("x", 2, 0.0) == [1, 2]
    assert durable.take("y", 2, 0.0) == []
    assert not durable.has_work("y", 0.0)
    assert durable.assign(1, "k", "x")
    durable.untake("x", [2])
    assert durable.take("y", 2, 0.0) == [2, 3]


def test_who_leaves_gives_back_what_was_assigned_to_it_and_its_keys() -> None:
    durable = keyed("x", "y")
    durable.take("x", 1, 0.0)
    durable.assign(1, "k", "x")
    durable.take("y", 1, 0.0)
    durable.assign(2, "k", "y")
    durable.detach("x")
    assert durable.take("y", 3, 0.0) == [1, 2, 3]
    assert all(durable.assign(each, "k", "y") for each in (1, 2, 3))


def test_what_somebody_reads_does_not_go_before_what_comes_again() -> None:
    durable = keyed("x", "y")
    durable.take("x", 1, 0.0)
    durable.assign(1, "k", "x")
    assert durable.take("y", 1, 0.0) == [2]
    durable.detach("x")
    assert not durable.assign(2, "k", "y"), "it was taken back"
    assert durable.take("y", 2, 0.0) == [1, 2]


def test_nothing_is_assigned_to_who_has_left() -> None:
    durable = keyed("x", "y")
    durable.take("x", 1, 0.0)
    durable.detach("x")
    assert not durable.assign(1, "k", "x")
    assert durable.take("y", 1, 0.0) == [1]


def test_what_was_assigned_and_is_acknowledged_does_not_come() -> None:
    durable = keyed("x", "y")
    durable.take("x", 1, 0.0)
    durable.assign(1, "k", "x")
    durable.take("y", 1, 0.0)
    durable.assign(2, "k", "y")
    durable.acknowledge(0, [2])
    assert durable.take("x", 1, 0.0) == [3]


# --- for a while only -----------------------------------------------------------------------------


def test_who_has_a_lease_is_gone_when_it_has_said_all() -> None:
    durable = shared("x", "y", last=3)
    assert durable.take("x", 2, 0.0) == [1, 2]
    durable.lease("x", 5.0)
    assert durable.leased(4.9) == []
    assert durable.leased(5.0) == durable.leased() == ["x"]
    durable.acknowledge(0, [1])
    assert durable.who_has([1, 2, 3]) == {"x": [2]}
    assert durable.give_back("x", [2], 0.0) == Returned({2: 1}, ())
    assert (durable.leased(), durable.consumers) == ([], ["y"])
    assert durable.take("y", 9, 0.0) == [2, 3]


def test_who_has_a_lease_and_nothing_is_gone_at_once() -> None:
    durable = shared("x")
    durable.lease("x", 5.0)
    durable.lease("nobody", 5.0)
    assert (durable.leased(), durable.consumers) == ([], [])


def test_what_was_for_somebody_with_a_lease_is_for_others_after_it() -> None:
    durable = shared("x", "y", options=KEYED, last=2)
    durable.take("x", 1, 0.0)
    assert durable.assign(1, "k", "x")
    durable.lease("x", 5.0)
    durable.take("y", 1, 0.0)
    assert not durable.assign(2, "k", "y")
    assert not durable.has_work("y", 9.0)
    durable.acknowledge(0, [1])
    assert durable.take("y", 1, 0.0) == [2]


def test_who_takes_over_ends_leases() -> None:
    durable = queue(last=2)
    durable.attach("x")
    durable.take("x", 1, 0.0)
    durable.lease("x", 5.0)
    assert durable.attach("y") == ["x"]
    assert durable.leased() == []
    assert durable.take("y", 9, 0.0) == [1, 2]


def test_a_new_key_goes_to_whoever_has_least_and_takes_more() -> None:
    made = shared("x", "y", "z", options=KEYED)
    for sequence in range(1, 6):
        made.enter(sequence)
    assert made.take("x", 5, 0.0) == [1, 2, 3, 4, 5]
    assert made.take("y", 2, 0.0) == []
    given = [made.assign(number, key, "x") for number, key in enumerate("abcda", 1)]
    assert given == [True, False, True, False, True]
    assert made.take("y", 2, 0.0) == [2, 4]
    assert made.take("z", 5, 0.0) == []


def test_a_new_key_goes_to_nobody_who_takes_documents_once() -> None:
    made = shared("x", options=KEYED)
    assert made.attach("passing", joins=True) == []
    for sequence in range(1, 4):
        made.enter(sequence)
    assert made.take("passing", 1, 0.0) == [1]
    assert made.assign(1, "a", "passing")
    assert made.take("passing", 5, 0.0) == [2, 3]
    made.untake("passing", [2, 3])
    made.lease("passing", 100.0)
    assert made.take("x", 5, 0.0) == [2, 3]
    assert made.assign(2, "b", "x")
    assert made.assign(3, "c", "x")
