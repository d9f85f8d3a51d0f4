"""The conformance cases of ``tests/conformance``, which every matcher runs.

A case is a table ``[[case]]`` of a TOML file:

    xpath, matches, misses              the subscription, documents that match, and that do not
    namespaces, variables               what its names stand for
    relative_to, version                as in ``parse``
    oracle = "saxon"                    libxml2 cannot evaluate it; Saxon does
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from folders import ROOT
from match_oracles import Question, libxml2_matches, saxon_tree

_FOLDER = ROOT / "tests" / "conformance"
_QUESTION = {"namespaces", "variables", "relative_to", "version"}
_KEYS = {"xpath", "matches", "misses", "oracle", *_QUESTION}


@dataclass(frozen=True)
class Case:
    """A subscription, a document, and whether they match; the name is that of its table."""

    name: str
    question: Question
    document: str
    expected: bool
    by_saxon: bool

    def ask_oracle(self) -> bool:
        """What libxml2 or Saxon says; in Saxon's case, no value means no match."""
        if self.by_saxon:
            return saxon_tree(self.document).matches(self.question) is True
        return libxml2_matches(self.question, self.document)


def load_cases() -> Iterator[Case]:
    """Every pair of subscription and document in the data files."""
    for path in sorted(_FOLDER.glob("*.toml")):
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
        for number, entry in enumerate(entries, start=1):
            assert entry.keys() <= _KEYS, entry.keys() - _KEYS
            question = Question(
                entry["xpath"], **{key: entry[key] for key in _QUESTION if key in entry}
            )
            for expected, key in ((True, "matches"), (False, "misses")):
                for document in entry[key]:
                    yield Case(
                        name=f"{path.stem} {number}: {entry['xpath']}",
                        question=question,
                        document=document,
                        expected=expected,
                        by_saxon=entry.get("oracle") == "saxon",
                    )
