"""Which subscriptions a document matches.

    Pattern ──plan──► units, probes, paths ──► index ──┐
                                                       ├──► numbers of patterns ──► keys
    bytes ──expat──► events ──► session ───────────────┘

:class:`Matcher` asks any number of patterns at once.  The compiled kernel (``_kernel``) keeps all
their paths in one trie.  Documents share label paths; each thread keeps the label paths that it met
and what follows from each, so nearly every element costs one look-up.  A pattern that is one path
matches when the path is met.  Any other pattern is split into branches that must hold together: by
the kernel where it is a plain tree, which the kernel reads from its text, else by
:mod:`~twigcast.matching.plan`.  Values are looked up in an index.  Conditions that no index decides
(``not``, positions) are evaluated last, and only if everything else fits.  The invariant: an answer
is exact, whatever is kept, dropped or changed meanwhile.

:func:`matches` answers for one pattern.  The kernel reads the document into flat arrays in document
order and evaluates the pattern bottom-up: for each node of the pattern, the set of document nodes
where it holds.  That costs |pattern| × |document| whatever the pattern looks like, and never
recurses along the document.

:func:`reference_matches` is the same question answered straight from the definitions, over the
tree of :mod:`twigcast.documents`; it exists to be compared with.  :func:`explain` follows those
definitions and says why.

:func:`skeletons_of` gives the label paths of documents, each set written as a document that has
them all.  Many documents have the same set; if its skeleton does not match, none of them does.

Outside this package, this module is the only door to compiled code.
"""

from __future__ import annotations

from functools import lru_cache

from twigcast.documents import DEFAULT_LIMITS, DocumentLimits, Source
from twigcast.language import Pattern
from twigcast.matching._kernel import DESTINATION_COUNT, CompactDocument, CompiledPattern
from twigcast.matching.batch_destinations import BatchDestinations
from twigcast.matching.batch_matches import BatchMatches
from twigcast.matching.batches import READERS, ReaderName
from twigcast.matching.by_number import ByNumber
from twigcast.matching.explain import explain
from twigcast.matching.explanation import Explanation, Finding, Outcome
from twigcast.matching.matcher import Matcher, MatcherStats
from twigcast.matching.program import make_program
from twigcast.matching.reference import reference_matches
from twigcast.matching.skeletons import (
    LARGEST_SKELETON,
    SKELETON_LIMITS,
    Skeleton,
    SkeletonBatch,
    skeletons_of,
)

__all__ = [
    "DESTINATION_COUNT",
    "LARGEST_SKELETON",
    "READERS",
    "SKELETON_LIMITS",
    "BatchDestinations",
    "BatchMatches",
    "ByNumber",
    "CompactDocument",
    "CompiledPattern",
    "Explanation",
    "Finding",
    "Matcher",
    "MatcherStats",
    "Outcome",
    "ReaderName",
    "Skeleton",
    "SkeletonBatch",
    "compile_pattern",
    "explain",
    "matches",
    "reference_matches",
    "skeletons_of",
]


def compile_pattern(pattern: Pattern) -> CompiledPattern:
    """The pattern in the kernel's form, to be asked of many documents."""
    return CompiledPattern(make_program(pattern))


_compile_recent = lru_cache(maxsize=1024)(compile_pattern)


def matches(pattern: Pattern, document: Source, limits: DocumentLimits | None = None) -> bool:
    """Whether the pattern selects anything in the document."""
    read = CompactDocument(document, DEFAULT_LIMITS if limits is None else limits)
    return read.matches(_compile_recent(pattern))
