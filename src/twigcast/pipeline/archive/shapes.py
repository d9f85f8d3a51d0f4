"""The choice of shapes that a pattern may match, before any document is read.

The table of shapes is asked with the *relaxed* pattern by the same kernel that matches documents;
a shape whose skeleton was too large to be kept may always match.  Where label paths alone decide
the pattern, what a shape says holds for all its documents, and none need be read.

Shapes are numbered in the order in which documents lie, so those that are asked for are a few
stretches of numbers, and stretches are what Parquet skips by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy
import pyarrow
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from twigcast.language import Pattern, decided_by_paths, relaxed, restore_pattern
from twigcast.matching import SKELETON_LIMITS, Matcher
from twigcast.pipeline.archive.folder import ArchiveFolder, Part
from twigcast.pipeline.archive.tables import SHAPES, read_part_tables

_NO: Final = 0
_MAYBE: Final = 1
_CERTAIN: Final = 2
_GROWTH: Final = 8
_JUDGED: Final = (
    "shape long, fingerprint string, documents long, bytes long, first long, last long, "
    "file int, last_file int, decided int"
)
_NAMES: Final = [column.split()[0] for column in _JUDGED.split(", ")]


@dataclass(frozen=True, slots=True)
class Judge:
    """Rows as in ``_JUDGED`` but with a skeleton at the end, to rows with the decision there."""

    pattern: str
    is_exact: bool

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        matcher = Matcher(limits=SKELETON_LIMITS)
        matcher.add("", restore_pattern(self.pattern))
        for batch in batches:
            answers = matcher.match_batch(batch.column(batch.num_columns - 1))
            is_match = numpy.diff(numpy.asarray(answers.pattern_offsets)) > 0
            decided = numpy.where(is_match, _CERTAIN if self.is_exact else _MAYBE, _NO)
            # Skeletons that are not there, or cannot be read, exclude nothing.
            decided[list(answers.errors)] = _MAYBE
            columns = [*batch.columns[:-1], pyarrow.array(decided, pyarrow.int32())]
            yield pyarrow.RecordBatch.from_arrays(columns, names=_NAMES)


@dataclass(frozen=True, slots=True)
class ShapeChoice:
    """All shapes of some parts in the order of their numbers, and the decision on each.

    The arrays run in parallel: number, documents and bytes of each shape, the files where they
    are, whether its documents must be looked at (``is_open``), and whether they all match
    (``is_certain``).
    """

    numbers: Any
    fingerprints: Any
    documents: Any
    bytes: Any
    first_file: Any
    last_file: Any
    is_open: Any
    is_certain: Any

    def files(self, chosen: Any) -> set[int]:
        """The numbers of files that hold documents of chosen shapes, whatever their part."""
        firsts, lasts = self.first_file[chosen].tolist(), self.last_file[chosen].tolist()
        return {
            file
            for first, last in set(zip(firsts, lasts, strict=True))
            for file in range(first, last + 1)
        }

    @property
    def is_candidate(self) -> Any:
        return self.is_open | self.is_certain

    def shape_count(self) -> int:
        """Distinct shapes, however many parts have them."""
        return len(numpy.unique(self.fingerprints))

    def candidate_count(self) -> int:
        """Distinct shapes with documents that may match."""
        return len(numpy.unique(self.fingerprints[self.is_candidate]))


def choose_shapes(
    folder: ArchiveFolder, parts: list[Part], pattern: Pattern, since: int | None, until: int | None
) -> ShapeChoice:
    """Ask the table of shapes; ``since`` and ``until`` are in microseconds."""
    if not parts:
        nothing = numpy.zeros(0, dtype=bool)
        return ShapeChoice(*[nothing] * 8)
    table = read_part_tables(folder.spark, parts, SHAPES).select(
        "shape",
        "fingerprint",
        "documents",
        "bytes",
        F.unix_micros("first").alias("first"),
        F.unix_micros("last").alias("last"),
        "file",
        "last_file",
        "skeleton",
    )
    judge = Judge(str(relaxed(pattern)), decided_by_paths(pattern))
    judged = table.mapInArrow(judge, _JUDGED).toArrow().sort_by("shape")
    columns = {name: judged.column(name).to_numpy() for name in _NAMES if name != "fingerprint"}
    in_time = numpy.ones(len(judged), dtype=bool)
    if since is not None:
        in_time &= columns["last"] >= since
    if until is not None:
        in_time &= columns["first"] < until
    return ShapeChoice(
        columns["shape"],
        numpy.array(judged.column("fingerprint").to_pylist(), dtype=object),
        columns["documents"],
        columns["bytes"],
        columns["file"],
        columns["last_file"],
        in_time & (columns["decided"] == _MAYBE),
        in_time & (columns["decided"] == _CERTAIN),
    )


def steps(
    choice: ShapeChoice, most_documents: int, most_bytes: int | None, first: int
) -> Iterator[tuple[Any, set[int]]]:
    """The candidates in steps, each a choice of shapes and of the files to look for them in.

    A step has about as many documents as may come here at once, and about as many bytes unless
    that is None; the first step has ``first`` documents, and each is larger than the one before.
    One shape may have any number of documents, which lie evenly in its files: where a step would
    have more than twice what it may, its files are taken one group after the other.
    """
    (indexes,) = numpy.nonzero(choice.is_candidate)
    most = min(most_documents, first)
    begin = documents = size = 0
    for at, index in enumerate(indexes):
        documents += int(choice.documents[index])
        size += int(choice.bytes[index])
        is_full = most_bytes is not None and size >= most_bytes
        if at + 1 == len(indexes) or documents >= most or is_full:
            chosen = numpy.zeros(len(choice.numbers), dtype=bool)
            chosen[indexes[begin : at + 1]] = True
            groups = documents // (2 * most_documents) + 1
            if most_bytes is not None:
                groups = max(groups, size // (2 * most_bytes) + 1)
            files = sorted(choice.files(chosen))
            for group in numpy.array_split(files, min(groups, len(files))):
                yield chosen, set(group.tolist())
            begin, documents, size = at + 1, 0, 0
            most = min(most_documents, most * _GROWTH)


def stretches(choice: ShapeChoice, chosen: Any, most: int) -> tuple[list[tuple[int, int]], bool]:
    """At most that many ranges of numbers that hold all chosen shapes, first and last included.

    Where there would be more, those are joined that have the fewest documents between them; the
    second value says whether the ranges hold chosen shapes only.
    """
    (indexes,) = numpy.nonzero(chosen)
    if not len(indexes):
        return [], True
    (gaps,) = numpy.nonzero(numpy.diff(indexes) > 1)
    is_exact = len(gaps) < most
    if not is_exact:
        total = numpy.concatenate([[0], numpy.cumsum(choice.documents)])
        between = total[indexes[gaps + 1]] - total[indexes[gaps] + 1]
        widest = numpy.argsort(between, kind="stable")[len(gaps) - (most - 1) :]
        gaps = numpy.sort(gaps[widest])
    begins = numpy.concatenate([[indexes[0]], indexes[gaps + 1]])
    ends = numpy.concatenate([indexes[gaps], [indexes[-1]]])
    numbers = choice.numbers
    return [
        (int(numbers[begin]), int(numbers[end])) for begin, end in zip(begins, ends, strict=True)
    ], is_exact
