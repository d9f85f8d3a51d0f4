"""How the time for a document grows with the number of subscriptions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from lab.benchmarks.matching.bench import EXPAT, OURS, MatchingBench, mean_matches
from lab.benchmarks.matching.peers import LXML, compile_xpaths, count_with_lxml
from lab.benchmarks.results import GrowthPoint
from twigcast.matching import Matcher

PATHS: Final = "twigcast, paths"
TREES: Final = "twigcast, trees"
LXML_PATHS: Final = f"{LXML}, paths"

_PEER_DOCUMENTS: Final = 3
_PEER_CHUNK: Final = 10_000


def matching_growth(bench: MatchingBench) -> Iterator[GrowthPoint]:
    """The time for a document that was seen before, as one matcher grows, beside peers.

    Expat is timed with every set of paths, though it knows nothing of them: how level its points
    are shows how calm the machine was.
    """
    patient = True
    for points in _grow(bench, PATHS, bench.paths, bench.sizes.growing_paths):
        yield from points
        if patient:
            count, expat_seconds = points[0].subscriptions, points[0].seconds
            point, taken = _peer_point(bench, count, expat_seconds)
            yield point
            larger = [size for size in bench.sizes.growing_paths if size > count]
            patient = bool(larger) and taken * larger[0] / count <= bench.sizes.peer_patience
    for points in _grow(bench, TREES, bench.trees, bench.sizes.growing_trees):
        yield points[1]


def _grow(
    bench: MatchingBench, method: str, take: Callable[[int], list[str]], sizes: tuple[int, ...]
) -> Iterator[tuple[GrowthPoint, GrowthPoint]]:
    """Points of expat and of one matcher that grows from size to size."""
    texts = take(max(sizes))
    matcher = Matcher()
    for size in sizes:
        if size > len(texts):
            return
        for number in range(len(matcher), size):
            matcher.add(f"s{number}", texts[number])
        measured = bench.against_expat(f"growth: {size:,} {method}", matcher, bench.documents)
        matches = mean_matches(matcher, bench.documents)
        theirs, ours = ({one.method: one for one in measured}[which] for which in (EXPAT, OURS))
        yield (
            GrowthPoint(EXPAT, size, theirs.seconds, theirs.spread, 1.0, 0.0),
            GrowthPoint(method, size, ours.seconds, ours.spread, ours.ratio, matches),
        )


def _peer_point(
    bench: MatchingBench, count: int, expat_seconds: float
) -> tuple[GrowthPoint, float]:
    """The time of lxml for a few documents, one reading, and how long that took in all.

    Expressions are compiled some at a time, which is not timed: all at once they would fill
    gigabytes.
    """
    bench.progress(f"growth: {count:,} {LXML_PATHS}")
    texts = bench.paths(count)
    documents = bench.documents[:_PEER_DOCUMENTS]
    begin = time.perf_counter()
    seconds, total = 0.0, 0
    for first in range(0, len(texts), _PEER_CHUNK):
        xpaths = compile_xpaths(texts[first : first + _PEER_CHUNK])
        count_with_lxml(xpaths, documents[0])  # an expression is slower the first time
        start = time.process_time()
        total += sum(count_with_lxml(xpaths, data) for data in documents)
        seconds += time.process_time() - start
    each = seconds / len(documents)
    matches = total / len(documents)
    point = GrowthPoint(LXML_PATHS, count, each, 0.0, each / expat_seconds, matches)
    return point, time.perf_counter() - begin
