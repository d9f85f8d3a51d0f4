"""The store of a broker: documents, the queues they are in and the homes they are owed to.

    the broker's event loop
      │  submit(ticket, write)          ▲ on_done(results)       read_queue, read_owed, ...
      ▼                                 │                           ▲
    StoreWriter: one thread, many writes in a transaction         StoreReaders: a few threads
      │                                                             │
      └──► Database: SQLite in a folder, or PostgreSQL ◄── Reader ──┘

What is written, what a write gives and what there is at opening is said in
:mod:`twigcast.delivery.writes`, the same for every store.  A document's content is kept
once, however many queues and homes refer to it.  A write whose result has come is safe: after that,
neither a kill of the process nor, with ``sync="full"``, a loss of power undoes it.  Nothing that
the event loop calls waits for the disk.
"""

from __future__ import annotations

from twigcast.broker.store.database import TakenError
from twigcast.broker.store.opening import open_store
from twigcast.broker.store.records import (
    Letter,
    OwedDocuments,
    Queued,
    StoredDocument,
    StoreFigures,
)
from twigcast.broker.store.retention import Retention, Trimmed
from twigcast.broker.store.store import Store

__all__ = [
    "Letter",
    "OwedDocuments",
    "Queued",
    "Retention",
    "Store",
    "StoreFigures",
    "StoredDocument",
    "TakenError",
    "Trimmed",
    "open_store",
]
