"""What is left of a broker's table by covering and by merging."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lab.benchmarks.measure import Progress, followed
from twigcast.covering import CoveringTable, MergedSet, PathCounter
from twigcast.language import Pattern
from twigcast.routing import Interests


def covered_table(patterns: Sequence[Pattern], work: str, progress: Progress) -> list[Pattern]:
    """The patterns that no other one covers."""
    table = CoveringTable()
    for number, pattern in enumerate(followed(patterns, f"{work}: covering", progress)):
        table.add(str(number), pattern)
    return list(table.forwarded)


def merged_table(
    covered: Sequence[Pattern], counter: PathCounter, degree: float, work: str, progress: Progress
) -> list[Pattern]:
    """What merging up to a degree leaves of what covering leaves."""
    merged = MergedSet(counter, degree)
    merged.update(covered, ())
    doing = f"{work}: merging, D ≤ {degree:g}"
    merged.merge(lambda done, total: progress(doing, done, total))
    return list(merged.forwarded)


def publication_table(patterns: Iterable[Pattern]) -> Interests:
    """A broker's table in which one neighbour wants these patterns."""
    interests = Interests()
    neighbour = interests.open(is_client=False)
    for pattern in patterns:
        interests.add(neighbour, pattern)
    return interests


def matched(interests: Interests, publications: Iterable[bytes]) -> int:
    """Route publications at a broker; how many of them the neighbour wants."""
    return sum(1 for each in publications if interests.match(each).channels)
