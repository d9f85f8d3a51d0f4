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
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import BinaryIO, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from twigcast.pipeline.sources.documents import (
    SCHEMA,
    Batches,
    DocumentPart,
    Documents,
    SourceRow,
    to_batches,
)
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
    return Documents.joined((there, Documents.of(spark.createDataFrame(empty, SCHEMA))))


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
    cut = Documents.of(DocumentPart(numbers, partial(read_each, partial(open_part, pieces))))
    return Documents.joined((opened(frame.where(~large)), cut))


def opened(frame: DataFrame, read: Reader = read_file) -> Documents:
    """Documents of files that workers open themselves; the frame may be streaming."""
    return Documents.of(
        DocumentPart(frame.select("path"), partial(read_each, partial(open_file, read)))
    )


def fetched(frame: DataFrame, read: Reader = read_file) -> Documents:
    """Documents of files that Spark fetches, but for those that are too large; may be streaming."""
    # Spark looks at this column before it reads a file.
    size = F.col("length")
    small = frame.where(size <= FETCHED).select("path", "content")
    large = frame.where(size > FETCHED).select("path", F.lit(None).cast("binary").alias("content"))
    return Documents.of(
        DocumentPart(small.unionAll(large), partial(read_each, partial(_fetched, read)))
    )


def read_each(read: Callable[..., Iterator[SourceRow]], batches: Batches) -> Batches:
    """The documents that ``read`` makes of the cells of each row."""
    # Cell by cell: the contents of a batch are not copied all at once.
    return to_batches(
        row
        for batch in batches
        for cells in zip(*batch.columns, strict=True)
        for row in read(*(cell.as_py() for cell in cells))
    )


def open_part(pieces: Sequence[tuple[str, int, int]], number: int) -> Iterator[SourceRow]:
    """The documents of one piece of a zip: its URL, the part and the number of parts."""
    path, part, parts = pieces[number]
    return open_file(partial(read_file, part=part, parts=parts), path, is_first=part == 0)


def _fetched(read: Reader, path: str, content: bytes | None) -> Iterator[SourceRow]:
    if content is None:
        return iter([SourceRow(path, path, None, NOT_FETCHED)])
    return read(path, io.BytesIO(content))


def open_file(read: Reader, path: str, *, is_first: bool = True) -> Iterator[SourceRow]:
    """The documents of a file that the worker opens; only the first part reports a failure."""
    try:
        file = open_local(path)
    except OSError as error:
        raise_passing(error)
        if is_first:
            yield SourceRow(path, path, None, f"it cannot be opened: {error.strerror}")
        return
    with file:
        yield from read(path, file)
