"""Adding documents to an archive.

    documents ──► described ──► which are new? ──► shapes, numbered in their order ──┐
                  (read once)         │                                              ▼
                                      └──────────────────────► documents, in that order ──► a part

Everything is written below the staging folder of the part, and one rename makes it part of the
archive: a run that fails or is killed leaves the archive as it was.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from twigcast.documents import DEFAULT_LIMITS, DocumentLimits
from twigcast.errors import PipelineError
from twigcast.keywords import exact_keywords
from twigcast.matching import ReaderName
from twigcast.pipeline.archive.clustering import FILE_BYTES, write_documents, write_shapes
from twigcast.pipeline.archive.describing import DESCRIBED, Describe
from twigcast.pipeline.archive.folder import ArchiveFolder, Part, PartFacts
from twigcast.pipeline.archive.tables import (
    DOCUMENTS,
    REJECTED,
    SHAPES,
    read_part_tables,
    read_staged,
    table_writer,
)
from twigcast.pipeline.archive.times import to_micros
from twigcast.pipeline.locations import Location
from twigcast.pipeline.sources.names import escape

_MOST_REJECTIONS: Final = 20
_TIMES: Final = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class Rejection:
    """A document that could not be archived; ``line`` and ``column`` if a position is known."""

    source: str
    reason: str
    line: int | None
    column: int | None


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """What a run of :func:`archive` did."""

    added: int
    already_there: int
    repeated: int
    """Documents that came more than once in this run."""
    untimed: int
    """Documents that were added without a time of their own, and have that of the run."""
    rejected: int
    rejections: tuple[Rejection, ...]
    """The first rejected documents; the part's table ``rejected`` has all."""
    bytes: int
    """The size of the documents that were added."""
    new_shapes: int
    shapes: int
    """The shapes of the whole archive."""
    documents: int
    """The documents of the whole archive."""
    part: str | None
    """The name of the part that was added; None where there was nothing to add."""
    parts: int

    def as_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return asdict(self)


@exact_keywords
def archive(
    spark: SparkSession,
    documents: DataFrame,
    folder: str,
    *,
    limits: DocumentLimits | None = None,
    reader: ReaderName = "checked",
    file_bytes: int = FILE_BYTES,
) -> ArchiveReport:
    """Add documents to the archive in ``folder``, which is made if it is not there.

    ``documents`` has the columns source, content and problem, and perhaps a time; where that is
    lacking or null, a document has the time of the run.  What is in the archive already, byte for
    byte, is not added again.  A document that cannot be read is rejected and harms no other.
    ``reader`` is that of :class:`~twigcast.Matcher`.  ``file_bytes`` says how many bytes of
    documents go into one file.

    Raises :class:`~twigcast.errors.PipelineError`, and leaves everything as it was, if the folder
    is no archive, or if somebody else has written to it meanwhile.
    """
    incoming = _checked(documents)
    opened = ArchiveFolder(spark, folder, create=True)
    opened.tidy()
    number = opened.next_number()
    now = datetime.now(UTC)
    with opened.writing() as staging:
        scratch = staging.child(".scratch")
        described = incoming.mapInArrow(
            Describe(DEFAULT_LIMITS if limits is None else limits, reader), DESCRIBED
        )
        described.write.option("compression", "lz4").parquet(scratch.child("described").url)
        run = _Run(opened.spark, opened.parts(), staging, scratch, number, now)
        report = run.finish(file_bytes)
        if report.part is not None:
            scratch.remove()
            facts = PartFacts(
                report.added, report.bytes, run.shape_count, report.rejected, now.isoformat()
            )
            opened.put(staging, facts, number, number, ())
        return report


def _checked(documents: DataFrame) -> DataFrame:
    """The columns that matter, in the order in which they are taken."""
    kinds = dict(documents.dtypes)
    for name, kind in (("source", "string"), ("content", "binary"), ("problem", "string")):
        if kinds.get(name) != kind:
            raise PipelineError(
                f"documents to archive need a column {name} of the type {kind}, "
                f"not {kinds.get(name, 'none')}"
            )
    time = F.lit(None).cast("timestamp").alias("time")
    if "time" in kinds:
        if kinds["time"] not in _TIMES:
            raise PipelineError(
                f"the column time of documents to archive is a timestamp, not {kinds['time']}; "
                "cast it first"
            )
        time = F.col("time")
    return documents.select("source", "content", "problem", time)


