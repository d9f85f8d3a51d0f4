"""What the rows of the matching benchmark share: sizes, documents, subscriptions, the yardstick.

The yardstick is bare expat: making a parser without handlers and letting it read the document.

Times are those of the processor where one thread works, so that what else the machine does counts
less, and those of the clock where threads or files are measured.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Final
from xml.parsers import expat

from lab.benchmarks.generated import Generated
from lab.benchmarks.measure import Measurement, Progress, measure, quiet
from lab.benchmarks.results import Detail, Goal, Result, ratio_result
from twigcast.matching import Matcher
from twigcast.schema import Schema
from twigcast.workload import (
    DocumentParameters,
    PathParameters,
    TreeParameters,
    ValueParameters,
    generate_documents,
    generate_subscriptions,
)

PATHS: Final = PathParameters(wildcard=0.1, descendant=0.1)
TREES: Final = TreeParameters()
VALUES: Final = ValueParameters(fraction=1.0)
DOCUMENTS: Final = DocumentParameters(levels=10, size=4_000)

OURS: Final = "twigcast"
EXPAT: Final = "expat alone"

_QUICK_ROUNDS: Final = 3
"""A method that takes milliseconds a round is timed so many times as often as asked."""
_AT_ONCE: Final = 50


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much each row does; the sizes that the goals are about by default."""

    name: str = "full"
    documents: int = 500
    warming: int = 2_000
    """Documents before those that were never seen."""
    fresh: int = 100
    """Documents a round that were never seen."""
    paths: int = 100_000
    cold: int = 150_000
    cold_matchers: int = 5
    subscribers: int = 500_000
    expressions: int = 40_000
    delivered: int = 170_000
    """Subscribers that a document is to match."""
    trees: int = 100_000
    values: int = 100_000
    few: int = 10_000
    many: int = 1_000_000
    peers: int = 10_000
    peer_documents: int = 50
    updates: int = 20_000
    builds: int = 3
    real: int = 5_000
    growing_paths: tuple[int, ...] = (
        *(1_000, 2_000, 5_000, 10_000, 20_000, 50_000),
        *(100_000, 200_000, 500_000, 1_000_000),
    )
    growing_trees: tuple[int, ...] = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
    peer_patience: float = 20.0
    """A peer gets no larger set once that would take so many seconds."""


FULL_SIZES: Final = Sizes()
QUICK_SIZES: Final = Sizes(
    name="quick",
    documents=150,
    warming=500,
    fresh=50,
    paths=10_000,
    cold=15_000,
    cold_matchers=3,
    subscribers=50_000,
    expressions=4_000,
    delivered=17_000,
    trees=5_000,
    values=5_000,
    few=1_000,
    many=50_000,
    peers=10_000,
    peer_documents=5,
    updates=4_000,
    builds=2,
    real=1_000,
    growing_paths=(1_000, 5_000, 20_000, 50_000),
    growing_trees=(1_000, 5_000),
    peer_patience=1.0,
)


