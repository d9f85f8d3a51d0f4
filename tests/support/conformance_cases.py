"""The conformance cases of ``tests/conformance``, which every matcher runs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from folders import ROOT

_FOLDER = ROOT / "tests" / "conformance"


@dataclass(frozen=True)
class Case:
    """A subscription, a document, and whether they match."""

    name: str
    xpath: str
    namespaces: dict[str, str]
    document: str
    expected: bool


def load_cases() -> Iterator[Case]:
    """Every pair of subscription and document in the data files."""
    for path in sorted(_FOLDER.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
            for expected, key in ((True, "matches"), (False, "misses")):
                for number, document in enumerate(entry[key], start=1):
                    yield Case(
                        name=f"{path.stem}: {entry['xpath']} {key} {number}",
                        xpath=entry["xpath"],
                        namespaces=entry.get("namespaces", {}),
                        document=document,
                        expected=expected,
                    )
