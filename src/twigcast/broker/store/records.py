"""What goes into a broker's store and comes out of it, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class QueueEntry(NamedTuple):
    """A document's sequence in the queue of a durable subscription, and the keys it matched."""

    durable: str
    sequence: int
    keys: tuple[str, ...]


class Owed(NamedTuple):
    """A document that is owed to a home: the how manyth that this store owes to it."""

    home: str
    number: int


class Received(NamedTuple):
    """A document that another broker owed to this one, as numbered in a store of that broker's.

    A later epoch of an origin, which sorts after the earlier ones, ends them.
    """

    origin: str
    epoch: str
    number: int
    settled: int = 1
    """Nothing below this number will come any more: it was confirmed, or given up."""


class StoredDocument(NamedTuple):
    """A document as it is kept; the times are in milliseconds since 1970."""

    id: str
    content: bytes
    published: int
    """When the first broker had it."""
    stored: int
    """When this store got it."""


class Queued(NamedTuple):
    """A document in the queue of a durable subscription."""

    sequence: int
    keys: tuple[str, ...]
    document: StoredDocument


class Durable(NamedTuple):
    """A durable subscription and where its queue stands."""

    name: str
    owner: str
    expressions: dict[str, str]
    """The canonical text of each expression, by key."""
    first: int
    """The first sequence number that is still kept; ``last`` + 1 if none is."""
    last: int
    """The last sequence number that was ever given; 0 if none was."""
    acknowledged: int
    """Whatever is kept up to here is acknowledged."""
    acknowledged_beyond: frozenset[int]
    missed: int
    """How many entries retention has dropped that nobody had acknowledged."""
    missed_reported: int = 0
    """How many of those were reported to a consumer."""
    gap: tuple[int, int] = (0, 0)
    """Numbers that are never given: those after the first, up to and with the second.

    It lies between what the store knew when it had fallen back, and what came after that.
    """


class Home(NamedTuple):
    """What the durable subscriptions at another broker want, as far as it is known."""

    epoch: str
    version: int
    patterns: tuple[str, ...]


class OwedState(NamedTuple):
    """What is owed to a home: the numbers not confirmed yet, and the next to give."""

    next: int
    pending: tuple[int, ...]


class OwedDocuments(NamedTuple):
    """Documents that are owed to a home, as many as were to be read at once."""

    documents: list[tuple[int, StoredDocument]]
    """In the order of their numbers."""
    gone: tuple[int, ...]
    """The numbers under which nothing is owed any more; the others did not fit."""


class StoreFigures(NamedTuple):
    """How much is in a store."""

    documents: int
    bytes: int
    queued: Mapping[str, int]
    """By durable subscription, the entries that are not acknowledged."""
    owed: Mapping[str, int]
    """By home, the documents that it has not confirmed."""
