"""Brokers as a format of Spark: ``format("twigcast")`` for reading, writing and streaming.

    spark.readStream ──► QueueStreamReader ──► rows ──► … ──► StreamPublisher ◄── df.writeStream
    spark.read ────────► QueueReader ────────► rows ──► … ──► BatchPublisher  ◄── df.write

Spark makes these objects on the driver and in other processes, so none of them connects before it
is asked for data.
"""

from __future__ import annotations

from twigcast.pipeline.brokers.registering import register_brokers

__all__ = ["register_brokers"]
