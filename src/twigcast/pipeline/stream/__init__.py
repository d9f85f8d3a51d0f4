"""Documents past all subscriptions as they arrive, each exactly once: the continuous job.

    folder or streaming frame ──Spark──► batch 12 ──► newest subscriptions ──► OUTPUT/batch=00000012
                                            ▲                                         │
                                            └──────────── checkpoint ◄────────────────┘

Spark's Structured Streaming finds what is new, cuts it into batches and keeps a checkpoint; each
batch is decided on and written as :func:`~twigcast.pipeline.route.route` does it, then put in place
by one renaming.  Whenever the process is killed, the next one goes on: nothing is lost, and nothing
is there twice.

Cost: a batch takes a few tenths of a second beside its documents, so take many of them at once
where it does not have to be quick.
"""

from __future__ import annotations

from twigcast.pipeline.stream.batches import BatchReport
from twigcast.pipeline.stream.job import Stream, StreamSettings, stream

__all__ = ["BatchReport", "Stream", "StreamSettings", "stream"]
