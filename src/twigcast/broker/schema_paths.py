"""Whether a document keeps to the paths of a schema.

    document ──kernel──► skeleton (each label path once) ──walk──► first path that is strange
                                    └─ remembered, with the answer, for the next such document

The root and every path from it to an element must be one that valid documents have.  That is what
routing relies on: it asks schemas which paths their documents can have, not how often or in which
order.  So this is less than validation, and documents of one kind share few sets of paths.

Cost: one reading in the kernel, then a look-up; for a set of paths that is new, one walk along
them.  A document with very many paths is walked itself, and not remembered.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from twigcast.documents import DocumentLimits, PathPublication, decompose
from twigcast.matching import SKELETON_LIMITS, ReaderName, skeletons_of
from twigcast.schema import PathAutomaton, Schema

_REMEMBERED: Final = 1_000
_LARGEST: Final = 8 * 1024
"""Of the skeletons that are remembered, so 8 MB of them at most."""


def strange_path(
    schema: Schema, content: bytes, limits: DocumentLimits, reader: ReaderName = "checked"
) -> str | None:
    """The first path of a document that the schema does not have; DocumentError for no document."""
    result = skeletons_of([content], limits, largest=_LARGEST, reader=reader)
    if result.errors:
        raise result.errors[0]
    text = result.skeletons[0].text
    if text is None:
        return _first_strange(schema.automaton, decompose(content, "", limits=limits))
    return _of_skeleton(schema, text)


@lru_cache(maxsize=_REMEMBERED)
def _of_skeleton(schema: Schema, text: bytes) -> str | None:
    return _first_strange(schema.automaton, decompose(text, "", limits=SKELETON_LIMITS))


def _first_strange(automaton: PathAutomaton, paths: Iterable[PathPublication]) -> str | None:
    """The first path, cut behind its first strange element."""
    for each in paths:
        positions = automaton.first
        for depth, name in enumerate(each.path):
            positions &= automaton.positions(*name)
            if not positions:
                return str(each._replace(path=each.path[: depth + 1]))
            positions = automaton.below(positions)
    return None
