"""Files of documents, plain, compressed and in archives, by Spark's ``binaryFile``.

    local   path ───────────► worker opens it, reads archives by random access or in one pass
    other   path, content ──► worker reads what Spark fetched

A file of this machine or a mounted folder may be an archive far larger than memory, so Spark is not
asked for its bytes.  A large local zip is cut into parts, one task each; a tar has no table of its
members and is one task.  From other file systems the bytes come through Spark, which takes whole
files; one that is too large for that is a row with a problem.

Cost: a task holds one file of another file system, or one document of a local one, and a batch.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from twigcast.pipeline.documents import SCHEMA, DocumentPart, Documents
from twigcast.pipeline.sources.archives import ZIP, is_empty, open_local, read_file
from twigcast.pipeline.sources.contract import Found, to_batches
from twigcast.pipeline.sources.listing import Reading

PART: Final = 32 * 1024 * 1024
"""Bytes of a zip that one task reads."""

FETCHED: Final = 512 * 1024 * 1024
"""The largest file that Spark is asked to fetch from another file system."""


def read_files(spark: SparkSession, reading: Reading, part: int = PART) -> Documents:
    """The documents of these files."""
    frame = reading.load(spark, "binaryFile")
    if not reading.is_local:
        return fetched(frame)
    empty = [url for url in reading.files if is_empty(url)]
    if empty:
        # Spark does not read them at all.
        rows = [(url, url, b"", None) for url in empty]
        there = Documents.of(spark.createDataFrame(rows, SCHEMA))
        return Documents.joined((_read_local(spark, reading, frame, part), there))
    return _read_local(spark, reading, frame, part)


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


def opened(frame: DataFrame) -> Documents:
    """Documents of files that workers open themselves."""
    return Documents.of(DocumentPart(frame.select("path"), _open_files))


def fetched(frame: DataFrame) -> Documents:
    """Documents of files that Spark fetches."""
    size = F.col("_metadata.file_size")
    large = frame.where(size > FETCHED).select(
        F.col("path").alias("id"),
        F.col("path").alias("source"),
        F.lit(None).cast("binary").alias("content"),
        F.lit(
            f"the file is larger than {FETCHED:,} bytes; copy it to a folder that all workers see"
        ).alias("problem"),
    )
    return Documents.joined((read_fetched(frame.where(size <= FETCHED)), Documents.of(large)))


def read_fetched(frame: DataFrame) -> Documents:
    """Documents of files that Spark fetches, each small enough for that."""
    return Documents.of(DocumentPart(frame.select("path", "content"), _read_contents))


@dataclass(frozen=True, slots=True)
class ZipParts:
    """Reads parts of zips: each row of the input is the number of one."""

    parts: tuple[tuple[str, int, int], ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The documents of the numbered parts."""
        return to_batches(
            found
            for batch in batches
            for number in batch.column(0).to_pylist()
            for found in _open_file(*self.parts[number])
        )


def _open_files(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return to_batches(
        found
        for batch in batches
        for path in batch.column(0).to_pylist()
        for found in _open_file(path)
    )


def _open_file(path: str, part: int = 0, parts: int = 1) -> Iterator[Found]:
    try:
        file = open_local(path)
    except OSError as error:
        if part == 0:
            yield Found(path, path, None, f"it cannot be opened: {error.strerror}")
        return
    with file:
        yield from read_file(path, file, part, parts)


def _read_contents(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return to_batches(
        found
        for batch in batches
        for path, content in zip(*batch.columns, strict=True)
        for found in read_file(path.as_py(), io.BytesIO(content.as_py()))
    )
