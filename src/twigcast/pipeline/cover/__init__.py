"""The minimal covering set of millions of subscriptions.

    expressions ──parse──► canonical texts ──group──► distinct, with the first position
                                                          │  wide ones first, each part by itself
                                                          ▼
        gone: covered by a wider one          first look, most are dropped
        hidden: dropped, but still asked          │
        stays: in question                        ▼
                                              cells: candidates for covering meet by a name,
                                                          │  searched by a factorization tree
                                                          ▼
                                              patterns that nothing replaces

The result is that of :mod:`twigcast.covering.minimal`, which defines it: p replaces q when p
covers q, and q does not cover p or comes later; what nothing replaces is forwarded.  This is a
property of each pattern and the whole set, so it does not matter which task decides it.  A
pattern that is dropped at the first look is left out of sight only where that cannot hide anything
(:mod:`twigcast.covering.needed_names`); the others are asked to the end.

Cost: an expression is parsed twice, and once more in each cell that it comes to; a search takes
some tens of microseconds.  A worker holds an index of at most ``_MOST_TOGETHER`` patterns, the
driver sixteen bytes for each pattern that was dropped where trees have a branching ``*``.
"""

from __future__ import annotations

from twigcast.pipeline.cover.job import CoverResult, cover

__all__ = ["CoverResult", "cover"]
