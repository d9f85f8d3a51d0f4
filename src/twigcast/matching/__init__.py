"""Meeting documents with subscriptions.

    bytes ──expat──► compact document ──┐
                                        ├──► yes or no
    Pattern ──program──► compiled twig ─┘

:func:`matches` answers for one pattern.  The compiled kernel (``_kernel``) reads the document with
CPython's own expat into flat arrays in document order and evaluates the pattern bottom-up: for
each node of the pattern, the set of document nodes where it holds.  That costs |pattern| ×
|document| whatever the pattern looks like, and never recurses along the document.

:func:`reference_matches` is the same question answered straight from the definitions, over the
tree of :mod:`twigcast.documents`; it exists to be compared with.

This module is the only door to compiled code.
"""

from __future__ import annotations

from functools import lru_cache

from twigcast.documents import DEFAULT_LIMITS, DocumentLimits, Source
from twigcast.language import Pattern
from twigcast.matching._kernel import CompactDocument, CompiledPattern
from twigcast.matching.program import make_program
from twigcast.matching.reference import reference_matches

__all__ = ["CompactDocument", "CompiledPattern", "compile_pattern", "matches", "reference_matches"]


def compile_pattern(pattern: Pattern) -> CompiledPattern:
    """The pattern in the kernel's form, to be asked of many documents."""
    return CompiledPattern(make_program(pattern))


_compile_recent = lru_cache(maxsize=1024)(compile_pattern)


def matches(pattern: Pattern, document: Source, limits: DocumentLimits | None = None) -> bool:
    """Whether the pattern selects anything in the document."""
    return CompactDocument(document, limits or DEFAULT_LIMITS).matches(_compile_recent(pattern))
