"""Queries: which documents of an archive match an XPath.

    shapes ──relaxed pattern──► candidates ──► their documents ──pattern──► matches
            (all of them, small)       (what Parquet cannot skip, read)

The result equals that of evaluating the pattern on every document; the number of documents looked
at is counted, not estimated.  The result has two forms.  :attr:`QueryResult.frame` is a DataFrame,
for going on in Spark with any number of matches.  :meth:`QueryResult.batches` brings the matches
here, piece by piece: with a limit it looks at few documents first, and at more only while matches
are lacking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final

import pyarrow
import pyarrow.compute
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from twigcast.errors import PipelineError
from twigcast.keywords import exact_keywords
from twigcast.language import Pattern, RelativeTo, Variables, Version, as_pattern
from twigcast.pipeline.archive.evaluating import Evaluate
from twigcast.pipeline.archive.folder import ArchiveFolder, Part
from twigcast.pipeline.archive.shapes import ShapeChoice, choose_shapes, steps, stretches
from twigcast.pipeline.archive.tables import read_files
from twigcast.pipeline.archive.times import to_micros, to_time
from twigcast.pipeline.columns import arrow_schema

COLUMNS: Final = ("id", "source", "time", "size", "root")
_TYPES: Final = "id string, source string, time timestamp, size bigint, root string"

_MOST_STRETCHES: Final = 64
_FIRST_STEP: Final = 1_000
_MOST_DOCUMENTS: Final = 1_000_000
_MOST_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class QueryReport:
    """How much of the archive a query had to look at."""

    documents: int
    """In the archive."""
    shapes: int
    candidate_shapes: int
    """Those with documents that may match."""
    candidate_documents: int
    """Documents of those shapes."""
    evaluated: int
    """Documents that were read and asked."""
    matched: int
    """Documents that match; where there is a limit, those that were given out."""
    is_complete: bool
    """Whether these are all: a limit may have ended the search."""

    def as_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Window:
    since: int | None
    until: int | None

    def of(self, frame: DataFrame) -> DataFrame:
        if self.since is not None:
            frame = frame.where(F.expr(f"time >= timestamp_micros({self.since})"))
        if self.until is not None:
            frame = frame.where(F.expr(f"time < timestamp_micros({self.until})"))
        return frame


class QueryResult:
    """The documents that match a query, read when they are asked for."""

    def __init__(
        self,
        folder: ArchiveFolder,
        pattern: Pattern,
        window: _Window,
        *,
        limit: int | None,
        documents: bool,
    ) -> None:
        self._folder = folder
        self._pattern = pattern
        self._window = window
        self._limit = limit
        self._columns = [*COLUMNS, "content"] if documents else list(COLUMNS)
        self._types = f"{_TYPES}, content binary" if documents else _TYPES
        self._keeps_content = documents
        self._parts: list[Part] = [part for part in folder.parts() if part.facts.documents]
        self._total = sum(part.facts.documents for part in self._parts)
        self._report: QueryReport | None = None

    def __repr__(self) -> str:
        state = "not run yet" if self._report is None else f"{self._report.matched:,} matched"
        asked = f"{self._pattern} of {self._folder.url}"
        return f"<QueryResult: {asked}, {self._total:,} documents, {state}>"

    @cached_property
    def _choice(self) -> ShapeChoice:
        with self._reading():
            return choose_shapes(
                self._folder, self._parts, self._pattern, self._window.since, self._window.until
            )

    @property
    def frame(self) -> DataFrame:
        """The matches as a DataFrame: id, source, time, size, root, and content if asked for."""
        choice = self._choice
        if not choice.is_candidate.any():
            return self._folder.spark.createDataFrame([], self._types)
        chosen = choice.is_candidate
        frames = self._frames(choice, chosen, choice.files(chosen), None, is_counting=False)
        frame = frames[0] if len(frames) == 1 else frames[0].union(frames[1])
        return frame if self._limit is None else frame.limit(self._limit)

    def batches(self) -> Iterator[Any]:
        """The matches as Arrow tables, one after the other; afterwards there is a report."""
        choice = self._choice
        left = self._limit
        evaluated = matched = searched = 0
        candidates = list(self._steps(choice))
        for chosen, files in candidates:
            if left == 0:
                break
            for frame in self._frames(choice, chosen, files, left, is_counting=True):
                with self._reading():
                    table = frame.toArrow()
                if "evaluated" in table.column_names:
                    evaluated += sum(table.column("evaluated").drop_null().to_pylist())
                    is_match = pyarrow.compute.is_valid(table.column("id"))
                    table = table.filter(is_match).drop_columns(["evaluated"])
                if left is not None:
                    table = table.slice(0, left)
                    left -= len(table)
                matched += len(table)
                if len(table):
                    yield table
                if left == 0:
                    break
            else:
                searched += 1
        self._report = QueryReport(
            documents=self._total,
            shapes=choice.shape_count(),
            candidate_shapes=choice.candidate_count(),
            candidate_documents=int(choice.documents[choice.is_candidate].sum()),
            evaluated=evaluated,
            matched=matched,
            is_complete=searched == len(candidates),
        )

    def table(self) -> Any:
        """All matches as one Arrow table."""
        tables = list(self.batches())
        if not tables:
            return arrow_schema(self._types).empty_table()
        return pyarrow.concat_tables(tables)

    def ids(self) -> list[str]:
        """The identities of the matches."""
        return [identity for table in self.batches() for identity in table.column("id").to_pylist()]

    @property
    def report(self) -> QueryReport:
        """How much the query looked at; runs the query if it has not run to its end."""
        if self._report is None:
            for _ in self.batches():
                pass
        assert self._report is not None
        return self._report

    def _steps(self, choice: ShapeChoice) -> Iterator[tuple[Any, set[int]]]:
        """The steps of the query; small at first if there is a limit."""
        first = _MOST_DOCUMENTS if self._limit is None else max(_FIRST_STEP, 4 * self._limit)
        most_bytes = _MOST_BYTES if self._keeps_content else None
        return steps(choice, _MOST_DOCUMENTS, most_bytes, first)

    def _frames(
        self,
        choice: ShapeChoice,
        chosen: Any,
        files: set[int],
        enough: int | None,
        *,
        is_counting: bool,
    ) -> list[DataFrame]:
        """The matches among documents of chosen shapes: those that are certain, those asked."""
        frames = []
        certain = chosen & choice.is_certain
        if not files.isdisjoint(choice.files(certain)):
            frame = self._documents(choice, certain, files).select(*self._columns)
            frames.append(frame if enough is None else frame.limit(enough))
        asked = chosen & choice.is_open
        if not files.isdisjoint(choice.files(asked)):
            evaluate = Evaluate(str(self._pattern), self._keeps_content, enough, is_counting)
            types = f"{self._types}, evaluated bigint" if is_counting else self._types
            frame = self._documents(choice, asked, files).select(*COLUMNS, "content")
            frames.append(frame.mapInArrow(evaluate, types))
        return frames

    def _documents(self, choice: ShapeChoice, chosen: Any, files: set[int]) -> DataFrame:
        """The documents of chosen shapes in these files, within the time asked for."""
        ranges, is_exact = stretches(choice, chosen, _MOST_STRETCHES)
        parts = [
            part
            for part in self._parts
            if any(part.has_shape(first, last) for first, last in ranges)
        ]
        with self._reading():
            frame = read_files(self._folder.spark, parts, choice.files(chosen) & files)
        frame = self._window.of(frame).where(_in_one_of(ranges))
        if not is_exact:
            numbers = pyarrow.table({"shape": pyarrow.array(choice.numbers[chosen])})
            wanted = self._folder.spark.createDataFrame(numbers)
            frame = frame.join(F.broadcast(wanted), "shape", "semi")
        return frame

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Report missing files as the compaction that removed them."""
        try:
            yield
        except Exception as error:
            if self._folder.still_has(self._parts):
                raise
            raise PipelineError(
                f"{self._folder.url} was compacted so long ago that what this query was reading "
                "has been taken away; ask again"
            ) from error


