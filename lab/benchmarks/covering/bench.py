"""What the rows of the covering benchmark share: sizes, patterns, queries, and methods of search.

The patterns are distinct trees in XNET's setting, and so are the queries, which are none of them.
Four methods search the same sets for the same queries:

========================== ===================================================================
twigcast                   ``PatternSearch``: the factorization tree, compiled
XSEARCH as published       ``PublishedSearch``: the same language and compiler, their algorithm
Linear, compiled           the compiled comparison with one pattern after the other
Linear, covers in a loop   :func:`twigcast.covers` with one pattern after the other
========================== ===================================================================

A slow method is asked fewer queries, spread evenly over all, but never over fewer patterns; its
ratio to ours is taken over the same queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lab.benchmarks.generated import Generated
from lab.benchmarks.measure import Progress, followed, quiet
from lab.benchmarks.results import Goal
from lab.published import LinearSearch, PublishedSearch
from twigcast.covering import PatternSearch, Search
from twigcast.language import Pattern
from twigcast.schema import Schema
from twigcast.workload import TreeParameters, generate_subscriptions

TREES: Final = TreeParameters()
MODES: Final = ("covered_by", "covering")
MODE_WORDS: Final = {"covered_by": "what a pattern covers", "covering": "what covers a pattern"}

OURS: Final = "twigcast"
PUBLISHED: Final = "XSEARCH as published"
COMPILED: Final = "Linear, compiled"
LOOP: Final = "Linear, covers in a loop"
METHODS: Final = (OURS, PUBLISHED, COMPILED, LOOP)


@dataclass(frozen=True, slots=True)
class CoveringSizes:
    """How much each row does; the sizes that the goals are about by default."""

    name: str = "full"
    patterns: tuple[int, ...] = (1_000, 10_000, 100_000)
    queries: int = 1_000
    sampled: int = 100
    """Queries for the published algorithm and for the compiled comparison."""
    looped: int = 100
    """Queries for ``covers`` in a loop."""
    updates: int = 20_000
    expressions: int = 100_000
    """Linear expressions that enter a covering table and leave it."""


FULL_COVERING: Final = CoveringSizes()
QUICK_COVERING: Final = CoveringSizes(
    name="quick",
    patterns=(500, 2_000, 8_000),
    queries=300,
    sampled=50,
    looped=10,
    updates=4_000,
    expressions=2_000,
)


class CoveringBench:
    """One run of the benchmark: where its workload comes from and how often it is timed."""

    def __init__(
        self,
        schema: Schema,
        sizes: CoveringSizes,
        *,
        seed: int,
        rounds: int,
        progress: Progress = quiet,
    ) -> None:
        self.schema = schema
        self.sizes = sizes
        self.seed = seed
        self.rounds = rounds
        self.progress = progress
        self._trees = Generated("trees", generate_subscriptions(schema, TREES, seed=seed))

    @property
    def counts(self) -> list[int]:
        """The sizes of the sets; the schema may not have enough for the largest."""
        most = len(self._all()) - len(self.queries())
        return [count for count in self.sizes.patterns if count < most] + (
            [most] if most <= max(self.sizes.patterns) else []
        )

    def patterns(self, count: int) -> list[Pattern]:
        """That many distinct patterns; a smaller set is the beginning of a larger one."""
        return self._all()[:count]

    def queries(self) -> list[Pattern]:
        """Further patterns; fewer where the schema has not as many as wanted."""
        every = self._all()
        return every[-min(self.sizes.queries, len(every) // 2) :]

    def _all(self) -> list[Pattern]:
        wanted = max(self.sizes.patterns) + self.sizes.queries
        return self._trees.take(wanted, self.progress)

    def goal(self, bound: float, size: str, *, least: bool = False) -> Goal:
        """A bound on a figure; it applies where the size of that name is the full one."""
        full = getattr(self.sizes, size) == getattr(FULL_COVERING, size)
        return Goal(bound, least, applies=full)

    def fill(self, method: str, patterns: Sequence[Pattern]) -> Search:
        """The patterns in a search of one kind."""
        search = _MAKERS[method]()
        for pattern in followed(patterns, f"{method}: adding {len(patterns):,}", self.progress):
            search.add(pattern)
        return search


_MAKERS: Final[dict[str, Callable[[], Search]]] = {
    OURS: PatternSearch,
    PUBLISHED: PublishedSearch,
    COMPILED: lambda: PatternSearch(linear=True),
    LOOP: LinearSearch,
}


def spread_evenly(queries: Sequence[Pattern], count: int) -> list[Pattern]:
    """So many of the queries, from beginning to end."""
    count = min(count, len(queries))
    return [queries[number * len(queries) // count] for number in range(count)]
