"""The sets of expressions that Li, Hou and Jacobsen measure with, as far as they describe them."""

from __future__ import annotations

from pathlib import Path

import pytest
from folders import EXAMPLES
from typer.testing import CliRunner
from workloads import example

from lab.published.expression_sets import (
    SET_A,
    SET_B,
    ExpressionSet,
    covered_share,
    find_setting,
    fitted,
)
from twigcast.cli import app
from twigcast.language import Pattern, parse
from twigcast.schema import Schema
from twigcast.workload import PathParameters


def parsed(*texts: str) -> list[Pattern]:
    return [parse(text) for text in texts]


def test_covered_are_all_but_the_maximal_ones() -> None:
    assert covered_share(parsed("/a", "/a/b", "/a/b/c", "/d")) == 0.5
    assert covered_share(parsed("/a/b", "/a/c")) == 0
    assert covered_share([]) == 0


def test_a_setting_is_fitted_to_a_share() -> None:
    schema = example("news.dtd")
    setting = find_setting(schema, 0.5, 400, name="half")
    patterns = setting.take(schema, 400)
    assert len(set(patterns)) == 400
    assert setting.share == covered_share(patterns) == pytest.approx(0.5, abs=0.05)
    assert setting.parameters.wildcard == setting.parameters.descendant > 0
    assert all(pattern.linear_steps is not None for pattern in patterns)
    assert find_setting(schema, 0.5, 400, name="half") == setting
    assert find_setting(schema, 0.9, 400).share > setting.share


def test_a_set_is_used_where_it_fits_and_fitted_elsewhere() -> None:
    schema = example("news.dtd")
    none = ExpressionSet("none", PathParameters(), 1, 0.0, 200)
    assert fitted(none, schema, 200) == none
    half = ExpressionSet("half", PathParameters(), 1, 0.5, 200)
    assert fitted(half, schema, 200).share == pytest.approx(0.5, abs=0.1)
    assert fitted(none, schema, 100).count == 100


@pytest.mark.parametrize("chosen", [SET_A, SET_B], ids=lambda chosen: chosen.name)
def test_the_commands_of_the_page_make_the_named_sets(
    chosen: ExpressionSet, tmp_path: Path
) -> None:
    name = chosen.name.lower().replace(" ", "-")
    page = (EXAMPLES.parent / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    (command,) = [line for line in page.splitlines() if line.endswith(f"--output {name}.txt")]
    made = tmp_path / "set.txt"
    for written, here in (
        ("--dtd nitf-2-5.dtd --root nitf", f"--dtd {EXAMPLES / 'news.dtd'}"),
        (f"--count {chosen.count}", "--count 2000"),
        (f"{name}.txt", str(made)),
    ):
        assert written in command
        command = command.replace(written, here)
    assert CliRunner().invoke(app, command.split()[1:]).exit_code == 0
    texts = [line.split("\t")[1] for line in made.read_text(encoding="utf-8").splitlines()]
    assert texts == list(map(str, chosen.take(example("news.dtd"), 2_000)))


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [SET_A, SET_B], ids=lambda chosen: chosen.name)
def test_the_named_sets_have_their_shares(chosen: ExpressionSet, shared_data: Path) -> None:
    schema = Schema.from_dtd(shared_data / "dtd" / "nitf-2-5.dtd", root="nitf")
    share = covered_share(chosen.take(schema, chosen.count))
    assert share == pytest.approx(chosen.share, abs=0.005)
