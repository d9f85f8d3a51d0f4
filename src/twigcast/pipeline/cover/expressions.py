"""Expressions of subscriptions as a DataFrame: read in parts, each in a worker, and parsed there.

    file of text, .csv, .parquet ──┐ key, xpath, namespaces
                                   ├──────────────► position, key, text ─── or xpath, problem
    any DataFrame ─────────────────┘  mapInArrow

``text`` is the canonical text of the pattern; where there is none, ``problem`` says why.  The
formats are those of :func:`twigcast.language.read_subscriptions`, and so are the positions, which
are lines of a text and rows of a table.  In a text, what binds a prefix counts for the lines below,
wherever the file is cut: the lines are counted and the bindings collected first, which reads the
file once more, but in Spark alone.

Cost: that of parsing, two to sixty microseconds for each expression; nothing is kept on the driver
but bindings.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from twigcast.errors import PipelineError, SubscriptionFileError
from twigcast.language import read_binding, read_expression
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
    bound = []
    for row in lines.filter(F.col("line").cast("string").contains("xmlns")).collect():
        binding = read_binding(bytes(row.line).decode(errors="replace").strip("\ufeff \t\r"))
        if binding is not None:
            bound.append((_number(row.id, offsets), *binding))
    parse = partial(_parse_lines, offsets, sorted(bound))
    return Expressions(_spread(lines, offsets).mapInArrow(parse, SCHEMA), path)


def _of_table(table: DataFrame, file: str | None, *, numbered_from: int | None) -> Expressions:
    for column in ("key", "xpath"):
        if column not in table.columns:
            reason = f"the column {column} is missing"
            raise SubscriptionFileError(reason, file, 1) if file else PipelineError(reason)
    wanted = [column for column in ("key", "xpath", "namespaces") if column in table.columns]
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
    offsets: tuple[int, ...], bindings: Sequence[tuple[int, str, str]], batches: Batches
) -> Batches:
    """Parse lines of a text; ``bindings`` are lines with the prefixes bound there, in order."""
    bound_at = [number for number, _, _ in bindings]
    bound: list[dict[str, str]] = [{}]
    for _, prefix, uri in bindings:
        bound.append(bound[-1] | {prefix: uri})
    for batch in batches:
        rows: list[_Row] = []
        for identity, line in zip(*map(pa.Array.to_pylist, batch.columns), strict=True):
            number = _number(identity, offsets)
            row = _parsed_line(number, line, bound[bisect_left(bound_at, number)])
            if row is not None:
                rows.append(row)
        yield batch_of(rows, _ARROW)


def _parsed_line(number: int, line: bytes, namespaces: Mapping[str, str]) -> _Row | None:
    try:
        text = (line.removeprefix(_MARK) if number == 1 else line).decode()
    except UnicodeDecodeError as error:
        return number, None, None, None, f"this is not UTF-8 text ({error.reason})"
    stripped = text.strip()
    if not stripped or stripped.startswith("#") or _is_binding(stripped):
        return None
    key, tab, xpath = text.rstrip("\r").partition("\t")
    if not tab:
        key, xpath = str(number), stripped
    return _parsed(number, key.strip(), xpath, namespaces)


def _is_binding(line: str) -> bool:
    return line.startswith("xmlns") and read_binding(line) is not None


def _parse_rows(offsets: tuple[int, ...] | None, batches: Batches) -> Batches:
    """Parse rows of a table; without ``offsets`` Spark's own numbers are the positions."""
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns]
        if offsets is not None:
            columns[0] = [_number(identity, offsets) for identity in columns[0]]
        yield batch_of([_parsed_row(*row) for row in zip(*columns, strict=True)], _ARROW)


def _parsed_row(number: int, key: Any, xpath: Any, namespaces: Any = None) -> _Row:
    key, xpath, prefixes = _cell(key), _cell(xpath), _prefixes(namespaces)
    if key is None or xpath is None:
        return number, key, None, xpath, "the key or the xpath is empty"
    if prefixes is None:
        reason = 'namespaces must be a JSON object such as {"cap": "urn:…"}'
        return number, key, None, xpath, reason
    return _parsed(number, key, xpath, prefixes)


def _cell(value: Any) -> str | None:
    if value is None:
        return None
    return value.decode() if isinstance(value, bytes) else str(value)


def _prefixes(value: Any) -> dict[str, str] | None:
    """A cell of the column ``namespaces``: JSON text, or the pairs of a map."""
    if not value:
        return {}
    try:
        pairs = dict(json.loads(value) if isinstance(value, str) else value)
    except (ValueError, TypeError):
        return None
    return pairs if all(isinstance(uri, str) for uri in pairs.values()) else None


def _parsed(number: int, key: str, xpath: str, namespaces: Mapping[str, str]) -> _Row:
    if not key:
        return number, key, None, xpath, "the key is empty"
    try:
        return number, key, str(read_expression(xpath, namespaces).pattern), None, None
    except ValueError as error:  # a SubscriptionError, or a binding that cannot be
        return number, key, None, xpath, str(error)
