"""The fuzzer finds nothing in a short run, and finds what is made wrong on purpose."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import fuzz_routing
import pytest
from fuzz_routing import judge, run_round
from fuzz_routing_histories import STRATEGIES, draw_history

from twigcast.covering import Change, MergedSet, PathCounter
from twigcast.language import Pattern
from twigcast.routing import LinkState, Router
from twigcast.routing.aggregates import Covered, Plain
from twigcast.routing.channels import Channel
from twigcast.routing.clients import Client
from twigcast.routing.link_states import LinkStates
from twigcast.routing.neighbour import Neighbour
from twigcast.routing.recent import RecentDocuments
from twigcast.routing.trees import Tree, View
from twigcast.simulation.histories import steps as histories

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
    assert {history.is_late for history in drawn} == {False, True}
    assert {len(history.brokers) for history in drawn} >= {1, 2, 3, 4, 5, 6, 8}
    assert any(len(history.links) >= len(history.brokers) > 2 for history in drawn)
    assert any(len(history.links) == len(history.brokers) - 1 > 2 for history in drawn)
    steps = [step for history in drawn for step in history.steps]
    assert {type(step) for step in steps} == set(histories.Step.__args__)
    publications = [step for step in steps if isinstance(step, histories.Publish)]
    assert {step.by_paths for step in publications} == {False, True}
    assert {len(step.promises) for step in publications} == {0, 1, 2}
    used = "".join(str(step) for step in steps if isinstance(step, histories.Subscribe))
    for part in ("//", "*", "/@x", "[@x > 1]", " | ", "not(", "[.//d]", "contains"):
        assert part in used


# --- what is made wrong on purpose ---------------------------------------------------------------


def forget_what_was_covered(self: Covered, pattern: Pattern, is_last: bool) -> Change:
    change = self._table.remove(str(pattern)) if is_last else Change()
    return Change((), change.withdraw)


def tell_once(self: Plain, pattern: Pattern, is_first: bool) -> Change:
    self._told[pattern] = self._told.get(pattern, 0) + 1
    return Change((pattern,) if is_first else ())


def admit_all(self: Channel, pattern: Pattern) -> bool:
    return True


def keep_old_inputs(self: Channel, inputs: frozenset[int]) -> None:
    original(Channel, "_set_inputs")(self, inputs | self.course.inputs)


def forget_no_channel(self: Router, neighbour: Neighbour, numbers: Iterable[int]) -> None:
    for number in numbers:
        del neighbour.incoming[number]
    self._replan()


def withdraw_no_advertisement(self: Neighbour, origin: str, wanted: dict[Any, Any]) -> None:
    told = {key: promise for key, promise in self._told.items() if key.origin == origin}
    original(Neighbour, "tell_advertised")(self, origin, {**told, **wanted})


def serve_any_tree(self: Neighbour, tree: str) -> frozenset[int]:
    return frozenset(channel.source for channel in self.incoming.values())


def first_id_only(self: Client, patterns: Iterable[Pattern]) -> tuple[str, ...]:
    ids: tuple[str, ...] = original(Client, "ids_of")(self, patterns)
    return ids[:1]


def believe_versions_only(self: LinkStates, state: LinkState) -> bool:
    known = self._states.get(state.broker)
    if known is not None and known.version >= state.version:
        return False
    return bool(original(LinkStates, "accept")(self, state))


def root_the_shared_tree_at_home(self: View, broker: str) -> Tree:
    return self.tree(broker)


def remember_nothing(self: RecentDocuments, document: object) -> bool:
    return True


def merge_imperfectly(self: MergedSet, counter: PathCounter, threshold: float = 0) -> None:
    original(MergedSet, "__init__")(self, counter, max(threshold, Fraction(1, 2)))


WRONG: list[tuple[type, str, Callable[..., Any]]] = [
    (Covered, "remove", forget_what_was_covered),
    (Plain, "add", tell_once),
    (Channel, "admits", admit_all),
    (Channel, "_set_inputs", keep_old_inputs),
    (Router, "_close", forget_no_channel),
    (Neighbour, "tell_advertised", withdraw_no_advertisement),
    (Neighbour, "serving", serve_any_tree),
    (Client, "ids_of", first_id_only),
    (LinkStates, "accept", believe_versions_only),
    (View, "shared_tree", root_the_shared_tree_at_home),
    (RecentDocuments, "add", remember_nothing),
    (MergedSet, "__init__", merge_imperfectly),
]
_ORIGINALS = {(each, name): getattr(each, name) for each, name, _ in WRONG}


def original(owner: type, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = _ORIGINALS[owner, name]
    return found


@pytest.mark.parametrize(
    ("owner", "name", "wrong"), WRONG, ids=[wrong.__name__ for _, _, wrong in WRONG]
)
def test_what_is_made_wrong_is_found(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, wrong: Callable[..., Any]
) -> None:
    monkeypatch.setattr(owner, name, wrong)
    drawn = ((draw_history(1, number), number) for number in range(MOST_ROUNDS))
    if wrong is merge_imperfectly:  # which is right elsewhere
        drawn = (each for each in drawn if each[0].strategy == "perfect-merging")
    assert any(judge(history, order) for history, order in drawn)


def test_a_finding_is_a_short_script_that_shows_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Covered, "remove", forget_what_was_covered)
    script = next(filter(None, (run_round(1, number) for number in range(MOST_ROUNDS))))
    assert script.count("\n") < 30
    exec(script, {})
    assert capsys.readouterr().out != "None\n"
    monkeypatch.undo()
    exec(script, {})
    assert capsys.readouterr().out == "None\n"
