"""The files that set the repository up: pins, extras, make targets, what a bare machine is told."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import find_java
import pytest
from folders import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]


def write_script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


# Pins and extras


def pin_lines() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def pins() -> dict[str, str]:
    return dict(line.split("==") for line in pin_lines())


def requirements() -> list[Requirement]:
    listed = PROJECT["project"]["dependencies"] + PROJECT["build-system"]["requires"]
    for extra in EXTRAS.values():
        listed += extra
    return [Requirement(each) for each in listed]


def test_constraints_are_names_and_versions_in_order() -> None:
    lines = pin_lines()
    for line in lines:
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]*==[0-9][0-9a-z.]*", line), line
    assert lines == sorted(lines, key=lambda line: line.split("==")[0])
    assert len(pins()) == len(lines), "a name is pinned twice"


def test_every_dependency_is_pinned_to_a_version_it_allows() -> None:
    pinned = pins()
    for requirement in requirements():
        name = canonicalize_name(requirement.name)
        if name == "twigcast":
            continue
        assert name in pinned, f"{name} has no line in constraints.txt"
        assert requirement.specifier.contains(pinned[name]), requirement


def test_what_the_set_up_installs_by_name_is_pinned() -> None:
    assert {"pip", "setuptools", "wheel", "cython", find_java.WHEEL} <= pins().keys()


def test_extras() -> None:
    assert EXTRAS.keys() >= {"spark", "broker", "all", "dev"}
    [everything] = [Requirement(each) for each in EXTRAS["all"]]
    assert everything.name == "twigcast"
    assert everything.extras == EXTRAS.keys() - {"all", "dev"}


def test_the_core_needs_neither_spark_nor_a_jvm() -> None:
    core = {Requirement(each).name for each in PROJECT["project"]["dependencies"]}
    assert core.isdisjoint({"pyspark", "pyarrow", "pandas", find_java.WHEEL})


# make


def run_make(folder: Path, *arguments: str) -> str:
    # Without the variables by which an outer make speaks to an inner one.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--no-print-directory", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_continuous_integration_calls_make_alone() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    commands = [line for line in script.read_text().splitlines() if not line.startswith("#")]
    start = ["set -euo pipefail", 'cd "$(dirname "$0")/.."']
    assert commands == [*start, "make servers", "make test"]


@pytest.mark.parametrize(
    ("target", "commands"),
    [
        ("servers", ["tools/servers.sh"]),
        ("demo", ["tools/demo.py build/demo"]),
        ("lint", ["ruff check", "ruff format --check", "mypy"]),
        ("test", ["ruff check", "ruff format --check", "mypy", "pytest"]),
        ("nightly", ["pytest -n 2 --dist loadgroup --hypothesis-profile=nightly"]),
        ("bench", ["twigcast-lab bench"]),
        ("docs", ["mkdocs build"]),
        ("wheel", ["tools/wheel.sh dist"]),
        ("constraints", ["tools/pin.py"]),
        ("clean", ["rm -rf .venv"]),
    ],
)
def test_make_targets(target: str, commands: list[str]) -> None:
    planned = run_make(ROOT, "--dry-run", target)
    for command in commands:
        assert command in planned


def test_make_help_names_every_target() -> None:
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets is not None
    listed = [line.split()[1] for line in run_make(ROOT, "help").splitlines()]
    assert sorted(listed) == sorted(targets[1].split())


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A folder in the state that a finished set-up leaves: every input older than its result."""
    kernel = "src/twigcast/matching/_kernel.pyx"
    inputs = ["pyproject.toml", "lab/pyproject.toml", "constraints.txt", "setup.py"]
    inputs += ["lab/setup.py", "tools/setup.sh", kernel]
    results = [".venv/installed", ".venv/java-home/bin/java"]
    shutil.copy(ROOT / "Makefile", tmp_path)
    for seconds, name in [(1000, each) for each in inputs] + [(2000, each) for each in results]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (seconds, seconds))
    return tmp_path


def test_a_second_set_up_does_nothing(finished: Path) -> None:
    assert "Nothing to be done" in run_make(finished, "--dry-run", "setup")


@pytest.mark.parametrize(
    "changed",
    ["pyproject.toml", "lab/pyproject.toml", "lab/setup.py", "constraints.txt", "setup.py"],
)
def test_a_changed_requirement_installs_again(finished: Path, changed: str) -> None:
    os.utime(finished / changed, (3000, 3000))
    assert "tools/setup.sh all" in run_make(finished, "--dry-run", "setup")


@pytest.mark.parametrize(
    "changed",
    [
        "src/twigcast/matching/_kernel.pyx",
        "src/twigcast/matching/_kernel.pxd",
        "src/twigcast/matching/parts.pxi",
        "src/kernel/base/tables.hpp",
        "lab/published/_published.pyx",
        "lab/published/published.hpp",
    ],
)
def test_a_changed_kernel_is_built_again_and_nothing_installed(
    finished: Path, changed: str
) -> None:
    path = finished / changed
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (3000, 3000))
    planned = run_make(finished, "--dry-run", "setup")
    assert "tools/setup.sh kernel" in planned
    assert "tools/setup.sh all" not in planned
    assert "find_java" not in planned


def test_a_jvm_that_has_gone_is_looked_for_again(finished: Path) -> None:
    (finished / ".venv/java-home/bin/java").unlink()
    planned = run_make(finished, "--dry-run", "setup")
    assert "tools/find_java.py" in planned
    assert "tools/setup.sh" not in planned


