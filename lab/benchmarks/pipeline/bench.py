"""What the rows of the pipeline benchmark share: sizes, subscriptions, sessions, a folder.

Nothing here needs Spark until a session is asked for, so the other benchmarks run without it.

Each part of the benchmark has a session of its own on two cores: its Python workers are new, so
what an earlier part left in their memory neither helps nor counts.
"""

from __future__ import annotations

import re
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from lab.benchmarks.generated import Generated
from lab.benchmarks.measure import Progress, quiet, spread
from lab.benchmarks.results import Goal
from twigcast.errors import PipelineError
from twigcast.schema import Schema
from twigcast.workload import (
    DocumentParameters,
    DocumentPlan,
    PathParameters,
    generate_subscriptions,
)

ANYWHERE: Final = PathParameters()
"""Without their first two steps these are anchored anywhere: ``//body.content/ol/li/money``."""
DENSE: Final = PathParameters(wildcard=0.1, descendant=0.1)
ROUTED: Final = tuple(
    DocumentParameters(levels=10, size=size) for size in (2_000, 4_000, 6_000, 9_000)
)
ARCHIVED: Final = DocumentParameters(levels=10, size=2_000)

_NAME: Final = re.compile(rb"<([^\s<>/!?]+)")
_LOOKED_AT: Final = 3
_DISTINCT_NAMES: Final = 8
_PREFIX: Final = "twigcast-bench-"
_MASTER: Final = "local[2]"
_GIGABYTE: Final = 1e9


@dataclass(frozen=True, slots=True)
class PipelineSizes:
    """How much each row does; the sizes that the goals are about by default."""

    name: str = "full"
    files: int = 8
    """Parts in which everything is made, each a file; so two cores get about the same of it."""
    subscriptions: int = 100_000
    documents: int = 200_000
    dense_documents: int = 20_000
    few_documents: int = 2_000
    """Those to warm up with, and those for lxml."""
    fewest_documents: int = 200
    """For Spark's own ``xpath_boolean``."""
    peers: int = 1_000
    """Subscriptions for the methods that ask one after the other."""
    roots: int = 10
    """Elements of each schema that are roots of documents in the archive."""
    templates: int = 5_000
    variants: int = 200
    """Documents of each template in the archive."""
    candidates: int = 100
    queries: int = 3
    expressions: int = 1_000_000
    disk_gigabytes: float = 5.0
    """What must be free in the folder for temporary files."""


FULL_PIPELINE: Final = PipelineSizes()
QUICK_PIPELINE: Final = PipelineSizes(
    name="quick",
    files=4,
    subscriptions=10_000,
    documents=10_000,
    dense_documents=2_000,
    few_documents=500,
    fewest_documents=40,
    peers=200,
    roots=6,
    templates=400,
    variants=50,
    candidates=40,
    queries=2,
    expressions=10_000,
    disk_gigabytes=1.0,
)


