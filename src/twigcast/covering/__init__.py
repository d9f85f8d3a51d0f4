"""Covering and merging: which subscription makes which other one superfluous.

p *covers* q when every document that matches q matches p.  A router that has sent p upstream need
not send q: tables stay small, and what is sent is still exactly what is wanted.

    Pattern ──splitting──► twigs ──► what is given, what is asked
                              │
                              ▼
                   homomorphism: one into the other ──► covers, equivalent ──models──► exact=True
                              │
                              ▼
              factorization tree (compiled) ──► PatternSearch ──┬──► CoverIndex      keys
                                                                └──► CoveringTable   forwarded set
                                                                          │
              SubscriptionTree: the whole order                       MergedSet: mergers instead,
              as a tree, to look at                                   D counted from a Schema

A pattern is taken apart into twigs, conjunctions of conditions at the document node without ``or``
(:mod:`~twigcast.covering.splitting`).  One covers the other where each twig of the latter has one
of the former mapped into it.  What ``not()``, first nodes and residuals imply is said in one file
(:mod:`~twigcast.covering.conditions`), and the compiled search asks it once for a pair.  Runs of
``*`` are lengths of edges there, which makes the answer exact on paths.  On trees it is sound, and
``exact=True`` goes on with canonical documents (:mod:`~twigcast.covering.canonical`).

Over sets, a tree of all paths gives the candidates, and the same mapping, compiled, compares those
that have several paths.  A :class:`CoveringTable` keeps the maximal patterns of a changing set; a
:class:`MergedSet` replaces groups of them by slightly wider ones
(:mod:`~twigcast.covering.merging`).  The minimal patterns of a whole set, however the set is cut
and searched, are defined in :mod:`~twigcast.covering.minimal`.

Invariants: every covering reported is true; on linear expressions none is missed; a pattern covers
itself with more predicates; searches find what ``covers`` finds pair by pair.  Cost: some tens of
microseconds for two patterns, a few once they are taken apart; a search of 100,000 tree patterns
takes a fraction of a millisecond, an addition or removal some tens of microseconds.
"""

from __future__ import annotations

from twigcast.covering.index import CoverIndex, CoverIndexStats
from twigcast.covering.merging import MergedSet, Merger, PathCounter, merge, widened
from twigcast.covering.minimal import (
    first_replacing,
    replaced_by,
    replaced_patterns,
    untie_circles,
)
from twigcast.covering.needed_names import NeededNames, needed_names
from twigcast.covering.pairwise import Prepared, covers, equivalent, overlaps
from twigcast.covering.search import PatternSearch, Search, TextSearch
from twigcast.covering.subscribers import Subscribers
from twigcast.covering.subscription_tree import SubscriptionTree
from twigcast.covering.table import Change, CoveringTable

__all__ = [
    "Change",
    "CoverIndex",
    "CoverIndexStats",
    "CoveringTable",
    "MergedSet",
    "Merger",
    "NeededNames",
    "PathCounter",
    "PatternSearch",
    "Prepared",
    "Search",
    "Subscribers",
    "SubscriptionTree",
    "TextSearch",
    "covers",
    "equivalent",
    "first_replacing",
    "merge",
    "needed_names",
    "overlaps",
    "replaced_by",
    "replaced_patterns",
    "untie_circles",
    "widened",
]
