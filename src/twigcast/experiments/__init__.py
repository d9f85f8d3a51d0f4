"""Measurements of our own speed beside peers, in one run.

``measure`` times several ways to do the same work in alternating rounds, so that what else the
machine does hits all of them alike, and keeps the spread beside the median.  Each module named
``*_speed`` is one benchmark: it states its workload and returns rows of measurements; the command
line prints or stores them.  Ratios within a run are what counts; absolute times are noisy.
"""

from __future__ import annotations

from twigcast.experiments.foundation_speed import foundation_speed
from twigcast.experiments.measure import Measurement, measure

__all__ = ["Measurement", "foundation_speed", "measure"]
