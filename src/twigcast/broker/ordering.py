"""Which documents of a shared queue stay in order: those with the same value at a path.

The queue is asked for documents first, and knows for whom they are once it has their keys.  A
document without the value has no key, and is for anybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from twigcast.documents import parse_value_path, read_document
from twigcast.errors import DocumentError
from twigcast.wire import messages


class Ordering:
    """The order of one queue, by the text of a path."""

    def __init__(self, path: str) -> None:
        self._path = parse_value_path(path)

    async def keys(self, deliveries: Mapping[int, bytes]) -> dict[int, str]:
        """The key of each delivery, by its sequence; an empty one for none."""
        return await asyncio.to_thread(self._keys, dict(deliveries))

    def _keys(self, deliveries: Mapping[int, bytes]) -> dict[int, str]:
        return {sequence: self._key(each) for sequence, each in deliveries.items()}

    def _key(self, delivery: bytes) -> str:
        try:
            value = self._path.read(read_document(messages.Delivery.FromString(delivery).content))
        except DocumentError:  # accepted with other limits, so that it has no value here
            value = None
        return "" if value is None else f"={value}"
