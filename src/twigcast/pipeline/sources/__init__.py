"""Sources of documents, all read into the same columns.

    folders, files, patterns ──listing──┬── files    .xml, .xml.gz; members of .zip, .tar.gz
                                        ├── tables   Parquet, JSON lines, CSV: a column of XML
                                        └── rows     huge XML files, cut at an element
    a folder, as files arrive ──streams─┘      │
    any frame ──as_documents───────────────────┴──► id, source, content, problem [, at] [, time]

:func:`read_documents` reads the files that are there, :func:`stream_documents` files as they
arrive, and :func:`as_documents` takes any DataFrame.  Spark lists, fetches, splits and
decompresses; Python in the workers opens archives and cuts rows.

Invariants: ids are unique and the same on every run and retry, so that work may be repeated; a
file, member, line or row that cannot be read is a row with a ``problem``, and does not affect other
rows; nothing is guessed.

Cost: one pass over the inputs, and on the driver their names and, for tables of lines and files to
be cut, the head of a file.  No worker holds more than a document and a batch, except for a file
that Spark fetches from another file system as a whole.
"""

from __future__ import annotations

from twigcast.pipeline.sources.options import SourceOptions
from twigcast.pipeline.sources.reading import as_documents, find_documents, read_documents
from twigcast.pipeline.sources.streams import stream_documents

__all__ = ["SourceOptions", "as_documents", "find_documents", "read_documents", "stream_documents"]
