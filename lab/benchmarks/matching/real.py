"""Rows about real documents, one a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final
from xml.parsers import expat

from lab.benchmarks.matching.bench import OURS, MatchingBench, mean_matches, parse_all
from lab.benchmarks.results import Result, ratio_result
from twigcast.documents import ExpandedName, decompose
from twigcast.errors import DocumentError
from twigcast.language import name_text, parse
from twigcast.matching import CompactDocument

_LOOSENED: Final = 0.1
_TRIES: Final = 20


def real_documents(bench: MatchingBench, folders: Iterable[Path]) -> Iterator[Result]:
    """Documents with subscriptions made from their own label paths, namespaces and all."""
    for folder in folders:
        bench.progress(f"reading {folder.name}")
        documents = read_documents(folder)
        if not documents:
            continue
        texts = loosen(label_paths(documents), bench.sizes.real, bench.seed)
        matcher = bench.fill(texts)
        work = f"{len(documents):,} documents of {folder.name}, {len(texts):,} paths"
        measurements = bench.against_expat(work, matcher, documents)
        seconds = next(one.seconds for one in measurements if one.method == OURS)
        size = sum(map(len, documents))
        yield ratio_result(
            f"real-{folder.name}",
            work,
            measurements,
            OURS,
            matches=mean_matches(matcher, documents),
            details={
                "megabytes_a_second": round(size / len(documents) / seconds / 1e6, 1),
                "mean_bytes": size // len(documents),
            },
        )


def read_documents(folder: Path) -> list[bytes]:
    """The XML files of a folder that are well-formed and within the default limits."""
    files = (path.read_bytes() for path in sorted(folder.rglob("*.xml")))
    return [data for data in files if _is_read(data)]


def _is_read(data: bytes) -> bool:
    try:
        parse_all([data])
        CompactDocument(data)
    except (expat.ExpatError, DocumentError):
        return False
    return True


def label_paths(documents: Iterable[bytes]) -> list[tuple[ExpandedName, ...]]:
    """The label paths of all elements, each once."""
    paths: dict[tuple[ExpandedName, ...], None] = {}
    for data in documents:
        for leaf in decompose(data, ""):
            for length in range(1, len(leaf.path) + 1):
                paths[leaf.path[:length]] = None
    return list(paths)


def loosen(paths: Sequence[tuple[ExpandedName, ...]], count: int, seed: int) -> list[str]:
    """At most ``count`` distinct expressions: the label paths, then those with ``*`` and ``//``.

    In the latter every step is ``*`` with a chance of one in ten, and left out under a ``//`` with
    the same chance.
    """
    random = Random(seed)
    texts = dict.fromkeys("".join(f"/{name_text(*name)}" for name in path) for path in paths)
    for _ in range(_TRIES * count):
        if len(texts) >= count:
            break
        path = random.choice(paths)
        text, axis = "", "/"
        for name in path[:-1]:
            chance = random.random()
            if chance < _LOOSENED:
                axis = "//"
                continue
            text += axis + ("*" if chance < 2 * _LOOSENED else name_text(*name))
            axis = "/"
        # Two spellings of one expression are not distinct.
        texts[str(parse(text + axis + name_text(*path[-1])))] = None
    return list(texts)[:count]