class PipelineBench:
    """One run of the benchmark: where its workload comes from and how often it is timed.

    ``schemas`` are for the documents of the archive; all else is drawn from the first of them.
    With a ``session`` everything runs in it, and it is left as it is; otherwise each part starts
    its own and stops it.
    """

    def __init__(
        self,
        schemas: Sequence[Schema],
        sizes: PipelineSizes,
        *,
        seed: int,
        rounds: int,
        progress: Progress = quiet,
        session: Any = None,
    ) -> None:
        self.schemas = tuple(schemas)
        self.schema = self.schemas[0]
        self.sizes = sizes
        self.seed = seed
        self.rounds = rounds
        self.progress = progress
        self.session = session
        self._scratch = Path(tempfile.gettempdir())
        self._paths = {
            ANYWHERE: Generated("subscriptions", _anchored_anywhere(schemas[0], seed)),
            DENSE: Generated(
                "subscriptions", map(str, generate_subscriptions(schemas[0], DENSE, seed=seed))
            ),
        }

    def paths(self, count: int, parameters: PathParameters = ANYWHERE) -> list[str]:
        """That many distinct linear subscriptions, or all that the schema has."""
        return self._paths[parameters].take(count, self.progress)

    @cached_property
    def kinds(self) -> tuple[Schema, ...]:
        """The documents of the archive: each schema with some of its elements as roots.

        Those are spread evenly over all whose documents have the size and several elements.
        """
        kinds = []
        for schema in self.schemas:
            inner = [name for name in schema.elements if schema.children(name)]
            others = [Schema(schema.elements, name) for name in inner if name != schema.root]
            able = [one for one in others if _is_able(one)]
            count = min(self.sizes.roots - 1, len(able))
            kinds += [schema, *(able[number * len(able) // count] for number in range(count))]
        return tuple(kinds)

    def goal(self, bound: float, *sizes: str, least: bool = False) -> Goal:
        """A bound on a figure; it applies where the sizes of those names are the full ones."""
        full = all(getattr(self.sizes, size) == getattr(FULL_PIPELINE, size) for size in sizes)
        return Goal(bound, least, applies=full)

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """A folder for all that is written, Spark's own files too, with room; it goes at the end.

        Java keeps the folder of Spark's files for all Spark sessions of a process: they share one.
        """
        with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name:
            free = shutil.disk_usage(name).free / _GIGABYTE
            if free < self.sizes.disk_gigabytes:
                raise PipelineError(
                    f"{Path(name).parent} has {free:.1f} GB free, and the benchmark needs "
                    f"{self.sizes.disk_gigabytes:g}; make room, or let TMPDIR name another folder"
                )
            self._scratch = Path(name)
            yield

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A folder within, for what one part writes; it goes at the end of that part."""
        with tempfile.TemporaryDirectory(dir=self._scratch, ignore_cleanup_errors=True) as name:
            yield Path(name)

    @contextmanager
    def spark(self) -> Iterator[Any]:
        """A session on two cores."""
        if self.session is not None:
            yield self.session
            return
        self.progress("starting Spark")
        with own_session(_MASTER, self._scratch) as session:
            yield session


def _anchored_anywhere(schema: Schema, seed: int) -> Iterator[str]:
    """Distinct linear subscriptions, most of them the ends of paths from the root."""
    seen: set[str] = set()
    for pattern in generate_subscriptions(schema, ANYWHERE, seed=seed):
        steps = str(pattern).strip("/").split("/")
        text = "//" + "/".join(steps[2:]) if len(steps) > 2 else str(pattern)
        if text not in seen:
            seen.add(text)
            yield text


def _is_able(schema: Schema) -> bool:
    """Whether its documents are neither much smaller than wanted nor all alike."""
    plan = DocumentPlan(schema, ARCHIVED, seed=0)
    documents = [plan.document(number) for number in range(_LOOKED_AT)]
    return all(
        2 * len(document) > (ARCHIVED.size or 0)
        and len(set(_NAME.findall(document))) >= _DISTINCT_NAMES
        for document in documents
    )


@contextmanager
def own_session(master: str, folder: Path, memory: str = "2g") -> Iterator[Any]:
    """A Spark session that is stopped at the end; ``memory`` counts for the first of a process."""
    from twigcast.pipeline import start_session

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": memory,
        "spark.local.dir": str(folder / ".spark"),
    }
    session = start_session("twigcast bench", master, settings)
    try:
        yield session
    finally:
        session.stop()


@dataclass(frozen=True, slots=True)
class Readings:
    """What each method took, round by round."""

    seconds: Mapping[str, Sequence[float]]

    def median(self, method: str) -> float:
        return statistics.median(self.seconds[method])

    def ratios(self, method: str, yardstick: str) -> list[float]:
        """The time of one method as a multiple of the other's in the same round."""
        pairs = zip(self.seconds[method], self.seconds[yardstick], strict=True)
        return [seconds / unit for seconds, unit in pairs]

    def ratio(self, method: str, yardstick: str) -> tuple[float, float]:
        """The median of these multiples, and their spread."""
        ratios = self.ratios(method, yardstick)
        return statistics.median(ratios), spread(ratios)


def take_turns(methods: Mapping[str, Callable[[], float]], rounds: int) -> Readings:
    """Let each method do its work in each round; its call returns the seconds that it took."""
    seconds: dict[str, list[float]] = {method: [] for method in methods}
    for _ in range(rounds):
        for method, call in methods.items():
            seconds[method].append(call())
    return Readings(seconds)
