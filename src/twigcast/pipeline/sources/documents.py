"""Documents as Spark hands them to a worker: rows, and how a worker opens them.

    Spark: rows that refer to documents ──Arrow──► worker: opening ──► documents ──► work

Whatever crosses from Spark to a worker is copied twice, so documents that a worker can open itself
come as references: a path, a part of an archive, a row group of a Parquet file.  Other
documents come with their content.  In both cases the work on a document happens in the worker that
opened it.

The columns in which documents travel::

    id       string     unique, and the same on every run and retry
    source   string     where the document came from, for people
    content  binary     the document; null if it could not be read
    problem  string     why there is no content, else null
    at       string     the broker at which it enters     (only where a column was named)
    time     timestamp  the time of the document           (only where a column was named)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame

from twigcast.pipeline.columns import arrow_schema, batch_of

SCHEMA: Final = "id string, source string, content binary, problem string"

_ARROW: Final = arrow_schema(SCHEMA)
_BATCH_BYTES: Final = 8 * 1024 * 1024
_BATCH_ROWS: Final = 1_000

Batches = Iterator[pa.RecordBatch]
Work = Callable[[Batches], Batches]
"""From batches to batches; an importable function or a small object that can be pickled."""


class SourceRow(NamedTuple):
    """One row of a source: a document, or the reason why there is none."""

    id: str
    source: str
    content: bytes | None
    problem: str | None = None


def to_batches(documents: Iterable[SourceRow]) -> Batches:
    """The documents in order, in batches of at most 1,000 rows.

    A batch has about 8 MB unless one document is larger, however large the archive is.
    """
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


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """Some documents: a DataFrame, and how its rows become documents if they are not yet."""

    frame: DataFrame
    opening: Work | None = None
    schema: str = SCHEMA
    """The columns once they are opened."""

    def mapped(self, work: Work, schema: str) -> DataFrame:
        """The rows that the work makes of the documents."""
        whole = work if self.opening is None else partial(_in_turn, self.opening, work)
        return self.frame.mapInArrow(whole, schema)

    def opened(self) -> DataFrame:
        if self.opening is None:
            return self.frame
        return self.frame.mapInArrow(self.opening, self.schema)

    @property
    def names_broker(self) -> bool:
        """Whether a column names the broker where each document enters a network."""
        columns = self.frame.columns if self.opening is None else _names(self.schema)
        return "at" in columns


@dataclass(frozen=True, slots=True)
class Documents:
    """Documents from any number of sources."""

    parts: tuple[DocumentPart, ...]

    @classmethod
    def of(cls, *parts: DocumentPart | DataFrame) -> Documents:
        return cls(tuple(_part(each) for each in parts))

    @classmethod
    def joined(cls, several: Iterable[Documents]) -> Documents:
        return cls(tuple(part for each in several for part in each.parts))

    def mapped(self, work: Work, schema: str) -> DataFrame:
        """The rows that the work makes of all documents."""
        return reduce(DataFrame.unionAll, [part.mapped(work, schema) for part in self.parts])

    def frame(self) -> DataFrame:
        frames = [part.opened() for part in self.parts]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)

    @property
    def names_broker(self) -> bool:
        """Whether a source has a column that names the broker of each document."""
        return any(part.names_broker for part in self.parts)


def _part(given: DocumentPart | DataFrame) -> DocumentPart:
    return given if isinstance(given, DocumentPart) else DocumentPart(given)


def _names(schema: str) -> list[str]:
    return [field.split()[0] for field in schema.split(",")]


def _in_turn(first: Work, second: Work, batches: Batches) -> Batches:
    return second(first(batches))
