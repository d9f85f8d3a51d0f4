"""The store of a broker: documents, the queues they are in and the homes they are owed to, on disk.

    the broker's event loop
      │  add_document, acknowledge, confirm, ...                 read_queue, read_owed, ...
      ▼                                                             ▲
    StoreWriter: one thread, many writes in a transaction         StoreReaders: a few threads
      │                                                             │
      └──────────► store.sqlite with its write-ahead log ───────────┘

A document's content is kept once, however many queues and homes refer to it.  Whoever writes gets a
future that is done when the write is safe: after that, neither a kill of the process nor, with
``sync="full"``, a loss of power undoes it.  Nothing that the event loop calls waits for the disk.

What a broker must know to go on is read at opening; afterwards the broker keeps its own copies, and
chooses sequence numbers and the numbers of what it owes, which grow.

A number that is given twice would be taken for a duplicate, and its document lost.  That could
happen where a store falls back: an older copy has replaced it, or power was lost with
``sync="normal"``.  So the numbers of what is owed leap to the time, in microseconds, at each
opening.  Sequence numbers, which people see, leap only where the store is known to
have fallen back.
"""

from __future__ import annotations

from twigcast.broker.store.records import (
    Durable,
    Home,
    Owed,
    OwedDocuments,
    OwedState,
    Queued,
    QueueEntry,
    Received,
    StoredDocument,
    StoreFigures,
)
from twigcast.broker.store.retention import Retention, Trimmed
from twigcast.broker.store.store import Store

__all__ = [
    "Durable",
    "Home",
    "Owed",
    "OwedDocuments",
    "OwedState",
    "QueueEntry",
    "Queued",
    "Received",
    "Retention",
    "Store",
    "StoreFigures",
    "StoredDocument",
    "Trimmed",
]
