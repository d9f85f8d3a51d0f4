"""The fuzzer finds nothing in a short run, and finds what is made wrong on purpose."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import fuzz_matcher
import pytest
from fuzz_matcher import judge, one_by_one, run_round, shrink, unwrap
from fuzz_matcher_lives import (
    NAMESPACES,
    Add,
    Match,
    Operation,
    Reload,
    Remove,
    draw_document,
    draw_life,
)
from fuzz_rounds import supervise
from oracle import parse_tree

from twigcast import Matcher
from twigcast.documents import Source
from twigcast.language import parse

TOOL = Path(fuzz_matcher.__file__)


def test_a_short_run_finds_nothing() -> None:
    run = subprocess.run(
        [sys.executable, str(TOOL), "--seconds", "2", "--seed", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "nothing found, up to round" in run.stdout


def test_one_round_can_be_repeated() -> None:
    assert draw_life(1, 7) == draw_life(1, 7)
    assert draw_life(1, 7) != draw_life(1, 8) != draw_life(2, 8)
    run = subprocess.run(
        [sys.executable, str(TOOL), "--seed", "1", "--round", "7"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "nothing found, up to round 7\n"


def test_the_lives_are_varied() -> None:
    """Many documents are accepted, many refused, and many answers are neither all nor none."""
    accepted = refused = undecided = 0
    for number in range(15):
        _, operations = draw_life(1, number)
        patterns = {
            operation.key: parse(operation.expression, NAMESPACES)
            for operation in operations
            if isinstance(operation, Add)
        }
        for operation in operations:
            for document in operation.documents if isinstance(operation, Match) else ():
                answer = one_by_one(patterns, document)
                refused += answer is None
                accepted += answer is not None
                undecided += answer is not None and 0 < len(answer) < len(patterns)
        assert {type(operation) for operation in operations} == {Add, Match, Reload, Remove}
    assert accepted > 100
    assert refused > 100
    assert undecided > 50


class ForgetsDeepElements(Matcher):
    """Answers wrongly about documents with ``<c>`` in them, when ``0`` matches."""

    def match(self, document: Source) -> list[str]:
        keys = super().match(document)
        return [key for key in keys if key != "0" or b"<c" not in document]


class RemovesNothing(Matcher):
    """Keeps what is removed."""

    def remove(self, key: str) -> None:
        assert key in self


class Raises(Matcher):
    """Raises an error of the wrong kind."""

    def match(self, document: Source) -> list[str]:
        if b"&" in document:
            raise ZeroDivisionError("an error of its own")
        return super().match(document)


@pytest.mark.parametrize(
    ("kind", "needed", "expected"),
    [
        (ForgetsDeepElements, (Add, Match), "one by one ['0']"),
        (RemovesNothing, (Add, Remove), "holds ['"),
        (Raises, (Match,), "raises ZeroDivisionError: an error of its own"),
    ],
)
def test_finds_what_is_wrong_and_shows_it_briefly(
    kind: type[Matcher], needed: tuple[type, ...], expected: str
) -> None:
    def make(cache_bytes: int) -> Matcher:
        return kind(cache_bytes=cache_bytes)

    found = next(filter(None, (run_round(1, number, make) for number in range(20))))
    assert expected in found
    operations = shown_operations(found)
    assert tuple(map(type, operations)) == needed
    assert judge(make, 0, operations) is not None
    assert judge(fuzz_matcher.plain_matcher, 0, operations) is None
    assert all(
        len(document) < 60
        for operation in operations
        if isinstance(operation, Match)
        for document in operation.documents
    )


def shown_operations(script: str) -> list[Operation]:
    """The operations of a printed reproduction, which runs as it stands."""
    scope: dict[str, list[Operation]] = {}
    exec(script, scope)
    return scope["operations"]


def test_a_wrong_answer_of_a_damaged_file_is_found() -> None:
    class Believes(Matcher):
        """Takes a damaged file for an empty one."""

        @classmethod
        def load(cls, path: object, **settings: object) -> Matcher:
            return cls()

    def make(cache_bytes: int) -> Matcher:
        return Believes(cache_bytes=cache_bytes)

    operations: list[Operation] = [Add("k", "//a"), Reload(((70, b"x"),))]
    assert "once loaded" in (judge(make, 0, operations) or "")
    assert judge(fuzz_matcher.plain_matcher, 0, operations) is None
    assert judge(fuzz_matcher.plain_matcher, 0, [Add("k", "//a"), Reload()]) is None


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("import os; print('round 7', flush=True); os.abort()", "round 7 ended by signal 6"),
        ("print('round 8', flush=True)\nimport signal; signal.pause()", "round 8 takes more"),
        ("print('round 9'); print('a script'); raise SystemExit(1)", "a script\nfound in round 9"),
        ("print('round 3'); print('round 4')", "nothing found, up to round 4"),
    ],
)
def test_crashes_and_hangs_are_findings(script: str, expected: str) -> None:
    code, told = supervise("fuzz_matcher.py", [sys.executable, "-c", script], seed=5, patience=4)
    assert expected in told
    assert code == (0 if "nothing" in expected else 1)
    if code:
        assert "--seed 5 --round" in told


def test_shrinking_leaves_what_is_needed() -> None:
    needs: Callable[[list[int]], bool] = lambda items: {3, 77} <= set(items)  # noqa: E731
    assert shrink(list(range(100)), needs) == [3, 77]
    assert shrink([5], lambda items: True) == []


def test_unwrapping_takes_tags_away_in_pairs() -> None:
    def is_wrong(data: bytes) -> bool:
        return b"<x/>" in data and one_by_one({}, data) is not None

    nested = b"<a><b><c><x/></c></b><b><d></d></b></a>"
    assert unwrap(nested, is_wrong) == b"<x/>"


def test_well_formed_documents_are_what_the_mutations_start_from() -> None:
    random = Random(3)
    for _ in range(50):
        parse_tree(draw_document(random))
