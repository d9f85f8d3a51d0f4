"""The speed of live brokers: throughput, latency, memory.

    BrokerBench (networks of processes) ──┬──► Load: a process that plays publishers, subscribers
                                          └──► broker_speed: rows beside goals

gRPC is imported when the rows are measured.
"""

from __future__ import annotations

from lab.benchmarks.broker.bench import FULL_BROKER, QUICK_BROKER, BrokerBench, BrokerSizes
from lab.benchmarks.broker.speed import broker_speed

__all__ = ["FULL_BROKER", "QUICK_BROKER", "BrokerBench", "BrokerSizes", "broker_speed"]