# What a machine that lacks something is told


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder for PATH, with this Python and something that passes for a C++ compiler."""
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    folder = tmp_path / "bin"
    write_script(folder / "python3", f'exec "{Path(sys.executable).resolve()}" "$@"')
    write_script(folder / "g++", "exit 1")
    return folder


def refusal(machine: Path, **environment: str) -> str:
    """What the set-up says on standard error before it gives up, having changed nothing."""
    done = subprocess.run(
        ["/bin/sh", machine.parent / "tools/setup.sh", "all"],
        env={"PATH": str(machine), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert not (machine.parent / ".venv").exists()
    [sentence] = done.stderr.splitlines()
    assert sentence.startswith("setup: ")
    assert sentence.endswith(".")
    return sentence


def test_no_python(machine: Path) -> None:
    (machine / "python3").unlink()
    assert "no Python 3.11 or newer is on PATH: install one" in refusal(machine)


def test_old_python(machine: Path) -> None:
    write_script(machine / "python3", "exit 1")
    assert "no Python 3.11 or newer is on PATH: install one" in refusal(machine)


def test_a_newer_python_beside_an_old_one_is_found(machine: Path) -> None:
    (machine / "python3").rename(machine / "python3.13")
    write_script(machine / "python3", "exit 1")
    (machine / "g++").unlink()
    assert "no C++ compiler" in refusal(machine)


def test_named_python_that_is_not_there(machine: Path) -> None:
    assert "PYTHON names python9" in refusal(machine, PYTHON="python9")


def test_no_virtual_environments(machine: Path, tmp_path: Path) -> None:
    (tmp_path / "ensurepip.py").write_text("raise ImportError")
    assert "install its venv module" in refusal(machine, PYTHONPATH=str(tmp_path))


def test_no_compiler(machine: Path) -> None:
    (machine / "g++").unlink()
    assert "no C++ compiler is on PATH: install one" in refusal(machine)


def test_named_compiler_that_is_not_there(machine: Path) -> None:
    assert "CXX names c++9, which is not there" in refusal(machine, CXX="c++9 -pipe")


def test_named_compiler_is_honoured(machine: Path, tmp_path: Path) -> None:
    (machine / "g++").rename(machine / "my-compiler")
    (tmp_path / "sitecustomize.py").write_text(NO_HEADERS)
    sentence = refusal(machine, CXX="my-compiler -pipe", PYTHONPATH=str(tmp_path))
    assert "C headers" in sentence


NO_HEADERS = """
import sysconfig
sysconfig.get_path = sysconfig.get_config_var = lambda name: "/nowhere"
"""


def test_no_headers(machine: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(NO_HEADERS)
    sentence = refusal(machine, PYTHONPATH=str(tmp_path))
    assert "the C headers of python3 are missing: install them" in sentence


# The JVM


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "21" 2023-09-19 LTS', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('java version "1.8.0_402"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "11.0.22"', 11),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_parse_version(output: str, version: int | None) -> None:
    assert find_java.parse_version(output) == version


def test_parse_home() -> None:
    output = "Property settings:\n    file.encoding = UTF-8\n    java.home = /opt/my jdk\n"
    assert find_java.parse_home(output) == Path("/opt/my jdk")
    assert find_java.parse_home('openjdk version "17"') is None


def make_java(home: Path, version: str, *, has_module: bool = True) -> Path:
    """A JAVA_HOME whose `java` says what a JVM of that version would."""
    refuse = f'case "$1" in {find_java.MODULE_OPTION}) exit 1;; esac\n'
    answer = f"echo '    java.home = {home}' >&2\necho 'openjdk version \"{version}\"' >&2"
    write_script(home / "bin" / "java", answer if has_module else refuse + answer)
    return home


def test_java_home_comes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = make_java(tmp_path / "named", "17.0.1")
    on_path = make_java(tmp_path / "on_path", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(named))
    monkeypatch.setenv("PATH", str(on_path / "bin"))
    assert find_java.find() == (17, named)
    monkeypatch.delenv("JAVA_HOME")
    assert find_java.find() == (21, on_path)


def test_a_link_on_path_leads_to_the_home_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_java(tmp_path / "jdk", "21.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_java.find() == (21, home)


@pytest.mark.parametrize(("version", "has_module"), [("11.0.2", True), ("21.0.1", False)])
def test_a_jvm_that_spark_cannot_start_on_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, has_module: bool
) -> None:
    unfit = make_java(tmp_path / "unfit", version, has_module=has_module)
    fit = make_java(tmp_path / "fit", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(unfit))
    monkeypatch.setenv("PATH", str(unfit / "bin"))
    assert find_java.find() is None
    monkeypatch.setenv("PATH", str(fit / "bin"))
    assert find_java.find() == (17, fit)


def test_no_jvm_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_java.find() is None


def test_launcher_drops_the_module_and_keeps_the_rest(tmp_path: Path) -> None:
    echo = write_script(tmp_path / "a folder" / "java", 'printf "%s\\n" "$@"')
    script = tmp_path / "launcher"
    script.write_text(find_java.launcher(echo))
    options = ["-Xmx1g", find_java.MODULE_OPTION, "-Dname=two words", "", "--add-modules=java.sql"]
    done = subprocess.run(["/bin/sh", script, *options], capture_output=True, text=True, check=True)
    options.remove(find_java.MODULE_OPTION)
    assert done.stdout.split("\n")[:-1] == options


def test_the_found_jvm_is_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_java(tmp_path / "jdk", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / "java-home").symlink_to(tmp_path / "gone")
    find_java.main()
    assert (tmp_path / "java-home").readlink() == home


def test_neither_jvm_nor_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(write_script(tmp_path / "python", "exit 1")))
    with pytest.raises(SystemExit, match="no JVM of version 17 or newer is in JAVA_HOME or on"):
        find_java.main()
    assert not (tmp_path / "java-home").is_symlink()
