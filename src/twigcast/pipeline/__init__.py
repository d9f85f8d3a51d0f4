"""Documents on Spark: routed in bulk and as a stream, archived, queried; subscriptions covered.

    sources ──► id, source, content ──┐ Arrow batches
                                      ├──► one verdict a document ──► deliveries, documents,
    subscriptions ──► an index, made ─┘                                rejected, links
    once, saved, mapped by workers

:func:`route` matches many documents with all subscriptions in one job; :func:`stream` does the same
as documents arrive.  The driver compiles once what a worker decides by (a matcher with the names of
the subscribers, or a frozen network) and packs it into one file, a *bundle*.  Spark brings the
bundle to every machine, and each worker maps it into memory.  A verdict is a pure function of a
document and the bundle, so Spark may cut, repeat and move the work.  A bad document is a row of the
result, not a failure.

:func:`archive` keeps documents clustered by their *shape*, the set of their label paths;
:func:`query` decides on shapes first and reads only documents that may match.  :func:`cover`
reduces millions of subscriptions to those that cover all others.  :func:`register_brokers` makes
the live network a source and a sink of Spark: ``format("twigcast")``.

Invariants: a result is there whole or not at all, since it is written aside and renamed.  The
result equals that of evaluating every XPath on every document, however the work was cut.  The
settings of the caller's Spark session are not changed.

Cost: each document is read once, matched once, and its matches are written once; that takes some
tens of microseconds a document beside :meth:`twigcast.Matcher.match_batch`.

This package is the only one that imports pyspark.
"""

from __future__ import annotations

from twigcast.errors import SparkMissingError

try:
    import pyarrow  # noqa: F401 - only whether it is there
    import pyspark  # noqa: F401 - only whether it is there
except ImportError as error:
    raise SparkMissingError(
        f"the pipeline runs on Spark, and {error.name} is not installed: "
        "pip install 'twigcast[spark]'"
    ) from error

from twigcast.pipeline.archive import (
    ArchiveReport,
    CompactReport,
    QueryReport,
    QueryResult,
    Rejection,
    archive,
    compact,
    query,
)
from twigcast.pipeline.brokers import register_brokers
from twigcast.pipeline.cover import CoverResult, cover
from twigcast.pipeline.failures import reason_of
from twigcast.pipeline.locations import Location
from twigcast.pipeline.progress import Stage, describe, stages, start_group
from twigcast.pipeline.route import (
    SHARD_SIZE,
    LinkTraffic,
    RouteJob,
    RouteReport,
    RouteSettings,
    Totals,
    prepare_route,
    read_table,
    route,
)
from twigcast.pipeline.session import start_session, ui_address
from twigcast.pipeline.sources import SourceOptions, read_documents
from twigcast.pipeline.stream import BatchReport, Stream, StreamSettings, stream

__all__ = [
    "SHARD_SIZE",
    "ArchiveReport",
    "BatchReport",
    "CompactReport",
    "CoverResult",
    "LinkTraffic",
    "Location",
    "QueryReport",
    "QueryResult",
    "Rejection",
    "RouteJob",
    "RouteReport",
    "RouteSettings",
    "SourceOptions",
    "Stage",
    "Stream",
    "StreamSettings",
    "Totals",
    "archive",
    "compact",
    "cover",
    "describe",
    "prepare_route",
    "query",
    "read_documents",
    "read_table",
    "reason_of",
    "register_brokers",
    "route",
    "stages",
    "start_group",
    "start_session",
    "stream",
    "ui_address",
]
