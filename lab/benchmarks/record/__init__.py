"""The figures of the last release, and what became of them since.

    results of a run ──► Record.of ──► <subject>.json, in this folder
                    └──► compare (with the record) ──► Change: better, worse, alike, new, missing

Most figures are ratios within one run, so that records of one machine serve on another.  Times and
rates are not; they are compared as multiples of what expat takes for a document in the same run.
"""

from __future__ import annotations

from lab.benchmarks.record.comparison import Change, compare
from lab.benchmarks.record.figures import Figure, Record, expat_time, read_record, write_record

__all__ = [
    "Change",
    "Figure",
    "Record",
    "compare",
    "expat_time",
    "read_record",
    "write_record",
]
