"""The index of subscriptions: a compiled matcher, with the key and subscriber of each number.

A folder with files that are mapped into memory: ``matcher``; ``keys.arrow`` with the key and the
number of the subscriber of each subscription, in the order in which the matcher has them, so that
its numbers are positions there; and ``subscribers.arrow`` with the names of the subscribers.  The
keys of all matches of a batch are then one gather of Arrow, with no Python object for any match.

A set that is too large for one machine is cut into *shards*, each an index of its own; there
is one task for each pair of a shard and a part of the documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

from twigcast.language import Subscription
from twigcast.matching import Matcher

SHARD_SIZE: Final = 2_000_000
"""Subscriptions of one index, by default: some hundred bytes each for paths, more for trees."""
CACHE_BYTES: Final = 128 * 2**20
"""The largest match cache of a worker."""
_MATCHER: Final = "matcher"
_KEYS: Final = "keys.arrow"
_SUBSCRIBERS: Final = "subscribers.arrow"
_KEY_FIELDS: Final = pa.schema([("key", pa.string()), ("subscriber", pa.int32())])
_SUBSCRIBER_FIELDS: Final = pa.schema([("subscriber", pa.string())])
_AT_ONCE: Final = 100_000


class Index(NamedTuple):
    """A matcher and the names of its subscriptions; numbers of the one are positions of the other.

    Keys are distinct, and so are subscribers.
    """

    matcher: Matcher
    keys: pa.Array
    subscriber_of: pa.Array
    """By subscription, the number of the subscriber."""
    subscribers: pa.Array


def write_index(subscriptions: Iterable[Subscription], folder: Path) -> int:
    """Compile subscriptions into a folder; returns how many there are.

    A subscription that names no subscriber has its key as the subscriber.
    """
    matcher = Matcher()
    count = 0
    numbers: dict[str, int] = {}
    with _file(folder / _KEYS, _KEY_FIELDS) as out:
        waiting = iter(subscriptions)
        while part := list(islice(waiting, _AT_ONCE)):
            for each in part:
                matcher.add(each.key, each.pattern)
            keys = [each.key for each in part]
            subscribers = [
                numbers.setdefault(each.subscriber or each.key, len(numbers)) for each in part
            ]
            columns = [pa.array(keys, pa.string()), pa.array(subscribers, pa.int32())]
            out.write_batch(pa.record_batch(columns, schema=_KEY_FIELDS))
            count += len(part)
    with _file(folder / _SUBSCRIBERS, _SUBSCRIBER_FIELDS) as out:
        names = pa.array(list(numbers), pa.string())
        out.write_batch(pa.record_batch([names], schema=_SUBSCRIBER_FIELDS))
    matcher.save(folder / _MATCHER)
    return count


def write_shards(
    subscriptions: Iterable[Subscription], folder: Path, shard_size: int
) -> Iterator[tuple[Path, int]]:
    """Compile subscriptions into folders, ``shard_size`` in each but the last; at least one."""
    waiting = iter(subscriptions)
    number = 0
    while True:
        part = folder / f"shard-{number}"
        part.mkdir()
        count = write_index(islice(waiting, shard_size), part)
        if count or not number:
            yield part, count
        if count < shard_size:
            return
        number += 1


def load_index(folder: Path) -> Index:
    """The index in a folder, mapped into memory."""
    keys, subscriber_of = _columns(folder / _KEYS)
    (subscribers,) = _columns(folder / _SUBSCRIBERS)
    matcher = Matcher.load(folder / _MATCHER, cache_bytes=CACHE_BYTES)
    return Index(matcher, keys, subscriber_of, subscribers)


def _file(path: Path, schema: pa.Schema) -> pa.ipc.RecordBatchFileWriter:
    return pa.ipc.new_file(str(path), schema)


def _columns(path: Path) -> list[pa.Array]:
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    chunks = table.combine_chunks().columns
    return [
        column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in chunks
    ]
