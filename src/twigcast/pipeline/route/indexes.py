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
from twigcast.pipeline.columns import arrow_schema, batch_of

SHARD_SIZE: Final = 2_000_000
"""Subscriptions of one index, by default: some hundred bytes each for paths, more for trees."""
CACHE_BYTES: Final = 128 * 2**20
"""The largest match cache of a worker."""
_MATCHER: Final = "matcher"
_KEYS: Final = "keys.arrow"
_SUBSCRIBERS: Final = "subscribers.arrow"
_KEY_FIELDS: Final = arrow_schema("key string, subscriber int")
_SUBSCRIBER_FIELDS: Final = arrow_schema("subscriber string")
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
    with pa.ipc.new_file(str(folder / _KEYS), _KEY_FIELDS) as out:
        waiting = iter(subscriptions)
        while part := list(islice(waiting, _AT_ONCE)):
            rows = []
            for each in part:
                matcher.add(each.key, each.pattern)
                subscriber = numbers.setdefault(each.subscriber or each.key, len(numbers))
                rows.append((each.key, subscriber))
            out.write_batch(batch_of(rows, _KEY_FIELDS))
            count += len(part)
    with pa.ipc.new_file(str(folder / _SUBSCRIBERS), _SUBSCRIBER_FIELDS) as out:
        out.write_batch(batch_of([(name,) for name in numbers], _SUBSCRIBER_FIELDS))
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


def _columns(path: Path) -> list[pa.Array]:
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    chunks = table.combine_chunks().columns
    return [
        column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in chunks
    ]
