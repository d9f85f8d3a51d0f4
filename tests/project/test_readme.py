"""The README's examples, executed as a newcomer would paste them."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from folders import ROOT

import twigcast

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def console_examples(page: Path) -> list[tuple[str, str]]:
    """The commands of a page's console blocks, each with the output shown below it."""
    examples: list[tuple[str, str]] = []
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            examples.append((command, shown))
    return examples


def uses_spark(page: Path) -> bool:
    return "start_session" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if not uses_spark(page)], ids=lambda page: page.name
)
def test_python_examples(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    run_python_examples(page)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if uses_spark(page)], ids=lambda page: page.name
)
def test_python_examples_on_spark(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    run_python_examples(page)


def run_python_examples(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    session = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    assert bool(session.examples) is bool(blocks), "a Python block without >>> is not executed"
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session)
    assert results.failed == 0


@pytest.mark.parametrize(
    ("command", "shown"),
    [example for page in PAGES for example in console_examples(page)],
    ids=lambda part: part[:60],
)
def test_console_examples(command: str, shown: str) -> None:
    programs = Path(sys.executable).parent
    result = subprocess.run(
        command.replace(".venv/bin/", f"{programs}{os.sep}"),
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "100"},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == shown


MODULES = [twigcast.__name__] + [
    module.name for module in pkgutil.walk_packages(twigcast.__path__, "twigcast.")
]


def test_docstring_examples() -> None:
    results = [doctest.testmod(importlib.import_module(name)) for name in MODULES]
    assert sum(each.attempted for each in results) > 10
    assert not any(each.failed for each in results)


def test_the_readme_has_both_kinds_of_example() -> None:
    assert console_examples(PAGES[0])
    assert ">>> " in PAGES[0].read_text(encoding="utf-8")
