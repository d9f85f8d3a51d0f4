"""Expressions of subscriptions as a DataFrame: read in parts, each in a worker, and parsed there.

    file of text, .csv, .parquet ──┐ key, xpath, bindings
                                   ├──────────────► position, key, text ─── or xpath, problem
    any DataFrame ─────────────────┘  mapInArrow

``text`` is the canonical text of the pattern; where there is none, ``problem`` says why.  The
formats are those of :func:`twigcast.language.read_subscriptions`, and so are the positions, which
are lines of a text and rows of a table.  In a text, a line that binds counts for the lines below,
wherever the file is cut: the lines are counted and the bindings collected first, which reads the
file once more, but in Spark alone.

Cost: that of parsing, two to sixty microseconds for each expression; nothing is kept on the driver
but bindings.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from twigcast.errors import PipelineError, SubscriptionFileError
from twigcast.language import (
    BINDING_COLUMNS,
    BINDING_LINE,
    NO_BINDINGS,
    Bindings,
    bind_line,
    bindings_of_row,
    read_bound,
)
from twigcast.pipeline.columns import arrow_schema, batch_of
from twigcast.pipeline.locations import Location

SCHEMA: Final = "position bigint, key string, text string, xpath string, problem string"
_ARROW: Final = arrow_schema(SCHEMA)
_MARK: Final = b"\xef\xbb\xbf"
_PART: Final = 33
"""Spark's increasing numbers have that of the part above this many bits for the row in it."""
_ROW: Final = (1 << _PART) - 1
_MANY: Final = 10_000

