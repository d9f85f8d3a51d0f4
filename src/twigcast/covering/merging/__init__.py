"""Merging: one slightly wider pattern instead of several.

    linear patterns ──rules──► groups, each with its merger ──┐
                                                              ├──► MergedSet: mergers, and the
    Schema, or paths that were observed ──► PathCounter: D ───┘    patterns that none of them covers

A merger covers its members.  Its *degree* D is the share of the paths that the merger matches and
none of its members does: 0 for a perfect merger, which matches nothing more.  D is counted
over the paths of a schema (:mod:`~twigcast.covering.merging.counting`), or over paths seen in
documents (:mod:`~twigcast.covering.merging.observed_paths`).  The rules that propose groups are
those of Li, Hou and Jacobsen (:mod:`~twigcast.covering.merging.rules`).  A single pattern can be
widened (:mod:`~twigcast.covering.merging.widening`).

Invariants: what a :class:`MergedSet` forwards covers every pattern in it, and no merger in it has a
degree above the threshold.
"""

from __future__ import annotations

from twigcast.covering.merging.counting import PathCounter
from twigcast.covering.merging.merged_set import MergedSet, Merger, merge
from twigcast.covering.merging.widening import widened

__all__ = ["MergedSet", "Merger", "PathCounter", "merge", "widened"]
