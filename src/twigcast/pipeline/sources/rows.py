"""One huge XML file, cut at an element in parallel; each row becomes a document of its own.

    driver   head of the file ──expat──► encoding, entities, namespaces in scope, how to cut
    Spark    file ──lineSep──► pieces, in blocks of 32 MB, from any file system, .gz too
    worker   piece ──scanner──► rows ──► declaration + document type + row with its namespaces

Ids are the file's URL and the number of the row; in a large file, of its block and the row in that.

Invariant: a row's document equals, by canonical XML, the subtree of that row in the file, except
for ``xml:`` attributes of elements around it.  Cost: one piece in memory, whatever the size of the
file; the head is read on the driver, usually one megabyte of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from twigcast.errors import PipelineError
from twigcast.pipeline.locations import Location
from twigcast.pipeline.sources.blocks import BLOCK, decoded_url, load_in_blocks, record_name
from twigcast.pipeline.sources.documents import (
    SCHEMA,
    DocumentPart,
    Documents,
    SourceRow,
    to_batches,
)
from twigcast.pipeline.sources.heads import read_heads
from twigcast.pipeline.sources.listing import Reading
from twigcast.pipeline.sources.names import escape
from twigcast.pipeline.sources.options import SourceOptions
from twigcast.pipeline.sources.packed_files import LIMIT, TOO_LARGE
from twigcast.pipeline.sources.rowhead import UTF_8_MARK, RowHead, UnreadableHeadError, find_head
from twigcast.pipeline.sources.rowscan import Row

_TAIL: Final = 64 * 1024
INCOMPLETE: Final = "the file ends before the end of its root element; it is incomplete or damaged"


def read_rows(
    spark: SparkSession, reading: Reading, options: SourceOptions, block: int = BLOCK
) -> Documents:
    """The rows of these files, and a row with a problem for each file that is none."""
    element = options.row_element or ""
    heads: dict[str, RowHead] = {}
    problems: list[SourceRow] = []
    for url in reading.files:
        try:
            head = find_head(url, element, read_heads(spark, url))
        except UnreadableHeadError as error:
            problems.append(SourceRow(url, url, None, f"it has no row: {error}"))
            continue
        if head is not None and head.first >= block:
            # What comes before the first row is known to the task of the first block alone.
            problems.append(
                SourceRow(url, url, None, f"no row begins in its first {block:,} bytes")
            )
        elif head is not None:
            cut = None if _is_compressed(url) else _cut_end(spark, url, head, block)
            if cut is not None:
                problems.append(SourceRow(f"{url}#end", url, None, INCOMPLETE))
            heads[url] = replace(head, cut=cut)
    if not heads and not problems:
        raise PipelineError(
            f"{reading.files[0]}: no element {element} is in it; "
            "check the name and write its prefix as the file does"
        )
    parts = [_cut(spark, group, reading.is_local, block) for group in _groups(heads).values()]
    if problems:
        parts.append(DocumentPart(spark.createDataFrame(problems, SCHEMA)))
    return Documents(tuple(parts))


def _groups(heads: Mapping[str, RowHead]) -> dict[object, dict[str, RowHead]]:
    """Files that Spark can load in one go, since they are cut at the same bytes."""
    groups: dict[object, dict[str, RowHead]] = {}
    for url, head in heads.items():
        key = (head.scanner.separator, head.encoding, _is_compressed(url))
        groups.setdefault(key, {})[url] = head
    return groups


def _cut(
    spark: SparkSession, heads: Mapping[str, RowHead], is_local: bool, block: int
) -> DocumentPart:
    url, head = next(iter(heads.items()))
    options = {"lineSep": head.scanner.separator.decode(head.codec)}
    if head.encoding:
        options["encoding"] = head.encoding
    if is_local and _is_compressed(url):
        # A damaged file then ends early, which the worker notices by its root element.  Elsewhere a
        # passing fault of the network would look the same.
        options["ignoreCorruptFiles"] = "true"
    paths = [escape(each) for each in heads]
    frame = load_in_blocks(
        spark, lambda apart: apart.read.format("text").options(**options).load(paths), block
    )
    pieces = frame.select(
        F.col("value").cast("binary"),
        *(
            F.col(f"_metadata.{name}")
            for name in ("file_path", "file_block_start", "file_block_length", "file_size")
        ),
    )
    return DocumentPart(pieces, RowDocuments(dict(heads)))


@dataclass(frozen=True, slots=True)
class RowDocuments:
    """Makes documents of pieces; knows the head of every file."""

    heads: Mapping[str, RowHead]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The documents of the pieces, which come in order within each block."""
        pieces = (
            piece
            for batch in batches
            for piece in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        )
        return to_batches(
            row
            for (path, start, length, size), block in groupby(pieces, lambda piece: piece[1:])
            for row in self.of_block(
                decoded_url(path), start, length == size, (piece[0] for piece in block)
            )
        )

    def of_block(
        self, url: str, start: int, is_whole: bool, pieces: Iterable[bytes]
    ) -> Iterator[SourceRow]:
        """The documents of one block; ``is_whole`` where that is all of the file."""
        head = self.heads[url]
        count = 0
        before = b""
        for piece, is_last in _with_last(_from_first_row(head, pieces) if start == 0 else pieces):
            ends_file = is_last and (
                is_whole or (bool(head.cut) and piece.endswith(head.cut or b""))
            )
            if start <= head.first and count == 0:
                before = b""  # the elements around the first row are known
            for row in head.scanner.rows(piece, before=before, is_last=ends_file):
                count += 1
                yield _document(record_name(url, start, count), head, row)
            before = piece
            if ends_file and is_whole and not head.root_end.search(piece):
                yield SourceRow(f"{url}#end", url, None, INCOMPLETE)


def _document(identity: str, head: RowHead, row: Row) -> SourceRow:
    if row.problem is not None:
        return SourceRow(identity, identity, None, row.problem)
    declared = row.names_declared
    added = (text for name, text in head.namespaces if name not in declared)
    name = 1 + len(head.scanner.element)
    content = b"".join((head.start, row.tag[:name], *added, row.tag[name:], row.rest))
    if len(content) > LIMIT:
        return SourceRow(identity, identity, None, TOO_LARGE)
    return SourceRow(identity, identity, content)


def _from_first_row(head: RowHead, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a file without what comes before its first row."""
    left = head.first
    gap = len(head.scanner.separator)
    for number, piece in enumerate(pieces):
        # Whether Hadoop takes a byte order mark away depends on its version.
        text = piece.removeprefix(UTF_8_MARK) if number == 0 else piece
        if left >= len(text) + gap:
            left -= len(text) + gap
            continue
        yield text[left:]
        left = 0


def _with_last(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each piece with whether it is the last."""
    held: bytes | None = None
    for piece in pieces:
        if held is not None:
            yield held, False
        held = piece
    if held is not None:
        yield held, True


def _cut_end(spark: SparkSession, url: str, head: RowHead, block: int) -> bytes | None:
    """The last bytes of a file of several blocks that ends before its root does; else None.

    In such a file the worker that meets the end does not know it.
    """
    location = Location(spark, url)
    if location.size <= block or head.root_end.search(tail := location.read_tail(_TAIL)):
        return None
    return tail.rpartition(head.scanner.separator)[2]


def _is_compressed(url: str) -> bool:
    return url.lower().endswith(".gz")
