"""Arrow batches of documents that stay small.

Cost: a batch holds at most 1,000 documents, and about 8 MB unless one document is larger, however
large the archive is from which they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

COLUMNS: Final = ("id", "source", "content", "problem")

_ARROW: Final = pa.schema(
    [
        ("id", pa.string()),
        ("source", pa.string()),
        ("content", pa.binary()),
        ("problem", pa.string()),
    ]
)
_BATCH_BYTES: Final = 8 * 1024 * 1024
_BATCH_ROWS: Final = 1_000


@dataclass(frozen=True, slots=True)
class SourceRow:
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
            yield _batch(rows)
            rows, size = [], 0
    if rows:
        yield _batch(rows)


def _batch(rows: list[SourceRow]) -> pa.RecordBatch:
    columns = [[getattr(row, name) for row in rows] for name in COLUMNS]
    return pa.record_batch(
        [pa.array(values, field.type) for values, field in zip(columns, _ARROW, strict=True)],
        schema=_ARROW,
    )
