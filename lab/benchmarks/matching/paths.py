"""Rows about paths on generated documents: warm, fresh and cold, and with many subscribers."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from lxml import etree

from lab.benchmarks.matching.bench import (
    EXPAT,
    OURS,
    MatchingBench,
    mean_matches,
    parse_all,
)
from lab.benchmarks.measure import each, measure, spread, timed
from lab.benchmarks.results import Result, ratio_result
from twigcast.matching import Matcher

_DESTINATIONS: Final = 32


def warm_paths(bench: MatchingBench) -> Iterator[Result]:
    """Distinct linear subscriptions and documents seen before, then documents never seen."""
    texts = bench.paths(bench.sizes.paths)
    documents = bench.documents
    matcher = bench.fill(texts)
    work = f"{len(texts):,} paths, documents seen before"
    goal = bench.goal(0.35, "paths")
    yield bench.expat_ratio(
        "paths-warm", work, matcher, documents, goal, states=matcher.stats().states
    )

    measurements = measure(
        work,
        {
            "lxml fromstring": lambda: each(etree.fromstring, documents),
            OURS: lambda: matcher.match_batch(documents),
        },
        units=len(documents),
        rounds=bench.rounds,
        clock=time.process_time,
    )
    matches = mean_matches(matcher, documents)
    yield ratio_result(
        "paths-warm-lxml",
        work,
        measurements,
        OURS,
        goal=bench.goal(0.3, "paths"),
        matches=matches,
        unit="× lxml parsing",
    )

    yield bench.fresh_ratio(
        "paths-fresh", f"{len(texts):,} paths", bench.fill(texts), bench.goal(1.3, "paths")
    )


def cold_paths(bench: MatchingBench) -> Iterator[Result]:
    """The first documents that a matcher sees."""
    texts = bench.paths(bench.sizes.cold)
    documents = bench.documents
    work = f"{len(texts):,} paths, the first {len(documents):,} documents"
    times: dict[str, list[float]] = {EXPAT: [], OURS: []}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "paths"
        bench.fill(texts).save(file)
        bench.progress(work)
        parse_all(documents)
        for _ in range(bench.sizes.cold_matchers):
            matcher = Matcher.load(file)
            times[EXPAT].append(timed(lambda: parse_all(documents), time.process_time))
            # Called before the next matcher is loaded, so the loop's variable is the right one.
            call = matcher.match_batch
            times[OURS].append(timed(lambda: call(documents), time.process_time))  # noqa: B023
        matches = mean_matches(matcher, documents)
    ratios = [ours / theirs for theirs, ours in zip(*times.values(), strict=True)]
    yield Result(
        "paths-cold",
        work,
        statistics.median(ratios),
        "× expat",
        spread(ratios),
        bench.goal(3.5, "cold"),
        matches,
        {
            "matchers": len(ratios),
            f"{EXPAT}, µs": round(statistics.median(times[EXPAT]) / len(documents) * 1e6, 2),
            f"{OURS}, µs": round(statistics.median(times[OURS]) / len(documents) * 1e6, 2),
        },
    )


def many_subscribers(bench: MatchingBench) -> Iterator[Result]:
    """Expressions that many subscribers share, so that a document goes to a great many.

    Expressions that match more documents have more subscribers: in the order of the documents they
    match, the number of subscribers falls as a power of the rank.  The exponent is the one by
    which a document matches as many subscribers as wanted.
    """
    sizes, documents = bench.sizes, bench.documents
    texts = bench.paths(sizes.expressions)
    batch = bench.fill(texts).match_batch(documents)
    hits = Counter(batch.ids)
    seen = {int(batch.key(number)[1:]): count for number, count in hits.items()}
    ranked = sorted(range(len(texts)), key=lambda index: -seen.get(index, 0))
    shares = [seen.get(index, 0) / len(documents) for index in ranked]
    exponent, counts = share_out(shares, sizes.subscribers, sizes.delivered)
    wanted = [
        texts[index] for index, count in zip(ranked, counts, strict=True) for _ in range(count)
    ]
    Random(bench.seed).shuffle(wanted)
    matcher = bench.fill(wanted, _DESTINATIONS)
    del batch
    work = f"{len(wanted):,} subscribers of {len(texts):,} paths"
    yield bench.expat_ratio(
        "subscribers",
        f"{work}, distinct paths reported",
        matcher,
        documents,
        bench.goal(2, "subscribers"),
        patterns=matcher.stats().patterns,
        popularity=f"rank to the power of -{exponent:.3f}",
    )

    bench.progress(f"{work}, {_DESTINATIONS} destinations")
    wanting = matcher.match_destinations(documents)
    measurements = measure(
        work,
        {EXPAT: lambda: parse_all(documents), OURS: lambda: matcher.match_destinations(documents)},
        units=len(documents),
        rounds=bench.quick_rounds,
        clock=time.process_time,
    )
    yield ratio_result(
        "subscribers-destinations",
        f"{work}, destinations found, {_DESTINATIONS} in all",
        measurements,
        OURS,
        goal=bench.goal(0.4, "subscribers"),
        matches=mean_matches(matcher, documents),
        details={
            "destinations": statistics.mean(map(len, wanting)),
            "looked_at": statistics.mean(wanting.looked_at),
        },
    )

    some = documents[: max(1, len(documents) // 10)]
    measurements = measure(
        work,
        {EXPAT: lambda: parse_all(some), OURS: lambda: matcher.match_batch(some).ids},
        units=len(some),
        rounds=bench.rounds,
        clock=time.process_time,
    )
    matches = mean_matches(matcher, some)
    yield ratio_result(
        "subscribers-expanded",
        f"{work}, every subscriber reported",
        measurements,
        OURS,
        goal=bench.goal(1.5, "subscribers"),
        matches=matches,
    )


def share_out(shares: list[float], total: int, delivered: float) -> tuple[float, list[int]]:
    """The exponent, and how many of ``total`` subscribers each expression has, at least one.

    ``shares`` are the shares of documents that the expressions match, the greatest first.  A
    document matches ``delivered`` subscribers, as nearly as an exponent from 0 to 8 can do it.
    """
    low, high = 0.0, 8.0
    for _ in range(40):
        middle = (low + high) / 2
        counts = _counts(len(shares), total, middle)
        reached = sum(count * share for count, share in zip(counts, shares, strict=True))
        low, high = (middle, high) if reached < delivered else (low, middle)
    return high, _counts(len(shares), total, high)


def _counts(expressions: int, total: int, exponent: float) -> list[int]:
    weights = [rank**-exponent for rank in range(1, expressions + 1)]
    spare = max(0, total - expressions)
    scale = spare / sum(weights)
    counts = [1 + int(weight * scale) for weight in weights]
    # What rounding down left over goes to the next in rank, one each.
    for index in range(expressions + spare - sum(counts)):
        counts[index % expressions] += 1
    return counts
