"""What origins owe to homes: everything arrives, nothing twice, whatever is lost on the way."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.broker.custody import (
    FIRST_PATIENCE,
    LONGEST_PATIENCE,
    WINDOW,
    Custody,
    Debt,
    Receipt,
    Receipts,
)


def owe(
    custody: Custody, homes: Sequence[str], reachable: Sequence[str] = (), now: float = 0.0
) -> tuple[Debt, ...]:
    debts = custody.owe(homes)
    custody.safe(debts, reachable, now)
    return debts


def test_documents_owed_to_a_home_are_numbered_without_gaps() -> None:
    custody = Custody()
    assert owe(custody, ["rome"], ["rome"], 0.0) == (Debt("rome", 1, 1),)
    assert owe(custody, ["paris", "rome"], [], 0.0) == (Debt("paris", 1, 1), Debt("rome", 2, 1))
    assert custody.owed == {"rome": 2, "paris": 1}


def test_what_is_confirmed_is_owed_no_more() -> None:
    custody = Custody()
    for _ in range(5):
        owe(custody, ["rome"], ["rome"], 0.0)
    assert custody.confirm("rome", 2, [4]) == [1, 2, 4]
    assert custody.confirm("rome", 2, [4]) == []
    assert custody.confirm("rome", 5, []) == [3, 5]
    assert custody.owed == {"rome": 0}
    assert custody.confirm("nowhere", 5, [7]) == []


def test_what_was_sent_is_not_sent_again_at_once() -> None:
    custody = Custody()
    owe(custody, ["rome"], ["rome"], now=10.0)
    assert custody.due("rome", 10.0 + FIRST_PATIENCE / 2) == []
    assert custody.due("rome", 10.0 + FIRST_PATIENCE) == [Debt("rome", 1, 1)]
    assert custody.due("rome", 10.0 + FIRST_PATIENCE) == []


def test_patience_grows_without_an_answer_and_shrinks_with_one() -> None:
    custody = Custody()
    owe(custody, ["rome"], ["rome"], now=0.0)
    owe(custody, ["rome"], ["rome"], now=0.0)
    now, waits = 0.0, []
    for _ in range(8):
        began = now
        while not custody.due("rome", now):
            now += 0.5
        waits.append(now - began)
    assert waits[0] == FIRST_PATIENCE
    assert waits[1] == 2 * FIRST_PATIENCE
    assert waits[-1] == LONGEST_PATIENCE
    custody.confirm("rome", 1, [])
    assert custody.due("rome", now + FIRST_PATIENCE) == [Debt("rome", 2, 2)]


def test_what_could_not_be_sent_is_due_at_once_when_the_home_can_be_reached() -> None:
    custody = Custody()
    owe(custody, ["rome"], [], now=100.0)
    assert custody.due("rome", 100.0) == [Debt("rome", 1, 1)]


def test_nothing_is_sent_before_it_is_safe() -> None:
    custody = Custody()
    debts = custody.owe(["rome"])
    custody.hurry("rome")
    assert custody.due("rome", 1000.0) == []
    custody.safe(debts, [], 0.0)
    assert custody.due("rome", 0.0) == [Debt("rome", 1, 1)]
    custody.confirm("rome", 1, [])
    custody.safe(debts, [], 0.0)
    assert custody.owed == {"rome": 0}


def test_no_more_than_a_window_is_sent_again() -> None:
    custody = Custody()
    custody.restore("rome", WINDOW * 3 + 1, range(1, WINDOW * 3 + 1))
    first = custody.due("rome", 0.0)
    assert [debt.number for debt in first] == list(range(1, WINDOW + 1))
    assert custody.due("rome", 0.0) == []
    custody.confirm("rome", 10, [])
    assert [debt.number for debt in custody.due("rome", 0.0)] == list(
        range(WINDOW + 1, WINDOW + 11)
    )


def test_a_home_that_returns_is_hurried_to() -> None:
    custody = Custody()
    owe(custody, ["rome"], ["rome"], now=0.0)
    assert custody.due("rome", 0.1) == []
    custody.hurry("rome")
    assert custody.due("rome", 0.1) == [Debt("rome", 1, 1)]
    custody.hurry("nowhere")


def test_what_is_given_up_or_forgotten_is_not_sent() -> None:
    custody = Custody()
    owe(custody, ["rome"], [], 0.0)
    owe(custody, ["rome"], [], 0.0)
    custody.give_up("rome", [1, 7])
    custody.give_up("nowhere", [1])
    assert custody.due("rome", 0.0) == [Debt("rome", 2, 2)]
    custody.forget("rome")
    assert custody.due("rome", 100.0) == []
    assert custody.owed == {"rome": 0}
    assert owe(custody, ["rome"], [], 0.0) == (Debt("rome", 3, 3),)


def test_a_number_counts_once() -> None:
    receipts = Receipts()
    assert receipts.begin("rome", "e1", 2, 1)
    assert not receipts.begin("rome", "e1", 2, 1)
    assert receipts.receipt("rome", "e1") == Receipt(0, ())
    receipts.done("rome", "e1", 2)
    assert receipts.receipt("rome", "e1") == Receipt(0, (2,))
    assert receipts.begin("rome", "e1", 1, 1)
    receipts.done("rome", "e1", 1)
    assert receipts.receipt("rome", "e1") == Receipt(2, ())
    assert not receipts.begin("rome", "e1", 1, 1)


def test_what_could_not_be_stored_may_come_again() -> None:
    receipts = Receipts()
    assert receipts.begin("rome", "e1", 1, 1)
    receipts.failed("rome", "e1", 1)
    assert receipts.receipt("rome", "e1") == Receipt(0, ())
    assert receipts.begin("rome", "e1", 1, 1)


def test_what_the_origin_has_given_up_leaves_no_gap() -> None:
    receipts = Receipts()
    assert receipts.begin("rome", "e1", 5, 4)
    receipts.done("rome", "e1", 5)
    assert receipts.receipt("rome", "e1") == Receipt(3, (5,))
    assert receipts.begin("rome", "e1", 6, 5)
    receipts.done("rome", "e1", 6)
    assert receipts.receipt("rome", "e1") == Receipt(6, ())


def test_a_later_epoch_ends_an_earlier_one() -> None:
    receipts = Receipts()
    receipts.restore("rome", "e1", 7, (9,))
    receipts.restore("rome", "e0", 1, ())
    assert not receipts.begin("rome", "e1", 9, 1)
    assert receipts.begin("rome", "e2", 1, 1)
    assert not receipts.begin("rome", "e1", 10, 1)
    assert receipts.receipt("rome", "e1") is None
    receipts.done("rome", "e1", 9)
    receipts.done("rome", "e2", 1)
    assert receipts.receipt("rome", "e2") == Receipt(1, ())


_STEPS = st.lists(
    st.sampled_from(
        ["publish", "publish", "lose", "deliver", "receipt", "lose receipt", "crash", "wait"]
    ),
    max_size=60,
)


@given(_STEPS)
@pytest.mark.parametrize("reachable", [True, False])
def test_everything_arrives_once_through_losses_and_crashes(
    reachable: bool, steps: Sequence[str]
) -> None:
    """An origin and a home whose messages get lost, and who come back from crashes with disks."""
    origin, home = Custody(), Receipts()
    disk: dict[int, None] = {}  # of the origin: what is not confirmed
    stored: list[int] = []  # of the home
    on_way: list[Debt] = []
    now, published = 0.0, 0

    def deliver(debt: Debt) -> None:
        if home.begin("o", "e", debt.number, debt.settled):
            stored.append(debt.number)
            home.done("o", "e", debt.number)

    def confirm() -> None:
        receipt = home.receipt("o", "e")
        assert receipt is not None
        for number in origin.confirm("h", *receipt):
            del disk[number]

    for step in [*steps, *["wait", "deliver", "receipt"] * 4]:
        now += 0.1
        if step == "publish":
            [debt] = owe(origin, ["h"], ["h"] if reachable else [], now)
            published += 1
            assert debt.number == published
            disk[debt.number] = None
            if reachable:
                on_way.append(debt)
        elif step == "lose" and on_way:
            on_way.pop()
        elif step == "deliver":
            while on_way:
                deliver(on_way.pop())
        elif step == "receipt":
            confirm()
        elif step == "crash":
            origin, kept = Custody(), Receipts()
            origin.restore("h", published + 1, disk)
            receipt = home.receipt("o", "e")
            assert receipt is not None
            kept.restore("o", "e", *receipt)
            home = kept
        elif step == "wait":
            now += 2 * LONGEST_PATIENCE
            on_way += origin.due("h", now)
    assert sorted(stored) == list(range(1, published + 1))
    assert not disk
    assert origin.owed.get("h", 0) == 0