@dataclass
class _Run:
    """One run of :func:`archive`, from the described documents on."""

    spark: SparkSession
    parts: list[Part]
    """The parts that the archive has before."""
    staging: Location
    scratch: Location
    number: int
    now: datetime
    shape_count: int = 0
    """The shapes of the documents that are added."""

    def __post_init__(self) -> None:
        self._full = [part for part in self.parts if part.facts.documents]
        time = F.coalesce("micros", F.lit(to_micros(self.now)))
        self._described = (
            self.spark.read.schema(DESCRIBED)
            .parquet(escape(self.scratch.child("described").url))
            .withColumns({"time": F.timestamp_micros(time), "is_timed": F.isnotnull("micros")})
        )

    def finish(self, file_bytes: int) -> ArchiveReport:
        """Write the tables of the part."""
        distinct = self._distinct()
        row = distinct.agg(
            F.sum(F.when(F.col("id").isNull(), F.col("times"))),
            F.sum(F.when(F.col("id").isNotNull(), F.col("times"))),
            F.count("id"),
            F.count_if("known"),
            F.sum(F.when(~F.col("known"), F.col("size"))),
            F.count_if(F.expr("id is not null and not known and not is_timed")),
        ).first()
        assert row is not None
        rejected, good, total, known, size, untimed = (int(value or 0) for value in row)
        distinct = distinct.where("id is not null")
        rejections = self._write_rejected() if rejected else ()
        added = total - known
        if added:
            self._write_shapes(distinct, file_bytes)
            self._write_documents(distinct if added < good else None, size, file_bytes)
        new_shapes, shapes = self._count_shapes(bool(added))
        return ArchiveReport(
            added=added,
            already_there=known,
            repeated=good - total,
            untimed=untimed,
            rejected=rejected,
            rejections=rejections,
            bytes=size,
            new_shapes=new_shapes,
            shapes=shapes,
            documents=added + sum(part.facts.documents for part in self._full),
            part=f"{self.number:06}-{self.number:06}" if added or rejected else None,
            parts=len(self.parts) + bool(added or rejected),
        )

    def _distinct(self) -> DataFrame:
        """One row for each document of this run, and whether the archive has it.

        All rejected ones are one row, without an id.
        """
        facts = F.struct("row", "fingerprint", "size", "time", "is_timed").alias("facts")
        distinct = (
            self._described.select("id", facts)
            .groupBy("id")
            .agg(F.min("facts").alias("facts"), F.count("facts").alias("times"))
        )
        if self._full:
            there = read_part_tables(self.spark, self._full, DOCUMENTS)
            there = there.select("id", F.lit(True).alias("known"))
            distinct = distinct.join(there, "id", "left")
        else:
            distinct = distinct.withColumn("known", F.lit(None).cast("boolean"))
        known = F.coalesce("known", F.lit(False)).alias("known")
        scratch = self.scratch.child("distinct").url
        kept = distinct.select("id", "facts.*", "times", known)
        kept.write.parquet(scratch)
        return self.spark.read.schema(kept.schema).parquet(escape(scratch))

    def _write_rejected(self) -> tuple[Rejection, ...]:
        bad = self._described.where("reason is not null").sort("row")
        now = F.lit(self.now.isoformat()).cast("timestamp")
        table = bad.select("source", "reason", "line", "column", now.alias("time")).coalesce(1)
        table_writer(table, REJECTED).parquet(self.staging.child(REJECTED).url)
        written = read_staged(self.spark, self.staging, REJECTED)
        return tuple(
            Rejection(row["source"], row["reason"], row["line"], row["column"])
            for row in written.limit(_MOST_REJECTIONS).collect()
        )

    def _write_shapes(self, distinct: DataFrame, file_bytes: int) -> None:
        counted = (
            distinct.where("not known")
            .groupBy("fingerprint")
            .agg(
                F.count("id").alias("documents"),
                F.sum("size").alias("bytes"),
                F.min("time").alias("first"),
                F.max("time").alias("last"),
            )
        )
        met = self._described.where("root is not null").select("fingerprint", "root", "skeleton")
        shapes = met.dropDuplicates(["fingerprint"]).join(counted, "fingerprint")
        write_shapes(shapes, self.staging, self.number, file_bytes)

    def _own_shapes(self) -> DataFrame:
        return read_staged(self.spark, self.staging, SHAPES)

    def _write_documents(self, distinct: DataFrame | None, size: int, file_bytes: int) -> None:
        """Write the documents: those whose rows are chosen, or all good ones."""
        documents = self._described.where("id is not null").drop("root", "skeleton")
        if distinct is not None:
            documents = documents.join(distinct.where("not known").select("row"), "row", "semi")
        documents = documents.withColumnRenamed("fingerprint", "key")
        shapes = self._own_shapes().withColumnRenamed("fingerprint", "key")
        write_documents(documents, shapes, self.staging, size, file_bytes)

    def _count_shapes(self, added: bool) -> tuple[int, int]:
        """How many shapes are new, and how many there are in the whole archive."""
        tables = []
        if added:
            tables.append(self._own_shapes().select("fingerprint", F.lit(True).alias("new")))
        if self._full:
            known = read_part_tables(self.spark, self._full, SHAPES)
            tables.append(known.select("fingerprint", F.lit(False).alias("new")))
        if not tables:
            return 0, 0
        by_shape = reduce(DataFrame.union, tables).groupBy("fingerprint")
        marked = by_shape.agg(F.min("new").alias("only"), F.max("new").alias("also"))
        row = marked.agg(F.count_if("only"), F.count_if("also"), F.count("also")).first()
        assert row is not None
        new_shapes, self.shape_count, total = map(int, row)
        return new_shapes, total
