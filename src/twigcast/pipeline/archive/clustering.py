"""Documents put in the order of their shapes, and cut into files of about the same size.

    shapes, sorted by root and skeleton:   | a | b |      c      | d | e | f |     g …
    their documents, as bytes:             0──────────128 MiB──────────256 MiB──────────►
                                              file 0         file 1          file 2

How many bytes of documents each shape has is known before a document is moved, and so is the file
that it belongs to: everything moves once, and no sample is taken.  A shape that is larger than a
file is spread over those that it reaches into, by the documents' identities.

Cost: shapes are sorted in one task, which bounds them to some millions a part; documents are
shuffled once.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from twigcast.pipeline.archive.folder import PART_SHIFT
from twigcast.pipeline.archive.tables import DOCUMENTS, SHAPES, table_writer
from twigcast.pipeline.locations import Location

FILE_BYTES: Final = 128 << 20


def write_shapes(shapes: DataFrame, target: Location, number: int, file_bytes: int) -> None:
    """Number the shapes in their order, note the first and last file of each, and write them.

    ``shapes`` have a fingerprint, root, skeleton, documents, bytes, first and last.
    """
    order = Window.orderBy("root", F.col("skeleton").asc_nulls_last(), "fingerprint")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    numbered = shapes.withColumns(
        {
            "shape": F.row_number().over(order) - 1 + F.lit(number << PART_SHIFT),
            "start": F.coalesce(F.sum("bytes").over(before), F.lit(0)),
        }
    )
    end = F.col("start") + F.col("bytes") - 1
    numbered = numbered.withColumns(
        {
            "file": F.floor(F.col("start") / file_bytes).cast("int"),
            "last_file": F.floor(end / file_bytes).cast("int"),
        }
    )
    table_writer(numbered, SHAPES).parquet(target.child(SHAPES).url)


def write_documents(
    documents: DataFrame, shapes: DataFrame, target: Location, size: int, file_bytes: int
) -> None:
    """Write the documents in the order of their shapes.

    ``documents`` have all columns of the table but root and shape, and a ``key``; ``shapes`` have
    that key, a root, a shape, its file and its last file; ``size`` is that of all documents.  A
    document whose key no shape has would be lost, so it fails the run.
    """
    files = -(-size // file_bytes)
    placed = shapes.select("key", "root", "shape", "file", "last_file")
    reach = F.col("last_file") - F.col("file") + 1
    file = F.col("file") + F.pmod(F.xxhash64("id"), reach)
    lost = F.raise_error(F.concat(F.lit("no shape was kept for the document "), "id"))
    ordered = (
        documents.join(placed, "key", "left")
        .withColumns({"file": file.cast("int"), "shape": F.coalesce("shape", lost)})
        .repartitionById(files, "file")
        .sortWithinPartitions("file", "shape", "time", "id")
    )
    table_writer(ordered, DOCUMENTS).parquet(target.child(DOCUMENTS).url)
