"""The continuous job: documents are matched as they arrive, each exactly once.

    folder or streaming frame ──Spark──► batch 12 ──► newest subscriptions ──► OUTPUT/batch=00000012
                                            ▲                                         │
                                            └──────────── checkpoint ◄────────────────┘

Spark's Structured Streaming lists what is new, cuts it into batches and keeps a checkpoint.  Each
batch is decided and written as by :func:`~twigcast.pipeline.route.route`, then published by one
renaming.  If the process is killed, the next one goes on: no document is lost, and none is there
twice.

Cost: a batch takes a few tenths of a second beside its documents, so take many
documents at once where latency does not matter.
"""

from __future__ import annotations

from twigcast.pipeline.stream.batches import BatchReport
from twigcast.pipeline.stream.job import Stream, StreamSettings, stream

__all__ = ["BatchReport", "Stream", "StreamSettings", "stream"]
