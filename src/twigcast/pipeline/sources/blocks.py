"""Files that Spark cuts into blocks, with numbers for their records that never change.

    file   |0 ................ |32 MB ............. |64 MB ....      blocks, one task each
    record  #1 #2 #3 …          #33554432.1  .2 …    #67108864.1 …

Spark tells a record's file and block, not its place, so a worker counts the records of each block.
Where blocks start must then depend on the file alone; by Spark's own settings it would also depend
on the number of processors and on the other files.  So such files are loaded by a copy of the
session with settings of its own, and the plan is handed back to the user's session.

Invariant: as long as a file is the same, so are the numbers of its records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name
from pyspark.sql.types import StringType, StructField, StructType

from twigcast.pipeline.sources.apart import load_apart
from twigcast.pipeline.sources.cells import quoted
from twigcast.pipeline.sources.names import as_hadoop

BLOCK: Final = 32 * 1024 * 1024

PLACE: Final = "__twigcast_place"
"""The column with a record's file and number."""

_FILE: Final = "__twigcast_file"
_START: Final = "__twigcast_start"


def load_in_blocks(
    spark: SparkSession, load: Callable[[SparkSession], DataFrame], block: int = BLOCK
) -> DataFrame:
    """What ``load`` reads, cut every ``block`` bytes; the frame belongs to ``spark``."""
    settings = {
        "spark.sql.files.maxPartitionBytes": str(block),
        # With one partition as the least, Spark cuts no file that is smaller than a block.
        "spark.sql.files.minPartitionNum": "1",
    }
    return load_apart(spark, load, settings)


def numbered(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """The columns of these names of a frame over files, and the :data:`PLACE` of each row."""
    # On the way they have plain names: Spark would take a dot for a field of a structure.
    inputs = frame.select(
        F.col("_metadata.file_path").alias(_FILE),
        F.col("_metadata.file_block_start").alias(_START),
        *(F.col(quoted(name)).alias(f"c{place}") for place, name in enumerate(names)),
    )
    schema = StructType([StructField(PLACE, StringType()), *inputs.schema.fields[2:]])
    return inputs.mapInArrow(_number, schema).toDF(PLACE, *names)


def place_name(url: str, start: int, number: int) -> str:
    """How the record of that number is called, in the block that starts there."""
    return f"{url}#{start}.{number}" if start else f"{url}#{number}"


def decoded_url(path: str) -> str:
    """A file as Hadoop writes it; Spark's metadata have it percent-encoded."""
    return as_hadoop(unquote(path))


def _number(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    counts: Counter[tuple[str, int]] = Counter()
    for batch in batches:
        places = []
        for block in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            counts[block] += 1
            places.append(place_name(decoded_url(block[0]), block[1], counts[block]))
        yield pa.RecordBatch.from_arrays(
            [pa.array(places, pa.string()), *batch.columns[2:]],
            names=[PLACE, *batch.schema.names[2:]],
        )
