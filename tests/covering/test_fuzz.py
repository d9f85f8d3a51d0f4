"""The fuzzer finds nothing in a short run, and finds what is made wrong on purpose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import fuzz_covering
import pytest
from fuzz_covering import (
    Add,
    Ask,
    Life,
    Operation,
    Remove,
    draw_expression,
    draw_life,
    judge,
    run_round,
    understood,
    varied,
)

from twigcast.covering import PatternSearch, Search
from twigcast.covering.pairwise import Prepared
from twigcast.language import Pattern

TOOL = Path(fuzz_covering.__file__)


def run_tool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(TOOL), *arguments], capture_output=True, text=True, check=False
    )


def test_a_short_run_finds_nothing() -> None:
    told = run_tool("--seconds", "3", "--seed", "1")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "nothing found, up to round" in told.stdout


def test_one_round_can_be_repeated() -> None:
    assert draw_life(1, 7) == draw_life(1, 7)
    assert draw_life(1, 7) != draw_life(1, 8) != draw_life(2, 8)
    assert run_tool("--seed", "1", "--round", "7").stdout == "nothing found, up to round 7\n"


def test_the_lives_are_varied() -> None:
    """Patterns of all kinds, and many that cover others."""
    operations = [operation for number in range(30) for operation in draw_life(1, number)]
    assert {type(operation) for operation in operations} == {Add, Ask, Remove}
    used = "".join(operation.expression for operation in operations)
    for part in ("//", "*", "@", "text()", "[2]", "contains", "not(", " or ", " | ", "p:", "*:b"):
        assert part in used
    assert max(len(operation.expression) for operation in operations) > 130
    random = Random(4)
    covering = 0
    for _ in range(300):
        expression = draw_expression(random)
        one, other = understood(expression), understood(varied(random, expression))
        if one is not None and other is not None and one != other:
            first, second = Prepared(one), Prepared(other)
            covering += first.covers(second) or second.covers(first)
    assert covering > 50


class ForgetsDescendants(PatternSearch):
    """Misses what is covered behind ``//c``."""

    def covered_by(self, pattern: Pattern) -> list[Pattern]:
        found = super().covered_by(pattern)
        return [one for one in found if one == pattern or "//c" not in str(pattern)]


class KeepsTheFirst(PatternSearch):
    """Does not let go of a pattern with an attribute."""

    def remove(self, pattern: Pattern) -> None:
        if "@x" not in str(pattern):
            super().remove(pattern)

    def add(self, pattern: Pattern) -> None:
        if pattern not in self:
            super().add(pattern)


class Fails(PatternSearch):
    """Cannot search for positions."""

    def covering(self, pattern: Pattern) -> list[Pattern]:
        if "[2]" in str(pattern):
            raise MemoryError
        return super().covering(pattern)


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (ForgetsDescendants, "covered_by"),
        (KeepsTheFirst, "@x"),
        (Fails, "raises MemoryError"),
    ],
)
def test_what_is_wrong_is_found_and_made_small(broken: type[Search], expected: str) -> None:
    found = next(filter(None, (run_round(1, number, broken) for number in range(300))))
    assert expected in found
    lines = [line.strip() for line in found.splitlines()]
    operations = [line for line in lines if line.startswith(("Add(", "Ask(", "Remove("))]
    assert 1 <= len(operations) <= 3
    assert max(map(len, operations)) < 40


def test_a_script_of_a_finding_shows_it() -> None:
    operations: list[Operation] = [Add("/a//c/b"), Ask("/a//c")]
    assert judge(PatternSearch, operations) is None
    assert judge(ForgetsDescendants, operations) == "covered_by /a//c: [] instead of [/a//c/b]"


def test_what_a_table_tells_is_added_up() -> None:
    life = Life(PatternSearch)
    for expression in ("/a/b", "/a", "/c"):
        assert life.live(Add(expression)) is None
    assert sorted(map(str, life.told)) == ["/a", "/c"]
    life.told.clear()
    wrong = life.live(Add("/d"))
    assert wrong is not None
    assert "told [/d], forwards [/a, /c, /d]" in wrong
