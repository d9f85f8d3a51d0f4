"""The speed of live brokers: all rows, in one run."""

from __future__ import annotations

from collections.abc import Iterator

from twigcast.experiments.broker_bench import BrokerBench
from twigcast.experiments.results import Result


def broker_speed(bench: BrokerBench) -> Iterator[Result]:
    """Every row, in the order in which people read them; needs gRPC."""
    # Here, because these need gRPC when they run, and who imports the experiments may not have it.
    from twigcast.experiments.broker_latency import hop_rows, spread_rows
    from twigcast.experiments.broker_memory import memory_rows
    from twigcast.experiments.broker_throughput import throughput_rows

    with bench.scratch():
        yield from throughput_rows(bench)
        yield from hop_rows(bench)
        yield from memory_rows(bench)
        yield from spread_rows(bench)
