"""What a broker counts and measures, for Prometheus.

Counters and histograms are kept as documents pass; what stands somewhere anyway (tables, queues,
links) is looked up when somebody asks, so it costs nothing in between.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

_LATENCIES: Final = tuple(
    float(each)
    for each in "0.0005 0.001 0.002 0.004 0.008 0.015 0.03 0.06 0.125 0.25 0.5 1 2 5 10 60".split()
)
_MATCHING: Final = tuple(
    float(each) for each in "2e-5 5e-5 1e-4 2e-4 5e-4 0.001 0.002 0.005 0.01 0.05 0.25 1".split()
)


class Figure(NamedTuple):
    """A figure that stands somewhere anyway, or several of a kind."""

    name: str
    text: str
    values: Mapping[str, float]
    """By the values of the label; by an empty text where there is no label."""
    label: str = ""
    is_counted: bool = False
    """Whether it only grows, while the thing lives that it belongs to."""


_COUNTED: Final = {
    "documents_in": "Documents from publishers and neighbours.",
    "document_bytes_in": "Bytes of these documents.",
    "documents_matched": "Documents that somebody wants, here or beyond.",
    "documents_filtered": "Documents that nobody wants.",
    "documents_repeated": "Documents that had come before.",
    "documents_out": "Documents queued for clients.",
    "documents_forwarded": "Documents queued for neighbours.",
    "documents_resent": "Documents sent again to homes that have not confirmed them.",
    "wrong_tokens": "Tokens that nobody has.",
    "documents_lost": "Undelivered documents lost to retention.",
    "documents_expired": "Documents that went no further, since their time was over.",
}


class _Histogram:
    """How many values there were up to each bound."""

    def __init__(self, name: str, text: str, bounds: tuple[float, ...]) -> None:
        self.name = name
        self.text = text
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def family(self) -> Metric:
        """As Prometheus has it."""
        bounds = [*map(floatToGoString, self.bounds), "+Inf"]
        buckets = list(zip(bounds, accumulate(self.counts), strict=True))
        return HistogramMetricFamily(f"twigcast_{self.name}", self.text, buckets, self.sum)


class Metrics:
    """The counters of one broker; the names begin with ``twigcast_``.

    They are for one thread, so they need no locks: a count costs much less than one of
    prometheus_client's.
    """

    def __init__(self) -> None:
        self._counts = dict.fromkeys(_COUNTED, 0)
        self._dropped = Counter(client=0, neighbour=0)
        self._refused = Counter[str]()
        self._match_seconds = _Histogram(
            "match_seconds", "From a document's arrival to the decision where it goes.", _MATCHING
        )
        self._delivery_seconds = _Histogram(
            "delivery_seconds", "From the first broker to the queue of a client here.", _LATENCIES
        )
        self._publish_seconds = _Histogram(
            "publish_seconds", "From a publication to its acknowledgement.", _LATENCIES
        )

    def matched(self, size: int, seconds: float, is_wanted: bool) -> None:
        """Note that a document was matched."""
        counts = self._counts
        counts["documents_in"] += 1
        counts["document_bytes_in"] += size
        counts["documents_matched" if is_wanted else "documents_filtered"] += 1
        self._match_seconds.observe(seconds)

    def repeated(self) -> None:
        """Note a document that had come before."""
        self._counts["documents_repeated"] += 1

    def offered(self, queued: int, dropped: int, published: int) -> None:
        """Note a document for so many clients, published at a time in milliseconds.

        It is timed once, however many want it: they have it at the same moment.
        """
        if queued:
            self._counts["documents_out"] += queued
            self._delivery_seconds.observe(max(0.0, time.time() - published / 1000))
        if dropped:
            self._dropped["client"] += dropped

    def forwarded(self, was_queued: bool) -> None:
        """Note a document for a neighbour."""
        if was_queued:
            self._counts["documents_forwarded"] += 1
        else:
            self._dropped["neighbour"] += 1

    def resent(self) -> None:
        """Note a document that is sent again to a home."""
        self._counts["documents_resent"] += 1

    def refused(self, code: str) -> None:
        """Note that something was refused."""
        self._refused[code] += 1

    def wrong_token(self) -> None:
        """Note that somebody showed a token that nobody has."""
        self._counts["wrong_tokens"] += 1

    def lost(self, count: int) -> None:
        """Note that retention took documents that nobody had acknowledged."""
        self._counts["documents_lost"] += count

    def outdated(self, count: int) -> None:
        """Note documents that somebody would have got, had they not expired."""
        self._counts["documents_expired"] += count

    def acknowledged(self, seconds: float) -> None:
        """Note how long a publisher waited."""
        self._publish_seconds.observe(seconds)

    def text(self, figures: Iterable[Figure]) -> bytes:
        """Everything, with figures that stand somewhere, as Prometheus reads it."""
        return generate_latest(_registry([*self._families(), *map(_family, figures)]))

    def value(self, name: str, labels: dict[str, str] | None = None) -> float:
        """One figure, by its full name; 0 if there is none."""
        return _registry([*self._families()]).get_sample_value(name, labels or {}) or 0.0

    def _families(self) -> Iterator[Metric]:
        for name, text in _COUNTED.items():
            yield _family(Figure(name, text, {"": self._counts[name]}, is_counted=True))
        dropped = "Documents for which a queue was full."
        yield _family(Figure("documents_dropped", dropped, self._dropped, "to", is_counted=True))
        refused = "What was refused, by the reason."
        yield _family(Figure("refused", refused, self._refused, "code", is_counted=True))
        for histogram in (self._match_seconds, self._delivery_seconds, self._publish_seconds):
            yield histogram.family()


def _family(figure: Figure) -> Metric:
    family: GaugeMetricFamily | CounterMetricFamily
    kind = CounterMetricFamily if figure.is_counted else GaugeMetricFamily
    labels = [figure.label] if figure.label else []
    family = kind(f"twigcast_{figure.name}", figure.text, labels=labels)
    for label, value in figure.values.items():
        family.add_metric([label] if labels else [], value)
    return family


def _registry(families: list[Metric]) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(_Families(families))
    return registry


class _Families(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families
