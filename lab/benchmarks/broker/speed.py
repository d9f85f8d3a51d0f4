"""The speed of live brokers: all rows, in one run."""

from __future__ import annotations

from collections.abc import Iterator

from lab.benchmarks.broker.bench import BrokerBench
from lab.benchmarks.results import Result


def broker_speed(bench: BrokerBench) -> Iterator[Result]:
    """Every row, in the order in which people read them; needs gRPC."""
    # Here, because these need gRPC when they run, and who imports the experiments may not have it.
    from lab.benchmarks.broker.fan_out import fan_out_rows
    from lab.benchmarks.broker.latency import hop_rows, spread_rows
    from lab.benchmarks.broker.memory import memory_rows
    from lab.benchmarks.broker.stalled import stalled_rows
    from lab.benchmarks.broker.throughput import throughput_rows

    with bench.scratch():
        yield from throughput_rows(bench)
        yield from fan_out_rows(bench)
        yield from stalled_rows(bench)
        yield from hop_rows(bench)
        yield from memory_rows(bench)
        yield from spread_rows(bench)
