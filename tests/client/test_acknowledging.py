"""Acknowledgements are kept in runs; a set of numbers is the model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twigcast.client.acknowledging import Acknowledgements, SingleAcknowledgements


def told(acknowledgements: Acknowledgements) -> set[int]:
    """All that a broker has heard when nothing is left to tell."""
    heard: set[int] = set()
    while acknowledgements.waiting:
        upto, sequences = acknowledgements.take()
        heard |= {*range(1, upto + 1), *sequences}
    return heard


def test_in_order_only_the_prefix_is_sent() -> None:
    acknowledgements = Acknowledgements(0)
    for sequence in range(1, 101):
        acknowledgements.add(sequence)
    assert acknowledgements.take() == (100, [])
    assert not acknowledgements.waiting


def test_beyond_a_gap_they_are_sent_one_by_one_until_it_closes() -> None:
    acknowledgements = Acknowledgements(10)
    acknowledgements.add(13)
    acknowledgements.add(12)
    assert acknowledgements.take() == (10, [13, 12])
    acknowledgements.add(11)
    assert acknowledgements.take() == (13, [])


def test_what_was_never_delivered_is_passed_over() -> None:
    acknowledgements = Acknowledgements(0)
    acknowledgements.add(1)
    acknowledgements.skip(2, 5)
    acknowledgements.add(6)
    assert acknowledgements.take() == (6, [])


def test_a_late_beginning_acknowledges_nothing_before_it() -> None:
    acknowledgements = Acknowledgements(3)
    for sequence in range(100, 103):
        acknowledgements.add(sequence)
    assert acknowledgements.take() == (3, [100, 101, 102])


def test_many_single_ones_take_several_messages() -> None:
    acknowledgements = Acknowledgements(0)
    for sequence in range(2, 25_002):
        acknowledgements.add(sequence)
    sizes = []
    while acknowledgements.waiting:
        sizes.append(len(acknowledgements.take()[1]))
    assert sizes == [10_000, 10_000, 5_000]


def test_what_came_again_after_it_was_acknowledged_is_sent_by_itself() -> None:
    acknowledgements = Acknowledgements(10)
    acknowledgements.add(4)
    assert acknowledgements.waiting
    assert acknowledgements.take() == (10, [4])
    assert not acknowledgements.waiting


def test_in_a_shared_queue_each_is_sent_by_itself() -> None:
    acknowledgements = SingleAcknowledgements()
    for sequence in (1, 2, 5):
        acknowledgements.add(sequence)
    acknowledgements.skip(3, 4)
    acknowledgements.repeat(2)
    assert acknowledgements.take() == (0, [1, 2, 5])
    assert not acknowledgements.waiting


@given(
    st.integers(0, 5),
    st.permutations(range(1, 25)),
    st.integers(0, 24),
    st.integers(0, 30),
    st.integers(0, 24),
)
def test_a_broker_that_forgot_hears_all_again(
    acknowledged: int, order: list[int], before: int, known: int, lost: int
) -> None:
    """Some are told; the broker, which may know more or less, then hears the rest and the lost."""
    acknowledgements = Acknowledgements(acknowledged)
    done = set(range(1, acknowledged + 1))
    broker = set(done)
    for sequence in order[:before]:
        acknowledgements.add(sequence)
        done.add(sequence)
    if lost % 2:
        broker |= told(acknowledgements)
    else:
        told(acknowledgements)
    broker |= set(range(1, known + 1))
    knows = max(known, acknowledged)
    while knows + 1 in broker:
        knows += 1
    acknowledgements.repeat(knows)
    done |= set(range(1, knows + 1))
    for sequence in order[before:lost]:
        acknowledgements.add(sequence)
        done.add(sequence)
    assert broker | told(acknowledgements) == done


@given(st.lists(st.tuples(st.integers(1, 6), st.booleans()), max_size=20))
def test_runs_of_delivered_and_skipped_agree_with_a_set(runs: list[tuple[int, bool]]) -> None:
    acknowledgements = Acknowledgements(0)
    done: set[int] = set()
    place = 1
    for length, is_skipped in runs:
        if is_skipped:
            acknowledgements.skip(place, place + length - 1)
            done |= set(range(place, place + length))
        else:
            for sequence in reversed(range(place, place + length - 1)):
                acknowledgements.add(sequence)
                done.add(sequence)
        place += length
    upto = 0
    while upto + 1 in done:
        upto += 1
    assert acknowledgements.upto == upto
