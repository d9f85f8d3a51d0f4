"""Files of documents, plain, compressed and in archives, by Spark's ``binaryFile``.

    local   path ───────────► worker opens it, reads archives by random access or in one pass
    other   path, content ──► worker reads what Spark fetched

A file of this machine or a mounted folder may be an archive far larger than memory, so Spark is not
asked for its bytes.  A large local zip is cut into parts, one task each; a tar has no table of its
members and is one task.  From other file systems the bytes come through Spark, which takes whole
files; one that is too large for that is a row with a problem.  Spark passes over files without a
byte, so those are taken from the listing.

Cost: a task holds one file of another file system, or one document of a local one, and a batch.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from twigcast.pipeline.sources.batching import SourceRow, to_batches
from twigcast.pipeline.sources.documents import SCHEMA, DocumentPart, Documents
from twigcast.pipeline.sources.faults import raise_passing
from twigcast.pipeline.sources.listing import Reading, empty_files
from twigcast.pipeline.sources.packed_files import ZIP, open_local, read_file

PART: Final = 32 * 1024 * 1024
"""Bytes of a zip that one task reads."""

FETCHED: Final = 512 * 1024 * 1024
"""The largest file that Spark is asked to fetch from another file system."""

NOT_FETCHED: Final = (
    f"the file is larger than {FETCHED:,} bytes; copy it to a folder that all workers see"
)

Reader = Callable[[str, BinaryIO], Iterator[SourceRow]]
"""A function that workers can import: the documents of one open file, given its URL."""


def read_files(spark: SparkSession, reading: Reading, part: int = PART) -> Documents:
    """The documents of these files."""
    frame = reading.load(spark, "binaryFile")
    there = _read_local(spark, reading, frame, part) if reading.is_local else fetched(frame)
    empty = [row for url in empty_files(frame) for row in read_file(url, io.BytesIO())]
    if not empty:
        return there
    rows = [(one.id, one.source, one.content, one.problem) for one in empty]
    return Documents.joined((there, Documents.of(spark.createDataFrame(rows, SCHEMA))))


def _read_local(spark: SparkSession, reading: Reading, frame: DataFrame, part: int) -> Documents:
    if not any(name.lower().endswith(ZIP) for name in reading.files):
        return opened(frame)
    size = F.col("_metadata.file_size")
    large = (size > part) & F.lower("_metadata.file_name").endswith(ZIP[0])
    zips = sorted(tuple(row) for row in frame.where(large).select("path", "length").collect())
    if not zips:
        return opened(frame)
    pieces = [
        (path, number, count)
        for path, length in zips
        for count in [-(-length // part)]
        for number in range(count)
    ]
    # As many partitions as rows: number n of the range is all of task n.
    numbers = spark.range(0, len(pieces), 1, len(pieces))
    cut = Documents.of(DocumentPart(numbers, ZipParts(tuple(pieces))))
    return Documents.joined((opened(frame.where(~large)), cut))


def opened(frame: DataFrame, read: Reader = read_file) -> Documents:
    """Documents of files that workers open themselves; the frame may be streaming."""
    return Documents.of(DocumentPart(frame.select("path"), OpenFiles(read)))


def fetched(frame: DataFrame, read: Reader = read_file) -> Documents:
    """Documents of files that Spark fetches, but for those that are too large; may be streaming."""
    # Spark looks at this column before it reads a file.
    size = F.col("length")
    small = frame.where(size <= FETCHED).select("path", "content")
    large = frame.where(size > FETCHED).select("path", F.lit(None).cast("binary").alias("content"))
    return Documents.of(DocumentPart(small.unionAll(large), ReadContents(read)))


@dataclass(frozen=True, slots=True)
class ZipParts:
    """Reads parts of zips: each row of the input is the number of one."""

    parts: tuple[tuple[str, int, int], ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The documents of the numbered parts."""
        return to_batches(
            row
            for batch in batches
            for number in batch.column(0).to_pylist()
            for row in _open_part(*self.parts[number])
        )


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """Opens files: each row of the input is the URL of one."""

    read: Reader

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The documents of the files."""
        return to_batches(
            row
            for batch in batches
            for path in batch.column(0).to_pylist()
            for row in _open_file(path, self.read)
        )


@dataclass(frozen=True, slots=True)
class ReadContents:
    """Reads files that were fetched: each row of the input is the URL and the bytes of one.

    Those that are too large have no bytes.
    """

    read: Reader

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The documents of the files."""
        return to_batches(
            row
            for batch in batches
            for path, content in zip(*batch.columns, strict=True)
            for row in self._read(path.as_py(), content.as_py())
        )

    def _read(self, path: str, content: bytes | None) -> Iterator[SourceRow]:
        if content is None:
            return iter([SourceRow(path, path, None, NOT_FETCHED)])
        return self.read(path, io.BytesIO(content))


def _open_part(path: str, part: int, parts: int) -> Iterator[SourceRow]:
    read = partial(read_file, part=part, parts=parts)
    return _open_file(path, read, is_first=part == 0)


def _open_file(path: str, read: Reader, *, is_first: bool = True) -> Iterator[SourceRow]:
    try:
        file = open_local(path)
    except OSError as error:
        raise_passing(error)
        if is_first:
            yield SourceRow(path, path, None, f"it cannot be opened: {error.strerror}")
        return
    with file:
        yield from read(path, file)
