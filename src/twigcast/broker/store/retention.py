"""How long a broker's store keeps documents, and what it reports when it drops them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Retention:
    """What of the documents in a store is kept; whichever limit is met first counts."""

    age: float = 7 * 86400.0
    """Seconds that a document is kept, delivered or not."""
    acknowledged_age: float = 3600.0
    """Seconds that a document is kept once nobody needs it any more."""
    size: int = 10 * 2**30
    """Bytes of documents; beyond that the oldest go first, delivered or not."""

    def __post_init__(self) -> None:
        if not (self.age >= 0 and self.acknowledged_age >= 0 and self.size >= 0):
            raise ValueError(f"retention cannot be negative: {self}")


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What retention has dropped.

    A queue of which something was dropped goes on at ``first``: whatever is before it counts as
    acknowledged, for it cannot be delivered any more.
    """

    documents: int = 0
    bytes: int = 0
    lost: Mapping[str, int] = field(default_factory=dict)
    """By durable subscription, how many entries were dropped that nobody had acknowledged."""
    first: Mapping[str, int] = field(default_factory=dict)
    """By durable subscription that lost entries of either kind, the first that is still kept."""
    owed_lost: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """By home, the numbers of the documents that it was owed and will not get."""

    @staticmethod
    def total(parts: Iterable[Trimmed]) -> Trimmed:
        """What was dropped bit by bit, as one."""
        documents = size = 0
        lost: Counter[str] = Counter()
        first: dict[str, int] = {}
        owed_lost: defaultdict[str, list[int]] = defaultdict(list)
        for part in parts:
            documents += part.documents
            size += part.bytes
            lost.update(part.lost)
            first.update(part.first)
            for home, numbers in part.owed_lost.items():
                owed_lost[home] += numbers
        owed = {home: tuple(numbers) for home, numbers in owed_lost.items()}
        return Trimmed(documents, size, dict(lost), first, owed)
