"""The papers' tables and figures, run again: one module for each, named for what it shows.

    Setting (schema, sizes, seed) ──► Experiment.run ──► Outcome: sheets, panels, remarks

The modules share documents as their paths (``publications``), what strategies leave of a table
(``broker_tables``) and a network in simulated time (``simulated_network``).  The papers' own
figures, algorithms and sets of expressions are in :mod:`lab.published`.
"""

from __future__ import annotations

from lab.experiments.catalogue import EXPERIMENTS
from lab.experiments.outcomes import Cell, Experiment, Outcome, Setting, Sheet

__all__ = ["EXPERIMENTS", "Cell", "Experiment", "Outcome", "Setting", "Sheet"]
