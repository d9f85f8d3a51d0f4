"""The label paths of documents, written as documents; the kernel's ``xml/skeleton.hpp`` shows how.

A skeleton is asked with the same patterns as the document it stands for, by the same kernel:
:func:`twigcast.language.relaxed` says what to ask for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from twigcast.documents import DEFAULT_LIMITS, DocumentLimits
from twigcast.errors import DocumentError
from twigcast.matching._kernel import read_skeletons
from twigcast.matching.batches import ReaderName, prepare_batch

LARGEST_SKELETON: Final = 64 * 1024
"""Bytes.  Documents whose names are data can have as many paths as nodes, and knowing them all
would be knowing the document twice."""

SKELETON_LIMITS: Final = DocumentLimits(
    size=2**30, depth=2**30, attributes=2**30, name_length=2**30
)
"""For reading a skeleton: its size bounds it already, and it may have more attributes at one path
than any one element had."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The label paths of a document: ``text`` is a document that has each of them once.

    ``text`` is None where it would be too large; the name of the root is known even then.
    """

    text: bytes | None
    namespace: str
    local: str


@dataclass(frozen=True, slots=True)
class SkeletonBatch:
    """The skeletons of a batch of documents, each there once.

    ``numbers`` holds for each document the index of its skeleton in ``skeletons``, or -1 for a bad
    one, whose error stands in ``errors`` under the document's own index.
    """

    numbers: list[int]
    skeletons: list[Skeleton]
    errors: Mapping[int, DocumentError]

    def __len__(self) -> int:
        return len(self.numbers)


def skeletons_of(
    documents: Any,
    limits: DocumentLimits | None = None,
    *,
    largest: int = LARGEST_SKELETON,
    reader: ReaderName = "checked",
) -> SkeletonBatch:
    """The skeletons of many documents, read once each, without the interpreter lock.

    ``documents`` are what :meth:`Matcher.match_batch` takes, with the same limits, refusals and
    ``reader``.  Equal texts mean equal sets of label paths.  In a very large batch the same
    skeleton may be there more than once.  Cost: that of parsing.
    """
    prepared = prepare_batch(documents, DEFAULT_LIMITS if limits is None else limits, reader)
    numbers, rows = read_skeletons(prepared, largest)
    return SkeletonBatch(numbers, [Skeleton(*parts) for parts in rows], prepared.errors)
