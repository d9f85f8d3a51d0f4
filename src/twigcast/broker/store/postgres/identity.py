"""How ids of documents, keys and the entries of a document are written in the tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from struct import Struct
from typing import Final

from twigcast.routing import DocumentId

_ENTRY: Final = Struct("!iq")

encode_keys: Callable[[tuple[str, ...]], str] = lru_cache(65536)(json.dumps)
"""The text of an entry's keys; many entries have the same."""


def parse_id(text: str) -> DocumentId:
    """The id that a text stands for, as ``str`` has made it."""
    origin, incarnation, number = text.rsplit(":", 2)
    return DocumentId(origin, int(incarnation), int(number))


def pack_entry(durable: int, sequence: int) -> bytes:
    """A queue and a sequence in it, to be put behind others."""
    return _ENTRY.pack(durable, sequence)


def unpack_entries(packed: bytes) -> Iterator[tuple[int, int]]:
    """The queues and sequences that were packed."""
    return _ENTRY.iter_unpack(packed)


def int_array(numbers: Iterable[int]) -> str:
    """Numbers as PostgreSQL reads them; to make that is quicker than what psycopg does."""
    return "{" + ",".join(map(str, numbers)) + "}"
