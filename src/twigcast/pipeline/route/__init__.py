"""The batch job: documents are matched with all subscriptions, or routed through a network.

    subscriptions, network ──decisions──► indexes ──► a bundle, one file
                                                        │ mapped by each worker
    sources ──► batches of documents ──verdicts─────────┴──► one verdict a document
                                                        ┌──────────┘
                                    Spark's writers ◄───┴──► writing, by the workers themselves
                                           └──► results: deliveries, documents, rejected, links

``job`` is what a caller sees.  ``decisions`` compiles the subscriptions or freezes the network.
``verdicts`` decides a batch in a worker, ``results`` and ``writing`` make tables of the verdicts,
and ``reading`` reads the tables back.  A stream uses the same modules, batch by batch.

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
