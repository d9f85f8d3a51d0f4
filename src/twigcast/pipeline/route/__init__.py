"""Documents past all subscriptions at once, or through a whole network: the batch job.

    subscriptions, network ──decisions──► indexes ──► a bundle, one file
                                                        │ mapped by each worker
    sources ──► batches of documents ──verdicts─────────┴──► one verdict a document
                                                        ┌──────────┘
                                    Spark's writers ◄───┴──► writing, by the workers themselves
                                           └──► results: deliveries, documents, rejected, links

``job`` is what a caller sees, ``decisions`` makes ready what decides, ``verdicts`` is what a worker
says of a batch, ``results`` and ``writing`` make tables of it, and ``reading`` reads those back.
A stream decides and writes in the same way, batch by batch.

Invariant: a verdict is a pure function of a document and the bundle, so any task may be repeated.
"""

from __future__ import annotations

from twigcast.pipeline.route.indexes import SHARD_SIZE
from twigcast.pipeline.route.job import RouteJob, RouteReport, RouteSettings, prepare_route, route
from twigcast.pipeline.route.reading import read_table
from twigcast.pipeline.route.results import LinkTraffic, Totals

__all__ = [
    "SHARD_SIZE",
    "LinkTraffic",
    "RouteJob",
    "RouteReport",
    "RouteSettings",
    "Totals",
    "prepare_route",
    "read_table",
    "route",
]
