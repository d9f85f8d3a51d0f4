"""The command of the laboratory, as a program of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from folders import EXAMPLES, ROOT


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("twigcast-lab")
    return subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["--version"], "twigcast-lab "),
        (["experiment", "--json"], '{"name": "xsearch-time"'),
    ],
)
def test_the_command_is_installed(arguments: list[str], shown: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(shown)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dtd", "nowhere.dtd"], "nowhere.dtd is not here; name a DTD with --dtd"),
        (["--dtd", str(EXAMPLES / "news.dtd"), "--root", "nonsense"], "no element 'nonsense'"),
    ],
)
def test_errors_are_reported_in_a_few_words(options: list[str], message: str) -> None:
    done = run("bench", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
