from collections.abc import Iterable
from typing import Literal, TypeAlias, final

from twigcast.matching.batches import ReaderName

Outcome: TypeAlias = Literal["alike", "left to expat", "refused", "wrongly taken", "other events"]

@final
class ReaderPair:
    def compare(self, document: bytes, encoding: str | None = None) -> Outcome: ...
    def count_events(self, documents: Iterable[bytes], reader: ReaderName = "checked") -> int: ...

def fuzz(
    seeds: list[bytes], tokens: list[bytes], seed: int, count: int
) -> tuple[dict[Outcome, int], bytes]: ...