Batches = Iterator[pa.RecordBatch]
_Row = tuple[int, str | None, str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Expressions:
    """Parsed subscriptions, with the columns of ``SCHEMA``, and the file that they come from."""

    frame: DataFrame
    file: str | None = None

    def complaint(self, position: int, key: str | None, problem: str) -> Exception:
        if self.file is not None:
            return SubscriptionFileError(problem, self.file, position)
        return PipelineError(f"the subscription {key!r}: {problem}")


def read_expressions(spark: SparkSession, subscriptions: str | DataFrame) -> Expressions:
    """Parse the subscriptions of a file or of a DataFrame with ``key`` and ``xpath``."""
    if not isinstance(subscriptions, str):
        return _of_table(subscriptions, None, numbered_from=None)
    if subscriptions == "-":
        raise PipelineError("Spark reads files, not standard input; name one")
    files = Location(spark, subscriptions).matching()
    if not files:
        raise PipelineError(f"{subscriptions}: there is no such file of subscriptions")
    ending = subscriptions.rstrip("/").lower().rpartition(".")[2]
    is_many = len(files) > 1 or files[0].is_folder
    if ending == "parquet" or (is_many and ending != "csv"):
        return _of_table(spark.read.parquet(subscriptions), subscriptions, numbered_from=1)
    if ending == "csv":
        # A cell may hold the end of a line, so a file is read by one task.
        table = spark.read.csv(subscriptions, header=True, multiLine=True, escape='"')
        return _of_table(table, subscriptions, numbered_from=2)
    return _of_text(spark, subscriptions)


def _of_text(spark: SparkSession, path: str) -> Expressions:
    # Python ends lines at "\n" alone, and so must Spark; bytes, since Spark repairs bad UTF-8.
    lines = spark.read.option("lineSep", "\n").text(path)
    lines = lines.select(
        F.monotonically_increasing_id().alias("id"), F.col("value").cast("binary").alias("line")
    )
    offsets = _offsets(lines, 1)
    parse = partial(_parse_lines, offsets, *_bindings_by_line(lines, offsets, path))
    return Expressions(_spread(lines, offsets).mapInArrow(parse, SCHEMA), path)


def _bindings_by_line(
    lines: DataFrame, offsets: tuple[int, ...], path: str
) -> tuple[list[int], list[Bindings]]:
    """The numbers of the lines that bind, and the bindings above the first and below each."""
    candidates = lines.filter(F.col("line").cast("string").rlike(BINDING_LINE)).collect()
    bound_at: list[int] = []
    bound = [NO_BINDINGS]
    for number, line in sorted((_number(row.id, offsets), bytes(row.line)) for row in candidates):
        text = line.removeprefix(_MARK if number == 1 else b"").decode(errors="replace")
        try:
            below = bind_line(bound[-1], text.rstrip("\r"))
        except ValueError as error:
            raise SubscriptionFileError(str(error), path, number) from None
        if below is not None:
            bound_at.append(number)
            bound.append(below)
    return bound_at, bound


def _of_table(table: DataFrame, file: str | None, *, numbered_from: int | None) -> Expressions:
    for column in ("key", "xpath"):
        if column not in table.columns:
            reason = f"the column {column} is missing"
            raise SubscriptionFileError(reason, file, 1) if file else PipelineError(reason)
    wanted = [column for column in ("key", "xpath", *BINDING_COLUMNS) if column in table.columns]
    rows = table.select(F.monotonically_increasing_id().alias("id"), *wanted)
    offsets = None
    if numbered_from is not None:
        offsets = _offsets(rows, numbered_from)
        rows = _spread(rows, offsets)
    return Expressions(rows.mapInArrow(partial(_parse_rows, offsets), SCHEMA), file)


def _offsets(rows: DataFrame, first: int) -> tuple[int, ...]:
    """For each part of a file the number of its first row, and the number after all."""
    part = F.shiftright("id", _PART).alias("part")
    counts = {row.part: row["count"] for row in rows.groupBy(part).count().collect()}
    sizes = [counts.get(number, 0) for number in range(max(counts, default=-1) + 1)]
    return tuple(accumulate(sizes, initial=first))


def _spread(rows: DataFrame, offsets: tuple[int, ...]) -> DataFrame:
    """The rows in parts enough for all workers, where they are many and come in one."""
    if len(offsets) == 2 and offsets[1] > _MANY:
        return rows.repartition(rows.sparkSession.sparkContext.defaultParallelism)
    return rows


def _number(identity: int, offsets: tuple[int, ...]) -> int:
    return offsets[identity >> _PART] + (identity & _ROW)


def _parse_lines(
    offsets: tuple[int, ...], bound_at: list[int], bound: list[Bindings], batches: Batches
) -> Batches:
    """Parse lines of a text, with the lines that bind and the bindings between them."""
    for batch in batches:
        rows: list[_Row] = []
        for identity, line in zip(*map(pa.Array.to_pylist, batch.columns), strict=True):
            number = _number(identity, offsets)
            index = bisect_left(bound_at, number)
            if index < len(bound_at) and bound_at[index] == number:
                continue
            row = _parsed_line(number, line, bound[index])
            if row is not None:
                rows.append(row)
        yield batch_of(rows, _ARROW)


def _parsed_line(number: int, line: bytes, bindings: Bindings) -> _Row | None:
    try:
        text = (line.removeprefix(_MARK) if number == 1 else line).decode()
    except UnicodeDecodeError as error:
        return number, None, None, None, f"this is not UTF-8 text ({error.reason})"
    stripped = text.strip()
    if not stripped or stripped.startswith("#"):
        return None
    key, tab, xpath = text.rstrip("\r").partition("\t")
    if not tab:
        key, xpath = str(number), stripped
    return _parsed(number, key.strip(), xpath, bindings)


def _parse_rows(offsets: tuple[int, ...] | None, batches: Batches) -> Batches:
    """Parse rows of a table; without ``offsets`` Spark's own numbers are the positions."""
    for batch in batches:
        rows: list[_Row] = []
        for row in batch.to_pylist():
            number = row["id"] if offsets is None else _number(row["id"], offsets)
            rows.append(_parsed_row(number, row))
        yield batch_of(rows, _ARROW)


def _parsed_row(number: int, row: Mapping[str, Any]) -> _Row:
    key, xpath = _cell(row["key"]), _cell(row["xpath"])
    if key is None or xpath is None:
        return number, key, None, xpath, "the key or the xpath is empty"
    try:
        bindings = bindings_of_row(row)
    except ValueError as error:
        return number, key, None, xpath, str(error)
    return _parsed(number, key, xpath, bindings)


def _cell(value: Any) -> str | None:
    if value is None:
        return None
    return value.decode() if isinstance(value, bytes) else str(value)


def _parsed(number: int, key: str, xpath: str, bindings: Bindings) -> _Row:
    if not key:
        return number, key, None, xpath, "the key is empty"
    try:
        return number, key, str(read_bound(xpath, bindings).pattern), None, None
    except ValueError as error:
        return number, key, None, xpath, str(error)
