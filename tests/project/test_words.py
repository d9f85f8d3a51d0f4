"""Names in the source use no word that the glossary says to avoid.

The words are those of the table "Words to avoid" in ``docs/glossary.md``.  A name is judged by its
parts: ``read_place`` and ``PlaceReader`` contain ``place``, ``replace`` does not.  Only definitions
count, so a name counts once, where its owner can change it: modules, classes, functions, arguments,
and the names that a module, a class or an object is given.  Compiled modules are not read.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from folders import ROOT

SOURCE = ROOT / "src" / "twigcast"
LABORATORY = ROOT / "lab"

EXCEPTIONS: dict[tuple[str, str], str] = {
    ("pipeline", "tell"): "Python's interface of files has that method",
}
"""Names that keep such a word, by package, each with the reason."""


@cache
def words_to_avoid() -> frozenset[str]:
    """The first column of the table in the glossary, which lists words with commas between."""
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    section = glossary.partition("\n## Words to avoid\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| ")]
    cells = [row for row in rows if row.strip() not in ("not", "---")]
    return frozenset(word.strip() for cell in cells for word in cell.split(","))


def parts(name: str) -> set[str]:
    """The words that a snake_case or CamelCase name is made of."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def definitions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The names that a module defines, each with its line; local variables are not among them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        if isinstance(node, ast.Module | ast.ClassDef):
            for statement in node.body:
                if isinstance(statement, ast.Assign | ast.AnnAssign):
                    yield from _targets(statement)
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def _targets(statement: ast.Assign | ast.AnnAssign) -> Iterator[tuple[str, int]]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id, target.lineno


def bad_names(path: Path, package: str) -> Iterator[str]:
    """``file:line: name`` of every definition in the file that has a word to avoid."""
    for name, line in names_in(path):
        if (package, name) not in EXCEPTIONS and parts(name) & words_to_avoid():
            yield f"{path.relative_to(ROOT)}:{line}: {name}"


def names_in(path: Path) -> Iterator[tuple[str, int]]:
    """The name of the module, and the names that it defines."""
    yield path.stem, 1
    yield from definitions(ast.parse(path.read_text(encoding="utf-8")))


@cache
def packages() -> dict[str, list[Path]]:
    """The modules of each package; the laboratory is one, and so is each module at the top."""
    modules: dict[str, list[Path]] = {"lab": sorted(LABORATORY.rglob("*.py"))}
    for path in sorted(SOURCE.rglob("*.py")):
        modules.setdefault(path.relative_to(SOURCE).parts[0].removesuffix(".py"), []).append(path)
    return modules


@pytest.mark.parametrize("package", sorted(packages()))
def test_names_use_the_words_of_the_glossary(package: str) -> None:
    hits = [hit for path in packages()[package] for hit in bad_names(path, package)]
    assert not hits, "\n".join(["the glossary has other words for these:", *hits])


def test_the_glossary_lists_words() -> None:
    assert {"told", "found", "place", "places", "way", "ways"} <= words_to_avoid()


def test_a_name_is_judged_by_its_parts() -> None:
    assert parts("_read_place2") == {"read", "place"}
    assert parts("HTTPPlace") == {"http", "place"}
    assert parts("PLACES") == {"places"}
    assert parts("replace") == {"replace"}


def test_every_kind_of_definition_counts() -> None:
    text = """
class A:
    b: int
    c = 1
    def d(self, e, *f, g=1, **h):
        self.i = j = 2
async def k(): ...
l = lambda m: m.n
"""
    names = Counter(name for name, _ in definitions(ast.parse(text)))
    assert names == Counter("A b c d self e f g h i k l m".split())


def test_exceptions_are_needed() -> None:
    names = {
        (package, name)
        for package, paths in packages().items()
        for path in paths
        for name, _ in names_in(path)
    }
    assert set(EXCEPTIONS) <= names
