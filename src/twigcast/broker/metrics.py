"""What a broker counts and measures, for Prometheus.

Counters and histograms are kept as documents pass; what stands somewhere anyway (tables, queues,
links) is looked up when somebody asks, so it costs nothing in between.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

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


class Metrics:
    """The counters of one broker; the names begin with ``twigcast_``."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def counter(name: str, text: str, labels: Iterable[str] = ()) -> Counter:
            return Counter(f"twigcast_{name}", text, labels, registry=self.registry)

        def histogram(name: str, text: str, buckets: Iterable[float]) -> Histogram:
            return Histogram(
                f"twigcast_{name}", text, registry=self.registry, buckets=tuple(buckets)
            )

        self._in = counter("documents_in", "Documents from publishers and neighbours.")
        self._in_bytes = counter("document_bytes_in", "Bytes of these documents.")
        self._matched = counter(
            "documents_matched", "Documents that somebody wants, here or beyond."
        )
        self._filtered = counter("documents_filtered", "Documents that nobody wants.")
        self._repeated = counter("documents_repeated", "Documents that had come before.")
        self._out = counter("documents_out", "Documents queued for clients.")
        self._forwarded = counter("documents_forwarded", "Documents queued for neighbours.")
        self._resent = counter("documents_resent", "Documents sent again to homes.")
        self._dropped = counter(
            "documents_dropped", "Documents for which a queue was full.", ["to"]
        )
        self._to_client = self._dropped.labels("client")
        self._to_neighbour = self._dropped.labels("neighbour")
        self._refused = counter("refused", "What was refused, by the reason.", ["code"])
        self._wrong_tokens = counter("wrong_tokens", "Tokens that nobody has.")
        self._lost = counter("documents_lost", "Undelivered documents lost to retention.")
        self._outdated = counter(
            "documents_expired", "Documents that went no further, since their time was over."
        )
        self._match_seconds = histogram(
            "match_seconds", "From a document's arrival to the decision where it goes.", _MATCHING
        )
        self._delivery_seconds = histogram(
            "delivery_seconds", "From the first broker to the queue of a client here.", _LATENCIES
        )
        self._publish_seconds = histogram(
            "publish_seconds", "From a publication to its acknowledgement.", _LATENCIES
        )

    def matched(self, size: int, seconds: float, is_wanted: bool) -> None:
        """Note that a document was matched."""
        self._in.inc()
        self._in_bytes.inc(size)
        (self._matched if is_wanted else self._filtered).inc()
        self._match_seconds.observe(seconds)

    def repeated(self) -> None:
        """Note a document that had come before."""
        self._repeated.inc()

    def offered(self, queued: int, dropped: int, published: int) -> None:
        """Note a document for so many clients, published at a time in milliseconds.

        It is timed once, however many want it: they have it at the same moment.
        """
        if queued:
            self._out.inc(queued)
            self._delivery_seconds.observe(max(0.0, time.time() - published / 1000))
        if dropped:
            self._to_client.inc(dropped)

    def forwarded(self, was_queued: bool) -> None:
        """Note a document for a neighbour."""
        (self._forwarded if was_queued else self._to_neighbour).inc()

    def resent(self) -> None:
        """Note a document that is sent again to a home."""
        self._resent.inc()

    def refused(self, code: str) -> None:
        """Note that something was refused."""
        self._refused.labels(code).inc()

    def wrong_token(self) -> None:
        """Note that somebody showed a token that nobody has."""
        self._wrong_tokens.inc()

    def lost(self, count: int) -> None:
        """Note that retention took documents that nobody had acknowledged."""
        self._lost.inc(count)

    def outdated(self, count: int) -> None:
        """Note documents that somebody would have got, had they not expired."""
        self._outdated.inc(count)

    def acknowledged(self, seconds: float) -> None:
        """Note how long a publisher waited."""
        self._publish_seconds.observe(seconds)

    def text(self, figures: Iterable[Figure]) -> bytes:
        """Everything, with figures that stand somewhere, as Prometheus reads it."""
        standing = CollectorRegistry()
        standing.register(_Standing(figures))
        return generate_latest(self.registry) + generate_latest(standing)

    def value(self, name: str, labels: dict[str, str] | None = None) -> float:
        """One figure, by its full name; 0 if there is none."""
        return self.registry.get_sample_value(name, labels or {}) or 0.0


class _Standing(Collector):
    def __init__(self, figures: Iterable[Figure]) -> None:
        self._figures = figures

    def describe(self) -> Iterable[Metric]:
        return ()  # so that registering does not ask for them

    def collect(self) -> Iterable[Metric]:
        for figure in self._figures:
            family: GaugeMetricFamily | CounterMetricFamily
            kind = CounterMetricFamily if figure.is_counted else GaugeMetricFamily
            labels = [figure.label] if figure.label else []
            family = kind(f"twigcast_{figure.name}", figure.text, labels=labels)
            for label, value in figure.values.items():
                family.add_metric([label] if labels else [], value)
            yield family
