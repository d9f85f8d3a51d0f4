"""The queues of all durable subscriptions of a broker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from weakref import WeakKeyDictionary

from twigcast.delivery.durable_queue import DurableQueue
from twigcast.delivery.writes import Destination, Entry
from twigcast.routing import Recipients

_LINK: Final = "durable:"


class Queues:
    """The queues, by the names of their subscriptions."""

    def __init__(self) -> None:
        self._queues: dict[str, DurableQueue] = {}
        self._split: WeakKeyDictionary[Recipients, tuple[tuple[Entry, ...], Recipients]]
        self._split = WeakKeyDictionary()

    def __iter__(self) -> Iterator[DurableQueue]:
        return iter(self._queues.values())

    @staticmethod
    def link(name: str) -> str:
        """What a durable subscription is called as a client of the router's."""
        return f"{_LINK}{name}"

    def put(self, queue: DurableQueue) -> None:
        """Begin with a queue."""
        self._queues[queue.name] = queue

    def close(self, name: str) -> DurableQueue:
        """Let go of a queue."""
        return self._queues.pop(name)

    def get(self, name: str) -> DurableQueue | None:
        """The queue of a durable subscription, if there is one."""
        return self._queues.get(name)

    def __getitem__(self, name: str) -> DurableQueue:
        return self._queues[name]

    def split(self, recipients: Recipients) -> tuple[tuple[Entry, ...], Recipients]:
        """Which deliveries are for durable subscriptions, and which are not."""
        split = self._split.get(recipients)
        if split is None:
            entries, others = [], []
            for each in recipients.deliveries:
                name, keys = each
                if name.startswith(_LINK):
                    entries.append(Entry(name[len(_LINK) :], keys))
                else:
                    others.append(each)
            # What is kept must not refer to what it is kept for, or it would be kept for ever.
            split = self._split[recipients] = tuple(entries), Recipients(tuple(others))
        return split

    def named(self, home: str, to: Iterable[Destination]) -> tuple[tuple[Entry, ...], list[str]]:
        """The queues here that a document is addressed to, and why others cannot have it."""
        here = [each.durable for each in to if each.broker == home]
        lacking = [
            f"there is no durable subscription {name!r} at {home}: subscribe there under this "
            "name, and publish the document again"
            for name in here
            if name not in self._queues
        ]
        return tuple(Entry(name, ()) for name in here if name in self._queues), lacking

    def enter(
        self, entries: Sequence[Entry], sequences: Sequence[int]
    ) -> list[tuple[str, int, tuple[str, ...]]]:
        """Note that a document is safe in queues; where it is new."""
        entered = []
        for (name, keys), sequence in zip(entries, sequences, strict=True):
            queue = self._queues.get(name)
            if sequence and queue is not None:
                queue.enter(sequence)
                entered.append((name, sequence, keys))
        return entered
