"""How long a broker's store keeps documents, and what it reports when it drops them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from twigcast.routing import DocumentId


@dataclass(frozen=True, slots=True)
class Retention:
    """What of the documents in a store is kept; whichever limit is met first counts.

    A document is needed while an entry of it waits in a queue, a home is owed it, or it is a
    letter.
    """

    age: float = 7 * 86400.0
    """Seconds that a document is kept, needed or not; and a publication, whatever becomes of it."""
    acknowledged_age: float = 3600.0
    """Seconds that a document is kept, at least, once nobody needs it any more."""
    size: int = 10 * 2**30
    """Bytes of documents; beyond that, those go that nobody needs, the oldest first.

    Documents that are needed stay: whoever lets publishers in sees to it that there is room.
    """
    publisher_size: int = 0
    """The same for the documents of each publisher; 0 for no limit."""

    def __post_init__(self) -> None:
        if min(self.age, self.acknowledged_age, self.size, self.publisher_size) < 0:
            raise ValueError(f"retention cannot be negative: {self}")

    def leaving(self, room: int) -> Retention:
        """The same, but a tenth of each size is left free, and so many bytes at least."""
        sizes = [
            min(max(1, size - max(size // 10, room)), size)
            for size in (self.size, self.publisher_size)
        ]
        return replace(self, size=sizes[0], publisher_size=sizes[1])


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What retention has dropped.

    What was dropped of a queue counts as acknowledged, for it cannot be delivered any more.
    """

    documents: int = 0
    bytes: int = 0
    lost: Mapping[str, int] = field(default_factory=dict)
    """By durable subscription, how many entries were dropped that nobody had acknowledged."""
    first: Mapping[str, int] = field(default_factory=dict)
    """By durable subscription that lost entries of either kind, the first that is still kept."""
    owed: Mapping[str, tuple[DocumentId, ...]] = field(default_factory=dict)
    """By home, the documents that it was owed and will not get."""
    publishers: Mapping[str, int] = field(default_factory=dict)
    """By publisher, the bytes of documents that were kept on its account."""

    @staticmethod
    def total(parts: Iterable[Trimmed]) -> Trimmed:
        """What was dropped bit by bit, as one."""
        documents = size = 0
        lost: Counter[str] = Counter()
        first: dict[str, int] = {}
        owed: defaultdict[str, tuple[DocumentId, ...]] = defaultdict(tuple)
        publishers: Counter[str] = Counter()
        for part in parts:
            documents += part.documents
            size += part.bytes
            lost.update(part.lost)
            first.update(part.first)
            for home, ids in part.owed.items():
                owed[home] += ids
            publishers.update(part.publishers)
        return Trimmed(documents, size, dict(lost), first, dict(owed), dict(publishers))
