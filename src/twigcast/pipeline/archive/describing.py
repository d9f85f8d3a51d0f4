"""Descriptions of documents: identity and shape, computed by reading a document once.

The *fingerprint* of a shape is that of its skeleton, so it is the same wherever and whenever a
document of that shape is met.  A skeleton is some hundred bytes, and thousands of documents share
one: a task passes it on once, with the first of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow
import pyarrow.compute
from pyspark import TaskContext

from twigcast.documents import DocumentLimits
from twigcast.language import name_text
from twigcast.matching import ReaderName, Skeleton, skeletons_of
from twigcast.pipeline.columns import arrow_schema

DESCRIBED: Final = (
    "row bigint, id string, source string, micros bigint, size bigint, fingerprint string, "
    "root string, skeleton binary, content binary, reason string, line int, column int"
)
"""``row`` is a number of its own for every document, in the order in which they come; ``micros`` is
its time, in microseconds since 1970, null where it came without; ``root`` and ``skeleton`` are
there with the first document of a shape; ``reason`` is null for a good one."""
_ARROW: Final = arrow_schema(DESCRIBED)

_FINGERPRINT: Final = 32
_MOST_SEEN: Final = 50_000
_TIME: Final = pyarrow.timestamp("us", tz="UTC")


def root_text(skeleton: Skeleton) -> str:
    """The name of the root as subscriptions spell it."""
    return name_text(skeleton.namespace, skeleton.local)


def fingerprint_of(skeleton: Skeleton) -> str:
    """The identity of a shape; documents with too large a skeleton share one for each root."""
    text = skeleton.text
    if text is None:  # no skeleton starts like this
        text = f"unknown, below {root_text(skeleton)}".encode()
    return hashlib.sha256(text).hexdigest()[:_FINGERPRINT]


@dataclass(frozen=True, slots=True)
class Describe:
    """Rows with source, content, problem and time to rows as in ``DESCRIBED``."""

    limits: DocumentLimits
    reader: ReaderName = "checked"

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        row = (context.partitionId() if context is not None else 0) << 40
        seen: dict[Skeleton, str] = {}
        for batch in batches:
            if len(seen) > _MOST_SEEN:
                seen.clear()
            yield self._describe(batch, row, seen)
            row += batch.num_rows

    def _describe(self, batch: Any, row: int, seen: dict[Skeleton, str]) -> Any:
        source, content, problem, given = (batch.column(at) for at in range(4))
        problems = problem.to_pylist()
        if problem.null_count < len(problem):
            # A row with a problem is not read: its skeleton would count as passed on.
            content = pyarrow.compute.if_else(problem.is_null(), content, None)
        read = skeletons_of(content, self.limits, reader=self.reader)
        fresh = {
            number: skeleton
            for number, skeleton in enumerate(read.skeletons)
            if skeleton not in seen
        }
        for skeleton in fresh.values():
            seen[skeleton] = fingerprint_of(skeleton)
        fingerprints = [seen[skeleton] for skeleton in read.skeletons]
        rows: list[tuple[Any, ...]] = []
        for at, number in enumerate(read.numbers):
            if problems[at] is not None:
                rows.append((None, None, None, None, None, problems[at], None, None))
            elif number < 0:
                error = read.errors[at]
                position = error.line or None, error.column or None
                rows.append((None, None, None, None, None, error.reason, *position))
            else:
                data = content[at].as_buffer()
                identity = hashlib.sha256(data).hexdigest()
                first = fresh.pop(number, None)
                shown = (root_text(first), first.text) if first is not None else (None, None)
                rows.append((identity, data.size, fingerprints[number], *shown, None, None, None))
        described = zip(*rows, strict=True) if rows else iter([()] * 8)
        identities, *shapes, reasons, lines, columns = described
        numbers = range(row, row + batch.num_rows)
        micros = given.cast(_TIME).cast(pyarrow.int64())
        values = [numbers, identities, source, micros, *shapes, content, reasons, lines, columns]
        arrays = [
            value.cast(field.type)
            if isinstance(value, pyarrow.Array)
            else pyarrow.array(value, field.type)
            for value, field in zip(values, _ARROW, strict=True)
        ]
        return pyarrow.RecordBatch.from_arrays(arrays, schema=_ARROW)
