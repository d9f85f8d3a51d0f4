"""The workflow files beyond their schema: pinned actions, few permissions, every Python named."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from folders import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def read(name: str) -> str:
    return (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_read_the_repository_and_use_what_is_pinned(path: Path) -> None:
    text = path.read_text()
    assert "\npermissions:\n  contents: read\n\n" in text
    assert "secrets." not in text
    used = re.findall(r"uses: (\S+)", text)
    assert used
    for action in used:
        assert re.search(r"@(release/)?v\d|^docker://\S+:\d|^\./", action), action


def test_only_the_job_that_publishes_may_do_more() -> None:
    text = "".join(path.read_text() for path in WORKFLOWS)
    assert re.findall(r"(\S+): write", text) == ["id-token"]
    assert "id-token: write" in read("release").partition("  publish:")[2]


def test_every_python_is_tested_and_has_wheels() -> None:
    start = "Programming Language :: Python :: 3."
    classifiers = PROJECT["project"]["classifiers"]
    versions = [f"3.{each.removeprefix(start)}" for each in classifiers if each.startswith(start)]
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"
    assert f"python: {versions}".replace("'", '"') in read("tests")
    wheels = [f"cp{version.replace('.', '')}-*" for version in versions]
    assert PROJECT["tool"]["cibuildwheel"]["build"].split() == wheels


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_what_a_workflow_runs_is_there(path: Path) -> None:
    text = path.read_text()
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"run: make (\w+)", text)) <= targets
    for tool in re.findall(r"tools/\w+\.py", text):
        assert (ROOT / tool).is_file()