def _in_one_of(ranges: list[tuple[int, int]]) -> Any:
    """That a shape is in one of the ranges; as text, since building it up takes longer."""
    return F.expr(" or ".join(f"shape >= {first} and shape <= {last}" for first, last in ranges))


@exact_keywords
def query(
    spark: SparkSession,
    folder: str,
    xpath: str | Pattern,
    *,
    namespaces: Mapping[str, str] | None = None,
    variables: Variables | None = None,
    relative_to: RelativeTo = "anywhere",
    version: Version = "1.0",
    limit: int | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    documents: bool = False,
) -> QueryResult:
    """Ask the archive in ``folder`` which documents match.

    ``namespaces``, ``variables``, ``relative_to`` and ``version`` are those of
    :func:`twigcast.parse`.  ``limit`` is the most matches that are wanted, in no order.  ``since``
    and ``until`` bound their time, the first inclusively, the second exclusively; a text is an ISO
    date or date-time, in UTC unless it names a zone.  With ``documents`` the matches come with
    their content.
    """
    if limit is not None and limit < 1:
        raise PipelineError(f"limit must be at least 1, not {limit}")
    window = _Window(
        None if since is None else to_micros(to_time(since, "since")),
        None if until is None else to_micros(to_time(until, "until")),
    )
    pattern = as_pattern(
        xpath, namespaces, variables=variables, relative_to=relative_to, version=version
    )
    opened = ArchiveFolder(spark, folder)
    return QueryResult(opened, pattern, window, limit=limit, documents=documents)
