"""Compaction: several parts of an archive become one.

Every run of ``archive`` adds a part, and a query looks into each.  Compaction joins the newest
parts up to the first that fills a file and is more than twice as large as all behind it together:
so a document is moved a number of times that grows with the logarithm of the archive, and an
archive has few parts however often it is added to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from twigcast.keywords import exact_keywords
from twigcast.pipeline.archive.clustering import FILE_BYTES, write_documents, write_shapes
from twigcast.pipeline.archive.folder import ArchiveFolder, Part, PartFacts
from twigcast.pipeline.archive.tables import (
    DOCUMENTS,
    REJECTED,
    SHAPES,
    read_part_tables,
    read_staged,
    table_writer,
)
from twigcast.pipeline.locations import Location

_FACTOR: Final = 2


@dataclass(frozen=True, slots=True)
class CompactReport:
    """What a compaction did."""

    joined: int
    """How many parts became one; 0 if there was nothing to gain."""
    parts: int
    """How many parts the archive has now."""
    documents: int
    """How many documents were moved."""
    bytes: int
    part: str | None
    """The name of the part that was made."""

    def as_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return asdict(self)


@exact_keywords
def compact(spark: SparkSession, folder: str, *, file_bytes: int = FILE_BYTES) -> CompactReport:
    """Join the small parts of an archive.

    Queries may go on meanwhile, and so may a run of ``archive``.  The next writer, an hour
    later or more, removes the old parts.
    """
    opened = ArchiveFolder(spark, folder)
    opened.tidy()
    parts = opened.parts()
    chosen = choose_parts(parts, file_bytes)
    if not chosen:
        return CompactReport(0, len(parts), 0, 0, None)
    first, last = chosen[0].first, chosen[-1].last
    with opened.writing() as staging:
        facts = _join(opened, chosen, staging, first, file_bytes)
        made = opened.put(staging, facts, first, last, chosen)
    remaining = len(parts) - len(chosen) + 1
    return CompactReport(len(chosen), remaining, facts.documents, facts.bytes, made.name)


def choose_parts(parts: Sequence[Part], small: int) -> list[Part]:
    """The newest parts that are to become one; empty if there would be only one.

    A part of no more than ``small`` bytes is always among them.
    """
    chosen: list[Part] = []
    size = 0
    for part in reversed(parts):
        if chosen and part.facts.bytes > max(small, _FACTOR * size):
            break
        chosen.append(part)
        size += part.facts.bytes
    return chosen[::-1] if len(chosen) > 1 else []


def _join(
    folder: ArchiveFolder, parts: list[Part], staging: Location, number: int, file_bytes: int
) -> PartFacts:
    spark = folder.spark
    full = [part for part in parts if part.facts.documents]
    size = sum(part.facts.bytes for part in full)
    shape_count = 0
    if full:
        old = read_part_tables(spark, full, SHAPES)
        joined = old.groupBy("fingerprint").agg(
            F.first("root").alias("root"),
            F.first("skeleton").alias("skeleton"),
            F.sum("documents").alias("documents"),
            F.sum("bytes").alias("bytes"),
            F.min("first").alias("first"),
            F.max("last").alias("last"),
        )
        write_shapes(joined, staging, number, file_bytes)
        new = read_staged(spark, staging, SHAPES)
        shape_count = new.count()
        # Maps the number of a shape in its old part to its number in the new part.
        keys = old.select(F.col("shape").alias("key"), "fingerprint").join(new, "fingerprint")
        documents = read_part_tables(spark, full, DOCUMENTS).drop("root")
        documents = documents.withColumnRenamed("shape", "key")
        write_documents(documents, keys, staging, size, file_bytes)
    spoilt = [part for part in parts if part.facts.rejected]
    if spoilt:
        rejected = read_part_tables(spark, spoilt, REJECTED).coalesce(1)
        table_writer(rejected, REJECTED).parquet(staging.child(REJECTED).url)
    return PartFacts(
        sum(part.facts.documents for part in full),
        size,
        shape_count,
        sum(part.facts.rejected for part in spoilt),
        datetime.now(UTC).isoformat(),
    )
