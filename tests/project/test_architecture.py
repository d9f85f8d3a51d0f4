"""Which package may import which, and that the real imports keep to it.

A package may import the packages in its row and nothing else of Twigcast; ``errors``, ``keywords``
and ``times`` are open to all.  The table is read bottom-up: a lower box never imports a higher one.
The laboratory, ``lab/``, uses what packages export, and nothing in ``src`` imports it.
"""

from __future__ import annotations

import ast
import graphlib
import pickle
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from folders import ROOT

import twigcast

SOURCE = ROOT / "src" / "twigcast"
LABORATORY = ROOT / "lab"

ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "tables": set(),
    "keywords": set(),
    "times": set(),
    "language": set(),
    "documents": {"language"},
    "schema": {"language", "documents"},
    "drawing": {"language"},
    "workload": {"language", "schema"},
    "matching": {"language", "documents"},
    "covering": {"language", "schema", "drawing"},
    "routing": {"tables", "language", "documents", "schema", "matching", "covering", "drawing"},
    "delivery": {"language", "documents", "covering", "routing", "hierarchy"},
    "hierarchy": {"language", "documents", "schema", "matching", "covering", "routing"},
    "simulation": {
        "tables",
        "language",
        "documents",
        "schema",
        "matching",
        "covering",
        "routing",
        "delivery",
        "hierarchy",
        "drawing",
        "workload",
    },
    "wire": set(),
    "client": {"language", "documents", "schema", "wire", "hierarchy"},
    "broker": {
        "tables",
        "delivery",
        "wire",
        "language",
        "documents",
        "schema",
        "matching",
        "covering",
        "routing",
        "hierarchy",
    },
    "pipeline": {
        "client",
        "language",
        "documents",
        "schema",
        "matching",
        "covering",
        "routing",
        "hierarchy",
        "workload",
    },
}
ALLOWED["cli"] = set(ALLOWED)
ALLOWED["__main__"] = {"cli"}

UPWARD = {
    ("language", "matching"): "Pattern.matches is a convenience, imported when called",
    ("language", "drawing"): "Pattern._repr_svg_ is one for notebooks, imported when called",
    ("language", "documents"): "the type of that method's limits, for type checkers only",
}

OUTSIDE = {
    "pyspark": {"pipeline"},
    "grpc": {"broker", "client"},
    "google": {"broker", "client", "wire"},
    "fastapi": {"broker"},
    "uvicorn": {"broker"},
    "prometheus_client": {"broker"},
    "psycopg": {"broker"},
    "lxml": {"schema"},
    "xmlschema": {"schema"},
    "elementpath": {"workload"},
    "typer": {"cli"},
    "rich": {"cli"},
}
"""Libraries that only some packages may import, so that the others stay light."""


def modules() -> list[Path]:
    return sorted([*SOURCE.rglob("*.py"), *SOURCE.rglob("*.pyx")])


def package_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imported_names(path: Path) -> Iterator[str]:
    """Every module that the file imports, wherever in it the statement stands."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".pyx":
        for line in text.splitlines():
            words = line.split()
            if len(words) > 1 and words[0] in ("from", "import"):
                yield words[1]
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module or ""


def test_the_table_has_no_cycles() -> None:
    order = list(graphlib.TopologicalSorter(ALLOWED).static_order())
    assert order.index("language") < order.index("matching") < order.index("cli")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_keep_to_the_table(path: Path) -> None:
    package = package_of(path)
    for name in imported_names(path):
        top, _, rest = name.partition(".")
        assert top != "lab", f"{path} imports the laboratory"
        if top in OUTSIDE:
            assert package in OUTSIDE[top], f"{package} imports {top}"
        if top != "twigcast" or not rest or package == "__init__":
            continue
        target = rest.partition(".")[0]
        allowed = ALLOWED[package] | {package, "errors", "keywords", "times"}
        assert target in allowed or (package, target) in UPWARD, f"{package} imports {target}"


def test_compiled_code_is_reached_through_its_package() -> None:
    for path in modules():
        for name in imported_names(path):
            package, _, module = name.removeprefix("twigcast.").rpartition(".")
            if name.startswith("twigcast.") and module.startswith("_"):
                assert package_of(path) == package, f"{path} reaches past the door to {name}"


def past_doors() -> Iterator[str]:
    """The imports of names that another package does not export."""
    for path in sorted([*SOURCE.rglob("*.py"), *LABORATORY.rglob("*.py")]):
        package = package_of(path) if path.is_relative_to(SOURCE) else "lab"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                imported = node.names if isinstance(node, ast.Import) else ()
                modules = [each.name for each in imported if each.name.count(".") > 1]
                yield from (f"{path}: {name}" for name in modules if name.startswith("twigcast."))
                continue
            top, _, rest = node.module.partition(".")
            target, _, behind = rest.partition(".")
            if top != "twigcast" or target == package:
                continue
            if (SOURCE / f"{target}.py").is_file() or not target:
                continue  # a module has no inside
            for alias in node.names:
                if behind or alias.name not in exported(target):
                    yield f"{path.relative_to(ROOT)}: {node.module} has no door for {alias.name}"


@cache
def exported(package: str) -> frozenset[str]:
    """The names in the ``__all__`` of a package."""
    tree = ast.parse((SOURCE / package / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def test_other_packages_are_entered_by_their_doors() -> None:
    """Others import what ``__init__`` exports, and nothing behind it."""
    assert exported("language") >= {"parse", "Pattern"}
    assert list(past_doors()) == []


def test_every_package_is_in_the_table() -> None:
    packages = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
    assert packages <= set(ALLOWED)


def test_every_public_name_is_there() -> None:
    assert set(twigcast.__all__) <= set(dir(twigcast))
    for name in twigcast.__all__:
        public = getattr(twigcast, name)
        assert public.__module__.partition(".")[0] == "twigcast"
        assert pickle.loads(pickle.dumps(public)) is public
    with pytest.raises(AttributeError, match="nonsense"):
        _ = twigcast.nonsense


def test_the_package_imports_quickly_and_alone() -> None:
    script = (
        "import sys, time; start = time.process_time(); import twigcast; "
        "print(time.process_time() - start); "
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(3)
    ]
    assert min(float(run[0]) for run in runs) < 0.1
    assert not {"pyspark", "lxml", "typer", "rich", "pyarrow"} & set(runs[0][1].split())
