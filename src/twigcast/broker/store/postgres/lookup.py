"""What the database has of whatever a batch of writes names, asked for all at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from twigcast.broker.store.postgres.connection import Connection
from twigcast.broker.store.postgres.identity import unpack_entries
from twigcast.delivery import (
    Acknowledge,
    Confirm,
    KeepDocument,
    NoteAttempts,
    NoteReceived,
)

CommonWrite = KeepDocument | NoteReceived | Acknowledge | Confirm | NoteAttempts
"""What is written all the time, and in any number; such writes share their statements."""

_DOCUMENTS: Final = """
SELECT id, number, entries,
    ARRAY(SELECT home FROM owed JOIN debts ON debts.number = owed.debt
        WHERE owed.document = documents.number AND home IS NOT NULL),
    EXISTS (SELECT FROM letters WHERE document = documents.number
        AND durable_name = '' AND home = '')
FROM documents WHERE id = ANY(%s)
"""
_PUBLICATIONS: Final = (
    "SELECT publication, id, digest FROM publications WHERE publication = ANY(%s)"
)
_QUEUES: Final = "SELECT name, number, last FROM durables WHERE name = ANY(%s)"
_NUMBERS: Final = (
    "SELECT setval('document_numbers', last_value + %s), last_value FROM document_numbers"
)


@dataclass(slots=True)
class KnownDocument:
    """A document that is kept, or is going to be."""

    number: int
    is_stored: bool
    queues: set[int] = field(default_factory=set)
    entries: bytearray = field(default_factory=bytearray)
    """Those that are not in the database yet, packed."""
    homes: set[str] = field(default_factory=set)
    is_letter: bool = False
    """Whether it is a letter that was in no queue and owed to nobody."""
    added: int = 0
    """References that are not in the database yet."""


@dataclass(slots=True)
class KnownQueue:
    """Where a queue stands."""

    number: int
    stored: int
    """The last sequence in the database."""
    last: int
    documents: list[int] = field(default_factory=list)
    """Of the sequences that are not in the database yet; so are the times and the keys."""
    times: list[int] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


class Publication(NamedTuple):
    """The document that a publication belongs to, and the digest of its content."""

    id: str
    digest: bytes


@dataclass(slots=True)
class Known:
    """What there is of everything that a batch names; the batch adds to it as it is decided."""

    documents: dict[str, KnownDocument]
    publications: dict[str, Publication]
    queues: dict[str, KnownQueue]
    next_number: int


def look_up(connection: Connection, writes: Iterable[CommonWrite]) -> Known:
    """Ask for everything that writes name: one round trip, since the statements do not wait."""
    names = _Names()
    for write in writes:
        names.add(write)
    documents = connection.execute(_DOCUMENTS, ([*names.documents],))
    publications = connection.execute(_PUBLICATIONS, ([*names.publications],))
    queues = connection.execute(_QUEUES, ([*names.queues],))
    numbers = connection.execute(_NUMBERS, (max(names.kept, 1),))
    return Known(
        {
            id_: KnownDocument(
                number,
                True,
                {durable for durable, _ in unpack_entries(entries)},
                homes={*homes},
                is_letter=is_letter,
            )
            for id_, number, entries, homes, is_letter in documents.fetchall()
        },
        {name: Publication(*rest) for name, *rest in publications.fetchall()},
        {name: KnownQueue(number, last, last) for name, number, last in queues.fetchall()},
        numbers.fetchall()[0][1] + 1,
    )


@dataclass(slots=True)
class _Names:
    documents: dict[str, None] = field(default_factory=dict)
    publications: dict[str, None] = field(default_factory=dict)
    queues: dict[str, None] = field(default_factory=dict)
    kept: int = 0

    def add(self, write: CommonWrite) -> None:
        if isinstance(write, KeepDocument):
            self.kept += 1
            self.documents[str(write.parcel.id)] = None
            if write.parcel.publication:
                self.publications[write.parcel.publication] = None
            self.queues.update(dict.fromkeys(entry.durable for entry in write.entries))
        elif isinstance(write, Acknowledge | NoteAttempts):
            self.queues[write.durable] = None
