"""Files that Spark cuts into blocks, with numbers for their records that never change.

    file   |0 ................ |32 MB ............. |64 MB ....      blocks, one task each
    record  #1 #2 #3 …          #33554432.1  .2 …    #67108864.1 …

Spark gives the file and block of a record, but not its number, so a worker counts the records of
each block.  The starts of blocks must then depend on the file alone; by Spark's own settings they
would also depend on the number of processors and on the other files.  So such files are loaded with
settings of our own: a copy of the user's Spark session loads them, and the user's gets the plan,
which remembers how the files are listed and cut.

Invariant: as long as a file is the same, so are the numbers of its records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name
from pyspark.sql.types import StringType, StructField, StructType

from twigcast.pipeline.sources.cells import quoted
from twigcast.pipeline.sources.names import as_hadoop

BLOCK: Final = 32 * 1024 * 1024

RECORD: Final = "__twigcast_record"
"""The column with the name of a record: its file and number."""

_FILE: Final = "__twigcast_file"
_START: Final = "__twigcast_start"


def load_apart(
    spark: SparkSession, load: Callable[[SparkSession], DataFrame], settings: Mapping[str, str]
) -> DataFrame:
    """The frame that ``load`` reads under these settings; it belongs to ``spark``."""
    java: Any = spark._jsparkSession
    apart = SparkSession(spark.sparkContext, java.cloneSession())
    for name, value in settings.items():
        apart.conf.set(name, value)
    frame: Any = load(apart)
    jvm: Any = spark._jvm
    plan = frame._jdf.queryExecution().analyzed()
    return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(java, plan), spark)


def load_in_blocks(
    spark: SparkSession, load: Callable[[SparkSession], DataFrame], block: int = BLOCK
) -> DataFrame:
    """The frame that ``load`` reads, cut every ``block`` bytes; it belongs to ``spark``."""
    settings = {
        "spark.sql.files.maxPartitionBytes": str(block),
        # With one partition as the least, Spark cuts no file that is smaller than a block.
        "spark.sql.files.minPartitionNum": "1",
    }
    return load_apart(spark, load, settings)


def numbered(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """The columns of these names of a frame over files, and the :data:`RECORD` of each row."""
    # Meanwhile they have plain names: Spark would take a dot for a field of a structure.
    inputs = frame.select(
        F.col("_metadata.file_path").alias(_FILE),
        F.col("_metadata.file_block_start").alias(_START),
        *(F.col(quoted(name)).alias(f"c{number}") for number, name in enumerate(names)),
    )
    schema = StructType([StructField(RECORD, StringType()), *inputs.schema.fields[2:]])
    return inputs.mapInArrow(_number, schema).toDF(RECORD, *names)


def record_name(url: str, start: int, number: int) -> str:
    """The name of a record: its file, the start of its block, its number in the block."""
    return f"{url}#{start}.{number}" if start else f"{url}#{number}"


def decoded_url(path: str) -> str:
    """The URL of a file as Hadoop writes it; Spark's metadata have it percent-encoded."""
    return as_hadoop(unquote(path))


def _number(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    counts: Counter[tuple[str, int]] = Counter()
    for batch in batches:
        records = []
        for block in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            counts[block] += 1
            records.append(record_name(decoded_url(block[0]), block[1], counts[block]))
        yield pa.RecordBatch.from_arrays(
            [pa.array(records, pa.string()), *batch.columns[2:]],
            names=[RECORD, *batch.schema.names[2:]],
        )
