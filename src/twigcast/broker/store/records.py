"""What comes out of a broker's store, as plain values.

What goes in, and what there is at opening, is in :mod:`twigcast.delivery.writes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from twigcast.delivery import Destination, Headers, Parcel
from twigcast.routing import DocumentId


class StoredDocument(NamedTuple):
    """A document as it is kept; the times are in milliseconds since 1970."""

    id: str
    content: bytes
    published: int
    """When the first broker had it."""
    stored: int
    """When this store got it."""
    headers: Headers = ()
    expires: int = 0
    """From when on nobody wants it any more; 0 for never."""
    scope: int = 0
    """How deep the unit lies that it does not leave; 0 for the whole network."""
    to: tuple[Destination, ...] = ()
    """Of a letter: whom it was addressed to."""


class Queued(NamedTuple):
    """A document in the queue of a durable subscription."""

    sequence: int
    keys: tuple[str, ...]
    document: StoredDocument


class OwedDocuments(NamedTuple):
    """Documents that are owed to a home, as many as were to be read at once."""

    documents: list[Parcel]
    """In the order of the ids that were asked for."""
    gone: tuple[DocumentId, ...]
    """The ids of documents that are not owed any more; those in neither list did not fit."""


class Letter(NamedTuple):
    """A document that was set aside, without its content."""

    number: int
    """Grows; no number is given twice."""
    id: str
    durable: str
    """The durable subscription whose queue it was in; empty if it was in none."""
    home: str
    """The home that it was owed to; empty if it was owed to none."""
    sequence: int
    """Its sequence in the queue; 0 if it was in none."""
    keys: tuple[str, ...]
    reason: str
    at: int
    """When it was set aside."""
    size: int
    """Bytes of its content."""


class StoreFigures(NamedTuple):
    """How much is in a store."""

    documents: int
    bytes: int
    queued: Mapping[str, int]
    """By durable subscription, the entries that are not acknowledged."""
    owed: Mapping[str, int]
    """By home, the documents that it has not confirmed."""
    letters: int
    publishers: Mapping[str, int]
    """By publisher, the bytes of documents that are kept on its account."""
    standing_by: tuple[str, ...] = ()
    """The other doors of the group."""