class MatchingBench:
    """One run of the benchmark: where its workload comes from and how often it is timed.

    Subscriptions of one kind are one sequence, made as far as someone asks for and kept; a smaller
    set is the beginning of a larger one.
    """

    def __init__(
        self,
        schema: Schema,
        sizes: Sizes,
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
        self.notes: list[str] = []
        """What could not be measured here, and what to do about it."""
        self._documents = generate_documents(schema, DOCUMENTS, seed=seed)
        self._paths = Generated("paths", map(str, generate_subscriptions(schema, PATHS, seed=seed)))
        # Two generators: one that draws values half of the time runs out of plain trees sooner, and
        # then gives ever fewer of them.
        plain = generate_subscriptions(schema, TREES, seed=seed)
        valued = generate_subscriptions(schema, TREES, seed=seed, values=VALUES)
        both = chain.from_iterable(zip(plain, valued, strict=False))
        self._trees = Generated("trees", map(str, both))

    def note(self, text: str) -> None:
        """Say once what could not be measured."""
        if text not in self.notes:
            self.notes.append(text)

    @cached_property
    def documents(self) -> list[bytes]:
        """The documents that most rows match."""
        return self.more_documents(self.sizes.documents)

    def more_documents(self, count: int) -> list[bytes]:
        """Documents that nobody had before."""
        self.progress(f"making {count:,} documents")
        return list(islice(self._documents, count))

    def paths(self, count: int) -> list[str]:
        """That many distinct linear subscriptions, or all that the schema has."""
        return self._paths.take(count, self.progress)

    def trees(self, count: int) -> list[str]:
        """That many distinct tree patterns, half of them with a value, or all there are."""
        return self._trees.take(count, self.progress)

    def fill(self, texts: Sequence[str], destinations: int = 0) -> Matcher:
        """A matcher with these subscriptions, the first under ``s0``, dealt out to destinations."""
        self.progress(f"adding {len(texts):,} subscriptions")
        return fill(texts, destinations)

    def goal(self, bound: float, size: str, *, least: bool = False) -> Goal:
        """A bound on a figure; it applies where the size of that name is the full one."""
        full = getattr(self.sizes, size) == getattr(FULL_SIZES, size)
        return Goal(bound, least, applies=full)

    @property
    def quick_rounds(self) -> int:
        """How often to time what takes milliseconds."""
        return _QUICK_ROUNDS * self.rounds

    def against_expat(
        self, work: str, matcher: Matcher, documents: Sequence[bytes]
    ) -> list[Measurement]:
        """Time a matcher that has seen the documents, and expat."""
        self.progress(work)
        matcher.match_batch(documents)
        return measure(
            work,
            {EXPAT: lambda: parse_all(documents), OURS: lambda: matcher.match_batch(documents)},
            units=len(documents),
            rounds=self.quick_rounds,
            clock=time.process_time,
        )

    def expat_ratio(
        self,
        name: str,
        work: str,
        matcher: Matcher,
        documents: Sequence[bytes],
        goal: Goal | None = None,
        **details: Detail,
    ) -> Result:
        """The time of a matcher that has seen the documents, as a multiple of expat's."""
        measurements = self.against_expat(work, matcher, documents)
        matches = mean_matches(matcher, documents)
        return ratio_result(
            name, work, measurements, OURS, goal=goal, matches=matches, details=details
        )

    def fresh_ratio(self, name: str, what: str, matcher: Matcher, goal: Goal) -> Result:
        """The same for documents that it sees once, after it has seen many others."""
        size, rounds = self.sizes.fresh, self.quick_rounds
        matcher.match_batch(self.more_documents(self.sizes.warming))
        batches = [self.more_documents(size) for _ in range(rounds + 1)]
        work = f"{what}, documents never seen, after {self.sizes.warming:,} others"
        self.progress(work)
        theirs, ours = iter(batches), iter(batches)
        measurements = measure(
            work,
            {
                EXPAT: lambda: parse_all(next(theirs)),
                OURS: lambda: matcher.match_batch(next(ours)),
            },
            units=size,
            rounds=rounds,
            clock=time.process_time,
        )
        matches = statistics.mean(mean_matches(matcher, batch) for batch in batches)
        return ratio_result(name, work, measurements, OURS, goal=goal, matches=matches)


def fill(texts: Iterable[str], destinations: int = 0) -> Matcher:
    """A matcher with these subscriptions, the first under ``s0``, dealt out to destinations."""
    matcher = Matcher()
    for number, text in enumerate(texts):
        destination = number % destinations if destinations else None
        matcher.add(f"s{number}", text, destination=destination)
    return matcher


def parse_all(documents: Iterable[bytes]) -> None:
    """Read each document with expat and do nothing with it."""
    for data in documents:
        expat.ParserCreate().Parse(data, True)


def mean_matches(matcher: Matcher, documents: Sequence[bytes]) -> float:
    """How many subscriptions match a document, on average."""
    # A few documents at a time: where subscribers are many, so are the answers' bytes.
    starts = range(0, len(documents), _AT_ONCE)
    matches = (
        len(matcher.match_batch(documents[start : start + _AT_ONCE]).ids) for start in starts
    )
    return sum(matches) / max(1, len(documents))
