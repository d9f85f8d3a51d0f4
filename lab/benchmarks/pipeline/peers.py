"""Other methods in Spark: one subscription after the other, by lxml or by Spark itself.

Both are asked with fewer subscriptions and documents, of the same kind, on the same two cores; what
counts is the cost of a pair, a document and a subscription.  Reading and parsing the documents is
part of it on both sides.

*lxml* compiles the expressions once in each task and asks each document in ``mapInArrow``.  At its
best it is asked for a truth value, of the root element instead of the tree, and without the regular
expressions that it otherwise offers.  ``xpath_boolean`` takes expressions only as literals, so all
are columns of one query; planning that takes long, and is done before the time is taken.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from lxml import etree

from lab.benchmarks.matching.bench import fill
from lab.benchmarks.matching.peers import compile_xpaths
from lab.benchmarks.measure import spread
from lab.benchmarks.pipeline.bench import PipelineBench, Readings, take_turns
from lab.benchmarks.pipeline.generate import Batches
from lab.benchmarks.pipeline.route import (
    RoutedFolders,
    RouteFigures,
    batches_of,
    count_matches,
)
from lab.benchmarks.results import Detail, Result
from twigcast.errors import WorkloadError
from twigcast.language import parse

COUNTS: Final = "matches bigint"
_LXML: Final = "lxml"
_BEST: Final = "lxml at its best"
_SPARK: Final = "xpath_boolean"
_SIZES: Final = ("subscriptions", "documents", "peers")


@dataclass(frozen=True, slots=True)
class CountWithLxml:
    """From batches with content to how many of the expressions their documents match."""

    texts: tuple[str, ...]
    at_best: bool = False

    def __call__(self, batches: Batches) -> Batches:
        xpaths = _compile_best(self.texts) if self.at_best else compile_xpaths(self.texts)
        for batch in batches:
            matches = 0
            for data in batch.column("content").to_pylist():
                root = etree.fromstring(data)
                asked = root if self.at_best else root.getroottree()
                matches += sum(bool(xpath(asked)) for xpath in xpaths)
            yield pa.RecordBatch.from_pydict({"matches": pa.array([matches], pa.int64())})


def _compile_best(texts: tuple[str, ...]) -> list[etree.XPath]:
    spelled = (parse(text).to_xpath() for text in texts)
    return [
        etree.XPath(f"boolean({text})", namespaces=names or None, regexp=False)
        for text, names in spelled
    ]


def count_with_lxml(frame: Any, texts: tuple[str, ...], *, at_best: bool = False) -> int:
    """How many matches lxml finds in all documents of a frame with their content."""
    counted = frame.select("content").mapInArrow(CountWithLxml(texts, at_best), COUNTS)
    return int(counted.agg({"matches": "sum"}).first()[0] or 0)


def spark_query(frame: Any, texts: tuple[str, ...]) -> Any:
    """A query that counts for each document, by ``xpath_boolean``, the expressions that match.

    The counts are summed up by whoever asks: Spark keeps what it has shuffled for a sum, and would
    not evaluate anything when the same plan is run again.
    """
    # As an array, not as a sum: that would be as deep as there are expressions.
    asked = ", ".join(f"xpath_boolean(text, {_literal(text)})" for text in texts)
    count = f"size(filter(array({asked}), each -> each)) as matches"
    return frame.selectExpr("cast(content as string) as text").selectExpr(count)


def count_with_spark(query: Any) -> int:
    """How many matches such a query finds."""
    return sum(row.matches for row in query.collect())


def _literal(text: str) -> str:
    spelled, names = parse(text).to_xpath()
    if names:
        raise WorkloadError(f"xpath_boolean knows no namespaces, and {text} has; use another DTD")
    escaped = spelled.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


@dataclass(frozen=True, slots=True)
class PeerFigures:
    """What each peer took for a pair, in seconds."""

    subscriptions: int
    documents: dict[str, int]
    matches: dict[str, float]
    """Subscriptions that match a document, on average."""
    readings: Readings
    planning: float
    """Seconds until Spark was ready to count with ``xpath_boolean``."""

    def pair_seconds(self, method: str) -> list[float]:
        pairs = self.documents[method] * self.subscriptions
        return [seconds / pairs for seconds in self.readings.seconds[method]]


def peer_figures(bench: PipelineBench, folders: RoutedFolders) -> PeerFigures:
    """Measure the peers, each with what it can take, after they have counted right."""
    texts = tuple(bench.paths(bench.sizes.peers))
    with bench.spark() as session:
        frames = {
            "few": session.read.parquet(folders.few),
            "fewest": _without_large_methods(session).read.parquet(folders.fewest),
        }
        expected, documents = {}, {}
        matcher = fill(texts)
        for name in frames:
            batches = batches_of(getattr(folders, name))
            expected[name] = count_matches(matcher, batches)
            documents[name] = sum(map(len, batches))
        bench.progress(f"planning {len(texts):,} times {_SPARK}")
        begun = time.perf_counter()
        query = spark_query(frames["fewest"], texts)
        count_with_spark(query)
        first = time.perf_counter() - begun
        # The workers are new: what they import is not part of the work.
        count_with_lxml(frames["fewest"], texts)

        def run_lxml(at_best: bool) -> float:
            bench.progress(f"{len(texts):,} subscriptions one by one: {_LXML}")
            begun = time.perf_counter()
            matches = count_with_lxml(frames["few"], texts, at_best=at_best)
            return _checked(matches, expected["few"], _LXML, begun)

        def run_spark() -> float:
            bench.progress(f"{len(texts):,} subscriptions one by one: {_SPARK}")
            begun = time.perf_counter()
            matches = count_with_spark(query)
            return _checked(matches, expected["fewest"], _SPARK, begun)

        readings = take_turns(
            {
                _LXML: lambda: run_lxml(at_best=False),
                _BEST: lambda: run_lxml(at_best=True),
                _SPARK: run_spark,
            },
            bench.rounds,
        )
    which = {_LXML: "few", _BEST: "few", _SPARK: "fewest"}
    return PeerFigures(
        len(texts),
        {method: documents[name] for method, name in which.items()},
        {method: expected[name] / documents[name] for method, name in which.items()},
        readings,
        max(0.0, first - readings.median(_SPARK)),
    )


def _without_large_methods(session: Any) -> Any:
    """A session of the same application, for queries with very many expressions.

    By default Spark makes one Java method of them all, which Java refuses; Spark tries that again
    each time before it goes on without, and logs it at length.
    """
    apart = session.newSession()
    apart.conf.set("spark.sql.codegen.wholeStage", "false")
    return apart


def _checked(matches: int, expected: int, method: str, begun: float) -> float:
    seconds = time.perf_counter() - begun
    if matches != expected:
        raise AssertionError(f"{method} finds {matches:,} matches, and twigcast {expected:,}")
    return seconds


def peer_rows(bench: PipelineBench, ours: RouteFigures, peers: PeerFigures) -> Iterator[Result]:
    """What a pair costs the peers, as a multiple of what it costs the job that has the goal."""
    goals = {
        _LXML: bench.goal(5_000, *_SIZES, "few_documents", least=True),
        _BEST: None,
        _SPARK: bench.goal(50_000, *_SIZES, "fewest_documents", least=True),
    }
    names = {_LXML: "pair-lxml", _BEST: "pair-lxml-best", _SPARK: "pair-xpath-boolean"}
    for method, goal in goals.items():
        seconds = peers.pair_seconds(method)
        details: dict[str, Detail] = {
            f"{method}, µs a pair": round(statistics.median(seconds) * 1e6, 4),
            "the job, ns a pair": round(ours.pair_seconds * 1e9, 4),
            "documents": peers.documents[method],
        }
        if method == _SPARK:
            details["planning, s"] = round(peers.planning, 3)
        yield Result(
            names[method],
            f"a document and one of {peers.subscriptions:,} subscriptions: {method} ÷ the job",
            statistics.median(seconds) / ours.pair_seconds,
            "× the job",
            spread(seconds),
            goal,
            peers.matches[method],
            details,
        )
