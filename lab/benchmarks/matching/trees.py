"""Rows about tree patterns, half of them with a value.

The first set meets documents of 4,000 bytes, as all rows do.  The second meets documents of all
sizes, which have more label paths than a cache holds when each path costs much: a matcher must not
become slow where its cache is full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from lab.benchmarks.matching.bench import TREES, MatchingBench
from lab.benchmarks.results import Goal, Result
from twigcast.matching import Matcher
from twigcast.workload import (
    DocumentParameters,
    ValueParameters,
    generate_documents,
    generate_subscriptions,
)

_SUBSCRIPTION_SEED: Final = 77
_DOCUMENT_SEED: Final = 78
_SMALL: Final = 3_000
"""Bytes; a document below that has few label paths."""


def trees(bench: MatchingBench) -> Iterator[Result]:
    """Distinct patterns in XNET's setting: documents seen before, then documents never seen."""
    texts = bench.trees(bench.sizes.trees)
    matcher = bench.fill(texts)
    work = f"{len(texts):,} trees, half with a value"
    yield bench.expat_ratio(
        "trees-warm",
        f"{work}, documents seen before",
        matcher,
        bench.documents,
        bench.goal(2, "trees"),
        with_values=sum(any(sign in text for sign in "<>=") for text in texts),
        branching=sum("[" in text for text in texts),
    )
    yield _cache("trees-cache", work, matcher, bench.documents, bench.goal(25, "trees"))
    yield bench.fresh_ratio("trees-fresh", work, matcher, bench.goal(5, "trees"))


def documents_of_all_sizes(bench: MatchingBench) -> Iterator[Result]:
    """What ``twigcast generate`` makes with ``--shape tree --values 0.5`` and of documents."""
    count, size = bench.sizes.trees, bench.sizes.documents
    bench.progress(f"making {count:,} trees")
    values = ValueParameters(fraction=0.5)
    patterns = generate_subscriptions(bench.schema, TREES, seed=_SUBSCRIPTION_SEED, values=values)
    matcher = bench.fill([str(pattern) for pattern in islice(patterns, count)])
    made = generate_documents(bench.schema, DocumentParameters(), seed=_DOCUMENT_SEED)
    documents = list(islice(made, size))
    small = [data for data in documents if len(data) < _SMALL]
    work = f"{len(matcher):,} trees, {len(documents):,} documents of all sizes"
    goal = bench.goal(3, "trees")
    # First, while the cache is empty.
    yield bench.expat_ratio(
        "trees-small",
        f"{len(matcher):,} trees, the {len(small):,} documents below {_SMALL:,} bytes",
        matcher,
        small,
        goal,
    )
    yield bench.expat_ratio(
        "trees-all-sizes",
        work,
        matcher,
        documents,
        goal,
        mean_bytes=sum(map(len, documents)) // len(documents),
    )
    yield _cache("trees-all-sizes-cache", work, matcher, documents, bench.goal(64, "trees"))


def _cache(
    name: str, work: str, matcher: Matcher, documents: Sequence[bytes], goal: Goal
) -> Result:
    """The cache at its largest; a full one is emptied, so the last reading may be a small one."""
    readings = []
    for data in documents:
        matcher.match_batch([data])
        stats = matcher.stats()
        readings.append((stats.cached_bytes, stats.cached_paths))
    size, paths = max(readings)
    return Result(
        name,
        f"{work}: the cache at its largest",
        size / 1e6,
        "MB",
        goal=goal,
        details={"label_paths": paths},
    )
