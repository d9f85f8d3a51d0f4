"""The fuzzer finds nothing in a short run, and finds what is made wrong on purpose."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import Collection, Iterable
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import fuzz_routing
import pytest
from fuzz_routing import judge, run_round
from planted import Mistake, forget_what_was_covered, instead_of, original, remember_nothing

from lab.histories import steps as histories
from lab.histories.drawn import STRATEGIES, draw_history
from twigcast.covering import Change, MergedSet, PathCounter
from twigcast.language import Pattern
from twigcast.routing import LinkState, Mark
from twigcast.routing.aggregates import Plain
from twigcast.routing.channels import Channel, Course
from twigcast.routing.clients import Wants
from twigcast.routing.journal import Journal
from twigcast.routing.link_states import LinkStates
from twigcast.routing.neighbour import Neighbour
from twigcast.routing.planning import Planner
from twigcast.routing.spreading import Spreading
from twigcast.routing.trees import Tree, View

TOOL = Path(fuzz_routing.__file__)
MOST_ROUNDS = 600


def run_tool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(TOOL), *arguments], capture_output=True, text=True, check=False
    )


def test_a_short_run_finds_nothing() -> None:
    told = run_tool("--seconds", "2", "--seed", "1")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "nothing found, up to round" in told.stdout


def test_one_round_can_be_repeated() -> None:
    assert draw_history(1, 7) == draw_history(1, 7)
    assert draw_history(1, 7) != draw_history(1, 8) != draw_history(2, 8)
    assert run_tool("--seed", "1", "--round", "7").stdout == "nothing found, up to round 7\n"


def test_histories_are_varied() -> None:
    drawn = [draw_history(1, number) for number in range(120)]
    assert {history.strategy for history in drawn} == set(STRATEGIES)
    assert {(history.is_late, history.in_slices) for history in drawn} == {
        (is_late, in_slices) for is_late in (False, True) for in_slices in (False, True)
    }
    assert {len(history.brokers) for history in drawn} >= {1, 2, 3, 4, 5, 6, 8}
    assert any(len(history.links) >= len(history.brokers) > 2 for history in drawn)
    assert any(len(history.links) == len(history.brokers) - 1 > 2 for history in drawn)
    steps = [step for history in drawn for step in history.steps]
    assert {type(step) for step in steps} == set(histories.Step.__args__)
    publications = [step for step in steps if isinstance(step, histories.Publish)]
    assert {len(step.promises) for step in publications} == {0, 1, 2}
    used = "".join(str(step) for step in steps if isinstance(step, histories.Subscribe))
    for part in ("//", "*", "/@x", "[@x > 1]", " | ", "not(", "[.//d]", "contains"):
        assert part in used


# --- what is made wrong on purpose ---------------------------------------------------------------


@instead_of(Plain, "add")
def tell_once(self: Plain, pattern: Pattern, is_first: bool) -> Change:
    self._counts[pattern] = self._counts.get(pattern, 0) + 1
    return Change((pattern,) if is_first else ())


@instead_of(Channel, "admits")
def admit_all(self: Channel, pattern: Pattern) -> bool:
    return True


@instead_of(Channel, "set_course")
def keep_old_inputs(self: Channel, course: Course) -> None:
    gone = self.course.inputs - course.inputs
    original(Channel, "set_course")(self, course)
    old = set(chain.from_iterable(map(self._interests.patterns, gone)))
    self._lagging = deque(each for each in self._lagging if each not in old)


@instead_of(Spreading, "close")
def forget_no_channel(self: Spreading, neighbour: Neighbour, numbers: Iterable[int]) -> None:
    for number in numbers:
        del neighbour.incoming[number]
    self.plan()


@instead_of(Neighbour, "send_advertised")
def withdraw_no_advertisement(self: Neighbour, origin: str, wanted: dict[Any, Any]) -> None:
    told = {key: promise for key, promise in self._sent.items() if key.origin == origin}
    original(Neighbour, "send_advertised")(self, origin, {**told, **wanted})


@instead_of(Planner, "_serving")
def take_any_channel(self: Planner, tree: str, names: Collection[str]) -> frozenset[int]:
    neighbours = [self._neighbours[name] for name in names if name in self._neighbours]
    channels = [each for one in neighbours for each in one.incoming.values()]
    return frozenset(each.source for each in channels if each.trees)


@instead_of(Wants, "ids_of")
def first_id_only(self: Wants, patterns: Iterable[Pattern]) -> tuple[str, ...]:
    ids: tuple[str, ...] = original(Wants, "ids_of")(self, patterns)
    return ids[:1]


@instead_of(LinkStates, "accept")
def believe_versions_only(self: LinkStates, state: LinkState) -> bool:
    known = self._states.get(state.broker)
    if known is not None and known.version >= state.version:
        return False
    return bool(original(LinkStates, "accept")(self, state))


@instead_of(View, "shared_tree")
def root_the_shared_tree_at_home(self: View, broker: str) -> Tree:
    return self.tree(broker)


@instead_of(MergedSet, "__init__")
def merge_imperfectly(self: MergedSet, counter: PathCounter, threshold: float = 0) -> None:
    original(MergedSet, "__init__")(self, counter, max(threshold, Fraction(1, 2)))


@instead_of(Journal, "rewind")
def forget_what_was_lost(self: Journal, mark: Mark) -> bool:
    known = bool(original(Journal, "rewind")(self, mark))
    self._surplus = 0
    return known


@instead_of(Neighbour, "note_going_on")
def let_all_hold_again(self: Neighbour, mark: Mark) -> bool:
    mark = mark if self.former is None else self.former.mark
    return bool(original(Neighbour, "note_going_on")(self, mark))


@instead_of(Channel, "drop_input")
def take_from_what_is_gone(self: Channel, source: int) -> None:
    pass


MISTAKES = [
    forget_what_was_covered,
    tell_once,
    admit_all,
    keep_old_inputs,
    forget_no_channel,
    withdraw_no_advertisement,
    take_any_channel,
    first_id_only,
    believe_versions_only,
    root_the_shared_tree_at_home,
    remember_nothing,
    merge_imperfectly,
    forget_what_was_lost,
    let_all_hold_again,
    take_from_what_is_gone,
]


SEEDS = {remember_nothing: 2, let_all_hold_again: 5}
"""For mistakes that take a thousand rounds with the first seed."""


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_what_is_made_wrong_is_found(monkeypatch: pytest.MonkeyPatch, mistake: Mistake) -> None:
    mistake.make(monkeypatch)
    seed = SEEDS.get(mistake, 1)
    drawn = ((draw_history(seed, number), number) for number in range(MOST_ROUNDS))
    if mistake is merge_imperfectly:  # which is right elsewhere
        drawn = (each for each in drawn if each[0].strategy == "perfect-merging")
    assert any(judge(history, order) for history, order in drawn)


def test_a_finding_is_a_short_script_that_shows_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forget_what_was_covered.make(monkeypatch)
    script = next(filter(None, (run_round(1, number) for number in range(MOST_ROUNDS))))
    assert script.count("\n") < 30
    exec(script, {})
    assert capsys.readouterr().out != "None\n"
    monkeypatch.undo()
    exec(script, {})
    assert capsys.readouterr().out == "None\n"
