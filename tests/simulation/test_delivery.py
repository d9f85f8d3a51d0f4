"""Durable delivery under every fault: random histories, and an oracle that can tell.

A history that fails says its seed: ``History(seed).run()`` is the same history again.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from twigcast.delivery import arriving
from twigcast.delivery.arriving import Arriving
from twigcast.delivery.asking import Asking
from twigcast.delivery.consuming import Consuming
from twigcast.delivery.custody import Custody, Receipts
from twigcast.delivery.durable_queue import DurableQueue
from twigcast.delivery.homes import Homes
from twigcast.delivery.levels import Level, Levels
from twigcast.delivery.publishing import Publishing
from twigcast.simulation.delivery import (
    CalmHistory,
    History,
    HistoryError,
    ModelStore,
    draw_flat,
    draw_units,
)

_QUICK = 80
_CALM = 30
_PARTS, _PART = 50, 1_000
_ENOUGH = 300
"""Within how many histories a fault must show."""


def run(seeds: range, *, has_units: bool = False) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in seeds:
        try:
            counts += History(seed, draw=draw_units if has_units else draw_flat).run()
        except Exception as error:
            error.add_note(f"in the history with the seed {seed}")
            raise
    return counts


def test_every_promise_is_kept() -> None:
    counts = run(range(_QUICK))
    happened = ("must", "taken", "restarts", "replaced", "changed", "expired", "forgotten")
    assert min(counts[each] for each in (*happened, "refused: full")) > 10


def test_every_promise_is_kept_in_units() -> None:
    counts = run(range(_QUICK), has_units=True)
    happened = ("must, from another unit", "restarts", "replaced", "changed", "forgotten")
    assert min(counts[each] for each in (*happened, "refused: full")) > 10


@pytest.mark.slow
@pytest.mark.parametrize("has_units", [False, True])
@pytest.mark.parametrize("part", range(_PARTS))
def test_every_promise_is_kept_in_many_histories(part: int, has_units: bool) -> None:
    run(range(part * _PART, (part + 1) * _PART), has_units=has_units)


def run_calm(seeds: range) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in seeds:
        try:
            counts += CalmHistory(seed).run()
        except Exception as error:
            error.add_note(f"in the calm history with the seed {seed}")
            raise
    return counts


def test_what_was_confirmed_in_calm_comes_once_whatever_fails() -> None:
    counts = run_calm(range(_CALM))
    assert min(counts["must, from another unit"], counts["restarts"], counts["expired"]) > 50


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_what_was_confirmed_in_calm_comes_once_in_many_histories(part: int) -> None:
    run_calm(range(part * _PART // 5, (part + 1) * _PART // 5))


def test_a_history_is_the_same_again() -> None:
    assert History(7).run() == History(7).run()


# --- the oracle sees faults -----------------------------------------------------------------------


def expect_failure(match: str, *, has_units: bool = False) -> None:
    with pytest.raises(HistoryError, match=match):
        run(range(_ENOUGH), has_units=has_units)


def test_a_home_that_takes_everything_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_unknown(self: ModelStore, id_: str, durable: str, keys: tuple[str, ...]) -> int:
        queue = self.queues.get(durable)
        if queue is None:
            return 0
        queue.last += 1
        queue.entries[queue.last] = (id_, keys)
        queue.waiting.add(queue.last)
        return queue.last

    begin = Receipts.begin
    monkeypatch.setattr(Receipts, "begin", lambda *asked: begin(*asked) or True)
    monkeypatch.setattr(ModelStore, "_enter", is_unknown)
    expect_failure("times")


def test_publications_that_count_twice_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelStore, "_know", lambda *_: (False, "", False))
    expect_failure("times")


def test_a_confirmation_before_the_write_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    keep = Arriving._keep

    def confirm(self: Arriving, parcel: Any, taken: Any, *rest: Any) -> Any:
        return keep(self, parcel, taken, *rest) + self._confirm(taken)

    monkeypatch.setattr(Arriving, "_keep", confirm)
    expect_failure("is not in")


def test_an_answer_before_the_write_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    enter = Publishing._enter

    def answer(self: Publishing, held: Any, *rest: Any) -> Any:
        return enter(self, held, *rest) + self._answer(held)

    monkeypatch.setattr(Publishing, "_enter", answer)
    expect_failure("is not in")


def test_acknowledgements_that_are_not_written_again_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Consuming, "failed", lambda *_: None)
    expect_failure("wait on the disk")


def test_leases_without_end_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Consuming, "look", lambda *_: [])
    # Whoever does not look does not write acknowledgements again, either.
    expect_failure("for ever|wait on the disk")


def test_what_is_owed_and_forgotten_in_a_restart_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    state = ModelStore.state
    monkeypatch.setattr(ModelStore, "state", lambda *asked: state(*asked)._replace(owed={}))
    expect_failure("is not in")


def test_what_is_not_sent_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Custody, "due", lambda *_: [])
    expect_failure("owed for ever")


def test_a_broker_that_says_too_early_that_it_knows_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unreached = Asking._unreached
    monkeypatch.setattr(Asking, "_unreached", lambda *asked: unreached(*asked)[1:])
    expect_failure("is not in")


def test_a_home_that_is_forgotten_everywhere_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Homes, "is_forgotten", lambda *_: False)
    expect_failure("is not in")


def test_versions_that_are_given_twice_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Homes, "bound", Homes.latest)
    expect_failure("is not in")


def test_a_document_at_two_consumers_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    find = DurableQueue._find

    def rewind(self: DurableQueue, now: float) -> int | None:
        found = find(self, now)
        if found is not None and found % 5 == 0:
            self._return(found, now + 1.0)
        return found

    monkeypatch.setattr(DurableQueue, "_find", rewind)
    expect_failure("at two consumers|comes again|given out")


def test_what_is_never_given_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DurableQueue, "_return", lambda *_: None)
    expect_failure("are given out")


def test_what_is_passed_and_nobody_read_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    acknowledge = ModelStore._acknowledge

    def too_much(self: ModelStore, write: Any) -> None:
        acknowledge(self, write._replace(upto=write.upto + 1))

    monkeypatch.setattr(ModelStore, "_acknowledge", too_much)
    expect_failure("nor read|given out")


# --- … in units, too ------------------------------------------------------------------------------


def test_a_gateway_that_says_too_early_that_all_know_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Level, "fed_by", lambda *_: ())
    with pytest.raises(AssertionError, match="assert 0 > 10"):
        test_every_promise_is_kept_in_units()


def test_a_gateway_that_confirms_what_it_has_not_kept_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = Arriving._store

    def confirm(self: Arriving, parcel: Any, level: Any, owed: Any, *rest: Any, **more: Any) -> Any:
        instructions = store(self, parcel, level, owed, *rest, **more)
        return instructions + [each for taken in owed for each in self._confirm(taken)]

    monkeypatch.setattr(Arriving, "_store", confirm)
    expect_failure("is not in", has_units=True)


def test_a_gateway_that_is_cut_off_and_offers_nothing_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Levels, "bearers", lambda *_: [])
    with pytest.raises(HistoryError, match="owed for ever"):
        run_calm(range(_CALM))


def test_homes_of_one_broker_that_share_a_line_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arriving, "line_of", lambda home, custody, **_: custody)
    expect_failure("is not in", has_units=True)


def test_a_gateway_that_has_no_ids_of_its_own_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    owe = Custody.owe
    monkeypatch.setattr(
        Custody, "owe", lambda self, home, document, _=None: owe(self, home, document)
    )
    expect_failure("for ever|is not in", has_units=True)
