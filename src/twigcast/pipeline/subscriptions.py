"""Subscriptions from a file, from a table that Spark reads, or from a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from twigcast.errors import DuplicateKeyError, PipelineError, SubscriptionFileError
from twigcast.language import (
    SUBSCRIPTION_COLUMNS,
    OnBad,
    Subscription,
    read_subscriptions,
    subscriptions_of_lines,
    subscriptions_of_rows,
)
from twigcast.pipeline.locations import Location
from twigcast.pipeline.sources.names import escape

Subscriptions = str | DataFrame | Iterable[Subscription]
"""A path or URL, a DataFrame with the columns of a subscriptions file, or subscriptions."""


def load_subscriptions(
    spark: SparkSession, given: Subscriptions, on_bad: OnBad | None = None
) -> Iterator[Subscription]:
    """The subscriptions, one at a time.

    Files of this machine are read as :func:`twigcast.read_subscriptions` does; folders of Parquet,
    and files of other file systems, by Spark.  A bad subscription is an error, or is handed to
    ``on_bad``.
    """
    if isinstance(given, DataFrame):
        yield from _of_frame(given, "the table of subscriptions", on_bad)
    elif not isinstance(given, str):
        yield from _distinct(given)
    elif given == "-":
        yield from read_subscriptions(given, on_bad)
    else:
        yield from _of_path(spark, given, on_bad)


def _distinct(given: Iterable[Subscription]) -> Iterator[Subscription]:
    keys: set[str] = set()
    for each in given:
        if each.key in keys:
            raise DuplicateKeyError(each.key)
        keys.add(each.key)
        yield each


def _of_path(spark: SparkSession, path: str, on_bad: OnBad | None) -> Iterator[Subscription]:
    location = Location(spark, path)
    if not location.exists():
        raise PipelineError(f"{path}: there is no such file of subscriptions")
    if location.is_folder:
        yield from _of_frame(spark.read.parquet(escape(location.url)), path, on_bad)
    elif location.local_path is not None:
        yield from read_subscriptions(location.local_path, on_bad)
    elif path.lower().endswith(".parquet"):
        yield from _of_frame(spark.read.parquet(escape(location.url)), path, on_bad)
    elif path.lower().endswith(".csv"):
        reader = spark.read.option("header", True).option("multiLine", True).option("escape", '"')
        yield from _of_frame(reader.csv(escape(location.url)), path, on_bad)
    else:
        lines = location.read_text().encode().splitlines(keepends=True)
        yield from subscriptions_of_lines(lines, path, on_bad)


def _of_frame(frame: DataFrame, name: str, on_bad: OnBad | None) -> Iterator[Subscription]:
    for column in ("key", "xpath"):
        if column not in frame.columns:
            raise SubscriptionFileError(f"the column {column} is missing", name, 0)
    present = [column for column in SUBSCRIPTION_COLUMNS if column in frame.columns]

    def rows() -> Iterator[dict[str, Any]]:
        for row in frame.select(*present).toLocalIterator(prefetchPartitions=True):
            yield row.asDict(recursive=True)

    return subscriptions_of_rows(rows(), name, on_bad)
