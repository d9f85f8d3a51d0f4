"""The laboratory is a distribution of its own, and that of Twigcast carries none of it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from folders import ROOT

import twigcast

LAB = ROOT / "lab"


def read_project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def test_twigcast_ships_the_packages_of_src_alone() -> None:
    packages = read_project(ROOT)["tool"]["setuptools"]["packages"]
    assert packages == {"find": {"where": ["src"], "include": ["twigcast*"]}}
    script = (
        "from setuptools import find_packages as find; print(*find('src', include=['twigcast*']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    packages = done.stdout.split()
    assert {name.partition(".")[0] for name in packages} == {"twigcast"}
    words = {word for name in packages for word in name.split(".")}
    assert not words & {"lab", "experiments", "benchmarks", "histories", "published"}


def test_the_laboratory_ships_all_its_packages() -> None:
    listed = read_project(LAB)["tool"]["setuptools"]["packages"]
    folders = (path.parent.relative_to(ROOT).parts for path in LAB.rglob("__init__.py"))
    assert listed == sorted(".".join(parts) for parts in folders if "build" not in parts)


def test_the_laboratory_has_the_version_of_twigcast() -> None:
    project = read_project(LAB)["project"]
    assert project["version"] == twigcast.__version__
    (needed,) = [each for each in project["dependencies"] if each.startswith("twigcast")]
    assert needed.endswith(f"=={twigcast.__version__}")


def test_twigcast_works_where_there_is_no_laboratory() -> None:
    script = "import sys; sys.modules['lab'] = None\nfrom twigcast.cli import app"
    subprocess.run([sys.executable, "-c", script], check=True)
