"""Documents on their way to a worker: what Spark reads, and how a worker opens it.

    Spark: rows that refer to documents ──Arrow──► worker: opening ──► documents ──► work

Whatever crosses from Spark to a worker is copied twice, so documents that a worker can open itself
come as references: a path, a part of an archive, a row group of a Parquet file.  Others come as
they are.  Either way the work that is asked for happens in the same worker, right where the
documents have been opened.

The columns in which documents travel::

    id       string     unique, and the same on every run and retry
    source   string     where the document came from, for people
    content  binary     the document; null where it could not be had
    problem  string     why there is no content, else null
    at       string     the broker at which it enters     (only where a column was named)
    time     timestamp  when it was                        (only where a column was named)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame

SCHEMA: Final = "id string, source string, content binary, problem string"

Batches = Iterator[pa.RecordBatch]
Work = Callable[[Batches], Batches]
"""From batches to batches; an importable function or a small object that can be pickled."""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """Some documents: a DataFrame, and how its rows become documents if they are not yet."""

    frame: DataFrame
    opening: Work | None = None
    schema: str = SCHEMA
    """The columns once they are opened."""

    def mapped(self, work: Work, schema: str) -> DataFrame:
        """What the work makes of the documents."""
        whole = work if self.opening is None else _InTurn(self.opening, work)
        return self.frame.mapInArrow(whole, schema)

    def opened(self) -> DataFrame:
        """The documents themselves."""
        if self.opening is None:
            return self.frame
        return self.frame.mapInArrow(self.opening, self.schema)

    @property
    def has_place(self) -> bool:
        """Whether they say at which broker they enter a network."""
        columns = self.frame.columns if self.opening is None else _names(self.schema)
        return "at" in columns


@dataclass(frozen=True, slots=True)
class Documents:
    """Documents from any number of places."""

    parts: tuple[DocumentPart, ...]

    @classmethod
    def of(cls, *parts: DocumentPart | DataFrame) -> Documents:
        """Documents of these parts."""
        return cls(tuple(_part(each) for each in parts))

    @classmethod
    def joined(cls, several: Iterable[Documents]) -> Documents:
        """All of them together."""
        return cls(tuple(part for each in several for part in each.parts))

    def mapped(self, work: Work, schema: str) -> DataFrame:
        """What the work makes of all of them."""
        return reduce(DataFrame.unionAll, [part.mapped(work, schema) for part in self.parts])

    def frame(self) -> DataFrame:
        """The documents themselves."""
        frames = [part.opened() for part in self.parts]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)

    @property
    def has_place(self) -> bool:
        """Whether some say at which broker they enter a network."""
        return any(part.has_place for part in self.parts)


def _part(given: DocumentPart | DataFrame) -> DocumentPart:
    return given if isinstance(given, DocumentPart) else DocumentPart(given)


def _names(schema: str) -> list[str]:
    return [field.split()[0] for field in schema.split(",")]


@dataclass(frozen=True, slots=True)
class _InTurn:
    first: Work
    second: Work

    def __call__(self, batches: Batches) -> Batches:
        return self.second(self.first(batches))
