"""Whatever happens to a network of units, it comes to what it should.

The judge is an observer who knows everything (``lab.histories.units``).
"""

from __future__ import annotations

import pytest
from hypothesis import settings
from planted import Mistake, instead_of, original

from lab.histories.drawn import draw_history
from lab.histories.running import run_history
from lab.histories.steps import Advertise, Attach, Crash, History, Publish, Settle, Subscribe
from twigcast.covering import Change
from twigcast.hierarchy import leaf_of
from twigcast.hierarchy.passage import Passage
from twigcast.routing import Update
from twigcast.routing.planning import Planner

HISTORIES = settings().max_examples * 2


@pytest.mark.parametrize("part", range(4))
def test_histories_of_units_come_to_what_they_should(part: int) -> None:
    exact = deliveries = 0
    for number in range(part, HISTORIES, 4):
        run = run_history(draw_history(3, number, in_units=True), number)
        assert run.wrong is None, f"history {number}: {run.wrong}"
        exact += run.exact
        deliveries += run.deliveries
    assert exact > HISTORIES / 4
    assert deliveries > HISTORIES / 4


def test_histories_are_the_same_each_time() -> None:
    assert draw_history(3, 5, in_units=True) == draw_history(3, 5, in_units=True)
    drawn = [draw_history(3, number, in_units=True) for number in range(60)]
    assert {len(set(map(str, each.gateways))) > 3 for each in drawn} == {True, False}
    assert {each.most_patterns for each in drawn} == {None, 1, 3}


@instead_of(Passage, "pass_on")
def forget_to_withdraw(self: Passage, update: Update) -> Update:
    passed: Update = original(Passage, "pass_on")(self, update)
    changes = tuple((number, Change(change.forward)) for number, change in passed.changes)
    return passed._replace(changes=changes)


@instead_of(Passage, "pass_on")
def promise_nothing_that_is_outside(self: Passage, update: Update) -> Update:
    passed: Update = original(Passage, "pass_on")(self, update)
    return passed._replace(advertise=(), unadvertise=()) if self.origin[0] == "^" else passed


@instead_of(Planner, "rename")
def plan_for_the_name_before(self: Planner, before: str, now: str) -> None:
    pass


@pytest.mark.parametrize(
    "mistake",
    [forget_to_withdraw, promise_nothing_that_is_outside, plan_for_the_name_before],
    ids=str,
)
def test_what_is_made_wrong_is_found(monkeypatch: pytest.MonkeyPatch, mistake: Mistake) -> None:
    mistake.make(monkeypatch)
    found = (
        run_history(draw_history(3, number, in_units=True), number).wrong for number in range(200)
    )
    assert any(found)


def test_a_unit_that_is_not_told_by_parts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "twigcast.hierarchy.gateway.leaf_of", lambda unit, gateways: leaf_of(unit, [f"{unit}/x"])
    )
    found = (
        run_history(draw_history(3, number, in_units=True), number).wrong for number in range(200)
    )
    assert any(found)


def test_what_is_known_of_brokers_that_cannot_be_reached_leads_nowhere() -> None:
    """The unit x has parted: what its other part last said must not shorten paths in this one."""
    history = History(
        brokers=("x/p/b0", "x/p/b1", "x/q/b0", "x/q/b1", "x/q/b2", "y/b0"),
        links=(
            ("x/p/b1", "x/p/b0", 2.0),
            ("x/q/b1", "x/q/b2", 2.0),
            ("x/q/b1", "x/q/b0", 2.0),
            ("x/q/b0", "x/p/b1", 1.0),
            ("x/q/b2", "x/p/b0", 2.0),
        ),
        strategy="advertisements-covering",
        steps=(
            Attach("c2", "x/p/b0"),
            Attach("c4", "x/q/b2"),
            Subscribe("c2", (("s", "/a/b/d"),)),
            Crash("x/p/b1"),
            Settle(),
            Advertise("c4", "p", "anything"),
            Settle(),
            Publish("c4", "<a><b><d/></b></a>", ("anything",)),
            Settle(),
        ),
        gateways=(("x/p/b0", "x"), ("x/p/b1", "x"), ("x/q/b2", "x"), ("x/q/b0", "x/q")),
    )
    run = run_history(history)
    assert run.wrong is None
    assert run.deliveries == 1
