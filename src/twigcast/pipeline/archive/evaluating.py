"""Evaluating the pattern on documents, in batches, where the shape does not decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy
import pyarrow

from twigcast.documents import DocumentLimits
from twigcast.errors import PipelineError
from twigcast.language import restore_pattern
from twigcast.matching import Matcher

# The documents of an archive were read within limits when they were added.
_LIMITS: Final = DocumentLimits(
    size=2**31, depth=2**30, attributes=2**30, name_length=2**30, entity_expansion=2**31
)


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Rows of documents, with the content last, to those that match.

    ``enough`` ends the work of a task after so many matches.  With ``is_counting`` there is one
    more column, ``evaluated``, and at the end of every task one row more, all null but for the
    number of documents that were evaluated.
    """

    pattern: str
    keeps_content: bool
    enough: int | None = None
    is_counting: bool = False

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        matcher = Matcher(limits=_LIMITS)
        matcher.add("", restore_pattern(self.pattern))
        evaluated = matched = 0
        schema = None
        for batch in batches:
            schema = self._schema(batch.schema)
            answers = matcher.match_batch(batch.column(batch.num_columns - 1))
            if answers.errors:
                at, error = next(iter(answers.errors.items()))
                raise PipelineError(
                    f"the document {batch.column(0)[at]} in the archive cannot be read: {error}"
                )
            evaluated += batch.num_rows
            (numbers,) = numpy.nonzero(numpy.diff(numpy.asarray(answers.pattern_offsets)))
            if self.enough is not None:
                numbers = numbers[: self.enough - matched]
            matched += len(numbers)
            if len(numbers):
                columns = list(batch.take(pyarrow.array(numbers)).columns)
                columns = columns if self.keeps_content else columns[:-1]
                if self.is_counting:
                    columns.append(pyarrow.nulls(len(numbers), pyarrow.int64()))
                yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)
            if matched == self.enough:
                break
        if self.is_counting and schema is not None:
            nothing = [pyarrow.nulls(1, field.type) for field in schema][:-1]
            yield pyarrow.RecordBatch.from_arrays(
                [*nothing, pyarrow.array([evaluated], pyarrow.int64())], schema=schema
            )

    def _schema(self, given: Any) -> Any:
        fields = list(given) if self.keeps_content else list(given)[:-1]
        if self.is_counting:
            fields.append(pyarrow.field("evaluated", pyarrow.int64()))
        return pyarrow.schema(fields)
