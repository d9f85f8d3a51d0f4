"""The speed of matching: all its rows, in one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.benchmarks.matching.bench import MatchingBench
from lab.benchmarks.matching.decisions import decisions
from lab.benchmarks.matching.paths import (
    cold_paths,
    many_subscribers,
    warm_paths,
)
from lab.benchmarks.matching.peers import one_by_one
from lab.benchmarks.matching.reading import reading
from lab.benchmarks.matching.real import real_documents
from lab.benchmarks.matching.rules import real_rules
from lab.benchmarks.matching.scale import many_against_few, memory
from lab.benchmarks.matching.storage import building_and_files
from lab.benchmarks.matching.threads import two_threads
from lab.benchmarks.matching.trees import documents_of_all_sizes, trees
from lab.benchmarks.matching.updates import updates
from lab.benchmarks.matching.values import same_path_values
from lab.benchmarks.results import Result


def matching_speed(
    bench: MatchingBench, folders: Sequence[Path] = (), rules: Path | None = None
) -> Iterator[Result]:
    """Every row, in the order in which people read them.

    ``folders`` hold real documents, ``rules`` is a file of real expressions for them.
    """
    yield from reading(bench, folders)
    yield from warm_paths(bench)
    yield from cold_paths(bench)
    yield from many_subscribers(bench)
    yield from trees(bench)
    yield from documents_of_all_sizes(bench)
    yield from same_path_values(bench)
    yield from many_against_few(bench)
    yield from one_by_one(bench)
    yield from two_threads(bench)
    yield from real_documents(bench, folders)
    yield from real_rules(bench, rules, folders)
    yield from building_and_files(bench)
    yield from decisions(bench)
    yield from updates(bench)
    yield from memory(bench)
