"""Histories: deterministic simulation testing against an oracle that knows everything.

    History ──► run_history ──► Network over a ShuffledTransport ──► tables, deliveries, crossings
    (steps)        │                        │                                   │
                   │                        └──► Witness: what holds at any time│
                   └──► World ──► Oracle: what must have come of it ──► checks ──┘──► Run

A :class:`~lab.histories.steps.History` says what happens in which network, step by
step, in plain text.  :func:`~lab.histories.running.run_history` lets it happen,
with messages in any order that links allow, chosen by a seed, and holds the outcome against an
oracle to which routers are unknown: who gets which document and over which links it goes, what
stands in every table, and that nothing is left when all is taken back.  A
:class:`~lab.histories.judged.JudgedSimulation` is held against the same oracle: in
simulated time, with links that lose, double, reorder and delay.

Histories are drawn at random by the tests, where Hypothesis shrinks what goes wrong, and by
``tools/fuzz_routing.py``; what they find prints as a program that shows it.
"""

from __future__ import annotations

from lab.histories.judged import Draft, JudgedSimulation
from lab.histories.running import Run, run_history
from lab.histories.steps import History

__all__ = ["Draft", "History", "JudgedSimulation", "Run", "run_history"]
