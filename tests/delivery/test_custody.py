"""What origins owe to homes: everything arrives, nothing twice, whatever is lost on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.delivery.custody import (
    FIRST_PATIENCE,
    LONGEST_PATIENCE,
    WINDOW,
    Custody,
    Debt,
    Receipts,
)
from twigcast.delivery.writes import Line
from twigcast.routing.messages import DocumentId


def document(number: int, incarnation: int = 1) -> DocumentId:
    return DocumentId("o", incarnation, number)


def documents(*numbers: int) -> list[DocumentId]:
    return [document(each) for each in numbers]


def custody_of(owed: Mapping[str, Iterable[DocumentId]] | None = None) -> Custody:
    return Custody("o", partial(document, 10**6), owed)


def owing(*numbers: int, sent: float | None = None) -> Custody:
    custody = custody_of()
    for each in numbers:
        custody.owe("rome", document(each))
        if sent is not None:
            custody.sent("rome", document(each), sent)
    return custody


# --- the origin -----------------------------------------------------------------------------------


def test_what_is_confirmed_is_owed_no_more() -> None:
    custody = owing(1, 2, 3)
    assert custody.confirm("rome", documents(1, 3, 7)) == (document(1), document(3))
    assert custody.confirm("rome", documents(1)) == ()
    assert custody.confirm("nowhere", documents(1)) == ()
    assert custody.owed == {"rome": 1}
    assert custody.is_owed("rome", document(2))
    assert not custody.is_owed("rome", document(3))
    assert not custody.is_owed("nowhere", document(2))


def test_a_home_hears_how_far_everything_is_settled() -> None:
    custody = owing(4, 5, 9)
    assert custody.debt("rome", document(9)) == Debt("rome", 4)
    custody.confirm("rome", documents(4))
    assert custody.debt("rome", document(9)) == Debt("rome", 5)


def test_incarnations_are_settled_apart() -> None:
    custody = owing(4)
    custody.owe("rome", document(2, incarnation=7))
    assert custody.debt("rome", document(2, incarnation=7)) == Debt("rome", 2)
    assert custody.debt("rome", document(4)) == Debt("rome", 4)


def test_a_document_that_is_owed_no_more_settles_up_to_itself() -> None:
    custody = owing(4)
    custody.confirm("rome", documents(4))
    assert custody.debt("rome", document(4)) == Debt("rome", 4)


def test_what_was_sent_is_not_sent_again_at_once() -> None:
    custody = owing(1, sent=10.0)
    assert custody.due("rome", 10.0 + FIRST_PATIENCE / 2) == []
    assert custody.due("rome", 10.0 + FIRST_PATIENCE) == documents(1)
    assert custody.due("rome", 10.0 + FIRST_PATIENCE) == []


def test_patience_grows_without_an_answer_and_shrinks_with_one() -> None:
    custody = owing(1, 2, sent=0.0)
    now, waits = 0.0, []
    for _ in range(8):
        began = now
        while not custody.due("rome", now):
            now += 0.5
        waits.append(now - began)
    assert waits[0] == FIRST_PATIENCE
    assert waits[1] == 2 * FIRST_PATIENCE
    assert waits[-1] == LONGEST_PATIENCE
    custody.confirm("rome", documents(1))
    assert custody.due("rome", now + FIRST_PATIENCE) == documents(2)


def test_what_could_not_be_sent_is_due_at_once_when_the_home_can_be_reached() -> None:
    assert owing(1).due("rome", 100.0) == documents(1)
    assert owing(1).due("nowhere", 100.0) == []


def test_no_more_than_a_window_is_sent_again() -> None:
    custody = custody_of({"rome": documents(*range(WINDOW * 3))})
    assert custody.due("rome", 0.0) == documents(*range(WINDOW))
    assert custody.due("rome", 0.0) == []
    custody.confirm("rome", documents(*range(10)))
    assert custody.due("rome", 0.0) == documents(*range(WINDOW, WINDOW + 10))


def test_what_is_never_confirmed_goes_to_the_back() -> None:
    custody = custody_of({"rome": documents(*range(WINDOW + 1))})
    custody.due("rome", 0.0)
    assert custody.due("rome", FIRST_PATIENCE)[0] == document(WINDOW)


def test_what_did_not_fit_is_due_again() -> None:
    custody = owing(1, 2)
    custody.due("rome", 0.0)
    custody.unsent("rome", documents(2, 7))
    custody.unsent("nowhere", documents(2))
    assert custody.due("rome", 0.0) == documents(2)


def test_a_home_that_returns_is_hurried_to() -> None:
    custody = owing(1, sent=0.0)
    assert custody.due("rome", 0.1) == []
    custody.hurry("rome")
    custody.hurry("nowhere")
    assert custody.due("rome", 0.1) == documents(1)


def test_what_is_forgotten_is_not_sent() -> None:
    custody = owing(1)
    custody.forget("rome")
    custody.forget("nowhere")
    assert custody.due("rome", 100.0) == []
    assert custody.owed == {}


# --- the home -------------------------------------------------------------------------------------


def test_a_document_counts_once() -> None:
    receipts = Receipts()
    assert receipts.begin(document(2), 1)
    assert not receipts.begin(document(2), 1)
    assert not receipts.has(document(2)), "it is being stored"
    receipts.done(document(2))
    assert receipts.has(document(2))
    assert not receipts.begin(document(2), 1)
    assert receipts.begin(document(1), 1)


def test_what_could_not_be_stored_may_come_again() -> None:
    receipts = Receipts()
    assert receipts.begin(document(1), 1)
    receipts.failed(document(1))
    assert not receipts.has(document(1))
    assert receipts.begin(document(1), 1)


def test_what_is_settled_is_had() -> None:
    receipts = Receipts()
    assert receipts.begin(document(9), 5)
    assert receipts.has(document(4))
    assert not receipts.begin(document(4), 1)
    assert receipts.begin(document(5), 5)


def test_a_document_does_not_settle_itself() -> None:
    receipts = Receipts()
    assert receipts.begin(document(3), settled=99)
    receipts.failed(document(3))
    assert receipts.begin(document(3), settled=99)


def test_incarnations_are_not_ordered() -> None:
    receipts = Receipts({("o", 7): Line(3, frozenset({5}))})
    assert not receipts.begin(document(2, incarnation=7), 0)
    assert not receipts.begin(document(5, incarnation=7), 0)
    assert receipts.begin(document(2, incarnation=1), 0)
    assert receipts.begin(document(2, incarnation=9), 0)
    assert receipts.begin(document(4, incarnation=7), 0)
    assert not receipts.has(document(1, incarnation=8))


def test_memory_is_bounded_by_what_is_not_settled() -> None:
    receipts = Receipts()
    for number in range(1000):
        assert receipts.begin(document(number), max(0, number - 5))
        receipts.done(document(number))
    assert len(receipts._lines["o", 1].numbers) <= 6


# --- both -----------------------------------------------------------------------------------------

_STEPS = st.lists(
    st.sampled_from(
        ["publish", "publish", "lose", "deliver", "fail", "receipt", "crash", "restart", "wait"]
    ),
    max_size=60,
)


@given(_STEPS)
@pytest.mark.parametrize("reachable", [True, False])
def test_everything_arrives_once_through_losses_and_crashes(
    reachable: bool, steps: Sequence[str]
) -> None:
    """An origin and a home whose messages get lost, and who come back from crashes with disks."""
    origin, home = custody_of(), Receipts()
    disk: dict[DocumentId, None] = {}  # of the origin: what is not confirmed
    stored: list[DocumentId] = []  # of the home
    lines: dict[tuple[str, int], Line] = {}
    on_way: list[tuple[DocumentId, Debt]] = []
    published: list[DocumentId] = []
    now, life = 0.0, 100

    def arrive(each: DocumentId, debt: Debt, *, fails: bool) -> None:
        if home.begin(each, debt.settled):
            if fails:
                home.failed(each)
                return
            stored.append(each)
            line = lines.get(each[:2], Line())
            settled = max(line.settled, min(debt.settled, each.number))
            lines[each[:2]] = Line(settled, line.numbers | {each.number})
            home.done(each)

    for step in [*steps, *["wait", "deliver", "receipt"] * 4]:
        now += 0.1
        if step == "publish":
            new = document(len(published), life)
            published.append(new)
            disk[new] = None
            origin.owe("h", new)
            if reachable:
                origin.sent("h", new, now)
                on_way.append((new, origin.debt("h", new)))
        elif step == "lose" and on_way:
            on_way.pop()
        elif step in ("deliver", "fail"):
            while on_way:
                arrive(*on_way.pop(), fails=step == "fail")
        elif step == "receipt":
            for each in origin.confirm("h", [each for each in published if home.has(each)]):
                del disk[each]
        elif step == "crash":  # the next incarnation may be a lower number
            origin, life = custody_of({"h": disk}), life - 1
        elif step == "restart":
            home = Receipts(lines)
        elif step == "wait":
            now += 2 * LONGEST_PATIENCE
            on_way += [(each, origin.debt("h", each)) for each in origin.due("h", now)]
    assert sorted(stored) == sorted(published)
    assert not disk
    assert origin.owed.get("h", 0) == 0
