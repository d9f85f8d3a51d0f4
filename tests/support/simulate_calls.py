"""Calling ``twigcast simulate``, and reading what it answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from folders import EXAMPLES
from typer.testing import CliRunner

from twigcast.cli import app
from twigcast.errors import TwigcastError

PROTEIN = str(EXAMPLES / "protein.dtd")
SMALL = ("--dtd", PROTEIN, "--subscriptions", "12", "--documents", "5")


def told(*arguments: str | Path) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["simulate", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    answer: dict[str, Any] = json.loads(line)
    return answer


def by_strategy(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["strategy"]: each for each in answer["strategies"]}


def shown(*arguments: str | Path, columns: int = 200) -> str:
    arguments = ("simulate", *arguments)
    result = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: str | Path) -> str:
    arguments = ("simulate", *arguments)
    result = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "400"})
    assert result.exit_code != 0
    error = result.exception
    return str(error) if isinstance(error, TwigcastError) else result.stderr


def rows(text: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in text.splitlines()
        if line.startswith("│")
    ]
