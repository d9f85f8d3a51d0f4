"""Arrow batches of documents that stay small.

Cost: a batch holds at most 1,000 documents, and about 8 MB unless one document is larger, however
large the archive is from which they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import pyarrow as pa

from twigcast.pipeline.columns import arrow_schema, batch_of
from twigcast.pipeline.sources.documents import SCHEMA

_ARROW: Final = arrow_schema(SCHEMA)
_BATCH_BYTES: Final = 8 * 1024 * 1024
_BATCH_ROWS: Final = 1_000


class SourceRow(NamedTuple):
    """One row of a source: a document, or the reason why there is none."""

    id: str
    source: str
    content: bytes | None
    problem: str | None = None


def to_batches(documents: Iterable[SourceRow]) -> Iterator[pa.RecordBatch]:
    """The documents in order, as batches that are bounded in rows and bytes."""
    rows: list[SourceRow] = []
    size = 0
    for one in documents:
        rows.append(one)
        size += len(one.content or b"") + len(one.id) + len(one.source)
        if size >= _BATCH_BYTES or len(rows) >= _BATCH_ROWS:
            yield batch_of(rows, _ARROW)
            rows, size = [], 0
    if rows:
        yield batch_of(rows, _ARROW)
