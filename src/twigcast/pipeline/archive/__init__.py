"""An archive of documents on Parquet, ordered by shape and queried with XPath.

    archive: documents ──► skeletons ──► shapes, interned ──► documents in the order of their shapes
    query:   pattern ──relaxed──► shapes that may match ──► their documents ──pattern──► matches

The *shape* of a document is the set of its label paths, elements and attributes, written as its
skeleton (:func:`twigcast.matching.skeletons_of`).  An archive of a million documents has some
thousand shapes, and a pattern can match documents of few of them only: :func:`query` asks the
shapes first, reads what Parquet cannot skip, and evaluates only documents that their shape does not
decide.

:func:`archive` adds documents, :func:`compact` joins what many runs have added.  The folder is
described in ``folder``, its tables in ``tables``.

Invariants: a document is in the archive once, whole; a run that fails changes nothing; a query
answers what evaluating every document would.  Cost: archiving reads each document once and moves it
twice; a query costs the table of shapes and the documents that it has to look at.
"""

from __future__ import annotations

from twigcast.pipeline.archive.archiving import ArchiveReport, Rejection, archive
from twigcast.pipeline.archive.compacting import CompactReport, compact
from twigcast.pipeline.archive.querying import QueryReport, QueryResult, query

__all__ = [
    "ArchiveReport",
    "CompactReport",
    "QueryReport",
    "QueryResult",
    "Rejection",
    "archive",
    "compact",
    "query",
]
