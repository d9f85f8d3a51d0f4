"""The job that reduces subscriptions to those that cover all others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from twigcast.covering import untie_circles
from twigcast.keywords import exact_keywords
from twigcast.pipeline.cover.expressions import Expressions, read_expressions
from twigcast.pipeline.cover.groups import (
    FIRST_LOOK,
    HIDDEN,
    HOMES,
    NEVER,
    PAIRS,
    SPREAD,
    STAYS,
    Cells,
    Homes,
    count_homes,
    find_replacing,
    search_cell,
    spread,
    take_first_look,
)
from twigcast.pipeline.locations import Location
from twigcast.pipeline.progress import describe
from twigcast.pipeline.sources.names import escape

_MOST_TOGETHER: Final = 200_000
"""The patterns of one index: some 250 megabytes in a worker."""


@dataclass(frozen=True, slots=True)
class CoverResult:
    """The patterns that stand for all subscriptions, and how many there were.

    ``frame`` has the columns ``pattern``, the canonical text; ``position``, that of the first
    subscription to it (the line of a text, the row of a table); and ``keys``, how many subscribe
    to exactly this.  ``refused`` has ``position``, ``key``, ``xpath`` and ``problem`` of the
    subscriptions that were skipped.  Both are kept by Spark, unless they were written.
    """

    frame: DataFrame
    refused: DataFrame
    subscriptions: int
    distinct: int
    forwarded: int
    skipped: int


@exact_keywords
def cover(
    spark: SparkSession,
    subscriptions: str | DataFrame,
    *,
    skip_bad: bool = False,
    output: str | None = None,
    overwrite: bool = False,
) -> CoverResult:
    """The subscriptions that cover all others, from a file or a DataFrame.

    A file is a text, ``.csv`` or ``.parquet`` as :func:`twigcast.language.read_subscriptions`
    takes it; a DataFrame has the columns of such a table.  An expression that does not parse, or a
    key that stands twice, is an error that names the first; with ``skip_bad`` they are left out.
    The result is written to the folder ``output`` as Parquet,
    whole or not at all; without one it is kept by Spark until ``result.frame.unpersist()``.
    """
    target = None if output is None else Location(spark, output)
    if target is not None and overwrite:
        inputs = [subscriptions] if isinstance(subscriptions, str) else []
        target.require_replaceable(inputs, _is_table)
    with ExitStack() as at_end:
        # Entered first: an output that is there is refused before anything is computed.
        staging = at_end.enter_context(target.staged(overwrite=overwrite)) if target else None
        at_end.callback(describe, spark, None)
        describe(spark, "parsing subscriptions")
        expressions = read_expressions(spark, subscriptions)
        parsed = _kept(expressions.frame, at_end)
        good, refused = _checked(replace(expressions, frame=parsed), skip_bad)
        refused = refused.persist() if skip_bad else refused.limit(0)
        skipped = refused.count() if skip_bad else 0
        describe(spark, "dropping what wide patterns cover")
        work = _Work(spark, good, at_end)
        describe(spark, "searching what is left")
        minimal = work.minimal()
        describe(spark, "collecting what is forwarded")
        if staging is None:
            minimal = minimal.persist()
        else:
            minimal.orderBy("position").write.mode("append").parquet(staging.url)
            minimal = spark.read.parquet(escape(staging.url))
        forwarded = minimal.count()
    if target is not None:
        minimal = spark.read.parquet(escape(target.url))
    return CoverResult(minimal, refused, work.subscriptions, work.distinct, forwarded, skipped)


def _is_table(folder: Location) -> bool:
    """Whether it holds the files of one table, and nothing else."""
    names = [entry.name for entry in folder.entries()]
    return "_SUCCESS" in names and all(name.startswith(("part-", "_", ".")) for name in names)


def _kept(frame: DataFrame, at_end: ExitStack) -> DataFrame:
    """The frame, computed once and kept until the end."""
    frame = frame.persist()
    at_end.callback(frame.unpersist)
    return frame


def _checked(expressions: Expressions, skip_bad: bool) -> tuple[DataFrame, DataFrame]:
    """The subscriptions that can be used, and the others; an error where these are not skipped."""
    parsed = expressions.frame
    good = parsed.filter("problem is null").select("position", "key", "text")
    refused = parsed.filter("problem is not null").select("position", "key", "xpath", "problem")
    if not skip_bad:
        _complain(expressions, refused)
    times = good.groupBy("key").agg(F.count("*").alias("times"), F.min("position").alias("first"))
    twice = times.filter("times > 1")
    if not twice.isEmpty():
        others = good.join(twice, "key").filter("position > first")
        reason = F.concat(
            F.lit("the key '"), "key", F.lit("' stands for another subscription already")
        )
        xpath = F.col("text").alias("xpath")
        repeated = others.select("position", "key", xpath, reason.alias("problem"))
        if not skip_bad:
            _complain(expressions, repeated)
        refused = refused.unionByName(repeated)
        good = good.join(others.select("position"), "position", "left_anti")
    return good, refused


def _complain(expressions: Expressions, refused: DataFrame) -> None:
    first = refused.orderBy("position").first()
    if first is not None:
        raise expressions.complaint(first.position, first.key, first.problem)


class _Work:
    """The minimal set of good subscriptions, computed in steps that are each kept till the end."""

    def __init__(self, spark: SparkSession, good: DataFrame, at_end: ExitStack) -> None:
        self._spark = spark
        self._at_end = at_end
        edges = _count("text", "/") - _count("text", "//") + _count("text", "[")
        # Wide ones first: few steps, and of as many those with most // and *.
        distinct = (
            good.groupBy("text")
            .agg(F.min("position").alias("position"), F.count("*").alias("keys"))
            .sortWithinPartitions(edges, -_count("text", "//") - _count("text", "*"), "position")
        )
        self._looks = _kept(distinct.mapInArrow(take_first_look, FIRST_LOOK), at_end)
        fates = self._looks.groupBy("fate").agg(
            F.count("*").alias("patterns"),
            F.sum("keys").alias("subscriptions"),
            F.sum(F.col("is_firm").cast("bigint")).alias("firm"),
            F.min("position").alias("first"),
        )
        self._fates: dict[int, Row] = {row.fate: row for row in fates.collect()}
        self.distinct: int = sum(row.patterns for row in self._fates.values())
        self.subscriptions: int = sum(row.subscriptions for row in self._fates.values())
        self._in_sight = self._looks.filter(F.col("fate").isin(STAYS, HIDDEN))

    def minimal(self) -> DataFrame:
        """The patterns that nothing replaces."""
        result = F.col("text").alias("pattern"), "position", "keys"
        if set(self._fates) == {NEVER}:
            first = self._fates[NEVER].first
            return self._looks.filter(F.col("position") == first).select(*result)
        replaced = _kept(self._searched(), self._at_end)
        staying = self._in_sight.filter(F.col("fate") == STAYS)
        minimal = staying.join(replaced.select("position"), "position", "left_anti").select(*result)
        stay = self._stay_of_circles(replaced)
        if stay:
            back = self._in_sight.filter(F.col("position").isin(stay)).select(*result)
            minimal = minimal.unionByName(back)
        return minimal

    def _searched(self) -> DataFrame:
        """The patterns in question that others replace."""
        asking = self._fates[STAYS].patterns if STAYS in self._fates else 0
        needs = self._in_sight.select("needs")
        counts = {
            row.name: row["count"]
            for row in needs.select(F.explode("needs").alias("name"))
            .groupBy("name")
            .count()
            .collect()
        }
        homes = Homes.by_count(counts)
        sizes = {
            row.home: row.patterns
            for row in needs.mapInArrow(partial(count_homes, homes), HOMES)
            .groupBy("home")
            .agg(F.sum("patterns").alias("patterns"))
            .collect()
        }
        workers = self._spark.sparkContext.defaultParallelism
        cells = Cells.plan(sizes, _MOST_TOGETHER, asking, workers)
        return (
            self._in_sight.select("position", "text", "fate", "needs", "offers")
            .mapInArrow(partial(spread, homes, cells), SPREAD)
            .repartitionById(cells.count, "cell")
            .sortWithinPartitions("asks")
            .mapInArrow(search_cell, PAIRS)
        )

    def _stay_of_circles(self, replaced: DataFrame) -> list[int]:
        """Those that stay of patterns that only replace each other.

        A circle holds a pattern that is not firm.
        """
        in_sight = [self._fates[fate] for fate in (STAYS, HIDDEN) if fate in self._fates]
        if all(row.patterns == row.firm for row in in_sight):
            return []
        hidden = self._in_sight.filter(F.col("fate") == HIDDEN).select("position", "replaced_by")
        pairs = replaced.unionByName(hidden).toArrow()
        below, first = np.unique(pairs.column("position").to_numpy(), return_index=True)
        above = pairs.column("replaced_by").to_numpy()[first]
        # Take away what is replaced by one that is not replaced itself, until nothing changes.
        while True:
            is_open = np.isin(above, below)
            if is_open.all():
                break
            below, above = below[is_open], above[is_open]
        tied = dict(zip(below.tolist(), above.tolist(), strict=True))
        untied = untie_circles(tied, self._ask)
        return [position for position, other in untied.items() if other is None]

    def _ask(self, positions: set[int]) -> Iterator[tuple[int, int]]:
        rows = self._in_sight.select("position", "text")
        few = rows.filter(F.col("position").isin(sorted(positions))).collect()
        find = partial(find_replacing, [(row.position, row.text) for row in few])
        for row in rows.mapInArrow(find, PAIRS).collect():
            yield row.position, row.replaced_by


def _count(column: str, part: str) -> Column:
    """How often a text is in those of a column."""
    without = F.replace(F.col(column), F.lit(part), F.lit(""))
    return (F.length(column) - F.length(without)) / len(part)
